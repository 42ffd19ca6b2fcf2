"""Triangles of one mesh that cross or lie on each other, by separating axes in double precision.

Triangles are taken as apart where their shadows on some axis share no more than a margin. Neighbours, which share an
edge or a corner, always have such an axis unless one goes through the other.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.shapes.kernels.query import Surface, corners

wp.set_module_options({"enable_backward": False})

TRIED = wp.constant(512)  # triangles near one that are looked at; a pair is seen from both of its triangles
BEYOND = wp.constant(1.0e-6)  # what single precision takes off a box
PARALLEL = wp.constant(wp.float64(1.0e-6))  # sine of an angle below which two edges give no axis


@wp.func
def shared(axis: wp.vec3d, a: wp.mat33d, b: wp.mat33d) -> wp.float64:
    """How far the shadows of two triangles, corners in rows, overlap on an axis; negative where they are apart."""
    u = a @ axis
    v = b @ axis
    return wp.min(wp.max(u) - wp.min(v), wp.max(v) - wp.min(u))


@wp.func
def meet(a: wp.mat33d, b: wp.mat33d, margin: wp.float64) -> bool:
    """Whether two triangles cross, or overlap in one plane, by more than a margin."""
    n = wp.cross(a[1] - a[0], a[2] - a[0])
    m = wp.cross(b[1] - b[0], b[2] - b[0])
    if wp.length(n) < margin * wp.length(a[1] - a[0]) or wp.length(m) < margin * wp.length(b[1] - b[0]):
        return False  # so thin that its normal is rounding
    n = wp.normalize(n)
    m = wp.normalize(m)
    off = wp.max(wp.abs(b @ n - wp.vec3d(wp.dot(n, a[0]))))
    in_plane = off < margin
    if not in_plane and (shared(n, a, b) <= margin or shared(m, a, b) <= margin):
        return False
    for i in range(3):
        along = wp.normalize(a[(i + 1) % 3] - a[i])
        if in_plane and shared(wp.cross(n, along), a, b) <= margin:
            return False
        for j in range(3):
            axis = wp.normalize(b[(j + 1) % 3] - b[j])
            if in_plane:
                axis = wp.cross(n, axis)
            else:
                axis = wp.cross(along, axis)
            if wp.length(axis) > PARALLEL and shared(wp.normalize(axis), a, b) <= margin:
                return False
    return True


@wp.kernel
def crossings(
    surface: Surface,
    first: int,
    margin: wp.float64,
    # Out:
    other_out: wp.array[wp.int32],
):
    """A triangle that each one, numbered from `first`, crosses or lies on; -1 where there is none."""
    i = wp.tid()
    face = first + i
    a = corners(surface, face)
    low = wp.vec3(wp.min(a[0], wp.min(a[1], a[2]))) - wp.vec3(BEYOND)
    high = wp.vec3(wp.max(a[0], wp.max(a[1], a[2]))) + wp.vec3(BEYOND)
    query = wp.mesh_query_aabb(surface.mesh, low, high)
    other = wp.int32(0)
    tried = wp.int32(0)
    found = wp.int32(-1)
    while found < 0 and tried < TRIED and wp.mesh_query_aabb_next(query, other):
        tried += 1
        if other != face and meet(a, corners(surface, other), margin):
            found = other
    other_out[i] = found

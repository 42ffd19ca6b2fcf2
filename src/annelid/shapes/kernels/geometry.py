"""A geometry in kernels: what it is, and how far points of the world are from it, compiled for the kinds in use."""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import (
    CLOSED_FORMS,
    GRID,
    HEIGHTS,
    PLANE,
    SPHERE,
    grid_gap,
    heights_gap,
    plane_gap,
    sphere_gap,
)

wp.set_module_options({"enable_backward": False})

FAR = 1.0e9
"""Gap to what is of no kind that was compiled [m]."""


@once
def geometry_struct(real: Any) -> Any:
    """The structure of a geometry for `wp.float32` or `wp.float64`; where it is, its owner knows."""
    vec3 = wp.types.vector(length=3, dtype=real)
    members = {
        "kind": wp.int32,  # see `kernels.gaps`
        "size": vec3,  # [m] half sides; radius and half length; the unit normal of a plane
        "side": real,  # -1 where things are kept inside, else 1
        "first": wp.int32,  # where what is looked up begins
        "nodes": wp.vec3i,
        "origin": vec3,  # first node [m]; of heights with the cosine of their steepest slope
        "spacing": vec3,  # [m]; of heights with a factor on them
    }
    name = f"Geometry{32 if real is wp.float32 else 64}"
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


@once
def closed_gap(kinds: tuple[int, ...], real: Any) -> wp.Function:
    """A function `(kind, size, point) -> gap, gradient, curvature, straight` of closed forms, in their own frame."""
    vec3 = wp.types.vector(length=3, dtype=real)
    if not kinds:

        @wp.func
        def nothing(kind: int, size: vec3, x: vec3):
            return real(wp.static(FAR)), vec3(real(0.0), real(0.0), real(1.0)), real(0.0), vec3()

        return nothing
    this, here, others = kinds[0], CLOSED_FORMS[kinds[0]], closed_gap(kinds[1:], real)

    @wp.func
    def gap(kind: int, size: vec3, x: vec3):
        if kind == wp.static(this):
            found, gradient, curvature, straight = here(size, x)
        else:
            found, gradient, curvature, straight = others(kind, size, x)
        return found, gradient, curvature, straight

    return gap


@once
def local_gap(kinds: tuple[int, ...], real: Any, smooth: bool, points: bool = False) -> wp.Function:
    """A function `(geometry, values, point) -> gap, gradient, curvature, straight` in the frame of the geometry.

    What is looked up is interpolated linearly, or so that forces are `smooth`; see `grid_gap` for `points`.
    """
    Geometry, vec3 = geometry_struct(real), wp.types.vector(length=3, dtype=real)
    closed = closed_gap(tuple(kind for kind in CLOSED_FORMS if kind in kinds), real)
    in_grid, over_heights = grid_gap(smooth, points), heights_gap(smooth)
    planes, grids, heights = (kind in kinds for kind in (PLANE, GRID, HEIGHTS))

    @wp.func
    def gap(geometry: Geometry, values: wp.array[wp.float32], x: vec3):
        found, gradient, curvature, straight = closed(geometry.kind, geometry.size, x)
        if wp.static(planes):
            if geometry.kind == wp.static(PLANE):
                found, gradient, curvature, straight = plane_gap(geometry.size, x)
        if wp.static(grids):
            if geometry.kind == wp.static(GRID):
                found, gradient, curvature, straight = in_grid(
                    values, geometry.first, geometry.nodes, geometry.origin, geometry.spacing[0], x
                )
        if wp.static(heights):
            if geometry.kind == wp.static(HEIGHTS):
                found, gradient, curvature, straight = over_heights(
                    values, geometry.first, geometry.nodes, geometry.origin, geometry.spacing, x
                )
        return geometry.side * found, geometry.side * gradient, geometry.side * curvature, straight

    return gap


@wp.func
def turned(turn: Any, v: Any):
    return wp.quat_rotate(turn, v)


@wp.func
def turned_back(turn: Any, v: Any):
    return wp.quat_rotate_inv(turn, v)


@wp.func
def turned_by_matrix(turn: Any, v: Any):
    return turn * v


@wp.func
def turned_back_by_matrix(turn: Any, v: Any):
    return wp.transpose(turn) * v


@once
def world_gap(kinds: tuple[int, ...], real: Any, still: bool = False, points: bool = False) -> wp.Function:
    """A function `(geometry, place, turn, values, point) -> gap, gradient, curvature, straight` in the world.

    Planes are not turned: their normals are those in the world; nor are spheres. What is `still` has a matrix, which is
    quicker, for its turn, else a quaternion.
    """
    Geometry, vec3 = geometry_struct(real), wp.types.vector(length=3, dtype=real)
    Turn = wp.types.matrix(shape=(3, 3), dtype=real) if still else wp.types.quaternion(real)
    out, back = (turned_by_matrix, turned_back_by_matrix) if still else (turned, turned_back)
    planes, level, spheres = PLANE in kinds, set(kinds) <= {PLANE}, SPHERE in kinds
    turning = tuple(kind for kind in kinds if kind not in (PLANE, SPHERE))
    local = local_gap(turning, real, smooth=False, points=points)

    @wp.func
    def gap(geometry: Geometry, place: vec3, turn: Turn, values: wp.array[wp.float32], x: vec3):
        away = x - place
        if wp.static(planes):
            if wp.static(level) or geometry.kind == wp.static(PLANE):
                normal = geometry.side * geometry.size
                return wp.dot(normal, away), normal, real(0.0), vec3()
        if wp.static(spheres):
            if geometry.kind == wp.static(SPHERE):
                found, gradient, curvature, straight = sphere_gap(geometry.size, away)
                return geometry.side * found, geometry.side * gradient, geometry.side * curvature, straight
        found, gradient, curvature, straight = local(geometry, values, back(turn, away))
        return found, out(turn, gradient), curvature, out(turn, straight)

    return gap


@once
def surface_at(
    kinds: tuple[int, ...], real: Any, still: bool = False, points: bool = False, sloped: bool = False
) -> wp.Function:
    """A function `(geometry, place, turn, values, point) -> vec4`: unit normal in the world, and gap [m].

    Of a grid it is the slope where `sloped`, which is short half-way between two surfaces. See `world_gap` for `still`
    and `points`.
    """
    Geometry, vec3 = geometry_struct(real), wp.types.vector(length=3, dtype=real)
    vec4 = wp.types.vector(length=4, dtype=real)
    Turn = wp.types.matrix(shape=(3, 3), dtype=real) if still else wp.types.quaternion(real)
    world, unlike = world_gap(kinds, real, still, points), GRID in kinds and not sloped

    @wp.func
    def at(geometry: Geometry, place: vec3, turn: Turn, values: wp.array[wp.float32], x: vec3) -> vec4:
        gap, n, _curvature, _straight = world(geometry, place, turn, values, x)
        if wp.static(unlike):
            if geometry.kind == wp.static(GRID):
                n = n / wp.max(wp.length(n), real(1.0e-20))
        return vec4(n[0], n[1], n[2], gap)

    return at

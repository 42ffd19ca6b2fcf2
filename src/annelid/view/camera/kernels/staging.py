"""Kernels that bring the arrays of a snapshot into the form that rays are cast against: normals, boxes, colours."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def tidy(x: wp.vec3) -> wp.vec3:
    # A tree over boxes that are no numbers never ends; a diverged simulation must still be visible.
    if wp.isfinite(x[0]) and wp.isfinite(x[1]) and wp.isfinite(x[2]):
        return x
    return wp.vec3(0.0)


@wp.kernel
def take_vectors(offset: int, vectors: wp.array2d[Any], vectors_out: wp.array[wp.vec3]):
    i = offset + wp.tid()
    vectors_out[i] = tidy(wp.vec3(float(vectors[i, 0]), float(vectors[i, 1]), float(vectors[i, 2])))


@wp.kernel
def take_scalars(offset: int, scalars: wp.array[Any], scalars_out: wp.array[wp.float32]):
    i = offset + wp.tid()
    scalars_out[i] = float(scalars[i])


# All overloads at once: one that is first needed later would compile this module again.
for _scalar in (wp.float32, wp.float64):
    wp.overload(take_vectors, [int, wp.array2d[_scalar], wp.array[wp.vec3]])
for _scalar in (wp.int32, wp.float32, wp.float64):
    wp.overload(take_scalars, [int, wp.array[_scalar], wp.array[wp.float32]])


@wp.kernel
def corner_normals(
    offset: int,
    # Topology:
    triangles: wp.array[wp.int32],
    first_face: wp.array[wp.int32],  # [vertices + 1]
    faces: wp.array[wp.int32],  # faces around each vertex
    sharp: float,  # cosine from which two faces meet at a crease
    smooth: float,  # cosine from which they are one smooth surface
    # State in:
    points: wp.array[wp.vec3],
    # State out:
    normals_out: wp.array[wp.vec3],
):
    """Normal of each triangle corner: the mean over the faces around the vertex that do not fold away."""
    corner = offset + wp.tid()
    face = corner // 3
    own = area_vector(triangles, points, face)
    direction = wp.normalize(own)
    total = wp.vec3(0.0)
    vertex = triangles[corner]
    for k in range(first_face[vertex], first_face[vertex + 1]):
        other = area_vector(triangles, points, faces[k])
        # A gradual weight: a face that folds slowly does not make the shading jump.
        total += wp.smoothstep(sharp, smooth, wp.dot(direction, wp.normalize(other))) * other
    length = wp.length(total)
    normals_out[corner] = wp.where(length > 0.0, total / wp.max(length, 1.0e-30), direction)


@wp.func
def area_vector(triangles: wp.array[wp.int32], points: wp.array[wp.vec3], face: int) -> wp.vec3:
    a = points[triangles[3 * face]]
    return wp.cross(points[triangles[3 * face + 1]] - a, points[triangles[3 * face + 2]] - a)


@wp.func
def slack(center: wp.vec3) -> float:
    # Slabs are computed in float32: a box must not be missed by the rounding of its own place.
    return 1.0e-6 * (wp.abs(center[0]) + wp.abs(center[1]) + wp.abs(center[2]))


@wp.kernel
def sphere_boxes(
    offset: int,
    centers: wp.array[wp.vec3],
    radii: wp.array[wp.float32],
    lower_out: wp.array[wp.vec3],
    upper_out: wp.array[wp.vec3],
):
    i = offset + wp.tid()
    reach = radii[i] * 1.000001 + slack(centers[i])
    lower_out[i] = centers[i] - wp.vec3(reach)
    upper_out[i] = centers[i] + wp.vec3(reach)


@wp.kernel
def line_boxes(
    offset: int,
    # Topology:
    segments: wp.array2d[wp.int32],
    radius: float,
    # State in:
    points: wp.array[wp.vec3],
    # State out:
    starts_out: wp.array[wp.vec3],
    ends_out: wp.array[wp.vec3],
    lower_out: wp.array[wp.vec3],
    upper_out: wp.array[wp.vec3],
):
    i = offset + wp.tid()
    start = points[segments[i, 0]]
    end = points[segments[i, 1]]
    starts_out[i] = start
    ends_out[i] = end
    reach = wp.vec3(radius * 1.000001 + slack(start))
    lower_out[i] = wp.min(start, end) - reach
    upper_out[i] = wp.max(start, end) + reach


@wp.func
def table_color(table: wp.array[wp.vec3], at: float) -> wp.vec3:
    """Colour at a place between the entries of a table; the last entry is no part of the map."""
    below = wp.min(int(at), table.shape[0] - 3)
    return wp.lerp(table[below], table[below + 1], at - float(below))


@wp.kernel
def color_values(
    offset: int,
    # Scale:
    table: wp.array[wp.vec3],  # linear light; the last entry is for what is not a number
    low: float,
    step: float,  # values between two entries; 0 for categories
    # State in:
    values: wp.array[wp.float32],
    # State out:
    shades_out: wp.array[wp.float32],
    colors_out: wp.array[wp.vec3],
):
    i = offset + wp.tid()
    value = values[i]
    last = table.shape[0] - 2
    color = table[last + 1]
    shade = float(-1.0)
    if not wp.isnan(value):
        if step == 0.0:
            shade = wp.clamp(wp.rint(value), 0.0, float(last))
            color = table[int(shade)]
        else:
            shade = wp.clamp((value - low) / step, 0.0, float(last))
            color = table_color(table, shade)
    shades_out[i] = shade
    colors_out[i] = color


@wp.kernel
def mesh_group_roots(mesh: wp.uint64, present: wp.array[wp.int32], absent: int, roots_out: wp.array[wp.int32]):
    world = wp.tid()
    roots_out[world] = absent
    if present[world] != 0:
        roots_out[world] = wp.mesh_get_group_root(mesh, world)


@wp.kernel
def box_group_roots(tree: wp.uint64, present: wp.array[wp.int32], absent: int, roots_out: wp.array[wp.int32]):
    world = wp.tid()
    roots_out[world] = absent
    if present[world] != 0:
        roots_out[world] = wp.bvh_get_group_root(tree, world)

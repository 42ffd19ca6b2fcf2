"""Rigid things inside the kernels of solids: what they are, where they are, and how far points are from them."""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

import warp as wp

from annelid.shapes.kernels.gaps import CAPSULE, CLOSED_FORMS, GRID, HEIGHTS, PLANE, grid_gap, heights_gap, plane_gap
from annelid.shapes.kernels.geometry import closed_gap

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
smooth_grid_gap, smooth_heights_gap = grid_gap(True), heights_gap(True)
closed_form = closed_gap(tuple(CLOSED_FORMS), wp.float64)


@wp.struct
class Forms:
    """What obstacles are, one row each; what grids and heights look up is in `values`."""

    kinds: wp.array[wp.int32]
    sizes: wp.array[wp.vec3d]  # [m] half sides, radius and half length; the normal of a plane
    signs: wp.array[wp.float64]  # -1 where things are kept inside
    stiffnesses: wp.array[wp.float64]  # [N/m] of one contact
    firsts: wp.array[wp.int32]
    nodes: wp.array[wp.vec3i]
    origins: wp.array[wp.vec3d]
    spacings: wp.array[wp.vec3d]
    values: wp.array[wp.float32]


@wp.struct
class Poses:
    """Where obstacles are, one row each."""

    places: wp.array[wp.vec3d]  # [m] of their centres
    turns: wp.array[wp.quatd]


@wp.struct
class Nearness:
    """How a point stands to an obstacle, in the world."""

    gap: wp.float64  # [m]
    gradient: wp.vec3d
    curvature: wp.float64  # [1/m], see `shapes.kernels.gaps`
    straight: wp.vec3d


@wp.func
def is_convex(b: int, forms: Forms) -> bool:
    """Whether the gap along a straight line is never less than its tangent says."""
    return forms.kinds[b] <= wp.static(CAPSULE) and forms.signs[b] > f64(0.0)


@wp.func
def local_nearness(b: int, x: wp.vec3d, forms: Forms) -> Nearness:
    """How a point in the frame of an obstacle stands to it."""
    kind = forms.kinds[b]
    size = forms.sizes[b]
    gap, gradient, curvature, straight = closed_form(kind, size, x)
    if kind == wp.static(PLANE):
        gap, gradient, curvature, straight = plane_gap(size, x)
    if kind == wp.static(GRID):
        gap, gradient, curvature, straight = smooth_grid_gap(
            forms.values, forms.firsts[b], forms.nodes[b], forms.origins[b], forms.spacings[b][0], x
        )
    if kind == wp.static(HEIGHTS):
        gap, gradient, curvature, straight = smooth_heights_gap(
            forms.values, forms.firsts[b], forms.nodes[b], forms.origins[b], forms.spacings[b], x
        )
    found = Nearness()
    found.gap = forms.signs[b] * gap
    found.gradient = forms.signs[b] * gradient
    found.curvature = forms.signs[b] * curvature
    found.straight = straight
    return found


@wp.func
def in_frame(x: wp.vec3d, place: wp.vec3d, turn: wp.quatd) -> wp.vec3d:
    """A point of the world in a frame."""
    return wp.quat_rotate_inv(turn, x - place)


@wp.func
def nearness(b: int, x: wp.vec3d, forms: Forms, poses: Poses) -> Nearness:
    """How a point of the world stands to an obstacle."""
    turn = poses.turns[b]
    found = local_nearness(b, in_frame(x, poses.places[b], turn), forms)
    found.gradient = wp.quat_rotate(turn, found.gradient)
    found.straight = wp.quat_rotate(turn, found.straight)
    return found


@wp.func
def free_part(b: int, start: wp.vec3d, end: wp.vec3d, skin: f64, forms: Forms) -> f64:
    """Part of a straight way, in the frame of an obstacle, on which the gap keeps a tenth of itself; at most 1."""
    way = end - start
    here = local_nearness(b, start, forms)
    gap = here.gap - skin
    least = f64(0.1) * gap
    if is_convex(b, forms):
        slope = wp.dot(here.gradient, way)
        if gap + slope >= least:
            return f64(1.0)
        # The gap lies above its tangents at both ends of the way, so above where these meet.
        there = local_nearness(b, end, forms)
        last = there.gap - skin
        last_slope = wp.dot(there.gradient, way)
        lowest = last
        if last_slope > f64(0.0) and last_slope > slope:
            lowest = gap + slope * (last - last_slope - gap) / (slope - last_slope)
        if lowest >= least:
            return f64(1.0)
        return f64(0.9) * gap / -slope
    # Go on by as much as the gap allows, again and again: no point of the surface is nearer than the gap.
    length = wp.length(way)
    part = f64(0.0)
    for _ in range(64):
        if part * length + f64(0.8) * (gap - least) >= length:
            return f64(1.0)
        part += f64(0.8) * (gap - least) / length
        gap = local_nearness(b, start + part * way, forms).gap - skin
        if gap <= f64(2.0) * least:
            return part
    return part

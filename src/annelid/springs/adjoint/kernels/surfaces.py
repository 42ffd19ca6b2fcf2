"""How distance and normal of an obstacle change with the point, run back: closed forms and height fields."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import BOX, CLOSED_FORMS, HEIGHTS, PLANE, low_node
from annelid.shapes.kernels.geometry import world_gap
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

FLAT = (PLANE, BOX)
"""Obstacles whose normal does not change from point to point of them."""


@once
def gap_back(types: Layout, kinds: tuple[int, ...]) -> wp.Function:
    """Rate by a point from those by the unit normal and by the gap there; only the `kinds` in use are compiled."""
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle
    over_heights, curved, heights = _heights_back(types), any(kind in CLOSED_FORMS for kind in kinds), HEIGHTS in kinds
    near = world_gap(kinds, real, still=True)

    @wp.func
    def back(
        values: wp.array[wp.float32], obstacle: Obstacle, x: vec3, surface: vec4, by_normal: vec3, by_gap: real
    ) -> vec3:  # fmt: skip
        n = vec3(surface[0], surface[1], surface[2])
        found = n * by_gap
        if wp.static(curved):
            _gap, _n, curvature, straight = near(obstacle.geometry, obstacle.place, obstacle.turn, values, x)
            found += curvature * (by_normal - n * wp.dot(n, by_normal) - straight * wp.dot(straight, by_normal))
        if wp.static(heights):
            if obstacle.geometry.kind == wp.static(HEIGHTS):
                found = over_heights(values, obstacle, x, n, by_normal, by_gap)
        return found

    return back


@once
def _heights_back(types: Layout) -> wp.Function:
    """Of the tangent plane of the bilinear surface: the gap is the rise above it times the normal's upward part."""
    real, vec3, Obstacle = types.real, types.vec3, types.Obstacle

    @wp.func
    def back(
        values: wp.array[wp.float32], obstacle: Obstacle, point: vec3, normal: vec3, given: vec3, by_gap: real
    ) -> vec3:  # fmt: skip
        field = obstacle.geometry
        back = wp.transpose(obstacle.turn)
        x = back * (point - obstacle.place)
        n = back * normal
        by_normal = back * given
        ny = field.nodes[1]
        pu = (x[0] - field.origin[0]) / field.spacing[0]
        pv = (x[1] - field.origin[1]) / field.spacing[1]
        u = wp.clamp(pu, real(0.0), real(field.nodes[0] - 1))
        v = wp.clamp(pv, real(0.0), real(ny - 1))
        i = low_node(u, field.nodes[0])
        j = low_node(v, ny)
        at = field.first + i * ny + j
        h00 = real(values[at])
        h01 = real(values[at + 1])
        h10 = real(values[at + ny])
        h11 = real(values[at + ny + 1])
        low = h00 + (h01 - h00) * (v - real(j))
        high = h10 + (h11 - h10) * (v - real(j))
        twist = ((h11 - h10) - (h01 - h00)) / (field.spacing[0] * field.spacing[1])
        if pu != u or pv != v:
            twist = real(0.0)
        rise = x[2] - (low + (high - low) * (u - real(i)))
        by = by_normal + vec3(real(0.0), real(0.0), rise * by_gap)
        steep = (by - n * wp.dot(n, by)) * n[2]  # rates by the vector that was made a unit one, of length 1 / n[2]
        # Slopes are -n[0] / n[2] and -n[1] / n[2]; that along x changes with y by the twist, and the other with x.
        found = vec3(by_gap * n[0] - steep[1] * twist, by_gap * n[1] - steep[0] * twist, by_gap * n[2])
        return obstacle.turn * found

    return back

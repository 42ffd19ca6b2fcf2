"""How distance and normal of an obstacle change with the point, run back: planes, balls, boxes, height fields."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import HEIGHTS, SPHERE
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

CURVED = (SPHERE, HEIGHTS)
"""Obstacles whose normal changes from point to point."""


@once
def gap_back(types: Layout, kinds: tuple[int, ...]) -> wp.Function:
    """Rate by a point from those by the unit normal and by the gap there; only the `kinds` in use are compiled."""
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle
    over_heights, balls, heights = _heights_back(types), SPHERE in kinds, HEIGHTS in kinds

    @wp.func
    def back(
        values: wp.array[wp.float32], obstacle: Obstacle, x: vec3, surface: vec4, by_normal: vec3, by_gap: real
    ) -> vec3:  # fmt: skip
        n = vec3(surface[0], surface[1], surface[2])
        found = n * by_gap  # planes and boxes: the normal is that of the face
        if wp.static(balls):
            if obstacle.kind == wp.static(SPHERE):
                distance = wp.max(surface[3] + obstacle.size, real(1.0e-12))
                found += (by_normal - n * wp.dot(n, by_normal)) / distance
        if wp.static(heights):
            if obstacle.kind == wp.static(HEIGHTS):
                found = over_heights(values, obstacle, x, n, by_normal, by_gap)
        return found

    return back


@once
def _heights_back(types: Layout) -> wp.Function:
    """Of the tangent plane of the bilinear surface: the gap is the rise above it times the normal's upward part."""
    real, vec3, Obstacle = types.real, types.vec3, types.Obstacle

    @wp.func
    def back(
        values: wp.array[wp.float32], field: Obstacle, point: vec3, n: vec3, by_normal: vec3, by_gap: real
    ) -> vec3:  # fmt: skip
        nx = field.counts[0]
        ny = field.counts[1]
        px = (point[0] - field.place[0]) / field.spacing[0]
        py = (point[1] - field.place[1]) / field.spacing[1]
        x = wp.clamp(px, real(0.0), real(nx - 1))
        y = wp.clamp(py, real(0.0), real(ny - 1))
        i = wp.clamp(int(x), 0, nx - 2)
        j = wp.clamp(int(y), 0, ny - 2)
        u = x - real(i)
        at = field.first + i * ny + j
        h00 = real(values[at])
        h01 = real(values[at + 1])
        h10 = real(values[at + ny])
        h11 = real(values[at + ny + 1])
        low = h00 + (h01 - h00) * (y - real(j))
        high = h10 + (h11 - h10) * (y - real(j))
        twist = ((h11 - h10) - (h01 - h00)) / (field.spacing[0] * field.spacing[1])
        if px != x or py != y:
            twist = real(0.0)
        rise = point[2] - field.place[2] - (low + (high - low) * u)
        by = by_normal + vec3(real(0.0), real(0.0), rise * by_gap)
        steep = (by - n * wp.dot(n, by)) * n[2]  # rates by the vector that was made a unit one, of length 1 / n[2]
        by_rise = by_gap * n[2]
        # Slopes are -n[0] / n[2] and -n[1] / n[2]; that along x changes with y by the twist, and the other with x.
        return vec3(
            by_gap * n[0] - steep[1] * twist,
            by_gap * n[1] - steep[0] * twist,
            by_rise,
        )

    return back

"""Distance and normal of obstacles at a point."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import HEIGHTS
from annelid.shapes.kernels.geometry import surface_at
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@once
def obstacle_gap(types: Layout, kinds: tuple[int, ...], sloped: bool = False) -> wp.Function:
    """Unit normal (x, y, z) and gap [m] (w, negative inside) at a point; only the `kinds` in use are compiled.

    Of a grid it is the slope where `sloped`, which is short half-way between two surfaces.
    """
    vec3, vec4, Obstacle = types.vec3, types.vec4, types.Obstacle
    at = surface_at(kinds, types.real, still=True, points=True, sloped=sloped)

    @wp.func
    def gap(values: wp.array[wp.float32], obstacle: Obstacle, x: vec3) -> vec4:
        return at(obstacle.geometry, obstacle.place, obstacle.turn, values, x)

    return gap


@once
def shaped_obstacle(types: Layout) -> wp.Function:
    """A function `(obstacle, ground) -> obstacle`: as it is in a world with ground of its own."""
    vec3, Obstacle = types.vec3, types.Obstacle
    real = types.real

    @wp.func
    def shape(obstacle: Obstacle, ground: vec3) -> Obstacle:
        geometry = obstacle.geometry
        if geometry.kind == wp.static(HEIGHTS):
            obstacle.place = obstacle.place + vec3(ground[1], ground[2], real(0.0))
            geometry.spacing = vec3(geometry.spacing[0], geometry.spacing[1], ground[0])
            obstacle.geometry = geometry
        return obstacle

    return shape

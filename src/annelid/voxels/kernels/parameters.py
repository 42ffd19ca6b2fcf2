"""What parameters make of a world of voxel robots."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

COLUMNS = ("gravity", "slope_x", "push_x", "push_z", "stiffness", "damping", "friction", "mass")
"""Parameters of a world, in order; the shape of the ground, where there is one, and `core.variation.FOLLOWING` come
after them."""

TERRAIN = len(COLUMNS)
"""Column of the factor on heights, where the ground has some; how far it is shifted follows."""


@once
def vary_world(types: Layout, shaped: bool) -> wp.Function:
    """A function `(world, number, tables, motion) -> world` with the pull and the factors of its parameters.

    Where the ground is `shaped`, two more parameters say how.
    """
    real, vec2, vec4, World = types.real, types.vec2, types.vec4, types.World
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def vary(world: World, number: int, tables: Tables, motion: Motion) -> World:
        values = motion.parameters
        at = number * (values.shape[0] // tables.worlds.shape[0])
        x = wp.float64(tables.gravity[0]) * values[at]
        z = wp.float64(tables.gravity[1]) * values[at]
        cosine, sine = wp.cos(values[at + 1]), wp.sin(values[at + 1])
        world.pull = vec2(
            real(cosine * x + sine * z + values[at + 2]),
            real(cosine * z - sine * x + values[at + 3]),
        )
        world.scale = vec4(real(values[at + 4]), real(values[at + 5]), real(values[at + 6]), real(values[at + 7]))
        world.ground = vec2(real(1.0), real(0.0))
        if wp.static(shaped):
            world.ground = vec2(real(values[at + wp.static(TERRAIN)]), real(values[at + wp.static(TERRAIN + 1)]))
        world.noise = real(values[at + values.shape[0] // tables.worlds.shape[0] - 1])
        return world

    return vary

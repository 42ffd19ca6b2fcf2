"""A step of the free bodies that voxels touch."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.free_bodies import fly_bodies, sum_group
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def sum_pass(real: Any) -> wp.Function:
    """Sum what a group of voxels of a world does to free bodies."""
    Tables = layout(real).Tables

    @wp.func
    def sum_voxels(world: int, group: int, tables: Tables):
        sum_group(world, group, tables.begins[world], tables.begins[world + 1], tables.free[0])

    return sum_voxels


@once
def body_pass(real: Any, kinds: tuple[int, ...]) -> wp.Function:
    """A step of the free bodies of a world, once what voxels do to them is summed."""
    types = layout(real)
    Tables, Motion, fly_all = types.Tables, types.Motion, fly_bodies(kinds)

    @wp.func
    def fly(world: int, now: wp.int64, tables: Tables, motion: Motion):
        gravity = tables.gravity
        pull = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
        heights = wp.vec3d(wp.float64(1.0), wp.float64(0.0), wp.float64(0.0))
        begun = motion.origins[world]
        good = fly_all(
            world, wp.float64(now), begun, tables.dt, pull, wp.float64(1.0), heights, tables.free[0], tables.motions
        )  # fmt: skip
        if not good and motion.trouble[world] < wp.int64(0):
            motion.trouble[world] = now + wp.int64(1)

    return fly

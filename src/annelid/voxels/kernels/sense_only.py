"""Kernels that only read the sensors, for controllers that are called from the host."""

import warp as wp

from annelid.control.kernels.layout import brain_layout
from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.memory import address
from annelid.voxels.kernels.parameters import vary_world
from annelid.voxels.kernels.program import Features, world_clock
from annelid.voxels.kernels.sensing import sense, sensor_layout

wp.set_module_options({"enable_backward": False})


@once
def _sense_world(features: Features) -> wp.Function:
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    inputs_of, place = sense(types, features.paired, features.varied, features.shaped), address(types.vec4)
    varied, vary = features.varied, vary_world(types, features.shaped)

    @wp.func
    def read(
        number: int, lane: int, width: int, tables: Tables, terrain: Terrain, sensors: Sensors, brains: Brains,
        motion: Motion,
    ):  # fmt: skip
        world = tables.worlds[number]
        if wp.static(varied):
            world = vary(world, number, tables, motion)
        now = world_clock(motion.clock, motion.origins, number)
        for b in range(world.brain, world.brain + world.brain_count):
            brain = brains.brains[b]
            inputs_of(
                lane, width, brain.input, brain.inputs, wp.float64(now) * tables.dt,
                now / wp.int64(tables.interval), world, tables, terrain, motion, sensors,
                place(motion.positions, world.body), place(motion.velocities, world.body),
            )  # fmt: skip

    return read


@once
def sense_team(features: Features) -> wp.Kernel:
    """Inputs of all controllers, on a team of CPU threads."""
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    read = _sense_world(features)

    @wp.kernel(module="unique", enable_backward=False)
    def team(
        rank: int, size: int, counter: wp.array[wp.int32], tables: Tables, terrain: Terrain, sensors: Sensors,
        brains: Brains, motion: Motion,
    ):  # fmt: skip
        for number in range(rank, tables.worlds.shape[0], size):
            read(number, 0, 1, tables, terrain, sensors, brains, motion)

    return team


@once
def sense_blocks(features: Features) -> wp.Kernel:
    """Inputs of all controllers on CUDA."""
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    read = _sense_world(features)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def blocks(
        width: int, tables: Tables, terrain: Terrain, sensors: Sensors, brains: Brains, motion: Motion
    ):  # fmt: skip
        number = wp.tid() // width
        if number < tables.worlds.shape[0]:
            read(number, wp.tid() - number * width, width, tables, terrain, sensors, brains, motion)

    return blocks

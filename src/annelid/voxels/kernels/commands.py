"""Voxels that follow commands."""

import warp as wp

from annelid.core.kernels.controls import held
from annelid.core.kernels.loading import once
from annelid.voxels.kernels.actuation import actuated_lengths, stored_energy
from annelid.voxels.kernels.layout import Layout
from annelid.voxels.kernels.memory import load, store

wp.set_module_options({"enable_backward": False})


@once
def obey_commands(types: Layout, worked: bool, varied: bool) -> wp.Function:
    """Take the control values of a world from its commands, in every step; where one changes, so do rest lengths."""
    real, vec4, World, Tables, Motion = types.real, types.vec4, types.World, types.Tables, types.Motion
    bits = 32 if real is wp.float32 else 64
    read, write = load(vec4, bits), store(vec4, bits)
    evaluate, energy = actuated_lengths(types), stored_energy(types, varied)

    @wp.func
    def obey(
        lane: int,
        width: int,
        clock: wp.int64,  # of the simulation: commands know no other
        number: int,
        world: World,
        tables: Tables,
        motion: Motion,
        positions: wp.uint64,
        lengths: wp.uint64,
    ):
        for voxel in range(lane, world.voxel_count, width):
            channel = tables.channel_of[voxel]
            if channel >= 0:
                command = motion.commands[number * tables.channel_count + channel]
                control = real(held(command, wp.float64(clock)))
                if control != motion.controls[world.voxel + voxel]:
                    motion.controls[world.voxel + voxel] = control
                    row = world.shape_material + tables.material_of[world.shape_voxel + voxel]
                    rest = evaluate(control, tables.materials, row)
                    if wp.static(worked):
                        work = energy(voxel, rest, world, tables, positions)
                        work -= energy(voxel, read(lengths, voxel), world, tables, positions)
                        spent = wp.vec2d(wp.float64(0.0), wp.float64(wp.max(work, real(0.0))))
                        motion.efforts[world.voxel + voxel] = motion.efforts[world.voxel + voxel] + spent
                    write(lengths, voxel, rest)

    return obey

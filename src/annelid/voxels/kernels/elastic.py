"""Elastic energy of the springs of every voxel, at the lengths that its control value asks for."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.actuation import actuated_lengths, stored_energy
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.memory import address

wp.set_module_options({"enable_backward": False})


@once
def elastic_kernel(real: type) -> wp.Kernel:
    """Energies [J], one thread a voxel."""
    types = layout(real)
    Tables, vec4 = types.Tables, types.vec4
    lengths, energy, place = actuated_lengths(types), stored_energy(types, False), address(types.vec4)

    @wp.kernel(module="unique", enable_backward=False)
    def elastic(
        tables: Tables,
        world_of: wp.array[wp.int32],
        # State in:
        positions: wp.array[vec4],
        controls: wp.array[real],
        # Out:
        energy_out: wp.array[wp.float64],
    ):
        v = wp.tid()
        world = tables.worlds[world_of[v]]
        voxel = v - world.voxel
        row = world.shape_material + tables.material_of[world.shape_voxel + voxel]
        rest = lengths(wp.clamp(controls[v], real(-1.0), real(1.0)), tables.materials, row)
        energy_out[v] = wp.float64(energy(voxel, rest, world, tables, place(positions, world.body)))

    return elastic

"""What the way back writes: bars (rates of the loss by a state), and rates by parameters, gathered over all steps.

Springs are booked by *places*. The half-springs of a group of neighbouring masses lie slot by slot, the masses of the
group side by side, so that what is computed side by side is stored side by side. Both masses of a spring have a place
for it; the one with the lower number is its owner, whose place counts.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.layout import Layout, make_struct

wp.set_module_options({"enable_backward": False})


@once
def ledger_of(types: Layout) -> Any:
    """The structure that holds bars and rates."""
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    bits = 32 if real is wp.float32 else 64
    return make_struct(
        f"SpringLedger{bits}",
        first_places=wp.array[wp.int32],  # of each group of masses
        position_bars=wp.array[vec3],
        velocity_bars=wp.array[vec3],
        pulls=wp.array2d[vec4],  # rates by the force on each mass, of even and of odd steps
        speeds=wp.array2d[vec4],  # velocities, likewise: four numbers are read at once
        by_stiffness=wp.array[real],  # of each place, stiffness times rest length held
        by_tension=wp.array[real],  # by stiffness times rest length
        by_damping=wp.array[real],
        by_factor=wp.array2d[real],  # of even and of odd steps
        by_pull=wp.array[vec4],  # of each mass: by gravity, and the rate by the force of its springs times that force
        by_mass=wp.array[vec4],  # by the rest of the inverse mass, by velocity_damping, by drag per inverse mass
        by_friction=wp.array2d[real],  # of each obstacle and mass
        by_contact=wp.array2d[real],  # by the stiffness of contacts
        chunks=wp.array[wp.vec3i],  # signal, first and last + 1 of up to 64 springs that follow it
        members=wp.array2d[wp.int32],  # places of the springs of each world, signal by signal
        first_chunks=wp.array[wp.int32],  # of each signal
        by_chunk=wp.array2d[real],  # of each step of a stretch, world after world
        terms=wp.array[wp.float64],  # three for each step, world and signal: added to rates by signals (CUDA)
        by_controls=wp.array3d[wp.float64],  # of worlds, intervals and controls
        by_signals=wp.array2d[wp.vec3d],  # of worlds and signals: amplitude, frequency and delay
    )


@once
def shelf_of(types: Layout) -> Any:
    """The structure that holds what a CPU computes with: springs by places, and sums over those of each mass.

    It is one of its own because the parameters of a kernel on CUDA may not take more than 4 kB.
    """
    real, vec3 = types.real, types.vec3
    bits = 32 if real is wp.float32 else 64
    return make_struct(
        f"SpringShelf{bits}",
        first_owned=wp.array[wp.int32],  # first place of each group that some owner has
        offsets=wp.array[wp.int32],  # from each place to the other mass of its spring
        stiffness=wp.array[real],
        tensions=wp.array[real],
        damping=wp.array[real],
        signals=wp.array[wp.int32],
        position_sums=wp.array[vec3],
        velocity_sums=wp.array[vec3],
        efforts=wp.array[real],
    )


@once
def pick_kernel(real: Any) -> wp.Kernel:
    """What is booked at some places."""

    @wp.kernel(module="unique", enable_backward=False)
    def pick(places: wp.array[wp.int32], booked: wp.array[real], picked_out: wp.array[real]):
        picked_out[wp.tid()] = booked[places[wp.tid()]]

    return pick


@once
def place_kernel(types: Layout, damped: bool, actuated: bool) -> wp.Kernel:
    """Copy the numbers of springs from the rows of masses to their places; one thread a mass (CPU)."""
    Arrays, Ledger, Shelf = types.Arrays, ledger_of(types), shelf_of(types)

    @wp.kernel(module="unique", enable_backward=False)
    def fill_places(width: int, model: Arrays, ledger: Ledger, shelf_out: Shelf):
        i = wp.tid()
        row = model.rows[model.row_of[i]]
        first = ledger.first_places[i // width] + i % width
        for slot in range(row[1]):
            entry = row[0] + slot * model.stride
            place = first + slot * width
            shelf_out.offsets[place] = model.offsets[entry]
            shelf_out.stiffness[place] = model.elastic[entry][0]
            shelf_out.tensions[place] = model.elastic[entry][1]
            if wp.static(damped):
                shelf_out.damping[place] = model.damping[entry]
            if wp.static(actuated):
                shelf_out.signals[place] = model.signals[entry]

    return fill_places

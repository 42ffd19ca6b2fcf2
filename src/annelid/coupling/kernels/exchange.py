"""What passes between spring bodies and grains: pushes on guests become forces on masses, masses move their guests.

A guest hangs on up to three surface masses: it is where their weighted mean is, and what pushes it pushes them, with
the same weights. It turns with the masses around it: its spin is that of the rigid motion closest to theirs, and a
couple on it becomes forces on them that are balanced and have just that moment. Both use the same matrix, so that what
the couple does to the masses agrees with the spin that is read from them.

Guests that hang on the same mass move each other, which a contact does not know while it finds its impulse. Two things
account for it. The inverse mass that a guest shows is what its velocity would gain if all that touch something near it
were pushed alike, and a half more: impulses found side by side are never too strong together. And what a guest is
expected to do in the next step is found from the impulses of all of them.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.coupling.kernels.guests import GONE, GuestArrays
from annelid.coupling.kernels.hanging import (
    contact_change,
    facet_of,
    hanging,
    place_of,
    spin_of,
    spread_of,
    velocity_of,
)
from annelid.coupling.kernels.lanes import over_lanes, vector_over_lanes
from annelid.grains.kernels.allowances import allowance
from annelid.grains.kernels.layout import FLAGS, STALE, Grains, Lists, Parameters
from annelid.grains.kernels.program import FAST
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


def exchange_kernels(real: Any, lanes: tuple[int, int]) -> tuple[wp.Kernel, wp.Kernel]:
    """`press` and `seat` for springs of one precision; so many threads share a mass, a guest."""
    return press_kernel(real, lanes[0]), seat_kernel(real, lanes[1])


@wp.struct
class Past:
    """What guests remember from one step to the next."""

    last: wp.array[wp.vec3]  # velocity of each guest a step ago [m/s]
    centers: wp.array[wp.vec3]  # centre of what is around it [m]
    turns: wp.array[wp.mat33]  # from a couple on it to forces on these, per distance from the centre [1/m²]


@once
def press_kernel(real: Any, lanes: int) -> wp.Kernel:
    """Turn what pushes guests into forces on masses."""
    types = layout(real)
    vec3, vec4, place = types.vec3, types.vec4, place_of(real)
    spread, alone = spread_of(real), lanes == 1

    @wp.func
    def couple_force(g: int, couple: wp.vec3, own: wp.vec3, guests: GuestArrays, past: Past, x: wp.array[vec4]):
        middle = past.centers[g]
        turns = past.turns[g]
        if wp.static(alone):
            if turns[0, 0] == 0.0:  # left out when it was seated close to nothing; masses have not moved since
                middle, turns = spread(g, place(guests.corners[g][0], guests, x), 0, 1, guests, x)
        return wp.cross(turns * couple, own - middle)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, module_options=FAST)
    def press(
        first: int,
        dt: float,
        drift: float,
        guests: GuestArrays,
        past: Past,
        x: wp.array[vec4],
        forces_out: wp.array[vec3],
        contact_out: wp.array[wp.vec3],
    ):
        """`drift` is how far a guest goes on, in steps, until half of its impulse has acted.

        The moment by which that has moved on is taken back.
        """
        thread = first + wp.tid()
        s = thread // wp.static(lanes)
        lane = thread % wp.static(lanes)
        if guests.present[s] == 0:
            if lane == 0:
                contact_out[s] = wp.vec3()
            return
        impulse = wp.vec3()
        predicted = wp.vec3()
        strain = float(0.0)
        for k in range(guests.first_hung[s] + lane, guests.first_hung[s + 1], wp.static(lanes)):
            g = guests.hung[k]
            if wp.static(not alone) or guests.touching[g] > 0.0:
                impulse += guests.hung_weights[k] * guests.pushes[3 * g]
                predicted += guests.hung_weights[k] * guests.pushes[3 * g + 2]
                strain += guests.hung_weights[k] * wp.where(guests.touching[g] > 0.0, 1.0, 0.0)
        force = impulse / dt
        own = place(s, guests, x)
        for k in range(guests.first_turned[s] + lane, guests.first_turned[s + 1], wp.static(lanes)):
            g = guests.turned[k]
            if wp.static(not alone) or guests.touching[g] > 0.0:
                couple = guests.pushes[3 * g + 1] / dt - drift * wp.cross(past.last[g], guests.pushes[3 * g])
                if couple[0] != 0.0 or couple[1] != 0.0 or couple[2] != 0.0:  # most guests touch nothing
                    force += couple_force(g, couple, own, guests, past, x)
        if wp.static(lanes > 1):
            impulse = vector_over_lanes(impulse, wp.static(lanes))
            predicted = vector_over_lanes(predicted, wp.static(lanes))
            strain = over_lanes(strain, wp.static(lanes))
            force = vector_over_lanes(force, wp.static(lanes))
        if lane == 0:
            guests.pushed[s] = impulse
            guests.expected[s] = predicted
            guests.strains[s] = strain
            contact_out[s] = force
            whole = force + guests.outside[s]
            forces_out[guests.masses[s]] = vec3(real(whole[0]), real(whole[1]), real(whole[2]))

    return press


@once
def complete_kernel(real: Any) -> wp.Kernel:
    """Find how guests turn that a CPU has left out because they were close to nothing: CUDA takes it for granted."""
    vec4, place, spread = layout(real).vec4, place_of(real), spread_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def complete(guests: GuestArrays, x: wp.array[vec4], past: Past):
        g = wp.tid()
        if guests.alive[g] == 1 and past.turns[g][0, 0] == 0.0:
            middle, turns = spread(g, place(guests.corners[g][0], guests, x), 0, 1, guests, x)
            past.centers[g] = middle
            past.turns[g] = turns

    return complete


@once
def seat_kernel(real: Any, lanes: int) -> wp.Kernel:
    """Bring guests to their masses; on CUDA, which waits for one thing after the other, warps turn or move them."""
    types = layout(real)
    vec3, vec4, place, velocity_at = types.vec3, types.vec4, place_of(real), velocity_of(real)
    hang, spin_around, facet, change_of = hanging(real), spin_of(real), facet_of(real), contact_change(real)
    spread, shared = spread_of(real), lanes > 1

    @wp.func
    def turn(
        g: int, i: int, lane: int, close: bool, touching: bool, guests: GuestArrays, x: wp.array[vec4],
        v: wp.array[vec3], past: Past, grains: Grains,
    ):  # fmt: skip
        own = guests.corners[g][0]
        middle = wp.vec3()
        turns = wp.mat33()
        spin = wp.vec3()
        if (wp.static(shared) and close) or touching:  # a CPU finds it when something does turn the guest: see `press`
            middle, turns = spread(g, place(own, guests, x), lane, wp.static(lanes), guests, x)
        if touching:
            reference = velocity_at(own, guests, v)
            spin = spin_around(g, middle, turns, reference, lane, wp.static(lanes), guests, x, v)
        if lane == 0:
            past.centers[g] = middle
            past.turns[g] = turns
            for axis in range(3):
                grains.spins[i][axis] = spin[axis]
                grains.turning[i][axis] = spin[axis]

    @wp.func
    def move(
        g: int, i: int, lane: int, foresees: bool, touching: bool, parameters: Parameters, lists: Lists,
        guests: GuestArrays, x: wp.array[vec4], v: wp.array[vec3], past: Past, grains: Grains,
    ):  # fmt: skip
        radius = float(grains.velocities[i][3])
        own = place(guests.corners[g][0], guests, x)
        here, velocity, inverse_mass = hang(g, own, touching, lane, wp.static(lanes), guests, x, v)
        if guests.alive[g] == 0:
            radius = float(wp.static(GONE))
            velocity = wp.vec3()
        flat = facet(g, radius, lane, wp.static(lanes), guests, x)
        predicted = velocity
        free = velocity
        if foresees:
            # What springs and gravity brought in the last step, the next one is to bring again.
            predicted = velocity + change_of(g, lane, wp.static(lanes), guests, x) + (velocity - past.last[g])
            free = predicted - inverse_mass * guests.pushes[3 * g + 2]  # others are expected to push it along
        if lane == 0:
            contacts = float(0.0)
            if foresees:
                contacts = grains.positions[i][3]
            past.last[g] = velocity
            grains.positions[i] = wp.vec4(here[0], here[1], here[2], contacts)
            grains.velocities[i] = wp.vec4(free[0], free[1], free[2], radius)
            if grains.starts.shape[0] > 0:
                grains.starts[i] = grains.velocities[i]
            grains.facets[i] = flat
            grains.forecast[i] = wp.vec4(predicted[0], predicted[1], predicted[2], radius)
            grains.spins[i][3] = inverse_mass
            grains.turning[i][3] = inverse_mass
            built = lists.built[i]
            away = wp.length(here - wp.vec3(built[0], built[1], built[2]))
            allowed = allowance(built, 0.5 * parameters.skin)
            if away + parameters.patience * parameters.dt * wp.length(velocity) > allowed:
                lists.flags[wp.static(STALE)] = 1
                lists.flags[wp.static(FLAGS) + grains.names[i][1]] = 1

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, module_options=FAST)
    def seat(
        first: int,
        fresh: int,
        rows: wp.array[wp.int32],
        parameters: Parameters,
        lists: Lists,
        guests: GuestArrays,
        x: wp.array[vec4],
        v: wp.array[vec3],
        past: Past,
        grains: Grains,
    ):
        """Bring guests to their masses; a fresh one has no past from which to foresee its future."""
        thread = first + wp.tid()
        moves = bool(True)
        turns = bool(True)
        if wp.static(shared):
            moves = thread // 32 % 2 == 0
            turns = not moves
            thread = thread // 64 * 32 + thread % 32
        g = thread // wp.static(lanes)
        lane = thread % wp.static(lanes)
        if g >= guests.alive.shape[0]:
            return
        i = rows[g]
        alive = guests.alive[g] == 1
        foresees = bool(False)
        if fresh == 0:  # most guests are close to nothing: what they would do is of no use
            listed = lists.counts[i]
            foresees = alive and listed[0] + listed[1] > 0
        touching = foresees and guests.touching[g] > 0.0
        if moves:
            move(g, i, lane, foresees, touching, parameters, lists, guests, x, v, past, grains)
        if turns:
            # What is close to nothing is not pushed in the next step: lists reach further than a step leads.
            turn(g, i, lane, foresees or fresh == 1, touching or (fresh == 1 and alive), guests, x, v, past, grains)

    return seat

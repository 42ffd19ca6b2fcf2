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

import functools
from typing import Any

import warp as wp

from annelid.coupling.kernels.guests import GONE, GuestArrays
from annelid.coupling.kernels.hanging import contact_change, facet_of, hanging, place_of, spin_of, spread_of
from annelid.coupling.kernels.lanes import over_lanes, vector_over_lanes
from annelid.grains.kernels.layout import FLAGS, STALE, Grains, Lists, Parameters
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


def exchange_kernels(real: Any, lanes: int) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """`twist`, `press` and `seat` for springs of one precision; so many threads share a guest or a mass."""
    return twist_kernel(real, lanes), press_kernel(real, lanes), seat_kernel(real, lanes)


@functools.cache
def twist_kernel(real: Any, lanes: int) -> wp.Kernel:
    """Find what couples on guests do to the masses around them."""
    vec4, place, spread = layout(real).vec4, place_of(real), spread_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def twist(
        dt: float, drift: float, rows: wp.array[wp.int32], guests: GuestArrays, x: wp.array[vec4],
        last: wp.array[wp.vec3], grains: Grains,
    ):  # fmt: skip
        """Find what couples do to the masses around guests.

        `drift` is how far a guest goes on, in steps, until half of its impulse has acted: that moment is taken back.
        """
        g = wp.tid() // wp.static(lanes)
        lane = wp.tid() % wp.static(lanes)
        couple = guests.pushes[3 * g + 1] / dt - drift * wp.cross(last[g], guests.pushes[3 * g])
        middle = wp.vec3()
        turn = wp.vec3()
        if couple[0] != 0.0 or couple[1] != 0.0 or couple[2] != 0.0:  # most guests touch nothing
            own = place(guests.corners[g][0], guests, x)
            middle, turns = spread(g, own, lane, wp.static(lanes), guests, x)
            turn = turns * couple
        if lane == 0:
            guests.touching[g] = wp.where(grains.positions[rows[g]][3] > 0.0, 1, 0)
            guests.centers[g] = middle
            guests.twists[g] = turn

    return twist


@functools.cache
def press_kernel(real: Any, lanes: int) -> wp.Kernel:
    """Turn what pushes guests into forces on masses."""
    types = layout(real)
    vec3, vec4, place = types.vec3, types.vec4, place_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def press(
        dt: float,
        guests: GuestArrays,
        x: wp.array[vec4],
        forces_out: wp.array[vec3],
        contact_out: wp.array[wp.vec3],
    ):
        s = wp.tid() // wp.static(lanes)
        lane = wp.tid() % wp.static(lanes)
        if guests.present[s] == 0:
            if lane == 0:
                contact_out[s] = wp.vec3()
            return
        impulse = wp.vec3()
        predicted = wp.vec3()
        strain = float(0.0)
        for k in range(guests.first_hung[s] + lane, guests.first_hung[s + 1], wp.static(lanes)):
            g = guests.hung[k]
            impulse += guests.hung_weights[k] * guests.pushes[3 * g]
            predicted += guests.hung_weights[k] * guests.pushes[3 * g + 2]
            strain += guests.hung_weights[k] * float(guests.touching[g])
        force = impulse / dt
        own = place(s, guests, x)
        for k in range(guests.first_turned[s] + lane, guests.first_turned[s + 1], wp.static(lanes)):
            g = guests.turned[k]
            turn = guests.twists[g]
            if turn[0] != 0.0 or turn[1] != 0.0 or turn[2] != 0.0:
                force += wp.cross(turn, own - guests.centers[g])
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


@functools.cache
def seat_kernel(real: Any, lanes: int) -> wp.Kernel:
    """Bring guests to their masses."""
    types = layout(real)
    vec3, vec4, place = types.vec3, types.vec4, place_of(real)
    hang, spin_around, facet, change_of = hanging(real), spin_of(real), facet_of(real), contact_change(real)

    @wp.kernel(module="unique", enable_backward=False)
    def seat(
        fresh: int,
        rows: wp.array[wp.int32],
        parameters: Parameters,
        lists: Lists,
        guests: GuestArrays,
        x: wp.array[vec4],
        v: wp.array[vec3],
        last: wp.array[wp.vec3],
        grains: Grains,
    ):
        """Bring guests to their masses; a fresh one has no past from which to foresee its future."""
        g = wp.tid() // wp.static(lanes)
        lane = wp.tid() % wp.static(lanes)
        i = rows[g]
        alive = guests.alive[g] == 1
        foresees = bool(False)
        if fresh == 0:  # most guests are close to nothing: what they would do is of no use
            listed = lists.counts[i]
            foresees = alive and listed[0] + listed[1] > 0
        radius = float(grains.velocities[i][3])
        own = place(guests.corners[g][0], guests, x)
        touching = foresees and guests.touching[g] == 1
        here, velocity, inverse_mass = hang(g, own, touching, guests, x, v)
        if not alive:
            radius = float(wp.static(GONE))
            velocity = wp.vec3()
        predicted = velocity
        free = velocity
        spin = wp.vec3()
        contacts = float(0.0)
        if touching or (fresh == 1 and alive):
            spin = spin_around(g, own, velocity, lane, wp.static(lanes), guests, x, v)
        if lane > 0:
            return
        if foresees:
            contacts = grains.positions[i][3]
            # What springs and gravity brought in the last step, the next one is to bring again.
            predicted = velocity + change_of(g, guests, x) + (velocity - last[g])
            free = predicted - inverse_mass * guests.pushes[3 * g + 2]  # others are expected to push it along
        last[g] = velocity
        grains.positions[i] = wp.vec4(here[0], here[1], here[2], contacts)
        grains.velocities[i] = wp.vec4(free[0], free[1], free[2], radius)
        if grains.starts.shape[0] > 0:
            grains.starts[i] = grains.velocities[i]
        grains.facets[i] = facet(g, radius, guests, x)
        grains.forecast[i] = wp.vec4(predicted[0], predicted[1], predicted[2], radius)
        grains.spins[i] = wp.vec4(spin[0], spin[1], spin[2], inverse_mass)
        grains.turning[i] = grains.spins[i]
        built = lists.built[i]
        away = wp.length(here - wp.vec3(built[0], built[1], built[2]))
        if away + parameters.patience * parameters.dt * wp.length(velocity) > 0.5 * parameters.skin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + grains.names[i][1]] = 1

    return seat

"""What passes between spring bodies and grains: pushes on guests become forces on masses, masses move their guests.

A guest hangs on up to three surface masses: it is where their weighted mean is, and what pushes it pushes them, with
the same weights. It turns with the masses around it: its spin is that of the rigid motion closest to theirs, and a
couple on it becomes forces on them that are balanced and have just that moment. Both use the same matrix, so that what
the couple does to the masses is what the spin tells of them.

Guests that hang on the same mass move each other, which a contact does not know while it finds its impulse. Two things
account for it. The inverse mass that a guest shows is what its velocity would gain if all that touch something near it
were pushed alike, and a half more: impulses found side by side are never too strong together. And what a guest is
expected to do in the next step is found from the impulses of all of them.
"""

import functools
from typing import Any

import warp as wp

from annelid.grains.kernels.layout import FLAGS, STALE, Grains, Lists, Parameters
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

GONE = -1.0e6
"""Radius of the guests of removed masses [m]: so small that nothing is close to them."""


SPARE = 1.5
"""How much lighter guests are shown than need be for those that touch: with less, light bodies on heavy grains hum."""


@wp.struct
class GuestArrays:
    # Of each surface mass:
    masses: wp.array[wp.int32]  # its number in the body
    present: wp.array[wp.int32]  # 0 once it was removed
    outside: wp.array[wp.vec3]  # external force on it [N]
    loads: wp.array[wp.float32]  # sum of the weights that hang on it
    strains: wp.array[wp.float32]  # and of those alone that touch something
    first_hung: wp.array[wp.int32]  # where the guests that hang on it begin in `hung`
    hung: wp.array[wp.int32]
    hung_weights: wp.array[wp.float32]
    first_turned: wp.array[wp.int32]  # where the guests begin in `turned` that it is around
    turned: wp.array[wp.int32]
    pushed: wp.array[wp.vec3]  # impulse of its guests on it, and the next one expected [N s]
    expected: wp.array[wp.vec3]
    # Of each guest:
    corners: wp.array[wp.vec3i]  # surface masses that it hangs on
    weights: wp.array[wp.vec3]  # and with which weights
    spans: wp.array[wp.vec4i]  # surface masses along which its disc or rod lies
    extents: wp.array[wp.float32]  # radius of its disc, minus half the length of its rod, in ways along these
    widest: wp.float32  # no disc or rod with the radius of its guest is larger [m]
    alive: wp.array[wp.int32]  # 0 once one of them was removed
    touching: wp.array[wp.int32]  # 1 if it touches something, or is about to
    first: wp.array[wp.int32]  # where the surface masses begin in `around` that it turns with
    around: wp.array[wp.int32]
    heaviest: wp.float32  # smallest inverse mass that contacts reckon with [1/kg]
    pushes: wp.array[wp.vec3]  # impulse, angular impulse, and the next impulse expected, three each
    twists: wp.array[wp.vec3]  # force per distance from the centre of those around [N/m]
    centers: wp.array[wp.vec3]  # centre of those around [m]


@functools.cache
def exchange_kernels(real: Any) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """`twist`, `press` and `seat` for springs of one precision."""
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4

    @wp.func
    def place(s: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        here = x[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    @wp.func
    def speed(s: int, guests: GuestArrays, v: wp.array[vec3]) -> wp.vec3:
        here = v[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    @wp.func
    def spread(g: int, own: wp.vec3, guests: GuestArrays, x: wp.array[vec4]):
        """Centre of those around a guest [m], and the inverse of the sum of |d|² - d dᵀ over them [1/m²].

        d is seen from their centre. They are seen from `own` first: differences keep their digits far from the origin.
        """
        sum = wp.vec3()
        squares = wp.mat33()
        count = float(0.0)
        for k in range(guests.first[g], guests.first[g + 1]):
            s = guests.around[k]
            if guests.present[s] == 1:
                d = place(s, guests, x) - own
                sum += d
                squares += wp.outer(d, d)
                count += 1.0
        sum /= wp.max(count, 1.0)
        squares -= count * wp.outer(sum, sum)
        size = (1.0 + 2.0e-6) * wp.trace(squares) + 1.0e-30  # a little more than there is makes it invertible
        return own + sum, wp.inverse(size * wp.identity(n=3, dtype=float) - squares)

    @wp.func
    def spinning(
        g: int, own: wp.vec3, velocity: wp.vec3, guests: GuestArrays, x: wp.array[vec4], v: wp.array[vec3]
    ) -> wp.vec3:
        """Spin of the rigid motion closest to that of the masses around a guest [rad/s]."""
        middle, turns = spread(g, own, guests, x)
        turning = wp.vec3()
        for k in range(guests.first[g], guests.first[g + 1]):
            s = guests.around[k]
            if guests.present[s] == 1:
                turning += wp.cross(place(s, guests, x) - middle, speed(s, guests, v) - velocity)
        return turns * turning

    @wp.func
    def facet(g: int, radius: float, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec4:
        """Unit vector across the disc of a guest, or along its rod, and the extent of that [m].

        It grows with the surface that it is a part of.
        """
        extent = guests.extents[g]
        if extent == 0.0:
            return wp.vec4()
        ends = guests.spans[g]
        axis = place(ends[1], guests, x) - place(ends[0], guests, x)
        if extent > 0.0:
            axis = wp.cross(axis, place(ends[3], guests, x) - place(ends[2], guests, x))
        length = wp.length(axis)
        if not length > 1.0e-18:
            return wp.vec4()
        axis = axis / length
        if extent > 0.0:
            length = wp.sqrt(length)
        room = wp.max(guests.widest - radius, 0.0)
        return wp.vec4(axis[0], axis[1], axis[2], wp.clamp(extent * length, -room, room))

    @wp.func
    def hanging(
        g: int, own: wp.vec3, touching: bool, guests: GuestArrays, x: wp.array[vec4], v: wp.array[vec3]
    ):  # fmt: skip
        """Where its masses have brought a guest [m], how fast it is [m/s], and what inverse mass it shows [1/kg]."""
        here = own
        velocity = wp.vec3()
        give = float(0.0)
        weights = guests.weights[g]
        for c in range(3):
            if weights[c] > 0.0:
                s = guests.corners[g][c]
                here += weights[c] * (place(s, guests, x) - own)
                velocity += weights[c] * speed(s, guests, v)
                load = guests.loads[s]
                if touching:
                    load = wp.min(load, wp.static(SPARE) * guests.strains[s])
                give += weights[c] * float(x[guests.masses[s]][3]) * load
        return here, velocity, wp.max(give, guests.heaviest)

    @wp.func
    def contact_change(g: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        """What contacts will do to the masses of a guest in the next step, less what they did in the last [m/s]."""
        change = wp.vec3()
        weights = guests.weights[g]
        for c in range(3):
            if weights[c] > 0.0:
                s = guests.corners[g][c]
                change += weights[c] * float(x[guests.masses[s]][3]) * (guests.expected[s] - guests.pushed[s])
        return change

    @wp.kernel(module="unique", enable_backward=False)
    def twist(
        dt: float, drift: float, first_guest: int, guests: GuestArrays, x: wp.array[vec4],
        last: wp.array[wp.vec3], grains: Grains,
    ):  # fmt: skip
        """Find what couples do to the masses around guests.

        `drift` is how far a guest goes on, in steps, until half of its impulse has acted: that moment is taken back.
        """
        i = wp.tid()
        g = grains.names[i][0] - first_guest
        if g < 0:
            return
        guests.touching[g] = wp.where(grains.positions[i][3] > 0.0, 1, 0)
        couple = guests.pushes[3 * g + 1] / dt - drift * wp.cross(last[g], guests.pushes[3 * g])
        guests.twists[g] = wp.vec3()
        if couple[0] == 0.0 and couple[1] == 0.0 and couple[2] == 0.0:
            return  # most guests touch nothing
        own = place(guests.corners[g][0], guests, x)
        middle, turns = spread(g, own, guests, x)
        guests.centers[g] = middle
        guests.twists[g] = turns * couple

    @wp.kernel(module="unique", enable_backward=False)
    def press(
        dt: float,
        guests: GuestArrays,
        x: wp.array[vec4],
        forces_out: wp.array[vec3],
        contact_out: wp.array[wp.vec3],
    ):
        s = wp.tid()
        if guests.present[s] == 0:
            contact_out[s] = wp.vec3()
            return
        impulse = wp.vec3()
        next = wp.vec3()
        strain = float(0.0)
        for k in range(guests.first_hung[s], guests.first_hung[s + 1]):
            g = guests.hung[k]
            impulse += guests.hung_weights[k] * guests.pushes[3 * g]
            next += guests.hung_weights[k] * guests.pushes[3 * g + 2]
            strain += guests.hung_weights[k] * float(guests.touching[g])
        guests.pushed[s] = impulse
        guests.expected[s] = next
        guests.strains[s] = strain
        force = impulse / dt
        own = place(s, guests, x)
        for k in range(guests.first_turned[s], guests.first_turned[s + 1]):
            g = guests.turned[k]
            turn = guests.twists[g]
            if turn[0] != 0.0 or turn[1] != 0.0 or turn[2] != 0.0:
                force += wp.cross(turn, own - guests.centers[g])
        contact_out[s] = force
        all = force + guests.outside[s]
        forces_out[guests.masses[s]] = vec3(real(all[0]), real(all[1]), real(all[2]))

    @wp.kernel(module="unique", enable_backward=False)
    def seat(
        fresh: int,
        parameters: Parameters,
        lists: Lists,
        guests: GuestArrays,
        x: wp.array[vec4],
        v: wp.array[vec3],
        last: wp.array[wp.vec3],
        grains: Grains,
    ):
        """Bring guests to their masses; a fresh one has no past from which to foresee its future."""
        i = wp.tid()
        g = grains.names[i][0] - parameters.first_guest
        if g < 0:
            return
        alive = guests.alive[g] == 1
        foresees = bool(False)
        if fresh == 0:  # most guests are close to nothing: what they would do is of no use
            listed = lists.counts[i]
            foresees = alive and listed[0] + listed[1] > 0
        radius = float(grains.velocities[i][3])
        own = place(guests.corners[g][0], guests, x)
        touching = foresees and guests.touching[g] == 1
        here, velocity, inverse_mass = hanging(g, own, touching, guests, x, v)
        if not alive:
            radius = float(wp.static(GONE))
            velocity = wp.vec3()
        ahead = velocity
        free = velocity
        spin = wp.vec3()
        contacts = float(0.0)
        if touching or (fresh == 1 and alive):
            spin = spinning(g, own, velocity, guests, x, v)
        if foresees:
            contacts = grains.positions[i][3]
            # What springs and gravity brought in the last step, the next one is to bring again.
            ahead = velocity + contact_change(g, guests, x) + (velocity - last[g])
            free = ahead - inverse_mass * guests.pushes[3 * g + 2]  # others are expected to push it along
        last[g] = velocity
        grains.positions[i] = wp.vec4(here[0], here[1], here[2], contacts)
        grains.velocities[i] = wp.vec4(free[0], free[1], free[2], radius)
        if grains.starts.shape[0] > 0:
            grains.starts[i] = grains.velocities[i]
        grains.facets[i] = facet(g, radius, guests, x)
        grains.forecast[i] = wp.vec4(ahead[0], ahead[1], ahead[2], radius)
        grains.spins[i] = wp.vec4(spin[0], spin[1], spin[2], inverse_mass)
        grains.turning[i] = grains.spins[i]
        built = lists.built[i]
        away = wp.length(here - wp.vec3(built[0], built[1], built[2]))
        if away + parameters.patience * parameters.dt * wp.length(velocity) > 0.5 * parameters.skin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + grains.names[i][1]] = 1

    return twist, press, seat

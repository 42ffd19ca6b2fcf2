"""What passes between spring bodies and grains: pushes on guests become forces on masses, masses move their guests.

A guest is the sphere of a surface mass. It turns with the masses around it: its spin is that of the rigid motion
closest to theirs, and a couple on it becomes forces on them that are balanced and have just that moment. Both use the
same matrix, so that what the couple does to the masses is what the spin tells of them.
"""

import functools
from typing import Any

import warp as wp

from annelid.grains.kernels.layout import FLAGS, STALE, Grains, Lists, Parameters
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

GONE = -1.0e6
"""Radius of the guests of removed masses [m]: so small that nothing is close to them."""


@wp.struct
class Guests:
    masses: wp.array(dtype=wp.int32)  # mass of each guest
    alive: wp.array(dtype=wp.int32)  # 0 once that mass was removed
    first: wp.array(dtype=wp.int32)  # where the guests begin in `around` that each turns with
    around: wp.array(dtype=wp.int32)  # itself and its neighbours on the surface
    outside: wp.array(dtype=wp.vec3)  # external force on each mass [N]
    heaviest: wp.float32  # smallest inverse mass that contacts reckon with [1/kg]
    pushes: wp.array(dtype=wp.vec3)  # impulse, angular impulse, and the next impulse expected, three each
    twists: wp.array(dtype=wp.vec3)  # force per distance from the centre of those around [N/m]
    centers: wp.array(dtype=wp.vec3)  # centre of those around [m]


@functools.cache
def exchange_kernels(real: Any) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel]:
    """`twist`, `press` and `seat` for springs of one precision."""
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4

    @wp.func
    def place(m: int, x: wp.array(dtype=vec4)) -> wp.vec3:
        here = x[m]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    @wp.func
    def speed(m: int, v: wp.array(dtype=vec3)) -> wp.vec3:
        here = v[m]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    @wp.func
    def center(g: int, guests: Guests, x: wp.array(dtype=vec4)) -> wp.vec3:
        sum = wp.vec3()
        own = place(guests.masses[g], x)  # sums of differences keep their digits far from the origin
        for k in range(guests.first[g], guests.first[g + 1]):
            sum += place(guests.masses[guests.around[k]], x) - own
        return own + sum / float(guests.first[g + 1] - guests.first[g])

    @wp.func
    def spread(g: int, middle: wp.vec3, guests: Guests, x: wp.array(dtype=vec4)) -> wp.mat33:
        """Sum of |d|² - d dᵀ over those around a guest [m²], with a little to make it invertible."""
        sum = wp.mat33()
        for k in range(guests.first[g], guests.first[g + 1]):
            d = place(guests.masses[guests.around[k]], x) - middle
            sum += wp.dot(d, d) * wp.identity(n=3, dtype=float) - wp.outer(d, d)
        return sum + (1.0e-6 * wp.trace(sum) + 1.0e-30) * wp.identity(n=3, dtype=float)

    @wp.kernel(module="unique", enable_backward=False)
    def twist(time_step: float, guests: Guests, x: wp.array(dtype=vec4)):
        g = wp.tid()
        couple = guests.pushes[3 * g + 1] / time_step
        middle = center(g, guests, x)
        guests.centers[g] = middle
        guests.twists[g] = wp.inverse(spread(g, middle, guests, x)) * couple

    @wp.kernel(module="unique", enable_backward=False)
    def press(
        time_step: float,
        guests: Guests,
        x: wp.array(dtype=vec4),
        forces_out: wp.array(dtype=vec3),
        contact_out: wp.array(dtype=wp.vec3),
    ):
        g = wp.tid()
        m = guests.masses[g]
        own = place(m, x)
        force = guests.pushes[3 * g] / time_step
        for k in range(guests.first[g], guests.first[g + 1]):
            other = guests.around[k]
            force += wp.cross(guests.twists[other], own - guests.centers[other])
        contact_out[g] = force
        all = force + guests.outside[g]
        if guests.alive[g] == 1:
            forces_out[m] = vec3(real(all[0]), real(all[1]), real(all[2]))

    @wp.kernel(module="unique", enable_backward=False)
    def seat(
        fresh: int,
        parameters: Parameters,
        lists: Lists,
        guests: Guests,
        x: wp.array(dtype=vec4),
        v: wp.array(dtype=vec3),
        last: wp.array(dtype=wp.vec3),
        grains: Grains,
    ):
        """Bring guests to their masses; a fresh one has no past from which to foresee its future."""
        i = wp.tid()
        g = grains.names[i][0] - parameters.first_guest
        if g < 0:
            return
        m = guests.masses[g]
        old = grains.positions[i]
        radius = float(grains.velocities[i][3])
        inverse_mass = wp.max(float(x[m][3]), guests.heaviest)
        here = place(m, x)
        velocity = speed(m, v)
        change = velocity - last[g]
        push = inverse_mass * guests.pushes[3 * g]
        hope = inverse_mass * guests.pushes[3 * g + 2]
        contacts = old[3]
        if fresh == 1:
            change = wp.vec3()
            push = wp.vec3()
            hope = wp.vec3()
            contacts = 0.0
        middle = center(g, guests, x)
        turning = wp.vec3()
        for k in range(guests.first[g], guests.first[g + 1]):
            other = guests.masses[guests.around[k]]
            turning += wp.cross(place(other, x) - middle, speed(other, v) - velocity)
        spin = wp.inverse(spread(g, middle, guests, x)) * turning
        if guests.alive[g] == 0:
            radius = float(wp.static(GONE))
            velocity = wp.vec3()
            change = wp.vec3()
            push = wp.vec3()
            hope = wp.vec3()
            spin = wp.vec3()
        # What springs and gravity brought in the last step, the next one is to bring again.
        free = velocity + change - push
        ahead = free + hope
        last[g] = velocity
        grains.positions[i] = wp.vec4(here[0], here[1], here[2], contacts)
        grains.velocities[i] = wp.vec4(free[0], free[1], free[2], radius)
        if grains.starts.shape[0] > 0:
            grains.starts[i] = grains.velocities[i]
        grains.forecast[i] = wp.vec4(ahead[0], ahead[1], ahead[2], radius)
        grains.spins[i] = wp.vec4(spin[0], spin[1], spin[2], inverse_mass)
        grains.turning[i] = grains.spins[i]
        built = lists.built[i]
        away = wp.length(here - wp.vec3(built[0], built[1], built[2]))
        if away + parameters.patience * parameters.time_step * wp.length(velocity) > 0.5 * parameters.skin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + grains.names[i][1]] = 1

    return twist, press, seat

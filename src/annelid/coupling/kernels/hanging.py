"""How guests hang on the masses of a spring body, for springs of one precision.

A guest is at the weighted mean of up to three surface masses, and turns as the masses around it do.
"""

import functools
from typing import Any

import warp as wp

from annelid.coupling.kernels.guests import SPARE, GuestArrays
from annelid.coupling.kernels.lanes import over_lanes, vector_over_lanes
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@functools.cache
def place_of(real: Any) -> wp.Function:
    """A function `(s, guests, x) -> vec3`: where a surface mass is [m]."""
    vec4 = layout(real).vec4

    @wp.func
    def place(s: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        here = x[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    return place


@functools.cache
def velocity_of(real: Any) -> wp.Function:
    """A function `(s, guests, v) -> vec3`: velocity of a surface mass [m/s]."""
    vec3 = layout(real).vec3

    @wp.func
    def velocity(s: int, guests: GuestArrays, v: wp.array[vec3]) -> wp.vec3:
        here = v[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    return velocity


@functools.cache
def spread_of(real: Any) -> wp.Function:
    """A function `(g, own, lane, lanes, guests, x) -> vec3, mat33`: how the masses around a guest lie.

    Their centre [m], and the inverse of the sum of |d|² - d dᵀ over them [1/m²], with d seen from the centre. They are
    seen from `own` first: differences keep their digits far from the origin. All lanes that share a guest are told.
    """
    vec4, place = layout(real).vec4, place_of(real)

    @wp.func
    def spread(g: int, own: wp.vec3, lane: int, lanes: int, guests: GuestArrays, x: wp.array[vec4]):
        mean = wp.vec3()
        squares = wp.mat33()
        count = float(0.0)
        for k in range(guests.first[g] + lane, guests.first[g + 1], lanes):
            s = guests.around[k]
            if guests.present[s] == 1:
                d = place(s, guests, x) - own
                mean += d
                squares += wp.outer(d, d)
                count += 1.0
        if lanes > 1:
            mean = vector_over_lanes(mean, lanes)
            count = over_lanes(count, lanes)
            squares = wp.matrix_from_rows(
                vector_over_lanes(squares[0], lanes),
                vector_over_lanes(squares[1], lanes),
                vector_over_lanes(squares[2], lanes),
            )
        mean /= wp.max(count, 1.0)
        squares -= count * wp.outer(mean, mean)
        size = (1.0 + 2.0e-6) * wp.trace(squares) + 1.0e-30  # a little more than there is makes it invertible
        return own + mean, wp.inverse(size * wp.identity(n=3, dtype=float) - squares)

    return spread


@functools.cache
def spin_of(real: Any) -> wp.Function:
    """A function `-> vec3`: spin of the rigid motion closest to that of the masses around a guest [rad/s]."""
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4
    place, mass_velocity, spread = place_of(real), velocity_of(real), spread_of(real)

    @wp.func
    def spin(
        g: int, own: wp.vec3, velocity: wp.vec3, lane: int, lanes: int, guests: GuestArrays, x: wp.array[vec4],
        v: wp.array[vec3],
    ) -> wp.vec3:  # fmt: skip
        middle, turns = spread(g, own, lane, lanes, guests, x)
        turning = wp.vec3()
        for k in range(guests.first[g] + lane, guests.first[g + 1], lanes):
            s = guests.around[k]
            if guests.present[s] == 1:
                turning += wp.cross(place(s, guests, x) - middle, mass_velocity(s, guests, v) - velocity)
        return turns * vector_over_lanes(turning, lanes)

    return spin


@functools.cache
def facet_of(real: Any) -> wp.Function:
    """A function `-> vec4`: unit vector across the disc of a guest, or along its rod, and the extent of that [m].

    The extent grows with the surface that the guest is a part of.
    """
    vec4, place = layout(real).vec4, place_of(real)

    @wp.func
    def facet(g: int, radius: float, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec4:
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

    return facet


@functools.cache
def hanging(real: Any) -> wp.Function:
    """A function `-> vec3, vec3, float`: where its masses have brought a guest [m], its velocity [m/s], and its mass.

    The last is the inverse mass that contacts reckon with [1/kg].
    """
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4
    place, mass_velocity = place_of(real), velocity_of(real)

    @wp.func
    def hang(
        g: int, own: wp.vec3, touching: bool, guests: GuestArrays, x: wp.array[vec4], v: wp.array[vec3]
    ):  # fmt: skip
        here = own
        velocity = wp.vec3()
        give = float(0.0)
        weights = guests.weights[g]
        for c in range(3):
            if weights[c] > 0.0:
                s = guests.corners[g][c]
                here += weights[c] * (place(s, guests, x) - own)
                velocity += weights[c] * mass_velocity(s, guests, v)
                load = guests.loads[s]
                if touching:
                    load = wp.min(load, wp.static(SPARE) * guests.strains[s])
                give += weights[c] * float(x[guests.masses[s]][3]) * load
        return here, velocity, wp.max(give, guests.heaviest)

    return hang


@functools.cache
def contact_change(real: Any) -> wp.Function:
    """A function `-> vec3`: what contacts are predicted to do to the masses of a guest, less what they did [m/s]."""
    vec4 = layout(real).vec4

    @wp.func
    def change_of(g: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        change = wp.vec3()
        weights = guests.weights[g]
        for c in range(3):
            if weights[c] > 0.0:
                s = guests.corners[g][c]
                change += weights[c] * float(x[guests.masses[s]][3]) * (guests.expected[s] - guests.pushed[s])
        return change

    return change_of

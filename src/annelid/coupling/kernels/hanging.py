"""How guests hang on the masses of a spring body, for springs of one precision.

A guest is at the weighted mean of up to three surface masses, and turns as the masses around it do.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.coupling.kernels.guests import SPARE, GuestArrays
from annelid.coupling.kernels.lanes import over_lanes, vector_over_lanes
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def place_of(real: Any) -> wp.Function:
    """A function `(s, guests, x) -> vec3`: where a surface mass is [m]."""
    vec4 = layout(real).vec4

    @wp.func
    def place(s: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        here = x[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    return place


@once
def velocity_of(real: Any) -> wp.Function:
    """A function `(s, guests, v) -> vec3`: velocity of a surface mass [m/s]."""
    vec3 = layout(real).vec3

    @wp.func
    def velocity(s: int, guests: GuestArrays, v: wp.array[vec3]) -> wp.vec3:
        here = v[guests.masses[s]]
        return wp.vec3(float(here[0]), float(here[1]), float(here[2]))

    return velocity


@once
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


@once
def spin_of(real: Any) -> wp.Function:
    """A function `-> vec3`: spin of the rigid motion closest to that of the masses around a guest [rad/s].

    Given how these lie, as `spread_of` says.
    """
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4
    place, mass_velocity = place_of(real), velocity_of(real)

    @wp.func
    def spin(
        g: int, middle: wp.vec3, turns: wp.mat33, velocity: wp.vec3, lane: int, lanes: int, guests: GuestArrays,
        x: wp.array[vec4], v: wp.array[vec3],
    ) -> wp.vec3:  # fmt: skip
        turning = wp.vec3()
        for k in range(guests.first[g] + lane, guests.first[g + 1], lanes):
            s = guests.around[k]
            if guests.present[s] == 1:
                turning += wp.cross(place(s, guests, x) - middle, mass_velocity(s, guests, v) - velocity)
        return turns * vector_over_lanes(turning, lanes)

    return spin


@once
def facet_of(real: Any) -> wp.Function:
    """A function `-> vec4`: unit vector across the disc of a guest, or along its rod, and the extent of that [m].

    The extent grows with the surface that the guest is a part of. Lanes that share a guest look at a mass each.
    """
    vec4, place = layout(real).vec4, place_of(real)

    @wp.func
    def facet(g: int, radius: float, lane: int, lanes: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec4:
        extent = guests.extents[g]
        ends = guests.spans[g]
        axis = wp.vec3()
        across = wp.vec3()
        for end in range(lane, 4, lanes):
            mass = wp.where(end < 2, wp.where(end < 1, ends[0], ends[1]), wp.where(end < 3, ends[2], ends[3]))
            there = place(mass, guests, x) * (2.0 * float(end % 2) - 1.0)
            if end < 2:
                axis += there
            else:
                across += there
        if lanes > 1:
            axis = vector_over_lanes(axis, lanes)
            across = vector_over_lanes(across, lanes)
        if extent > 0.0:
            axis = wp.cross(axis, across)
        length = wp.length(axis)
        if extent == 0.0 or not length > 1.0e-18:
            return wp.vec4()
        axis = axis / length
        if extent > 0.0:
            length = wp.sqrt(length)
        room = wp.max(guests.widest - radius, 0.0)
        return wp.vec4(axis[0], axis[1], axis[2], wp.clamp(extent * length, -room, room))

    return facet


@once
def hanging(real: Any) -> wp.Function:
    """A function `-> vec3, vec3, float`: where its masses have brought a guest [m], its velocity [m/s], and its mass.

    The last is the inverse mass that contacts reckon with [1/kg]. Lanes that share a guest look at a mass each.
    """
    types = layout(real)
    vec3, vec4 = types.vec3, types.vec4
    place, mass_velocity = place_of(real), velocity_of(real)

    @wp.func
    def hang(
        g: int, own: wp.vec3, touching: bool, lane: int, lanes: int, guests: GuestArrays, x: wp.array[vec4],
        v: wp.array[vec3],
    ):  # fmt: skip
        away = wp.vec3()
        velocity = wp.vec3()
        give = float(0.0)
        weights = guests.weights[g]
        corners = guests.corners[g]
        for c in range(lane, 3, lanes):
            weight = wp.where(c < 1, weights[0], wp.where(c < 2, weights[1], weights[2]))
            if weight > 0.0:
                s = wp.where(c < 1, corners[0], wp.where(c < 2, corners[1], corners[2]))
                away += weight * (place(s, guests, x) - own)
                velocity += weight * mass_velocity(s, guests, v)
                load = guests.loads[s]
                if touching:
                    load = wp.min(load, wp.static(SPARE) * guests.strains[s])
                give += weight * float(x[guests.masses[s]][3]) * load
        if lanes > 1:
            away = vector_over_lanes(away, lanes)
            velocity = vector_over_lanes(velocity, lanes)
            give = over_lanes(give, lanes)
        return own + away, velocity, wp.max(give, guests.heaviest)

    return hang


@once
def contact_change(real: Any) -> wp.Function:
    """A function `-> vec3`: what contacts are predicted to do to the masses of a guest, less what they did [m/s].

    Lanes that share a guest look at a mass each.
    """
    vec4 = layout(real).vec4

    @wp.func
    def change_of(g: int, lane: int, lanes: int, guests: GuestArrays, x: wp.array[vec4]) -> wp.vec3:
        change = wp.vec3()
        weights = guests.weights[g]
        corners = guests.corners[g]
        for c in range(lane, 3, lanes):
            weight = wp.where(c < 1, weights[0], wp.where(c < 2, weights[1], weights[2]))
            if weight > 0.0:
                s = wp.where(c < 1, corners[0], wp.where(c < 2, corners[1], corners[2]))
                change += weight * float(x[guests.masses[s]][3]) * (guests.expected[s] - guests.pushed[s])
        if lanes > 1:
            change = vector_over_lanes(change, lanes)
        return change

    return change_of

"""Ground that resists, run back: what it did to one mass, and what triangles hand on to their corners.

The push on a mass depends on the areas of its triangles, and so on where its neighbours are. Each mass leaves the rates
by these areas at its entries, and gathers those of its triangles a pass later, as it does with springs.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.holding import HELD, slowed_of
from annelid.shapes.resistive.kernels.slopes import slopes_of
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.springs.kernels.layout import Layout, make_struct

wp.set_module_options({"enable_backward": False})

RESISTANCE, FRICTION, HEIGHT, INERTIA, PARTS, COEFFICIENTS = 0, 1, 2, 3, 4, 7
"""Rows of the rates by the ground; parts and coefficients take three and nine."""
ROWS = 16


@once
def resisted_of(types: Layout) -> Any:
    """What the ground hands back: rates by what went into its part of a step of a mass."""
    bits = 32 if types.real is wp.float32 else 64
    return make_struct(
        f"SpringResisted{bits}",
        acceleration=types.vec3,  # by the acceleration without it
        velocity=types.vec3,
        position=types.vec3,  # by its depth; what its neighbours add is gathered later
        inverse_mass=types.real,
    )


@once
def resist_back(types: Layout, rated: bool) -> wp.Function:
    """Rates by what goes into `kernels.resisting.resist_of` from those by the acceleration that comes out of it.

    Rates by areas are written to the entries of the mass, those by the ground are booked where they are `rated`.
    """
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    Resisted, functions, slowed = resisted_of(types), resistance(real), slowed_of(real)
    stress, flow, slopes, area_of = functions.stress, functions.flow, slopes_of(real), _area(types)
    push_back, slowed_back, book = slopes.push_back, slopes.slowed_back, _book(types)

    @wp.func
    def pushed(i: int, sand: wp.array[Sand], depth: real, v: vec3, positions: wp.array[vec4]) -> vec3:
        """Force on mass i if it moved at v, as on the way there."""
        found = vec3()
        area = vec3()
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            area += area_of(sand[0].corners[sand[0].facets[entry]], positions)
            if sand[0].ends[entry]:
                size = wp.length(area)
                if size > real(0.0):
                    n = area / size
                    found += size * (depth * stress(sand[0].ground, n, v) + flow(sand[0].ground, n, v))
                area = vec3()
        return found

    @wp.func
    def all_back(
        i: int, sand: wp.array[Sand], depth: real, v: vec3, bar: vec3, positions: wp.array[vec4], parity: int
    ) -> vec4:  # fmt: skip
        """Rates by v and by the depth from those by that force; those by areas are added to the entries."""
        found = vec4()
        area = vec3()
        start = sand[0].first[i]
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            area += area_of(sand[0].corners[sand[0].facets[entry]], positions)
            if sand[0].ends[entry]:
                part = push_back(sand[0].ground, area, depth, v, bar)
                found += vec4(part.velocity[0], part.velocity[1], part.velocity[2], part.depth)
                for one in range(start, entry + 1):
                    sand[0].entries[parity, one] = sand[0].entries[parity, one] + part.area
                if wp.static(rated):
                    book(i, part, sand)
                area = vec3()
                start = entry + 1
        return found

    @wp.func
    def back(
        i: int,
        sand: wp.array[Sand],
        here: vec4,
        v: vec3,
        a: vec3,  # without the ground
        horizon: real,
        bar: vec3,
        positions: wp.array[vec4],
        parity: int,  # of the step
    ) -> Resisted:
        found = Resisted()
        found.acceleration = bar
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            sand[0].entries[parity, entry] = vec3()
        depth = sand[0].ground.height - here[2]
        if depth > real(0.0):
            inverse_mass = here[3]
            next_v = v + a * horizon
            push = pushed(i, sand, depth, next_v, positions)
            slow_v = v + slowed(a, next_v, push * inverse_mass, horizon) * horizon
            by_depth = real(0.0)
            by_first = bar  # by the acceleration that was found when it was asked for the first time
            by_next = vec3()
            more = vec3()  # by the acceleration without the ground, where it went into both answers
            if wp.dot(slow_v, slow_v) > real(wp.static(HELD)) * wp.dot(next_v, next_v):
                mean = real(0.5) * (next_v + slow_v)
                second = pushed(i, sand, depth, mean, positions)
                last = slowed_back(next_v, second * inverse_mass, horizon, bar)
                found.inverse_mass = wp.dot(last.push, second)
                part = all_back(i, sand, depth, mean, last.push * inverse_mass, positions, parity)
                by_mean = vec3(part[0], part[1], part[2])
                by_depth = part[3]
                by_next = last.velocity + real(0.5) * by_mean
                found.velocity = real(0.5) * by_mean
                by_first = by_mean * (real(0.5) * horizon)
                more = by_first
            once = slowed_back(next_v, push * inverse_mass, horizon, by_first)
            found.inverse_mass = found.inverse_mass + wp.dot(once.push, push)
            part = all_back(i, sand, depth, next_v, once.push * inverse_mass, positions, parity)
            by_next += once.velocity + vec3(part[0], part[1], part[2])
            by_depth += part[3]
            found.velocity = found.velocity + by_next
            found.acceleration = bar + more + by_next * horizon
            found.position = vec3(real(0.0), real(0.0), -by_depth)
            if wp.static(rated):
                sand[0].rates[wp.static(HEIGHT), i] = sand[0].rates[wp.static(HEIGHT), i] + by_depth
        return found

    return back


@once
def corners_back(types: Layout) -> wp.Function:
    """Rate by the position of mass i of what its triangles did to the masses at their corners."""
    real, vec3, vec4, Sand = types.real, types.vec3, types.vec4, types.Sand
    place = _place(types)

    @wp.func
    def gathered(i: int, sand: wp.array[Sand], parity: int, positions: wp.array[vec4]) -> vec3:
        found = vec3()
        for entry in range(sand[0].first[i], sand[0].first[i + 1]):
            t = sand[0].facets[entry]
            corners = sand[0].corners[t]
            three = sand[0].mates[t]
            by_area = sand[0].entries[parity, three[0]] + sand[0].entries[parity, three[1]]
            by_area += sand[0].entries[parity, three[2]]
            after = place(corners[1], positions)
            before = place(corners[2], positions)
            if corners[1] == i:
                after = place(corners[2], positions)
                before = place(corners[0], positions)
            elif corners[2] == i:
                after = place(corners[0], positions)
                before = place(corners[1], positions)
            found += wp.cross(after - before, by_area) / real(6.0)
        return found

    return gathered


@once
def _place(types: Layout) -> wp.Function:
    vec3, vec4 = types.vec3, types.vec4

    @wp.func
    def place(i: int, positions: wp.array[vec4]) -> vec3:
        p = positions[i]
        return vec3(p[0], p[1], p[2])

    return place


@once
def _area(types: Layout) -> wp.Function:
    """A third of the area of a triangle, along its normal [m²]."""
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    place = _place(types)

    @wp.func
    def area(corners: wp.vec3i, positions: wp.array[vec4]) -> vec3:
        p = place(corners[0], positions)
        return wp.cross(place(corners[1], positions) - p, place(corners[2], positions) - p) / real(6.0)

    return area


@once
def _book(types: Layout) -> wp.Function:
    """Add the rates of a push by the numbers of the ground to those of mass i."""
    Pushed, Sand = slopes_of(types.real).Pushed, types.Sand

    @wp.func
    def book(i: int, part: Pushed, sand: wp.array[Sand]):
        sand[0].rates[wp.static(RESISTANCE), i] = sand[0].rates[wp.static(RESISTANCE), i] + part.resistance
        sand[0].rates[wp.static(FRICTION), i] = sand[0].rates[wp.static(FRICTION), i] + part.friction
        sand[0].rates[wp.static(INERTIA), i] = sand[0].rates[wp.static(INERTIA), i] + part.inertia
        for k in range(3):
            sand[0].rates[wp.static(PARTS) + k, i] = sand[0].rates[wp.static(PARTS) + k, i] + part.parts[k]
        for k in range(9):
            row = wp.static(COEFFICIENTS) + k
            sand[0].rates[row, i] = sand[0].rates[row, i] + part.coefficients[k]

    return book

"""What voxels sense of a light and of the clock, the loss, and both run back.

A voxel reads 1/√distance. The slopes of these readings along the two level axes of the lattice, found by regression
over the body, point to the light as the body sees it, however it is turned.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.adjoint.kernels.course import course_of
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

SINES = 5
"""Sines of the clock that voxels hear, shifted evenly."""

INPUTS = 14 + SINES
"""Place in the body (3), reading, direction (2), place along and across it (2), sines, faces with a neighbour (6)."""

LEAST = 0.1
"""Height of a light above the ground, and so the least distance from it [m]."""

_GAIN = 5.0  # on readings, whose differences are small
_SHARP = 0.005  # slopes well above it count as directions
_THIRD, _HALF = 1.0 / 3.0, 0.5  # places in the body become numbers of about 1


@once
def glow_of(real: Any) -> wp.Function:
    """Reading of a voxel, and how it changes with its distance along x and y."""
    types = layout(real)
    vec3, Tables = types.vec3, types.Tables

    @wp.func
    def glow(i: int, u: vec3, light: wp.vec2d, tables: Tables) -> vec3:
        place = tables.places[i]
        x, y = real(place[0] - light[0]) + u[0], real(place[1] - light[1]) + u[1]
        square = x * x + y * y + real(wp.static(LEAST * LEAST))
        reading = wp.pow(square, real(-0.25))
        change = real(-0.5) * reading / square
        return vec3(reading, change * x, change * y)

    return glow


@once
def heading_of(real: Any) -> wp.Function:
    """Direction to the light along the axes of a body, of length 1 where it is clear, and what it is divided by."""
    vec3 = layout(real).vec3

    @wp.func
    def heading(slope: vec3) -> vec3:
        per = real(1.0) / wp.sqrt(slope[1] * slope[1] + slope[2] * slope[2] + real(wp.static(_SHARP * _SHARP)))
        return vec3(slope[1] * per, slope[2] * per, per)

    return heading


@once
def slope_kernel(real: Any) -> wp.Kernel:
    """Mean reading of each world and the direction to the light along the axes of its body, three numbers."""
    types = layout(real)
    vec3, Tables, Course = types.vec3, types.Tables, course_of(real)
    glow = glow_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def slopes(
        row: int,
        tables: Tables,
        course: Course,
        cells: wp.array[vec3],
        spreads: wp.array[vec3],
        lights: wp.array[wp.vec2d],
        slopes_out: wp.array[vec3],
    ):
        world = wp.tid()
        low, high = tables.begins[world], tables.begins[world + 1]
        mean, x, y = real(0.0), real(0.0), real(0.0)
        for i in range(low, high):
            reading = glow(i, course.us[row, i], lights[world], tables)[0]
            mean += reading
            x += reading * cells[i][0]
            y += reading * cells[i][1]
        slopes_out[world] = vec3(mean / real(high - low), x * spreads[world][0], y * spreads[world][1])

    return slopes


@once
def sense_kernel(real: Any) -> wp.Kernel:
    """Inputs of the network in each voxel at a call; the last is 1, for the bias."""
    types = layout(real)
    vec3, Tables, Course = types.vec3, types.Tables, course_of(real)
    glow, heading = glow_of(real), heading_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def sense(
        call: int,
        row: int,
        angle: real,  # of the clock [rad]
        tables: Tables,
        course: Course,
        cells: wp.array[vec3],
        lights: wp.array[wp.vec2d],
        slopes: wp.array[vec3],
        inputs_out: wp.array3d[real],
    ):
        i = wp.tid()
        world = tables.world_of[i]
        slope = slopes[world]
        reading = glow(i, course.us[row, i], lights[world], tables)[0] - slope[0]
        ahead = heading(slope)
        x, y = ahead[0], ahead[1]
        if x - x != real(0.0) or reading - reading != real(0.0):  # a world that has diverged spoils no other
            x, y, reading = real(0.0), real(0.0), real(0.0)
        cell = cells[i]
        inputs_out[call, i, 0] = cell[0] * real(wp.static(_THIRD))
        inputs_out[call, i, 1] = cell[1] * real(wp.static(_THIRD))
        inputs_out[call, i, 2] = cell[2] * real(wp.static(_HALF))
        inputs_out[call, i, 3] = reading * real(wp.static(_GAIN))
        inputs_out[call, i, 4] = x
        inputs_out[call, i, 5] = y
        inputs_out[call, i, 6] = (x * cell[0] + y * cell[1]) * real(wp.static(_THIRD))
        inputs_out[call, i, 7] = (x * cell[1] - y * cell[0]) * real(wp.static(_THIRD))
        shifted = real(angle)
        for k in range(wp.static(SINES)):
            inputs_out[call, i, 8 + k] = wp.sin(shifted)
            shifted += real(wp.static(6.283185307179586 / SINES))
        for axis in range(3):
            after, before = real(0.0), real(0.0)
            if tables.row_of_link[3 * i + axis] >= 0:
                after = real(1.0)
            if tables.before[3 * i + axis] < tables.begins[tables.begins.shape[0] - 1]:
                before = real(1.0)
            inputs_out[call, i, wp.static(8 + SINES) + 2 * axis] = after
            inputs_out[call, i, wp.static(9 + SINES) + 2 * axis] = before
        inputs_out[call, i, wp.static(INPUTS)] = real(1.0)

    return sense


@once
def unsense_kernel(real: Any) -> wp.Kernel:
    """Add what the inputs of a call owe to the rates by places, a world each."""
    types = layout(real)
    vec3, Tables, Course = types.vec3, types.Tables, course_of(real)
    glow, heading = glow_of(real), heading_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def unsense(
        row: int,
        tables: Tables,
        course: Course,
        cells: wp.array[vec3],
        spreads: wp.array[vec3],
        lights: wp.array[wp.vec2d],
        slopes: wp.array[vec3],
        by_inputs: wp.array2d[real],
        u_bars: wp.array[vec3],
    ):
        world = wp.tid()
        low, high = tables.begins[world], tables.begins[world + 1]
        third, gain = real(wp.static(_THIRD)), real(wp.static(_GAIN))
        by_mean, by_x, by_y = real(0.0), real(0.0), real(0.0)
        for i in range(low, high):
            cell = cells[i]
            by_mean -= gain * by_inputs[i, 3]
            along, across = third * by_inputs[i, 6], third * by_inputs[i, 7]
            by_x += by_inputs[i, 4] + along * cell[0] + across * cell[1]
            by_y += by_inputs[i, 5] + along * cell[1] - across * cell[0]
        ahead = heading(slopes[world])
        x, y, per = ahead[0], ahead[1], ahead[2]
        if x - x == real(0.0):
            along = by_x * x + by_y * y
            by_x = per * (by_x - along * x) * spreads[world][0]
            by_y = per * (by_y - along * y) * spreads[world][1]
            by_mean = by_mean / real(high - low)
            for i in range(low, high):
                seen = glow(i, course.us[row, i], lights[world], tables)
                by_reading = gain * by_inputs[i, 3] + by_mean + by_x * cells[i][0] + by_y * cells[i][1]
                u_bars[i] = u_bars[i] + vec3(by_reading * seen[1], by_reading * seen[2], real(0.0))

    return unsense


@once
def loss_kernel(real: Any) -> wp.Kernel:
    """Distance of the middle of a world from its light over that at the beginning, and its rates by places."""
    types = layout(real)
    vec3, Tables, Course = types.vec3, types.Tables, course_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def judge(
        row: int,
        weight: real,  # of a world in the loss of all
        tables: Tables,
        course: Course,
        lights: wp.array[wp.vec2d],
        losses_out: wp.array[wp.float64],
        seeds_out: wp.array2d[vec3],
    ):
        world = wp.tid()
        low, high = tables.begins[world], tables.begins[world + 1]
        begin, moved = wp.vec2d(), wp.vec2d()
        for i in range(low, high):
            begin += wp.vec2d(tables.places[i][0], tables.places[i][1])
            moved += wp.vec2d(wp.float64(course.us[row, i][0]), wp.float64(course.us[row, i][1]))
        count = wp.float64(high - low)
        away = begin / count - lights[world]
        near = away + moved / count
        far = wp.length(away)
        distance = wp.length(near)
        losses_out[world] = distance / far
        by = near / (wp.max(distance, wp.float64(1.0e-9)) * far * count) * wp.float64(weight)
        seed = vec3(real(by[0]), real(by[1]), real(0.0))
        if distance - distance != wp.float64(0.0):
            seed = vec3()
        for i in range(low, high):
            seeds_out[0, i] = seed

    return judge

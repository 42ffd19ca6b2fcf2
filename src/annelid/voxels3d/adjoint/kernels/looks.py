"""What a loss sees of robots of different size side by side, and its rates handed on to their voxels.

All worlds have as many things as the largest robot has voxels. Those that a robot has not are its middle: means over
things are means over voxels.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.adjoint.kernels.course import course_of
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def look_kernel(real: Any) -> wp.Kernel:
    """Places and velocities of one world at one look; `looks` are steps, and row `row` is the state after `first`."""
    types = layout(real)
    vec3, Tables, Course = types.vec3, types.Tables, course_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def look(
        begin: int,
        row: int,
        first: int,
        things: int,
        looks: wp.array[wp.int32],
        tables: Tables,
        course: Course,
        positions_out: wp.array2d[vec3],
        velocities_out: wp.array2d[vec3],
    ):
        number, world = wp.tid()
        at = row + looks[begin + number] - first
        low, high = tables.begins[world], tables.begins[world + 1]
        place, speed = wp.vec3d(), vec3()
        for i in range(low, high):
            u = course.us[at, i]
            here = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
            positions_out[begin + number, world * things + i - low] = vec3(real(here[0]), real(here[1]), real(here[2]))
            velocities_out[begin + number, world * things + i - low] = course.vs[at, i]
            place += here
            speed += course.vs[at, i]
        place = place / wp.float64(high - low)
        speed = speed / real(high - low)
        for k in range(high - low, things):
            positions_out[begin + number, world * things + k] = vec3(real(place[0]), real(place[1]), real(place[2]))
            velocities_out[begin + number, world * things + k] = speed

    return look


@once
def seed_kernel(real: Any) -> wp.Kernel:
    """Rates by the voxels of one world at one look, from those by its things."""
    types = layout(real)
    vec3, Tables = types.vec3, types.Tables

    @wp.kernel(module="unique", enable_backward=False)
    def seed(things: int, tables: Tables, by_things: wp.array2d[vec3], by_voxels_out: wp.array2d[vec3]):
        number, world = wp.tid()
        low, high = tables.begins[world], tables.begins[world + 1]
        middle = vec3()
        for k in range(high - low, things):
            middle += by_things[number, world * things + k]
        middle = middle / real(high - low)
        for i in range(low, high):
            by_voxels_out[number, i] = by_things[number, world * things + i - low] + middle

    return seed

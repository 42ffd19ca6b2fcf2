"""Sums over the voxels of each robot, so that judging a large batch copies a few numbers a robot to the host."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

CENTER_X, CENTER_Y, HEIGHT, SQUARES, WORK = range(5)
"""Columns: place of the centre [m], its height summed over all steps [m], sums of the efforts of all voxels."""
COLUMNS = 5


@once
def totals_kernel(real: type) -> wp.Kernel:
    """Centres and sums of robots, one thread a robot."""
    types = layout(real)
    Tables, vec4 = types.Tables, types.vec4

    @wp.kernel(module="unique", enable_backward=False)
    def totals(
        robots: wp.array[wp.vec3i],  # world, first voxel in it, voxels
        tables: Tables,
        positions: wp.array[vec4],
        heights: wp.array[wp.float64],
        efforts: wp.array[wp.vec2d],
        totals_out: wp.array2d[wp.float64],
    ):
        number = wp.tid()
        robot = robots[number]
        world = tables.worlds[robot[0]]
        x, y, height, effort = wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.vec2d()
        for v in range(robot[1], robot[1] + robot[2]):
            effort += efforts[world.voxel + v]
            for mass in range(4 * (world.shape_voxel + v), 4 * (world.shape_voxel + v) + 4):
                body, arm = world.body + tables.mass_body[mass], tables.mass_arm[mass]
                p = wp.vec4d(positions[body])
                x += p[0] + p[2] * wp.float64(arm[0]) - p[3] * wp.float64(arm[1])
                y += p[1] + p[3] * wp.float64(arm[0]) + p[2] * wp.float64(arm[1])
                height += heights[body]
        share = wp.float64(1.0) / wp.float64(4 * robot[2])
        totals_out[number, wp.static(CENTER_X)] = x * share
        totals_out[number, wp.static(CENTER_Y)] = y * share
        totals_out[number, wp.static(HEIGHT)] = height * share
        totals_out[number, wp.static(SQUARES)] = effort[0]
        totals_out[number, wp.static(WORK)] = effort[1]

    return totals

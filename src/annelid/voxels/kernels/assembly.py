"""Tables of many robots, built on the device from their grids: what `shape.compile_shape` makes, for a whole batch.

One thread makes one robot, which has a world of its own. About a node of the grid stand up to four masses, in the order
of their voxels: lower left, upper left, lower right, upper right. They are welded to one body, or to two where only
voxels that meet at a corner are there. Numbers are worked out in double precision and in the order of the host's code.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

MATTER = ("mass", "inertia", "half", "linear_damping", "angular_damping", "friction", "restitution")
"""Columns of the table of materials that the assembly needs; `half` is half the side of a mass [m]."""
_MASS, _INERTIA, _HALF, _LINEAR, _ANGULAR, _FRICTION, _RESTITUTION = range(7)


@wp.func
def corner_at(quadrant: int) -> int:
    """Which mass of its voxel (NW, NE, SE, SW) stands in a quadrant of a node."""
    corner = 1
    if quadrant == 1:
        corner = 2
    elif quadrant == 2:
        corner = 0
    elif quadrant == 3:
        corner = 3
    return corner


@wp.func
def corner_direction(corner: int) -> wp.vec2d:
    """Direction of a mass from the centre of its voxel."""
    x, y = wp.float64(1.0), wp.float64(1.0)
    if corner == 0 or corner == 3:
        x = wp.float64(-1.0)
    if corner >= 2:
        y = wp.float64(-1.0)
    return wp.vec2d(x, y)


@wp.func
def side_code(corner: int, second: int) -> int:
    """2 side + end of the first or second side that a mass belongs to: top, right, bottom, left."""
    code = 6 * second
    if corner == 1:
        code = 1 + second
    elif corner == 2:
        code = 3 + 2 * second
    elif corner == 3:
        code = 4 + 3 * second
    return code


@wp.func
def central_code(corner: int) -> int:
    """2 spring + end of the central spring of a mass: NW-SE and NE-SW."""
    return 2 * (corner & 1) + corner // 2


@wp.func
def away(quadrant: int) -> wp.vec2d:
    """Direction of a quadrant from its node."""
    return wp.vec2d(wp.float64(2 * (quadrant >> 1) - 1), wp.float64(2 * (quadrant & 1) - 1))


@wp.func
def bit_of(quadrant: int) -> int:
    """The bit of a quadrant in masks of contacts: 1 for right, 2 for up."""
    return 1 << ((quadrant >> 1) + 2 * (quadrant & 1))


@wp.func
def has(members: int, quadrant: int) -> bool:
    """Whether a quadrant belongs to a body."""
    return (members >> quadrant) & 1 == 1


@once
def assembly_kernel(real: Any) -> wp.Kernel:
    """Tables and initial positions of robots from their grids."""
    types = layout(real)
    vec2, vec4, Tables = types.vec2, types.vec4, types.Tables

    @wp.func
    def matter_at(grids: wp.array3d[wp.int8], robot: int, i: int, j: int, quadrant: int) -> int:
        x, y = i - 1 + (quadrant >> 1), j - 1 + (quadrant & 1)
        matter = -1
        if x >= 0 and y >= 0 and x < grids.shape[1] and y < grids.shape[2]:
            matter = int(grids[robot, x, y])
        return matter

    @wp.func
    def mass_place(i: int, j: int, quadrant: int, half: wp.float64, side: wp.float64) -> wp.vec2d:
        x, y = i - 1 + (quadrant >> 1), j - 1 + (quadrant & 1)
        center = wp.vec2d(wp.float64(x) + wp.float64(0.5), wp.float64(y) + wp.float64(0.5)) * side
        return center + corner_direction(corner_at(quadrant)) * (wp.float64(0.5) * (side - wp.float64(2.0) * half))

    # Without fused multiplication and addition: tables are those of the host to the last bit.
    @wp.kernel(module="unique", enable_backward=False, module_options={"fuse_fp": False})
    def assemble(
        offset: int,
        grids: wp.array3d[wp.int8],
        numbers: wp.array3d[wp.int32],  # of the voxel in each cell, within its robot
        starts: wp.array2d[wp.int32],  # first body, voxel and point of each robot
        corners: wp.array2d[wp.float64],  # where the grid of each robot stands [m]
        matter: wp.array2d[wp.float64],
        side: wp.float64,
        tables: Tables,
        positions_out: wp.array[vec4],
    ):
        robot = offset + wp.tid()
        first, voxel, point = int(starts[robot, 0]), int(starts[robot, 1]), int(starts[robot, 2])
        four = int(4)  # a variable: loops over a constant would be unrolled, some 500 times in all
        voxels = starts[robot + 1, 1] - voxel
        entry = int(12 * voxel)
        body = int(first)
        for i in range(grids.shape[1] + 1):
            for j in range(grids.shape[2] + 1):
                filled = int(0)
                for q in range(four):
                    if matter_at(grids, robot, i, j, q) >= 0:
                        filled |= 1 << q
                parts = wp.where(filled == 9 or filled == 6, 2, 1)
                for part in range(parts):
                    members = filled
                    if parts == 2:
                        members = filled & wp.where(part == 0, 5, 10)
                    if members != 0:
                        # mass, centre and moments
                        count, weight, sums = int(0), wp.float64(0.0), wp.vec4d()
                        center = wp.vec2d()
                        for q in range(four):
                            if has(members, q):
                                m = matter_at(grids, robot, i, j, q)
                                mass = matter[m, _MASS]
                                count += 1
                                weight += mass
                                center += mass * mass_place(i, j, q, matter[m, _HALF], side)
                                sums += mass * wp.vec4d(
                                    matter[m, _LINEAR], matter[m, _ANGULAR], matter[m, _FRICTION],
                                    matter[m, _RESTITUTION],
                                )  # fmt: skip
                        center = center / weight
                        sums = sums / weight
                        inertia = wp.float64(0.0)
                        low, high = wp.vec2d(wp.float64(1.0e30)), wp.vec2d(wp.float64(-1.0e30))
                        bits = int(0)
                        tables.entry_begin[body] = entry
                        for q in range(four):
                            if has(members, q):
                                m = matter_at(grids, robot, i, j, q)
                                half = matter[m, _HALF]
                                arm = mass_place(i, j, q, half, side) - center
                                inertia += matter[m, _INERTIA] + matter[m, _MASS] * wp.dot(arm, arm)
                                low = wp.min(low, arm - wp.vec2d(half, half))
                                high = wp.max(high, arm + wp.vec2d(half, half))
                                bits |= bit_of(q)
                                number = numbers[robot, i - 1 + (q >> 1), j - 1 + (q & 1)]
                                corner = corner_at(q)
                                at = 4 * (voxel + number) + corner
                                tables.mass_arm[at] = vec2(real(arm[0]), real(arm[1]))
                                tables.mass_body[at] = body - first
                                for second in range(2):
                                    tables.entries[entry] = 8 * number + side_code(corner, second)
                                    entry += 1
                        for q in range(four):
                            if has(members, q):
                                number = numbers[robot, i - 1 + (q >> 1), j - 1 + (q & 1)]
                                tables.entries[entry] = 8 * voxels + 4 * number + central_code(corner_at(q))
                                entry += 1
                        tables.entry_begin[body + 1] = entry
                        middle, reach = wp.float64(0.5) * (low + high), wp.float64(0.5) * (high - low)
                        radius = wp.length(wp.vec2d(wp.abs(middle[0]) + reach[0], wp.abs(middle[1]) + reach[1]))
                        tables.body_constants[body] = vec4(
                            real(wp.float64(1.0) / weight), real(wp.float64(1.0) / inertia), real(sums[0]),
                            real(sums[1]),
                        )  # fmt: skip
                        tables.body_surface[body] = vec4(real(radius), real(sums[2]), real(sums[3]), real(0.0))
                        tables.body_box[body] = vec4(real(middle[0]), real(middle[1]), real(reach[0]), real(reach[1]))
                        tables.body_quadrants[body] = wp.where(count == 3, bits, 15)
                        positions_out[body] = vec4(
                            real(center[0] + corners[robot, 0]), real(center[1] + corners[robot, 1]), real(1.0),
                            real(0.0),
                        )  # fmt: skip
                        # convex corners of the outline: outward, then along x, along y, inward
                        tables.point_begin[body] = point
                        for pick in range(four):
                            for q in range(four):
                                if has(members, q):
                                    open_y = pick == 0 or pick == 2 or not has(members, q ^ 1)
                                    open_x = pick < 2 or not has(members, q ^ 2)
                                    if open_x and open_y:
                                        half = matter[matter_at(grids, robot, i, j, q), _HALF]
                                        sign = wp.vec2d(wp.float64(1 - 2 * (pick >> 1)), wp.float64(1 - 2 * (pick & 1)))
                                        arm = mass_place(i, j, q, half, side) - center
                                        place = arm + half * wp.cw_mul(away(q), sign)
                                        tables.points[point] = vec2(real(place[0]), real(place[1]))
                                        tables.point_bits[point] = bit_of(q)
                                        point += 1
                        tables.point_begin[body + 1] = point
                        body += 1
        for x in range(grids.shape[1]):
            for y in range(grids.shape[2]):
                m = int(grids[robot, x, y])
                if m >= 0:
                    v = voxel + numbers[robot, x, y]
                    tables.material_of[v] = m
                    for s in range(four):
                        one = 4 * v + wp.where(s == 1, 1, wp.where(s == 2, 3, 0))
                        two = 4 * v + wp.where(s == 0, 1, wp.where(s == 3, 3, 2))
                        tables.side_bodies[4 * v + s] = wp.vec2i(tables.mass_body[one], tables.mass_body[two])

    return assemble

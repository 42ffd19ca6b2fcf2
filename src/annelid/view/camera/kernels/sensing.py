"""Cameras and rays that are mounted on something, and their images and ranges as readings of sensors."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.rays import Eye, Geometry, away_from_zero, cast

wp.set_module_options({"enable_backward": False})


@wp.func
def mount_place(mounts: wp.array2d[wp.float32], world: int) -> wp.vec3:
    return wp.vec3(mounts[world, 0], mounts[world, 1], mounts[world, 2])


@wp.func
def mount_turn(mounts: wp.array2d[wp.float32], world: int) -> wp.quat:
    return wp.quat(mounts[world, 3], mounts[world, 4], mounts[world, 5], mounts[world, 6])


@wp.kernel(enable_backward=False)
def leave_plane(
    flat: wp.array2d[wp.float32],  # x, z and the angle from x to z of each mount
    places: int,  # 1 where places are meant
    turns: int,  # 1 where angles are meant
    mounts_out: wp.array2d[wp.float32],
):
    """Mounts in the plane of x and z as mounts in space."""
    world = wp.tid()
    if places == 1:
        mounts_out[world, 0] = flat[world, 0]
        mounts_out[world, 1] = 0.0
        mounts_out[world, 2] = flat[world, 1]
    if turns == 1:
        turn = wp.quat_from_axis_angle(wp.vec3(0.0, -1.0, 0.0), flat[world, 2])
        for k in range(4):
            mounts_out[world, 3 + k] = turn[k]


@wp.kernel(enable_backward=False)
def mount_eyes(
    own: wp.array[Eye],  # the camera in the frame of its mount
    mounts: wp.array2d[wp.float32],  # place and turn of the mount in each world
    eyes_out: wp.array[Eye],
):
    """A camera in every world."""
    world = wp.tid()
    eye = own[0]
    turn = mount_turn(mounts, world)
    eye.position = mount_place(mounts, world) + wp.quat_rotate(turn, eye.position)
    eye.right = wp.quat_rotate(turn, eye.right)
    eye.up = wp.quat_rotate(turn, eye.up)
    eye.forward = wp.quat_rotate(turn, eye.forward)
    eye.world = world
    eyes_out[world] = eye


@wp.kernel(enable_backward=False)
def cast_ranges(
    offset: int,
    mounts: wp.array2d[wp.float32],
    origin: wp.vec3,  # in the frame of the mount
    directions: wp.array[wp.vec3],  # unit vectors in that frame
    geometry: wp.array[Geometry],
    near: float,
    far: float,
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """Distance to what each ray meets between `near` and `far`, or `far`."""
    index = offset + wp.tid()
    world = index // directions.shape[0]
    ray = index - world * directions.shape[0]
    turn = mount_turn(mounts, world)
    d = wp.quat_rotate(turn, directions[ray])
    d = wp.vec3(away_from_zero(d[0]), away_from_zero(d[1]), away_from_zero(d[2]))
    start = mount_place(mounts, world) + wp.quat_rotate(turn, origin) + near * d
    readings_out[world, first + ray] = near + cast(geometry, world, start, d, far - near).t


@wp.kernel(enable_backward=False)
def copy_depth(depth: wp.array3d[wp.float32], first: int, readings_out: wp.array2d[wp.float32]):
    """Depth images, row by row."""
    world, row, column = wp.tid()
    readings_out[world, first + row * depth.shape[2] + column] = depth[world, row, column]


@wp.kernel(enable_backward=False)
def copy_colors(colors: wp.array3d[wp.vec3ub], first: int, readings_out: wp.array2d[wp.float32]):
    """Colour images, row by row, from 0 to 1."""
    world, row, column = wp.tid()
    pixel = colors[world, row, column]
    place = first + 3 * (row * colors.shape[2] + column)
    for k in range(3):
        readings_out[world, place + k] = float(pixel[k]) / 255.0


@wp.kernel(enable_backward=False)
def place_points(
    points: wp.array[wp.vec3],
    count: int,  # of a world
    first: int,  # in that of a world
    room: int,  # of a world
    points_out: wp.array[wp.vec3],
):
    """Points of a part, world by world, into those of all parts."""
    i = wp.tid()
    world = i // count
    points_out[world * room + first + i - world * count] = points[i]

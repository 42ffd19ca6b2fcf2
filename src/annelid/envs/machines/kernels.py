"""Serial arms inside kernels: frames of the links and torques of the joints, one thread a world."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class Arm:
    """A chain of joints, as `kinematics.Chain` describes it."""

    offsets: wp.array[wp.transform]
    axes: wp.array[wp.vec3]
    sliding: wp.array[wp.int32]
    tool: wp.transform


@wp.func
def joint_motion(arm: Arm, joint: int, value: float) -> wp.transform:
    axis = arm.axes[joint]
    if arm.sliding[joint] != 0:
        return wp.transform(value * axis, wp.quat_identity())
    return wp.transform(wp.vec3(), wp.quat_from_axis_angle(axis, value))


@wp.func
def tool_frame(arm: Arm, angles: wp.array2d[wp.float32], world: int, frames: wp.array2d[wp.transform]) -> wp.transform:
    """Frame of the tool; those of the joints and, last, the tool's are written to `frames`, [worlds, joints + 1]."""
    frame = wp.transform_identity()
    count = arm.axes.shape[0]
    for joint in range(count):
        frame = frame * arm.offsets[joint] * joint_motion(arm, joint, angles[world, joint])
        frames[world, joint] = frame
    frame = frame * arm.tool
    frames[world, count] = frame
    return frame


@wp.func
def joint_column(
    arm: Arm, frames: wp.array2d[wp.transform], world: int, joint: int, point: wp.vec3
) -> wp.spatial_vector:
    """Velocity of a point of the tool and spin, in the world, for a unit speed of a joint."""
    frame = frames[world, joint]
    axis = wp.transform_vector(frame, arm.axes[joint])
    if arm.sliding[joint] != 0:
        return wp.spatial_vector(axis, wp.vec3())
    return wp.spatial_vector(wp.cross(axis, point - wp.transform_get_translation(frame)), axis)

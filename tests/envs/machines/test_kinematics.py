"""Serial arms: poses by plane trigonometry, Jacobians against differences, virtual work, the device's copy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue
from annelid.envs.machines import HOME, Chain, kernels
from annelid.envs.machines.kinematics import modified_dh
from annelid.envs.machines.panda import panda_chain

ARM = panda_chain()


def random_angles(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(ARM.lower, ARM.upper, (count, 7))


def slider() -> Chain:
    """A crane: turns about z, then slides along its own x."""
    return Chain(
        names=("turn", "slide"),
        offsets=np.array([modified_dh(0.0, 0.5, 0.0), np.eye(4)]),
        axes=np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
        sliding=np.array([False, True]),
        tool=np.eye(4),
        lower=np.array([-3.0, 0.0]),
        upper=np.array([3.0, 2.0]),
        speed=np.ones(2),
        effort=np.ones(2),
    )


def test_all_angles_zero_is_the_stretched_arm() -> None:
    tool = ARM.frames(np.zeros((1, 7)))[0, -1]
    assert tool[:3, 3] == pytest.approx([0.088, 0.0, 0.333 + 0.316 + 0.384 - 0.107])
    assert tool[:3, :3] == pytest.approx(np.diag([1.0, -1.0, -1.0]))


@given(st.floats(-1.7, 1.7), st.floats(-3.0, -0.1), st.floats(0.0, 3.7))
def test_shoulder_elbow_and_wrist_move_in_a_plane(shoulder: float, elbow: float, wrist: float) -> None:
    def up(angle: float) -> np.ndarray:
        return np.array([math.sin(angle), math.cos(angle)])

    def forward(angle: float) -> np.ndarray:
        return np.array([math.cos(angle), -math.sin(angle)])

    upper, fore = shoulder, shoulder - elbow
    hand = fore - wrist
    place = np.array([0.0, 0.333]) + 0.316 * up(upper) + 0.0825 * forward(upper)
    place += 0.384 * up(fore) - 0.0825 * forward(fore) + 0.088 * forward(hand) - 0.107 * up(hand)
    tool = ARM.frames([[0.0, shoulder, 0.0, elbow, 0.0, wrist, 0.0]])[0, -1]
    assert tool[:3, 3] == pytest.approx([place[0], 0.0, place[1]], abs=1e-12)


def test_the_first_joint_turns_the_whole_arm() -> None:
    angles = random_angles(20)
    turned = angles + np.array([0.3, 0, 0, 0, 0, 0, 0])
    c, s = math.cos(0.3), math.sin(0.3)
    turn = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert ARM.frames(turned) == pytest.approx(turn @ ARM.frames(angles))


@wp.kernel
def place_links(
    arm: kernels.Arm,
    angles: wp.array2d[wp.float32],
    # Out:
    frame_out: wp.array2d[wp.transform],
):
    world = wp.tid()
    kernels.tool_frame(arm, angles, world, frame_out)


@wp.kernel
def tool_velocity(
    arm: kernels.Arm,
    frames: wp.array2d[wp.transform],
    speeds: wp.array2d[wp.float32],
    # Out:
    velocity_out: wp.array[wp.spatial_vector],
):
    """Velocity of the tool's origin [m/s] and spin [rad/s], in the world."""
    world = wp.tid()
    count = arm.axes.shape[0]
    point = wp.transform_get_translation(frames[world, count])
    total = wp.spatial_vector()
    for joint in range(count):
        total += speeds[world, joint] * kernels.joint_column(arm, frames, world, joint, point)
    velocity_out[world] = total


@wp.kernel
def joint_torques(
    arm: kernels.Arm,
    frames: wp.array2d[wp.transform],
    wrenches: wp.array[wp.spatial_vector],
    points: wp.array[wp.vec3],
    # Out:
    torque_out: wp.array2d[wp.float32],
):
    """Load of each joint by a force [N] and a torque [N m] about a point, in the world."""
    world = wp.tid()
    for joint in range(arm.axes.shape[0]):
        column = kernels.joint_column(arm, frames, world, joint, points[world])
        torque_out[world, joint] = wp.dot(column, wrenches[world])


@pytest.mark.parametrize("arm", [ARM, slider()], ids=["panda", "slider"])
def test_the_jacobian_is_the_derivative_of_the_pose(arm: Chain) -> None:
    angles = np.random.default_rng(1).uniform(arm.lower, arm.upper, (10, len(arm)))
    jacobian, step = arm.jacobian(angles), 1e-6
    frames = arm.frames(angles)[:, -1]
    for joint in range(len(arm)):
        shift = step * np.eye(len(arm))[joint]
        high, low = arm.frames(angles + shift)[:, -1], arm.frames(angles - shift)[:, -1]
        assert jacobian[:, :3, joint] == pytest.approx((high - low)[:, :3, 3] / (2 * step), abs=1e-8)
        spin = (high - low)[:, :3, :3] @ frames[:, :3, :3].swapaxes(1, 2) / (2 * step)
        assert jacobian[:, 3:, joint] == pytest.approx(
            np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1), abs=1e-8
        )


def test_torques_do_the_work_of_the_wrench() -> None:
    generator = np.random.default_rng(2)
    angles, wrench, speed = random_angles(30, 2), generator.normal(size=(30, 6)), generator.normal(size=(30, 7))
    power = np.einsum("wj,wj->w", ARM.torques(angles, wrench), speed)
    motion = np.einsum("wcj,wj->wc", ARM.jacobian(angles), speed)
    assert power == pytest.approx(np.einsum("wc,wc->w", wrench, motion))


def test_a_force_beside_the_tool_is_a_force_and_a_torque() -> None:
    angles = random_angles(5, 3)
    tool = ARM.frames(angles)[:, -1, :3, 3]
    force, arm = np.array([3.0, -2.0, 5.0]), np.array([0.1, 0.02, -0.05])
    moved = ARM.torques(angles, np.tile(np.concatenate([force, np.cross(arm, force)]), (5, 1)))
    assert ARM.torques(angles, np.tile([*force, 0, 0, 0], (5, 1)), point=tool + arm) == pytest.approx(moved)


def test_a_weight_on_the_stretched_slider() -> None:
    """10 N downwards need nothing of a joint about z; 10 N sideways at 1.5 m need 15 N m."""
    loads = slider().torques([[0.0, 1.5], [0.0, 1.5]], [[0, 0, -10, 0, 0, 0], [0, 10, 0, 0, 0, 0]])
    assert loads == pytest.approx(np.array([[0.0, 0.0], [15.0, 0.0]]))


def test_reaching_a_pose_that_exists() -> None:
    generator = np.random.default_rng(4)
    near = np.clip(HOME + generator.uniform(-0.4, 0.4, (20, 7)), ARM.lower, ARM.upper)
    goal = ARM.frames(near)[:, -1]
    angles, left = ARM.reach(goal, np.tile(HOME, (20, 1)))
    assert left.max() < 1e-5
    assert (angles >= ARM.lower).all()
    assert (angles <= ARM.upper).all()
    assert ARM.frames(angles)[:, -1] == pytest.approx(goal, abs=1e-5)


@pytest.mark.parametrize("arm", [ARM, slider()], ids=["panda", "slider"])
def test_the_device_agrees(arm: Chain, device: str) -> None:
    generator = np.random.default_rng(5)
    angles = generator.uniform(arm.lower, arm.upper, (16, len(arm)))
    wrench, speed = generator.normal(size=(16, 6)), generator.normal(size=(16, len(arm)))
    copy = arm.on(device)
    given_angles, given_speeds = (wp.array(a.astype(np.float32), device=device) for a in (angles, speed))
    frames = wp.empty((16, len(arm) + 1), dtype=wp.transform, device=device)
    wp.launch(place_links, 16, [copy, given_angles], [frames], device=device)
    expected = arm.frames(angles)
    assert frames.numpy()[:, :, :3] == pytest.approx(expected[:, :, :3, 3], abs=2e-6)
    load = wp.array(wrench.astype(np.float32), dtype=wp.spatial_vector, device=device)
    points = wp.array(expected[:, -1, :3, 3].astype(np.float32), dtype=wp.vec3, device=device)
    torques = wp.empty((16, len(arm)), dtype=wp.float32, device=device)
    wp.launch(joint_torques, 16, [copy, frames, load, points], [torques], device=device)
    assert torques.numpy() == pytest.approx(arm.torques(angles, wrench), abs=2e-5)
    velocity = wp.empty(16, dtype=wp.spatial_vector, device=device)
    wp.launch(tool_velocity, 16, [copy, frames, given_speeds], [velocity], device=device)
    motion = np.einsum("wcj,wj->wc", arm.jacobian(angles), speed)
    assert velocity.numpy() == pytest.approx(motion, abs=2e-5)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"\[worlds, 7\], not \[1, 6\]"):
        ARM.frames(np.zeros((1, 6)))
    with pytest.raises(InvalidValue, match="finite"):
        ARM.jacobian(np.full((1, 7), np.nan))
    with pytest.raises(InvalidValue, match="rotation"):
        ARM.with_tool(2.0 * np.eye(4))

"""Serial arms: where the links are, how fast a joint moves the tool, what a force on the tool asks of the joints.

Everything here is NumPy over many worlds at once; `kernels` holds the same for the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue, UnknownName
from annelid.envs.machines import kernels
from annelid.shapes.articulated.chains import joints_to
from annelid.shapes.articulated.frames import moved_along
from annelid.shapes.articulated.tree import MOVING, RigidTree
from annelid.shapes.values import Floats


@dataclass(frozen=True, eq=False)
class Chain:
    """Joints in a row, each about or along an axis of the frame that it moves.

    Attributes:
        names: Names of the joints.
        offsets: Frame of each joint at rest, in that of the joint before it, shape [joints, 4, 4].
        axes: Unit axes in the frames of the joints, shape [joints, 3].
        sliding: Which joints slide; the others turn; shape [joints].
        tool: Frame of the tool in that of the last joint, shape [4, 4].
        lower: Least angles [rad] or ways [m], shape [joints].
        upper: Largest angles [rad] or ways [m], shape [joints].
        speed: Largest speeds [rad/s] or [m/s], shape [joints].
        effort: Largest torques [N m] or forces [N], shape [joints].
    """

    names: tuple[str, ...]
    offsets: Floats
    axes: Floats
    sliding: NDArray[np.bool_]
    tool: Floats
    lower: Floats
    upper: Floats
    speed: Floats
    effort: Floats

    @classmethod
    def to(cls, tree: RigidTree, tip: str) -> Chain:
        """The arm from the root of a robot to a link; fixed joints are part of the frames, the last ones of the tool's.

        A joint that follows another one is taken to move by itself.
        """
        if tip not in tree.joints:
            raise UnknownName("link that a joint moves", tip, tree.joints)
        frame, offsets, moving = np.eye(4), [], []
        for joint in joints_to(tree, tip):
            frame = frame @ joint.frame
            if joint.kind in MOVING:
                offsets.append(frame)
                moving.append(joint)
                frame = np.eye(4)
        if not moving:
            raise InvalidValue(f"no joint moves the link {tip!r} of {tree.name}; choose another one.")
        numbers = [np.array([getattr(joint, key) for joint in moving]) for key in ("lower", "upper", "speed", "effort")]
        sliding = np.array([MOVING[joint.kind] for joint in moving])
        axes = np.array([joint.axis for joint in moving])
        return cls(tuple(joint.name for joint in moving), np.array(offsets), axes, sliding, frame, *numbers)

    def __len__(self) -> int:
        return len(self.names)

    def with_tool(self, tool: ArrayLike) -> Chain:
        """The same arm with another frame of the tool in that of the last joint, shape [4, 4]."""
        frame = np.asarray(tool, dtype=np.float64)
        if frame.shape != (4, 4) or not np.allclose(frame[:3, :3] @ frame[:3, :3].T, np.eye(3), atol=1e-6):
            raise InvalidValue("the frame of a tool must be a matrix of shape [4, 4] with a rotation in its corner.")
        return replace(self, tool=frame)

    def frames(self, angles: ArrayLike) -> Floats:
        """Frames of the joints and, last, the tool, shape [worlds, joints + 1, 4, 4], for angles [worlds, joints]."""
        angles = self.checked(angles)
        frame = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
        result = np.empty((len(angles), len(self) + 1, 4, 4))
        for joint in range(len(self)):
            moved = moved_along(self.axes[joint], angles[:, joint], sliding=bool(self.sliding[joint]))
            frame = frame @ self.offsets[joint] @ moved
            result[:, joint] = frame
        result[:, -1] = frame @ self.tool
        return result

    def jacobian(self, angles: ArrayLike, *, point: ArrayLike | None = None) -> Floats:
        """Velocity and spin of the tool for each joint's unit speed, in the world, shape [worlds, 6, joints].

        Args:
            angles: Angles of the joints [rad], shape [worlds, joints].
            point: Point of the tool whose velocity is meant [m], in the world, shape [3] or [worlds, 3]; its origin
                unless told.
        """
        frames = self.frames(angles)
        axes = np.einsum("wjab,jb->wja", frames[:, :-1, :3, :3], self.axes)
        end = frames[:, -1, :3, 3] if point is None else np.asarray(point, dtype=np.float64).reshape(-1, 3)
        turning = np.cross(axes, end[:, None] - frames[:, :-1, :3, 3])
        slides = self.sliding[:, None]
        linear, angular = np.where(slides, axes, turning), np.where(slides, 0.0, axes)
        return np.concatenate([linear, angular], axis=2).swapaxes(1, 2)

    def torques(self, angles: ArrayLike, wrench: ArrayLike, *, point: ArrayLike | None = None) -> Floats:
        """What the joints must hold against a force and torque on the tool, shape [worlds, joints].

        Args:
            angles: Angles of the joints [rad], shape [worlds, joints].
            wrench: Force [N] and torque [N m] about the point, in the world, shape [worlds, 6]. They act on the arm;
                the joints push back with the negative of the result.
            point: Where it acts [m]; see `jacobian`.
        """
        load = np.asarray(wrench, dtype=np.float64).reshape(-1, 6)
        return np.einsum("wcj,wc->wj", self.jacobian(angles, point=point), load)

    def reach(
        self, target: ArrayLike, start: ArrayLike, *, steps: int = 200, tolerance: float = 1e-6
    ) -> tuple[Floats, Floats]:
        """Angles within the limits at which the tool stands in a frame, by damped least squares, and what is left.

        Args:
            target: Frames of the tool, shape [worlds, 4, 4] or [4, 4].
            start: Angles to begin with [rad], shape [worlds, joints] or [joints].
            steps: Steps at most.
            tolerance: Distance [m] and angle [rad] at which to stop.

        Returns:
            Angles [rad], shape [worlds, joints], and the remaining distance plus angle, shape [worlds].
        """
        angles = self.checked(np.atleast_2d(np.asarray(start, dtype=np.float64)))
        goal = np.broadcast_to(np.asarray(target, dtype=np.float64), (len(angles), 4, 4))
        for _ in range(steps):
            error = _between(self.frames(angles)[:, -1], goal)
            if np.abs(error).max() < tolerance:
                break
            jacobian = self.jacobian(angles)
            damping = 1e-4 * np.eye(6) + jacobian @ jacobian.swapaxes(1, 2)
            step = np.einsum("wcj,wc->wj", jacobian, np.linalg.solve(damping, error[:, :, None])[:, :, 0])
            angles = np.clip(angles + np.clip(step, -0.2, 0.2), self.lower, self.upper)
        error = _between(self.frames(angles)[:, -1], goal)
        return angles, np.linalg.norm(error[:, :3], axis=1) + np.linalg.norm(error[:, 3:], axis=1)

    def on(self, device: str | wp.Device) -> Any:
        """The chain as kernels take it, on a device; see `kernels.Arm`."""
        arm: Any = kernels.Arm()  # Warp gives the fields their types
        arm.offsets = wp.array(_transforms(self.offsets), dtype=wp.transform, device=device)
        arm.axes = wp.array(self.axes.astype(np.float32), dtype=wp.vec3, device=device)
        arm.sliding = wp.array(self.sliding.astype(np.int32), dtype=wp.int32, device=device)
        arm.tool = wp.transform(*_transforms(self.tool[None])[0].tolist())
        return arm

    def checked(self, angles: ArrayLike) -> Floats:
        """The angles as an array of shape [worlds, joints]; what is not finite or has another shape is refused."""
        array = np.asarray(angles, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self) or not np.isfinite(array).all():
            raise InvalidValue(f"angles must be finite, of shape [worlds, {len(self)}], not {list(array.shape)}.")
        return array


def modified_dh(a: float, d: float, alpha: float) -> Floats:
    """The frame of a joint at rest in that of the one before it, by the modified Denavit-Hartenberg rule of Craig.

    Args:
        a: Offset along x of the frame before [m].
        d: Offset along z of the new frame [m].
        alpha: Turn about x of the frame before [rad].
    """
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, -s * d], [0.0, s, c, c * d], [0.0, 0.0, 0.0, 1.0]])


def _transforms(frames: Floats) -> NDArray[np.float32]:
    """Positions and quaternions (x, y, z, w), shape [n, 7]."""
    turns = Rotation.from_matrix(frames[:, :3, :3]).as_quat()
    return np.concatenate([frames[:, :3, 3], turns], axis=1).astype(np.float32)


def _between(now: Floats, goal: Floats) -> Floats:
    """Way [m] and turn [rad] from one frame to another, in the world, shape [worlds, 6]."""
    turn = Rotation.from_matrix(goal[:, :3, :3] @ now[:, :3, :3].swapaxes(1, 2)).as_rotvec()
    return np.concatenate([goal[:, :3, 3] - now[:, :3, 3], turn], axis=1)

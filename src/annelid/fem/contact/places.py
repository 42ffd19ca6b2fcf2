"""Where obstacles are while a step is solved: from where they were to where they are driven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.arrays import as_truths
from annelid.core.errors import InvalidValue
from annelid.core.state import overwrite
from annelid.fem.contact.obstacles import poses_of
from annelid.shapes import Rigid
from annelid.shapes.form import Form
from annelid.shapes.path import followed


def on_device(given: Any, dtype: Any, worlds: int, what: str, device: wp.Device) -> wp.array[Any]:
    """Values of all worlds on a device: an array that is there already, or numbers for all worlds or for each.

    Args:
        given: The values.
        dtype: Of Warp: vec3d, quatd or bool.
        worlds: Number of worlds.
        what: What they are, for the refusal of others.
        device: Where they are needed.
    """
    if isinstance(given, wp.array):
        return given
    truths = dtype is wp.bool
    width: tuple[int, ...] = () if truths else (len(dtype()),)
    try:
        values = as_truths(what, given) if truths else np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    if values.shape not in (width, (worlds, *width)) or not np.isfinite(values).all():
        each = "true or false" if truths else f"{width[0]} finite numbers"
        raise InvalidValue(f"{what} must be {each} for all worlds or for each of {worlds}, not {given!r}.")
    if dtype is wp.quatd:
        values = _of_length_one(values, what, given)
    return wp.array(np.broadcast_to(values, (worlds, *width)).copy(), dtype=dtype, device=device)


def _of_length_one(quaternions: np.ndarray, what: str, given: Any) -> np.ndarray:
    lengths = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if not lengths.all():
        raise InvalidValue(f"{what} must be quaternions x, y, z, w that are not all 0, not {given!r}.")
    return np.asarray(quaternions / lengths)


class Pose:
    """Places and turns of all obstacles, on the host and on the device.

    Args:
        count: Number of obstacles o.
        device: Where kernels read it.

    Attributes:
        places: Centres [m], shape [o, 3].
        turns: Quaternions, shape [o, 4].
        device_pose: The same for kernels.
    """

    def __init__(self, count: int, device: wp.Device) -> None:
        self.places, self.turns = np.zeros((count, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        self._arrays = (
            wp.zeros(count, dtype=wp.vec3d, device=device), wp.array(self.turns, dtype=wp.quatd, device=device)
        )  # fmt: skip
        self.device_pose = poses_of(*self._arrays)

    def set(self, places: np.ndarray, turns: np.ndarray) -> None:
        """Be there from now on."""
        for own, array, values in zip((self.places, self.turns), self._arrays, (places, turns), strict=True):
            before = own.tobytes()
            own[:] = values
            if own.tobytes() != before:  # most stay where they are, and a device takes long to be told so
                overwrite(array, own)

    def points(self, owners: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Where points of obstacles are in the world [m], shape [p, 3], of places in their frames [m]."""
        if len(owners) == 0:
            return np.zeros((0, 3))
        return np.asarray(Rotation.from_quat(self.turns[owners]).apply(local) + self.places[owners])

    def between(self, start: Pose, end: Pose, part: float) -> None:
        """Be on the way from one pose to another."""
        if part >= 1.0:
            self.set(end.places, end.turns)
            return
        first = Rotation.from_quat(start.turns)
        turn = Rotation.from_rotvec(part * (Rotation.from_quat(end.turns) * first.inv()).as_rotvec()) * first
        self.set(start.places + part * (end.places - start.places), turn.as_quat())


def first_poses(rigids: Sequence[Rigid], forms: Sequence[Form]) -> tuple[np.ndarray, np.ndarray]:
    """Places [m] and quaternions of obstacles as built, shapes [o, 3] and [o, 4]."""
    pairs = [form.pose(np.array(rigid.position), rigid.turn) for rigid, form in zip(rigids, forms, strict=True)]
    return np.array([place for place, _ in pairs]).reshape(-1, 3), np.array([turn for _, turn in pairs]).reshape(-1, 4)


def driven_poses(
    rigids: Sequence[Rigid], forms: Sequence[Form], start: Pose, motion: tuple[np.ndarray, np.ndarray], times: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Where obstacles are driven to: by their velocities [m/s] and spins [rad/s], or along their paths.

    Args:
        rigids: The obstacles.
        forms: What they are to the kernels.
        start: Where they are.
        motion: Velocities and spins, shape [o, 3] each; those of fixed ones are 0.
        times: How much time passes, and the time at its end [s].
    """
    dt, end = times
    places = start.places + dt * motion[0]
    turns = start.turns.copy()
    spinning = np.flatnonzero(motion[1].any(axis=1))
    if len(spinning):
        turned = Rotation.from_rotvec(dt * motion[1][spinning]) * Rotation.from_quat(start.turns[spinning])
        turns[spinning] = turned.as_quat()
    for number, (rigid, form) in enumerate(zip(rigids, forms, strict=True)):
        if rigid.path is not None:
            position, turn = followed(rigid.path, np.array([end]), rigid.called(number))
            places[number], turns[number] = form.pose(position[0], Rotation.from_quat(turn[0]))
    return places, turns


def motion_between(start: Pose, end: Pose, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Velocities [m/s] and spins [rad/s] of obstacles that go from one pose to another, shape [o, 3] each."""
    turn = Rotation.from_quat(end.turns) * Rotation.from_quat(start.turns).inv()
    return (end.places - start.places) / dt, turn.as_rotvec() / dt

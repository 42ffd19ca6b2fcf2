"""The motors of a model on its device: whom they turn, by what, in each of several worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from annelid.core.controls import Control
from annelid.core.errors import InvalidValue, UnknownName
from annelid.springs.body import Body
from annelid.springs.kernels.layout import Layout
from annelid.springs.motors import GOALS, Motor

_LEAST_INERTIA = 1.0e-200  # [kg m²], of a part that lies on its axis


class Motors:
    """The motors of a model on its device.

    Args:
        body: The body of one world with its hinges.
        worlds: How many copies of it there are, each with motors of its own.
        motors: The motors of one world.
        functions: Their distinct functions of time, in the order that the kernels know.
        controls: Channels of one world.
        types: Types of the kernels.
        device: Warp device.
    """

    def __init__(
        self,
        body: Body,
        worlds: int,
        motors: Sequence[Motor],
        functions: tuple[wp.Function, ...],
        controls: Sequence[Control],
        types: Layout,
        device: wp.Device,
    ) -> None:
        self._worlds, self._functions, self._controls, self._types = worlds, functions, tuple(controls), types
        self._each = body.mass_count
        self._given = [(motor.hinge, motor.control) for motor in motors]
        self._axles = [_axles(body, motor) for motor in motors]
        members, self._spans = _members(body, motors, self._axles)
        axles = np.concatenate(self._axles)
        arms, self._built = _arms(body, axles, members, self._spans)
        steered = np.repeat([motor.angle is not None for motor in motors], [len(pairs) for pairs in self._axles])
        self._eases = _eases(body, axles, members, self._spans, steered)
        table = self._table(motors)
        side_of = np.repeat(np.arange(2 * len(self._built)), np.diff(self._spans))
        order = np.lexsort((side_of, members))
        counts = np.bincount(members, minlength=body.mass_count)
        first = np.cumsum(counts) - counts
        struct = types.Motors()
        struct.mass_count, struct.motor_count = worlds * body.mass_count, len(table)
        struct.motors_a_world = len(table) // worlds
        struct.motors = wp.array(table, dtype=types.Motor, device=device)
        integers = {
            "members": self._numbered(members, body.mass_count),
            "side_first": np.append(self._numbered(first, len(members)), worlds * len(members)),
            "sides": self._numbered(side_of[order], 2 * len(self._built)),
        }
        for name, values in integers.items():
            setattr(struct, name, wp.array(values.astype(np.int32), dtype=wp.int32, device=device))
        struct.arms = wp.array(np.tile(arms, worlds), dtype=wp.float64, device=device)
        struct.drives = wp.zeros(2 * len(table), dtype=types.Drive, device=device)
        struct.torques = wp.zeros(len(table), dtype=wp.vec2d, device=device)
        self.struct, self.array = struct, wp.array([struct], dtype=types.Motors, device=device)

    def set_motors(self, motors: Sequence[Motor]) -> None:
        """Change torques, speeds, angles and limits; hinges, channels and functions of time stay."""
        if [(motor.hinge, motor.control) for motor in motors] != self._given:
            raise InvalidValue(
                "the hinges that have motors and the channels that command them cannot change while a simulation runs."
            )
        self.struct.motors.assign(self._table(motors))

    def readings(self) -> tuple[np.ndarray, np.ndarray]:
        """Torque [N m] and speed of the rotor against the stator [rad/s] of each motor in the last pass.

        Those of several worlds stand world after world.
        """
        values = self.struct.torques.numpy()
        return values[:, 0], values[:, 1]

    def _numbered(self, values: np.ndarray, step: int) -> np.ndarray:
        """Numbers of all worlds, one after the other, that grow by a step from world to world."""
        steps = step * np.arange(self._worlds).reshape(-1, *(1,) * values.ndim)
        return np.asarray(values[None] + steps).reshape(-1, *values.shape[1:])

    def _table(self, motors: Sequence[Motor]) -> np.ndarray:
        """The motors of all worlds, as the kernels know them."""
        one, spans = self._table_of_one(motors), self._spans
        table = np.tile(one, self._worlds)
        table["axle"] = self._numbered(np.concatenate(self._axles), self._each)
        table["rotor"] = self._numbered(np.column_stack([spans[0:-1:2], spans[1::2]]), spans[-1])
        table["stator"] = self._numbered(np.column_stack([spans[1::2], spans[2::2]]), spans[-1])
        return table

    def _table_of_one(self, motors: Sequence[Motor]) -> np.ndarray:
        table = np.zeros(len(self._built), self._types.Motor.numpy_dtype())
        table["built"], begin = self._built, 0
        for motor, pairs in zip(motors, self._axles, strict=True):
            part = table[begin : begin + len(pairs)]
            part["kind"] = 1 + self._functions.index(motor.drive.function)
            part["parameters"] = motor.drive.table(len(pairs))
            if motor.control is not None:
                part["parameters"][:, 0] = self._controls.index(motor.control)
            part["goal"] = GOALS.index(motor.goal)
            part["limit"] = min(motor.limit, np.finfo(float).max)
            part["response"] = motor.response
            part["slowing"] = part["limit"] * self._eases[begin : begin + len(pairs)]
            begin += len(pairs)
        return table


def drive_functions(motors: Sequence[Motor]) -> tuple[wp.Function, ...]:
    """The distinct functions of time of motors."""
    return tuple(dict.fromkeys(motor.drive.function for motor in motors))


def motor_controls(motors: Sequence[Motor]) -> list[Control]:
    """The distinct channels that command motors."""
    return list(dict.fromkeys(motor.control for motor in motors if motor.control is not None))


def _axles(body: Body, motor: Motor) -> np.ndarray:
    """The two axle masses of each occurrence of a motor's hinge, shape [h, 2]."""
    if motor.hinge not in body.groups or f"{motor.hinge}-rotor" not in body.groups:
        known = [name for name in body.groups if f"{name}-rotor" in body.groups]
        raise UnknownName("hinge", motor.hinge, known)
    return np.asarray(body.groups[motor.hinge]).reshape(-1, 2)


def _members(body: Body, motors: Sequence[Motor], axles: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Masses of all sides (rotor, stator, rotor, ...) one after the other, and where each side begins."""
    members, sides, begin = [], [], 0
    for motor, pairs in zip(motors, axles, strict=True):
        hinge_of = np.full(body.mass_count, -1)
        hinge_of[pairs] = np.arange(len(pairs))[:, None]
        held = np.concatenate([body.springs, body.springs[:, ::-1]])
        held = held[hinge_of[held[:, 0]] >= 0]
        for number, side in enumerate(("rotor", "stator")):
            chosen = held[np.isin(held[:, 1], body.groups[f"{motor.hinge}-{side}"])]
            keys = np.unique((2 * (begin + hinge_of[chosen[:, 0]]) + number) * body.mass_count + chosen[:, 1])
            sides.append(keys // body.mass_count)
            members.append(keys % body.mass_count)
        begin += len(pairs)
    side_of, member = np.concatenate(sides), np.concatenate(members)
    order = np.lexsort((member, side_of))
    return member[order], np.concatenate([[0], np.cumsum(np.bincount(side_of, minlength=2 * begin))])


def _arms(body: Body, axles: np.ndarray, members: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of each member in a vector that turns with its side, and the angle of each motor between the two [rad].

    Shares are masses times distances from the middle along some direction. They sum to 0, so that the vector does not
    change where the side is moved to. The direction is the one in which the side is widest across the axis.
    """
    shares, built = np.zeros(len(members)), np.zeros(len(axles))
    for number, (tail, head) in enumerate(body.positions[axles]):
        axis = (head - tail) / np.linalg.norm(head - tail)
        across, arms = np.eye(3) - np.outer(axis, axis), []
        for side in (2 * number, 2 * number + 1):
            span = slice(spans[side], spans[side + 1])
            mass, place = body.masses[members[span]], body.positions[members[span]]
            place = place - mass @ place / mass.sum()
            direction = np.linalg.svd(across @ (mass[:, None] * place).T @ place)[2][0]
            share = mass * (place @ direction)
            arm = across @ (share @ place)
            shares[span] = share / max(float(np.linalg.norm(arm)), np.finfo(float).tiny)
            arms.append(arm)
        built[number] = np.arctan2(axis @ np.cross(arms[1], arms[0]), arms[1] @ arms[0])
    return shares, built


def _eases(
    body: Body, axles: np.ndarray, members: np.ndarray, spans: np.ndarray, steered: np.ndarray
) -> np.ndarray:  # fmt: skip
    """How easily whole parts turn against each other about the hinges of some motors [1/(kg m²)], shape [h].

    The masses that a motor acts on may be few of those that it has to stop: what hangs on them counts, in the body as
    built. Parts that are joined elsewhere, too, count as if each were the whole.
    """
    eases = np.zeros(len(axles))
    for number in np.flatnonzero(steered):
        ends = body.springs[~np.isin(body.springs, axles[number]).any(axis=1)]
        graph = sparse.coo_array((np.ones(len(ends), bool), (ends[:, 0], ends[:, 1])), shape=(body.mass_count,) * 2)
        part_of = connected_components(graph.tocsr(), directed=False)[1]
        tail, head = body.positions[axles[number]]
        from_axis = np.cross(body.positions - tail, (head - tail) / np.linalg.norm(head - tail))
        inertias = np.where(body.fixed, np.inf, body.masses * (from_axis**2).sum(axis=1))
        for side in (2 * number, 2 * number + 1):
            part = np.isin(part_of, part_of[members[spans[side] : spans[side + 1]]])
            eases[number] += 1.0 / max(float(inertias[part].sum()), _LEAST_INERTIA)
    return eases

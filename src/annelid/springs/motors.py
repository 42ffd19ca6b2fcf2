"""Joints and motors: a hinge that holds one part of a body to another, and a motor that turns it.

A hinge is two masses on an axis, each held by springs to masses of both parts, so that each part keeps its distances to
the axis and is free to turn around it. A motor gives the two parts equal and opposite torques.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Named
from annelid.springs.actuation import Signal
from annelid.springs.body import Body, Where, join
from annelid.springs.kernels.layout import Layout


@wp.func
def constant_drive(time: Any, parameters: Any) -> Any:
    """The first parameter, always."""
    return parameters[0]


@wp.func
def swinging_drive(time: Any, parameters: Any) -> Any:
    """Mean + amplitude sin(2 pi f t + phase). Parameters: mean, amplitude, frequency f [Hz], phase [rad]."""
    turns = parameters[2] * time
    angle = type(time)(6.283185307179586) * (turns - wp.floor(turns)) + parameters[3]
    return parameters[0] + parameters[1] * wp.sin(angle)


def swing(
    amplitude: float | np.ndarray,
    frequency: float | np.ndarray,
    *,
    mean: float | np.ndarray = 0.0,
    phase: float | np.ndarray = 0.0,
) -> Signal:
    """A sine for a motor: mean + amplitude sin(2 pi f t + phase), with the frequency in [Hz] and the phase in [rad]."""
    return Signal(swinging_drive, (mean, amplitude, frequency, phase))


@dataclass(frozen=True, eq=False)
class Motor(Named):
    """A motor on a hinge; a hinge that occurs several times, in copies of a robot, gets as many motors.

    Attributes:
        hinge: Name of the hinge.
        torque: Torque on the rotor [N m], a number or a signal; the stator gets the opposite.
        speed: Speed of the rotor against the stator [rad/s] to reach and hold instead, a number or a signal.
        limit: Largest torque [N m]; needed with a speed.

    Numbers, and the parameters of a signal, may be arrays with one value for each occurrence of the hinge.
    """

    hinge: str
    torque: float | np.ndarray | Signal | None = None
    speed: float | np.ndarray | Signal | None = None
    limit: float = math.inf

    def __post_init__(self) -> None:
        if (self.torque is None) == (self.speed is None):
            raise InvalidValue(f"the motor of hinge {self.hinge!r} needs either a torque or a speed.")
        if not self.limit > 0.0:
            raise InvalidValue(f"the limit of the motor of hinge {self.hinge!r} must be positive, not {self.limit}.")
        if self.speed is not None and not math.isfinite(self.limit):
            raise InvalidValue(f"the motor of hinge {self.hinge!r} needs a limit of its torque to reach a speed.")

    @property
    def drive(self) -> Signal:
        """What it follows, as a function of time."""
        given = self.torque if self.speed is None else self.speed
        assert given is not None  # refused on construction
        return given if isinstance(given, Signal) else Signal(constant_drive, (given,))


def hinge(
    body: Body,
    name: str,
    *,
    rotor: Where,
    stator: Where,
    point: Sequence[float],
    direction: Sequence[float],
    length: float | None = None,
    links: int = 32,
    stiffness: float | None = None,
    damping: float | None = None,
    mass: float | None = None,
) -> Body:
    """A body in which a part turns around an axis that another part holds.

    Args:
        body: The body with both parts; join two bodies to get one.
        name: Name of the hinge; its two axle masses become the group of that name.
        rotor: The part that turns: a group, a mask, indices or a function of positions.
        stator: The part that holds it.
        point: A point of the axis [m].
        direction: Direction of the axis; a positive torque turns the rotor around it by the right-hand rule.
        length: Distance of the two axle masses [m]; None takes the extent of the rotor along the axis.
        links: Springs from each axle mass to each part, to its nearest masses; more where several are equally near.
        stiffness: Of those springs [N/m]; None takes that of the springs around.
        damping: Of those springs [N s/m]; None takes that of the springs around.
        mass: Of each axle mass [kg]; None takes what keeps the stable time step.
    """
    if name in body.groups:
        raise InvalidValue(f"the body has a group {name!r} already: give the hinge another name.")
    origin, axis = _line(point, direction)
    parts = {"rotor": np.unique(body.indices(rotor)), "stator": np.unique(body.indices(stator))}
    if len(np.intersect1d(parts["rotor"], parts["stator"])):
        raise InvalidValue(f"the rotor and the stator of hinge {name!r} share masses: they must be apart.")
    axle = _axle(body, parts["rotor"], origin, axis, length)
    nearest = {side: _nearest(body, name, side, masses, axle, links) for side, masses in parts.items()}
    for side, chosen in nearest.items():
        _require_grip(body, name, side, chosen, origin, axis)
    ends = np.concatenate(
        [np.column_stack([np.full(len(c), k), c]) for chosen in nearest.values() for k, c in enumerate(chosen)]
    )
    return _joined(body, name, axle, ends, nearest, stiffness, damping, mass)


def _line(point: Sequence[float], direction: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    origin, axis = np.asarray(point, float), np.asarray(direction, float)
    if origin.shape != (3,) or not np.isfinite(origin).all():
        raise InvalidValue(f"the point of a hinge must be three finite numbers, not {point}.")
    if axis.shape != (3,) or not np.isfinite(axis).all() or not axis.any():
        raise InvalidValue(
            f"the direction of a hinge must be three finite numbers that are not all 0, not {direction}."
        )
    return origin, axis / np.linalg.norm(axis)


def _axle(body: Body, rotor: np.ndarray, origin: np.ndarray, axis: np.ndarray, length: float | None) -> np.ndarray:
    """The two points of the axle [m], shape [2, 3], in the middle of the rotor."""
    if len(rotor) == 0:
        raise InvalidValue("the rotor of a hinge has no masses.")
    along = (body.positions[rotor] - origin) @ axis
    extent = float(np.ptp(along)) if length is None else length
    if length is None and extent == 0.0:  # a flat disc: as long as it is wide
        extent = float(np.linalg.norm(body.positions[rotor] - origin, axis=1).max())
    if not (math.isfinite(extent) and extent > 0.0):
        raise InvalidValue(f"the length of a hinge must be positive, not {extent}.")
    middle = 0.5 * float(along.min() + along.max())
    return origin + np.array([[middle - 0.5 * extent], [middle + 0.5 * extent]]) * axis


def _nearest(body: Body, name: str, side: str, masses: np.ndarray, axle: np.ndarray, links: int) -> list[np.ndarray]:
    """For each end of the axle the masses of a part that hold it."""
    if links < 3:
        raise InvalidValue(f"a hinge needs at least 3 links to each part, not {links}.")
    distances = np.linalg.norm(body.positions[masses] - axle[:, None], axis=2)
    distances[distances < 1e-6 * np.linalg.norm(axle[1] - axle[0])] = (
        np.inf
    )  # a mass on the axle's end has no direction
    farthest = np.sort(distances, axis=1)[:, min(links, len(masses)) - 1]
    # All of equal distance, or the axle would lean to the side of those that were taken.
    chosen = [masses[np.isfinite(d) & (d <= far * (1.0 + 1e-6))] for d, far in zip(distances, farthest, strict=True)]
    if min(len(c) for c in chosen) < 3:
        raise InvalidValue(
            f"the {side} of hinge {name!r} has {len(masses)} masses: it needs at least 3 beside the axle."
        )
    return chosen


def _require_grip(
    body: Body, name: str, side: str, chosen: list[np.ndarray], origin: np.ndarray, axis: np.ndarray
) -> None:
    """Refuse a part whose nearest masses all lie on one line: it could not be turned."""
    points = body.positions[np.unique(np.concatenate(chosen))]
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if spread[1] < 1e-6 * spread[0]:
        raise InvalidValue(f"the masses of the {side} nearest to hinge {name!r} lie on a line: use more links.")


def _joined(
    body: Body,
    name: str,
    axle: np.ndarray,
    ends: np.ndarray,
    nearest: dict[str, list[np.ndarray]],
    stiffness: float | None,
    damping: float | None,
    mass: float | None,
) -> Body:
    """The body with two more masses and the springs of the axle."""
    touched = np.unique(ends[:, 1])
    around = np.isin(body.springs, touched).any(axis=1)
    if stiffness is None and not around.any():
        raise InvalidValue(f"hinge {name!r} finds no springs around it to take a stiffness from: give one.")
    constant = float(np.median(body.stiffness[around])) if stiffness is None else stiffness
    dashpot = (float(np.median(body.damping[around])) if around.any() else 0.0) if damping is None else damping
    count = body.mass_count
    links = np.concatenate([ends + np.array([count, 0]), [[count, count + 1]]])
    weight = _axle_mass(body, touched, constant, len(links)) if mass is None else mass
    whole = join([body, Body(axle, weight, [], [], [])])
    lengths = np.linalg.norm(whole.positions[links[:, 1]] - whole.positions[links[:, 0]], axis=1)
    links_only = Body(whole.positions, whole.masses, links, lengths, constant, dashpot)
    for field in _spring_fields():
        setattr(whole, field, np.concatenate([getattr(whole, field), getattr(links_only, field)]))
    whole.groups[name] = np.array([count, count + 1])
    for side, chosen in nearest.items():
        whole.groups[f"{name}-{side}"] = np.unique(np.concatenate(chosen))
    return whole


def _axle_mass(body: Body, touched: np.ndarray, stiffness: float, links: int) -> float:
    """The mass at which the axle vibrates no faster than the masses around it: the same sum of stiffness by mass."""
    sums = np.bincount(body.springs.ravel(), np.repeat(body.stiffness, 2), minlength=body.mass_count)
    ratio = float(np.median(sums[touched] / body.masses[touched]))
    if ratio == 0.0:
        return float(np.mean(body.masses[touched]))
    return 0.5 * links * stiffness / ratio


def _spring_fields() -> list[str]:
    """Names of the arrays of a body that have one row a spring."""
    probe = Body(np.eye(3), 1.0, [[0, 1]], 1.0, 1.0)
    values = {f.name: getattr(probe, f.name) for f in fields(Body)}
    return [name for name, value in values.items() if isinstance(value, np.ndarray) and len(value) == 1]


class Motors:
    """The motors of a model on its device.

    Args:
        body: The body with its hinges.
        motors: The motors.
        functions: Their distinct functions of time, in the order that the kernels know.
        types: Types of the kernels.
        device: Warp device.
    """

    def __init__(
        self, body: Body, motors: Sequence[Motor], functions: tuple[wp.Function, ...], types: Layout, device: wp.Device
    ) -> None:
        self._body, self._functions, self._types = body, functions, types
        self._hinges = [motor.hinge for motor in motors]
        self._axles = [_axles(body, motor) for motor in motors]
        members, spans = _members(body, motors, self._axles)
        table = self._table(motors, np.concatenate(self._axles), spans)
        side_of = np.repeat(np.arange(2 * len(table)), np.diff(spans))
        order = np.lexsort((side_of, members))
        first = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=body.mass_count))])
        struct = types.Motors()
        struct.mass_count, struct.motor_count = body.mass_count, len(table)
        struct.motors = wp.array(table, dtype=types.Motor, device=device)
        for name, values in (("members", members), ("side_first", first), ("sides", side_of[order])):
            setattr(struct, name, wp.array(values.astype(np.int32), dtype=wp.int32, device=device))
        struct.drives = wp.zeros(2 * len(table), dtype=types.Drive, device=device)
        struct.torques = wp.zeros(len(table), dtype=wp.vec2d, device=device)
        self.struct, self.array = struct, wp.array([struct], dtype=types.Motors, device=device)
        self._spans = spans

    def set_motors(self, motors: Sequence[Motor]) -> None:
        """Change torques, speeds and limits; hinges and functions of time stay."""
        if [motor.hinge for motor in motors] != self._hinges:
            raise InvalidValue("the hinges that have motors cannot change while a simulation runs.")
        self.struct.motors.assign(self._table(motors, np.concatenate(self._axles), self._spans))

    def readings(self) -> tuple[np.ndarray, np.ndarray]:
        """Torque [N m] and speed of the rotor against the stator [rad/s] of each motor in the last pass."""
        values = self.struct.torques.numpy()
        return values[:, 0], values[:, 1]

    def _table(self, motors: Sequence[Motor], axles: np.ndarray, spans: np.ndarray) -> np.ndarray:
        table = np.zeros(len(axles), self._types.Motor.numpy_dtype())
        table["axle"] = axles
        table["rotor"] = np.column_stack([spans[0:-1:2], spans[1::2]])
        table["stator"] = np.column_stack([spans[1::2], spans[2::2]])
        begin = 0
        for motor, pairs in zip(motors, self._axles, strict=True):
            part = table[begin : begin + len(pairs)]
            part["kind"] = 1 + self._functions.index(motor.drive.function)
            part["parameters"] = motor.drive.table(len(pairs))
            part["speed"] = motor.speed is not None
            part["limit"] = min(motor.limit, np.finfo(float).max)
            begin += len(pairs)
        return table


def drive_functions(motors: Sequence[Motor]) -> tuple[wp.Function, ...]:
    """The distinct functions of time of motors."""
    return tuple(dict.fromkeys(motor.drive.function for motor in motors))


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

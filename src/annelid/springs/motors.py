"""Joints and motors: a hinge that holds one part of a body to another, and a motor that turns it.

A hinge is two masses on an axis, each held by springs to masses of both parts, so that each part keeps its distances to
the axis and is free to turn around it. A motor gives the two parts equal and opposite torques.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.controls import Control
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind, require_word
from annelid.springs.actuation import Signal, signal_numbers
from annelid.springs.body import Body, Where, join
from annelid.springs.kernels.commands import command_signal


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
    given = {"mean": mean, "amplitude": amplitude, "frequency": frequency, "phase": phase}
    return Signal(swinging_drive, tuple(signal_numbers(name, value) for name, value in given.items()))


@dataclass(frozen=True)
class Command(Named):
    """A number of a motor that is commanded while it runs: `simulation.controls[name] = 3.0`.

    Attributes:
        low: Least value.
        high: Largest value.
        rest: Value before the first command.
        name: Name of the channel; empty for that of the hinge. Motors that name the same one share it.
    """

    low: float
    high: float
    rest: float = 0.0
    name: str = ""


Followed = float | np.ndarray | Signal | Command
"""What a motor can follow: a number, an array with one for each occurrence of its hinge, a signal, or commands."""

GOALS = ("torque", "speed", "angle")
"""What of a motor can be given, as the kernels number it."""

_UNITS = {"torque": "N m", "speed": "rad/s", "angle": "rad"}


@dataclass(frozen=True, eq=False)
class Motor(Named):
    """A motor on a hinge; a hinge that occurs several times, in copies of a robot, gets as many motors.

    Attributes:
        hinge: Name of the hinge.
        torque: Torque on the rotor [N m]; the stator gets the opposite.
        speed: Speed of the rotor against the stator [rad/s] to reach and hold instead.
        angle: Angle of the rotor against the stator [rad], from the body as built, to reach by the shortest way and
            hold instead.
        limit: Largest torque [N m]; needed with a speed or an angle.
        response: Time in which the error of an angle falls to 1/e [s], as far as the limit allows.

    Torque, speed and angle are numbers, signals of the time of the world, or a `Command`. Numbers, and the parameters
    of a signal, may be arrays with one value for each occurrence of the hinge.
    """

    hinge: str
    torque: Followed | None = None
    speed: Followed | None = None
    limit: float = math.inf
    angle: Followed | None = None
    response: float = 0.02

    def __post_init__(self) -> None:
        require_word("the hinge of a motor", self.hinge)
        if sum(value is not None for value in (self.torque, self.speed, self.angle)) != 1:
            raise InvalidValue(f"the motor of hinge {self.hinge!r} needs either a torque, a speed or an angle.")
        if not (isinstance(self.limit, Real) and self.limit > 0.0):
            raise InvalidValue(
                f"the limit of the motor of hinge {self.hinge!r} must be positive, not {self.limit!r:.60}."
            )
        if not isinstance(self.given, Signal | Command):
            as_numbers(f"the {self.goal} of the motor of hinge {self.hinge!r}", self.given)
        if self.torque is None and not math.isfinite(self.limit):
            raise InvalidValue(
                f"the motor of hinge {self.hinge!r} needs a limit of its torque to reach {_with_article(self.goal)}."
            )
        if not (is_number(self.response) and self.response > 0.0):
            raise InvalidValue(
                f"the response of the motor of hinge {self.hinge!r} must be a time above 0 s, not "
                f"{self.response!r:.60}."
            )
        self.control  # noqa: B018 (limits that cannot be commanded are refused here)

    @property
    def goal(self) -> str:
        """Which of its numbers is given."""
        return "torque" if self.torque is not None else "speed" if self.speed is not None else "angle"

    @property
    def given(self) -> Followed:
        """What that number follows."""
        found = self.torque if self.torque is not None else self.speed if self.speed is not None else self.angle
        assert found is not None  # refused on construction
        return found

    @property
    def control(self) -> Control | None:
        """The channel that commands it, None where nothing does."""
        if not isinstance(command := self.given, Command):
            return None
        name, does = command.name or self.hinge, f"{self.goal} of a motor"
        return Control(name, command.low, command.high, command.rest, _UNITS[self.goal], does)

    @property
    def drive(self) -> Signal:
        """What it follows, as a function of time; of a command, a mark whose parameter is the number of its channel."""
        given = self.given
        if isinstance(given, Command):
            return Signal(command_signal, ())
        return given if isinstance(given, Signal) else Signal(constant_drive, (given,))


def _with_article(goal: str) -> str:
    return f"an {goal}" if goal[0] in "aeiou" else f"a {goal}"


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
    require_kind("the body", body, Body, "a springs.Body")
    require_word("the name of a hinge", name)
    if isinstance(links, bool) or not isinstance(links, Integral):
        raise InvalidValue(f"the links of a hinge must be a whole number of 3 or more, not {links!r:.60}.")
    if stiffness is not None and not (is_number(stiffness) and stiffness > 0.0):
        raise InvalidValue(f"the stiffness of a hinge must be positive, not {stiffness!r:.60}.")
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
    origin = as_numbers("the point of a hinge", point)
    axis = as_numbers("the direction of a hinge", direction)
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
    if not (is_number(extent) and extent > 0.0):
        raise InvalidValue(f"the length of a hinge must be positive, not {extent!r:.60}.")
    middle = 0.5 * float(along.min() + along.max())
    return origin + np.array([[middle - 0.5 * extent], [middle + 0.5 * extent]]) * axis


def _nearest(body: Body, name: str, side: str, masses: np.ndarray, axle: np.ndarray, links: int) -> list[np.ndarray]:
    """For each end of the axle the masses of a part that hold it."""
    if links < 3:
        raise InvalidValue(f"a hinge needs at least 3 links to each part, not {links}.")
    if len(masses) == 0:
        raise InvalidValue(f"the {side} of a hinge has no masses.")
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

"""Controls of bodies among grains: how driven ones move, and what pulls and turns free ones.

For example::

    blade = Rigid(Box((0.02, 0.1, 0.05)), motion="driven", name="blade")
    ahead = grains.velocity_control("ahead", blade, "x", low=-0.5, high=0.5)
    grains.simulation(bed, obstacles=[blade], controls=[ahead])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.controls import Control
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Named, require_word
from annelid.core.quantity import require_distinct
from annelid.grains.rigid import Solid, Touched
from annelid.shapes import Obstacle
from annelid.shapes.articulated.controls import JointControl

AXES = ("x", "y", "z")

_MOTIONS = {"velocity": "driven", "spin": "driven", "force": "free", "torque": "free"}
_UNITS = {"velocity": "m/s", "spin": "rad/s", "force": "N", "torque": "N m"}
_WORDS = {"velocity": "velocity of {} along {}", "spin": "spin of {} about {}", "force": "force on {} along {}",
          "torque": "torque on {} about {}"}  # fmt: skip
CHANNELS = 6
"""Numbers that a body can be commanded by: velocity or force along x, y, z, then spin or torque about them."""


@dataclass(frozen=True)
class BodyControl(Named):
    """A channel that moves a driven body or pulls a free one; made by `velocity_control` and its like.

    Attributes:
        name: Name.
        body: The body: an obstacle as it was given, its name, or its number among the bodies of a world.
        quantity: "velocity" or "spin" of a driven body, "force" or "torque" on a free one.
        axis: "x", "y" or "z", of the world.
        low: Least value.
        high: Largest value.
        rest: Value before the first command; None takes what the body was built with, and no force.
    """

    name: str
    body: Obstacle | int | str
    quantity: str
    axis: str
    low: float
    high: float
    rest: float | None = None

    def __post_init__(self) -> None:
        require_word("the name of a control", self.name)
        if self.quantity not in _MOTIONS:
            raise UnknownName("quantity of a control", self.quantity, _MOTIONS)
        if not isinstance(self.axis, str) or self.axis not in AXES:
            raise InvalidValue(f"the axis of control {self.name!r} must be 'x', 'y' or 'z', not {self.axis!r}.")

    @property
    def place(self) -> int:
        """Which of the numbers that a body can be commanded by it is."""
        return 3 * (self.quantity in ("spin", "torque")) + AXES.index(self.axis)

    def channel(self, body: Solid, number: int) -> Control:
        """The channel of this body."""
        rigid = body.rigid
        called = rigid.called(number)
        if rigid.moves != _MOTIONS[self.quantity] or rigid.path is not None:
            raise InvalidValue(
                f"control {self.name!r} sets the {self.quantity} of a body with motion={_MOTIONS[self.quantity]!r}, "
                f"and {called}, {'follows a path' if rigid.path is not None else f'is {rigid.moves}'}."
            )
        built = {"velocity": rigid.velocity, "spin": rigid.spin}.get(self.quantity, (0.0, 0.0, 0.0))
        rest = built[AXES.index(self.axis)] if self.rest is None else self.rest
        does = _WORDS[self.quantity].format(rigid.name or f"body {number}", self.axis)
        return Control(self.name, self.low, self.high, rest, _UNITS[self.quantity], does)


AnyControl = BodyControl | JointControl
"""What moves bodies: one body, or a joint of a robot."""


def velocity_control(
    name: str, body: Obstacle | int | str, axis: str, *, low: float, high: float, rest: float | None = None
) -> BodyControl:  # fmt: skip
    """A channel that sets the velocity of the centre of mass of a driven body along x, y or z [m/s]."""
    return BodyControl(name, body, "velocity", axis, low, high, rest)


def spin_control(
    name: str, body: Obstacle | int | str, axis: str, *, low: float, high: float, rest: float | None = None
) -> BodyControl:  # fmt: skip
    """A channel that sets the spin of a driven body about x, y or z [rad/s]."""
    return BodyControl(name, body, "spin", axis, low, high, rest)


def force_control(
    name: str, body: Obstacle | int | str, axis: str, *, low: float, high: float, rest: float | None = None
) -> BodyControl:  # fmt: skip
    """A channel that pulls a free body at its centre of mass along x, y or z [N]."""
    return BodyControl(name, body, "force", axis, low, high, rest)


def torque_control(
    name: str, body: Obstacle | int | str, axis: str, *, low: float, high: float, rest: float | None = None
) -> BodyControl:  # fmt: skip
    """A channel that turns a free body about x, y or z [N m]."""
    return BodyControl(name, body, "torque", axis, low, high, rest)


def require_controls(controls: Any) -> None:
    """Refuse what is no list of controls of bodies."""
    if not isinstance(controls, Sequence) or isinstance(controls, str):
        raise InvalidValue(f"controls must be a list, not {type(controls).__name__}.")
    for one in controls:
        if not isinstance(one, BodyControl | JointControl):
            raise InvalidValue(
                f"each control of grains must be one of velocity_control, spin_control, force_control, torque_control "
                f"or joint_controls, not {one!r:.60}."
            )


def joints_among(controls: Sequence[AnyControl]) -> list[JointControl]:
    """The joints of robots among controls, in their order."""
    return [control for control in controls if isinstance(control, JointControl)]


def channels_of(
    controls: Sequence[AnyControl], bodies: Sequence[Touched], numbers: Mapping[str, int], worlds: int
) -> tuple[tuple[Control, ...], np.ndarray]:
    """The channels, and which of them each body follows, shape [bodies, CHANNELS], -1 for none.

    Args:
        controls: The controls.
        bodies: Bodies of all worlds, one world after the other.
        numbers: The body of each control of one body, by the name of the control.
        worlds: Number of worlds.
    """
    table = np.full((len(bodies), CHANNELS), -1, np.int32)
    each, left = divmod(len(bodies), worlds)
    if controls and (left or any(body.world != number // each for number, body in enumerate(bodies))):
        raise InvalidValue(
            "controls need as many bodies in each world, in the same order: give one world and worlds=n."
        )
    found = []
    for channel, control in enumerate(controls):
        if isinstance(control, JointControl):  # which moves several bodies, see `grains.joints`
            found.append(control.channel)
            continue
        for copy in range(numbers[control.name] % each, len(bodies), each):
            body = bodies[copy]
            if not isinstance(body, Solid):
                raise InvalidValue(f"control {control.name!r} names {body.rigid.called(copy)}, which cannot move.")
            made = control.channel(body, copy)
            if table[copy, control.place] >= 0:
                other = controls[int(table[copy, control.place])].name
                raise InvalidValue(f"controls {other!r} and {control.name!r} are both of the {made.does}.")
            table[copy, control.place] = channel
        found.append(made)
    return require_distinct(found), table

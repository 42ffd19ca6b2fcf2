"""Channels that command actuators: their efforts, or strokes at which they are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Control, resting_commands
from annelid.core.errors import InvalidValue, UnknownName
from annelid.fem.actuation.actuator import Actuator
from annelid.fem.actuation.limits import Limits
from annelid.fem.kernels.commands import values_at


@dataclass(frozen=True)
class Channel:
    """A channel of an actuator.

    Attributes:
        number: Place of the actuator.
        by_stroke: Whether it is held at a stroke, instead of exerting an effort.
        limits: Limits of what is commanded.
        control: What users see of it.
    """

    number: int
    by_stroke: bool
    limits: Limits
    control: Control

    def towards(self, wanted: float, before: float, dt: float) -> float:
        """What it can be after a step of `dt` [s]: the value wanted, or as near as its rate lets it come."""
        low, high = self.limits.change(before, dt)
        return wanted if low <= wanted - before <= high else before + min(max(wanted - before, low), high)


class Channels:
    """The channels of some actuators: one for each that is neither closed nor held.

    Args:
        actuators: The actuators.
        limits: Limits of effort and stroke of each.
        strokes: Names of those that are held at the stroke which is commanded.
    """

    def __init__(
        self, actuators: Sequence[Actuator], limits: Sequence[tuple[Limits, Limits]], strokes: Sequence[str] = ()
    ) -> None:
        if isinstance(strokes, str):
            raise InvalidValue(f"strokes must be a list of names, not {strokes!r}: write [{strokes!r}] for one.")
        names = [actuator.name for actuator in actuators]
        for name in strokes:
            if name not in names:
                raise UnknownName("actuator", name, names)
        pairs = enumerate(zip(actuators, limits, strict=True))
        found = [_channel(i, actuator, both, actuator.name in strokes) for i, (actuator, both) in pairs]
        self.every = tuple(channel for channel in found if channel is not None)

    @property
    def controls(self) -> tuple[Control, ...]:
        """What users see of them."""
        return tuple(channel.control for channel in self.every)

    def resting(self, device: wp.Device) -> wp.array[Any]:
        """Commands at the beginning."""
        return resting_commands(self.controls, 1, device)

    def values(self, commands: wp.array[Any], step: float) -> list[float]:
        """What is commanded after so many steps, on the host."""
        return [float(value) for value in commanded_values(commands, step)]


def commanded_values(commands: wp.array[Any], step: float) -> np.ndarray:
    """Values of all channels after so many steps, on the host, shape [channels]."""
    out = wp.zeros(len(commands), dtype=wp.float64, device=commands.device)
    if len(out):
        wp.launch(values_at, len(out), [wp.float64(step), commands, out], device=commands.device)
    return np.asarray(out.numpy())


def _channel(number: int, actuator: Actuator, both: tuple[Limits, Limits], by_stroke: bool) -> Channel | None:
    effort, stroke = both
    closed = actuator.law(0.0) is not None
    if by_stroke:
        if closed or effort.held or stroke.held:
            raise InvalidValue(
                f"{actuator.name} is closed, or held already, and takes no command of its {actuator.stroke_name}: open "
                f"it and give it limits, {actuator.stroke_name}=(low, high)."
            )
        return _made(number, actuator, stroke, True)
    if closed or effort.held or stroke.held:
        return None
    return _made(number, actuator, effort, False)


def _made(number: int, actuator: Actuator, limits: Limits, by_stroke: bool) -> Channel:
    what = actuator.stroke_name if by_stroke else actuator.effort_name
    unit = actuator.stroke_unit if by_stroke else actuator.effort_unit
    if not np.isfinite([limits.low, limits.high]).all():
        raise InvalidValue(
            f"{actuator.name} can only be commanded between limits of its {what}: give it {what}=(low, high) [{unit}], "
            f"or a script to the simulation."
        )
    rest = min(max(0.0, limits.low), limits.high)
    does = f"{what} of {actuator.name}"
    return Channel(number, by_stroke, limits, Control(actuator.name, limits.low, limits.high, rest, unit, does))

"""What a physics gives so that motions can be run back: the parameters it knows, and stretches of steps there and back.

`core.rollout` divides a motion into *stretches*, from checkpoint to checkpoint, and knows no physics. A physics whose
solver is `Differentiable` makes an `Adjoint`, which owns checkpoints and all that a stretch leaves behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, Unsupported
from annelid.core.solver import Solver

ANY = -1
"""Length of an axis of a parameter that whoever gives it may choose, such as the intervals of a table of controls."""


@dataclass(frozen=True, eq=False)
class Input:
    """A parameter that gradients can be taken with respect to.

    Attributes:
        name: Its name.
        axes: What its axes count, "world" first: ("world", "spring").
        value: What the simulation has, in its full shape.
        free: Axis whose length may be chosen, or None; `value` has length 1 there.
        unit: Unit; empty for a pure number.
        does: What it is, in words.
        low: Least value.
        high: Largest value.
        positive: Whether it must be above 0.
        idle: Why it feeds nothing in this simulation, in words; empty where it does.
        missing: Why there is no gradient by it in this simulation, in words; empty where there is.
    """

    name: str
    axes: tuple[str, ...]
    value: np.ndarray
    free: int | None = None
    unit: str = ""
    does: str = ""
    low: float = -np.inf
    high: float = np.inf
    positive: bool = False
    idle: str = ""
    missing: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its full shape; an axis whose length is free is `ANY`."""
        return tuple(ANY if axis == self.free else count for axis, count in enumerate(self.value.shape))

    @property
    def described(self) -> str:
        """Its full shape in words: "[2 worlds, 48 springs]"."""
        parts = [
            f"any number of {_several(axis)}" if count == ANY else f"{count} {axis if count == 1 else _several(axis)}"
            for axis, count in zip(self.axes, self.shape, strict=True)
        ]
        return f"[{', '.join(parts)}]"

    def require(self) -> None:
        """Refuse it where it feeds nothing, or where there is no gradient by it."""
        if self.idle:
            raise InvalidValue(f"parameter {self.name!r} feeds nothing here: {self.idle}.")
        if self.missing:
            raise InvalidValue(f"there is no gradient by parameter {self.name!r} here yet: {self.missing}.")

    def fitted(self, given: Any) -> np.ndarray:
        """Values as they were given, as numbers of the full shape; those that cannot be used are refused."""
        self.require()
        values = self._numbers(given)
        shape = list(self.value.shape)
        if self.free is not None:
            place = values.ndim - len(shape) + self.free  # counted from the last axis, as NumPy does
            shape[self.free] = values.shape[place] if place >= 0 else 1
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            raise InvalidValue(
                f"parameter {self.name!r} has shape {list(values.shape)}, which does not broadcast to {self.described}."
            ) from None

    def _numbers(self, given: Any) -> np.ndarray:
        try:
            values = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"parameter {self.name!r} must be given as numbers, not {given!r:.60}.") from None
        good = np.isfinite(values) & (values >= self.low) & (values <= self.high)
        if self.positive:
            good &= values > 0.0
        if not good.all():
            raise InvalidValue(
                f"parameter {self.name!r} cannot be {values[~good].flat[0]:g}: it must be {self._accepted}."
            )
        return values

    @property
    def _accepted(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.positive:
            return f"above 0{unit}"
        if np.isfinite(self.low) and np.isfinite(self.high):
            return f"between {self.low:g} and {self.high:g}{unit}"
        return f"{self.low:g}{unit} or more" if np.isfinite(self.low) else "finite"


def _several(axis: str) -> str:
    """The plural of what an axis counts."""
    return {"mass": "masses", "axis": "axes"}.get(axis, f"{axis}s")


def reduced(rates: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Rates of a full shape, summed to the shape in which the parameter was given."""
    extra = rates.ndim - len(shape)
    axes = [axis for axis in range(rates.ndim) if axis < extra or (shape[axis - extra] == 1 != rates.shape[axis])]
    for axis in reversed(axes):  # the last first: what belongs to one world is summed before worlds are
        rates = np.expand_dims(summed(rates, axis), axis)
    return np.ascontiguousarray(rates).reshape(shape)


def summed(values: np.ndarray, axis: int) -> np.ndarray:
    """A sum along an axis whose bits do not depend on how long the other axes are."""
    return np.asarray(np.ascontiguousarray(np.moveaxis(values, axis, -1)).sum(axis=-1))


@dataclass(frozen=True)
class Stretch:
    """Steps between two checkpoints.

    Attributes:
        number: Number of the checkpoint at which it begins.
        first: Steps from the beginning of the motion to that of the stretch.
        count: Its steps.
        last: Whether the motion ends with it.
    """

    number: int
    first: int
    count: int
    last: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """How a motion is divided.

    Attributes:
        steps: Steps of the motion.
        every: Steps between two checkpoints.
        looks: Steps after which the loss looks at the state, ascending, shape [looks].
    """

    steps: int
    every: int
    looks: np.ndarray

    @property
    def checkpoints(self) -> int:
        """Number of checkpoints, and of stretches."""
        return -(-self.steps // self.every)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The stretches, in the order of time; the last one, which need not be run twice, is never the shorter one."""
        short = self.steps - (self.checkpoints - 1) * self.every
        begins = [0, *range(short, self.steps, self.every)]
        ends = [*begins[1:], self.steps]
        pairs = enumerate(zip(begins, ends, strict=True))
        return tuple(Stretch(number, first, end - first, end == self.steps) for number, (first, end) in pairs)

    @cached_property
    def rows(self) -> np.ndarray:
        """For the state after each number of steps, its place among the looks, -1 for none, shape [steps + 1]."""
        rows = np.full(self.steps + 1, -1, np.int32)
        rows[self.looks] = np.arange(len(self.looks))
        return rows

    def interval(self, table: np.ndarray) -> int:
        """Steps for which each row of a table of commands holds, shape [worlds, rows, channels]."""
        rows: int = table.shape[1]
        if rows == 0 or self.steps % rows:
            raise InvalidValue(
                f"a table of controls with {rows} intervals does not divide the {self.steps} steps of the rollout "
                "evenly: give as many rows as a divisor of the steps."
            )
        return self.steps // rows


class Adjoint(Protocol):
    """The motion of a model there and back, a stretch at a time.

    Attributes:
        device: Where it computes.
        vector: Warp type of a position and of a velocity.
        things: How many masses, nodes... a world has.
        carried: What the future depends on besides positions, velocities, commands and the time, in words; empty for
            nothing. Where there is something, a motion cannot be put together of others.
    """

    device: wp.Device
    vector: Any
    things: int
    carried: str

    @property
    def inputs(self) -> Mapping[str, Input]:
        """The parameters that it knows, by name."""
        ...

    def spacing(self, steps: int) -> int:
        """Steps between two checkpoints that suit it best."""
        ...

    def memory(self, plan: Plan) -> int:
        """Memory that checkpoints and a stretch take [B], about."""
        ...

    def reserve(self, plan: Plan) -> None:
        """Make room for a plan, before anything is run."""
        ...

    def start(self, values: Mapping[str, np.ndarray], after: int) -> None:
        """Take parameters over, in their full shapes; gradients will be asked for with respect to these, no others.

        The state becomes that of the simulation when the adjoint was made, so many steps later, and is checkpoint 0.
        """
        ...

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch from its checkpoint and keep all that the way back needs.

        The first time it also leaves the next checkpoint and writes what is looked at; see `tracks`.
        """
        ...

    def tracks(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Positions and velocities at the looks of what was run last, shape [looks, worlds · things]; not to be kept.

        Also waits for the device, and raises `SimulationDiverged` where nothing finite is left.
        """
        ...

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back, with rates of the loss by what was looked at, in the shapes of `tracks`."""
        ...

    def reverse(self, stretch: Stretch) -> None:
        """Run a stretch back that was run last, and gather rates; stretches come from the last to the first."""
        ...

    def rates(self) -> Mapping[str, np.ndarray]:
        """Rates of the loss by the parameters that were taken over, in their full shapes, double precision."""
        ...


@runtime_checkable
class Differentiable(Protocol):
    """A physics whose motions can be run back."""

    def adjoint(self, state: Any) -> Adjoint:
        """What runs motions from a state there and back; features that have no adjoint are refused by name."""
        ...


def differentiable(solver: Solver) -> Differentiable:
    """The solver as one whose motions can be run back."""
    if isinstance(solver, Differentiable):
        return solver
    raise Unsupported(
        solver.physics, "be run back for gradients (Rollout)", ("springs", "fem", "voxels3d"),
        "Estimate them from differences of several runs, or search with annelid.evolve.",
    )  # fmt: skip

"""Sensors: named numbers of a simulation that are read where the state lives.

A physics offers sensors, such as `springs.position_of("tip")`; `simulation.sensors.add("tip", ...)` gives one a name.
Readings of all sensors lie side by side in one array on the device, one row a world.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import warp as wp

from annelid.core.described import Described
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.gate import Gate
from annelid.core.snapshot import MOST_NUMBERS, Number
from annelid.core.solver import Coupled, Solver
from annelid.core.state import State

K = TypeVar("K")


@dataclass(frozen=True)
class Reading:
    """A sensor that is attached to a solver.

    Attributes:
        read: Writes its numbers for all worlds: `read(state, out, first)` fills the columns of `out`, float32 of shape
            [worlds, ...], from `first` on.
        shape: Shape of the numbers of one world.
        unit: Their unit.
        parts: What they are, in order, where each has a name: "x", "y", "z".
    """

    read: Callable[[State, wp.array[Any], int], None]
    shape: tuple[int, ...]
    unit: str = ""
    parts: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers a world has."""
        return math.prod(self.shape)


class Sensor(ABC):
    """Something that can be read; it is attached to a solver when it is added to a simulation."""

    @abstractmethod
    def attach(self, solver: Solver) -> Reading:
        """The sensor of this solver; a solver that it does not suit is refused."""


def side_of(solver: Solver, kind: type[K], what: str) -> tuple[K, Callable[[State], State]]:
    """The solver of a kind, or the one of this kind that another steps together with others, and where its state is.

    Args:
        solver: The solver of the simulation.
        kind: Class of the solver that a sensor reads.
        what: What it reads, for the sentence that refuses another solver.
    """
    if isinstance(solver, kind):
        return solver, lambda state: state
    for side in solver.sides if isinstance(solver, Coupled) else ():
        if isinstance(side.solver, kind):
            if side.solver.worlds != solver.worlds:
                raise InvalidValue(f"{what} cannot be read where worlds were made one by one: give one and worlds=n.")
            return side.solver, side.state
    raise InvalidValue(f"{what} cannot be read from a simulation of {solver.physics}.")


class Sensors(Described):
    """The sensors of a simulation.

    Args:
        solver: What is read.
        state: The state now.
        gate: Turns between threads.
    """

    def __init__(self, solver: Solver, state: Callable[[], State], gate: Gate) -> None:
        self._solver, self._state, self._gate = solver, state, gate
        self._readings: dict[str, Reading] = {}
        self._values = self._room()

    # --- what there is ---

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensors, in the order in which they were added."""
        return tuple(self._readings)

    @property
    def size(self) -> int:
        """Numbers of all sensors of one world."""
        return sum(reading.size for reading in self._readings.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """What each number of a world is: "tip.x"..."""
        return tuple(label for name, reading in self._readings.items() for label in _labels(name, reading))

    def __len__(self) -> int:
        return len(self._readings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readings)

    def __contains__(self, name: object) -> bool:
        return name in self._readings

    def facts(self) -> Mapping[str, str]:
        """Each sensor with its size and unit."""
        return {n: f"{' × '.join(map(str, r.shape)) or 1} {r.unit}".rstrip() for n, r in self._readings.items()}

    # --- adding ---

    def add(self, name: str, sensor: Sensor) -> None:
        """Add a sensor under a name of its own."""
        if not isinstance(sensor, Sensor):
            raise InvalidValue(
                f"sensor {name!r} must be a Sensor, such as springs.position_of(...), not {sensor!r:.60}."
            )
        with self._gate:
            if not isinstance(name, str) or not name or name in self._readings:
                raise InvalidValue(f"a sensor needs a name of its own, not {name!r}.")
            self._readings[name] = sensor.attach(self._solver)
            self._values = self._room()

    def remove(self, name: str) -> None:
        """Forget a sensor; a controller or a task that reads it is told so when it would do that."""
        with self._gate:
            self._require(name)
            del self._readings[name]
            self._values = self._room()

    # --- reading ---

    def read(self) -> wp.array[Any]:
        """Readings of all sensors now, float32 [worlds, size], on the device; the next call overwrites them."""
        with self._gate:
            first = 0
            for reading in self._readings.values():
                reading.read(self._state(), self._values, first)
                first += reading.size
            return self._values

    def __getitem__(self, name: str) -> np.ndarray:
        """Readings of one sensor now, on the host, shape [worlds, ...]."""
        with self._gate:
            chosen = self._require(name)
            out = wp.zeros((self._solver.worlds, chosen.size), dtype=wp.float32, device=self._solver.device)
            chosen.read(self._state(), out, 0)
            return np.asarray(out.numpy()).reshape(self._solver.worlds, *chosen.shape)

    def numbers(self) -> dict[str, Number]:
        """Readings of the first world by label, for pictures and plots; not of sensors with very many numbers."""
        found = {}
        for name, reading in self._readings.items():
            if reading.size <= MOST_NUMBERS:
                pairs = zip(_labels(name, reading), self[name][0].ravel().tolist(), strict=True)
                found.update({label: Number(value, reading.unit) for label, value in pairs})
        return found

    def columns(self, name: str) -> slice:
        """Columns of a sensor in what `read` returns."""
        chosen = self._require(name)
        first = sum(self._readings[other].size for other in self.names[: self.names.index(name)])
        return slice(first, first + chosen.size)

    def _require(self, name: str) -> Reading:
        if name not in self._readings:
            raise UnknownName("sensor", name, self._readings)
        return self._readings[name]

    def _room(self) -> wp.array[Any]:
        return wp.zeros((self._solver.worlds, self.size), dtype=wp.float32, device=self._solver.device)


def tells_turn(places: np.ndarray) -> bool:
    """Whether points, shape [n, 3], show how they have turned: those on one line do not."""
    if len(places) < 3:
        return False
    away = places - places.mean(axis=0)
    spread = np.linalg.eigvalsh(away.T @ away)
    return bool(spread[1] > 1e-9 * spread[2])


def require_turn(places: np.ndarray, what: str) -> None:
    """Refuse to read an orientation off points on one line."""
    if not tells_turn(places):
        raise InvalidValue(f"an orientation is read off three {what} or more that are not all on one line.")


def _labels(name: str, reading: Reading) -> list[str]:
    if reading.size == 1:
        return [name]
    parts = reading.parts or tuple(map(str, range(reading.size)))
    return [f"{name}.{part}" for part in parts]

"""Sensors: named numbers of a simulation that are read where the state lives.

A physics offers sensors, such as `springs.position_of("tip")`; `simulation.sensors.add("tip", ...)` gives one a name.
Readings of all sensors lie side by side in one array on the device, one row a world.
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.described import Described
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.gate import Gate
from annelid.core.kernels.noise import add_noise, step_keys
from annelid.core.numbers import is_number
from annelid.core.sealed import Sealed
from annelid.core.snapshot import MOST_NUMBERS, Number
from annelid.core.solver import Controllable, Coupled, Noisy, Solver, Variable
from annelid.core.state import State, state_arrays

K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class Mean:
    """A sum of weighted vectors of things, which has a gradient.

    Attributes:
        part: Which vectors: "positions" or "velocities".
        things: Numbers of the masses or nodes, shape [k].
        weights: Their weights, shape [k].
    """

    part: str
    things: np.ndarray
    weights: np.ndarray

    def of(self, vectors: Any) -> Any:
        """The sum, shape [worlds, 3], of vectors of shape [worlds, things, 3], arrays of NumPy, PyTorch or JAX."""
        chosen, first = vectors[:, self.things], float(self.weights[0])
        if (self.weights == first).all():
            return chosen.sum(-2) * first
        return sum(chosen[:, k] * weight for k, weight in enumerate(self.weights.tolist()))

    def add_rates(self, rates: np.ndarray, by_vectors: np.ndarray) -> None:
        """Add rates by the vectors, shape [worlds, things, 3], from those by the sum, shape [worlds, 3]."""
        for world, rate in enumerate(rates):
            np.add.at(by_vectors[world], self.things, rate * self.weights[:, None])  # one may be named twice


@dataclass(frozen=True)
class Reading:
    """A sensor that is attached to a solver.

    Attributes:
        read: Writes its numbers for all worlds: `read(state, out, first)` fills the columns of `out`, float32 of shape
            [worlds, ...], from `first` on.
        shape: Shape of the numbers of one world.
        unit: Their unit.
        parts: What they are, in order, where each has a name: "x", "y", "z".
        means: What its numbers are, where they are nothing but means of vectors, three numbers each: these have a
            gradient; empty for other sensors.
        there: Which of the numbers each world has, shape [worlds, size], NaN being read of the others; None: all.
    """

    read: Callable[[State, wp.array[Any], int], None]
    shape: tuple[int, ...]
    unit: str = ""
    parts: tuple[str, ...] = ()
    means: tuple[Mean, ...] = ()
    there: np.ndarray | None = None

    def there_in(self, worlds: int) -> np.ndarray:
        """Which of the numbers each of so many worlds has, shape [worlds, size]."""
        return np.ones((worlds, self.size), bool) if self.there is None else self.there

    @property
    def size(self) -> int:
        """How many numbers a world has."""
        return math.prod(self.shape)


class Sensor(ABC):
    """Something that can be read; it is attached to a solver when it is added to a simulation."""

    @abstractmethod
    def attach(self, solver: Solver) -> Reading:
        """The sensor of this solver; a solver that it does not suit is refused."""


@dataclass(frozen=True, eq=False)
class Several(Sensor):
    """Sensors of one kind under one name, such as those of the segments of a worm.

    Attributes:
        sensors: The sensors, whose numbers follow each other.
    """

    sensors: tuple[Sensor, ...]

    def __post_init__(self) -> None:
        for sensor in self.sensors:
            if not isinstance(sensor, Sensor):
                raise InvalidValue(f"each of several sensors must be a Sensor, not {sensor!r:.60}.")
        if not self.sensors:
            raise InvalidValue("several sensors must be one at least.")

    def attach(self, solver: Solver) -> Reading:
        """All of them; they must read in the same unit."""
        readings = [sensor.attach(solver) for sensor in self.sensors]
        units = {reading.unit for reading in readings}
        if len(units) > 1:
            raise InvalidValue(f"sensors of one name must have one unit, not {', '.join(sorted(units))}.")

        def read(state: State, out: wp.array[Any], first: int) -> None:
            for reading in readings:
                reading.read(state, out, first)
                first += reading.size

        labels = tuple(label for k, one in enumerate(readings) for label in _labels(str(k + 1), one))
        means = tuple(mean for reading in readings for mean in reading.means)
        means = means if all(reading.means for reading in readings) else ()
        there = np.concatenate([reading.there_in(solver.worlds) for reading in readings], axis=1)
        size = (sum(reading.size for reading in readings),)
        return Reading(read, size, units.pop(), labels, means, None if there.all() else there)


def side_of(solver: Solver, kind: type[K] | tuple[type[K], ...], what: str) -> tuple[K, Callable[[State], State]]:
    """The solver of a kind, or the one of this kind that another steps together with others, and where its state is.

    Args:
        solver: The solver of the simulation.
        kind: Class of the solver that a sensor reads, or classes.
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


class Sensors(Described, Sealed):
    """The sensors of a simulation.

    Args:
        solver: What is read.
        state: The state now.
        gate: Turns between threads.
    """

    _settable = ()

    def __init__(self, solver: Solver, state: Callable[[], State], gate: Gate) -> None:
        self._solver, self._state, self._gate = solver, state, gate
        self._readings: dict[str, Reading] = {}
        self._noises: dict[str, float] = {}
        self._seeds = wp.array(np.arange(solver.worlds, dtype=np.int32), dtype=wp.int32, device=solver.device)
        self._keys = wp.zeros_like(self._seeds)
        self._nothing = wp.zeros(0, dtype=wp.float64, device=solver.device)
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

    @property
    def noisy(self) -> bool:
        """Whether some sensor has noise, one of these or one of the robots themselves."""
        return bool(self._noises) or (isinstance(self._solver, Noisy) and self._solver.noisy)

    def __len__(self) -> int:
        return len(self._readings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readings)

    def __contains__(self, name: object) -> bool:
        return name in self._readings

    def facts(self) -> Mapping[str, str]:
        """Each sensor with its size and unit."""
        sizes = {n: f"{' × '.join(map(str, r.shape)) or 1} {r.unit}".rstrip() for n, r in self._readings.items()}
        return {n: f"{size} ± {self._noises[n]:g}" if n in self._noises else size for n, size in sizes.items()}

    # --- adding ---

    def add(self, name: str, sensor: Sensor | Sequence[Sensor], *, noise: float = 0.0) -> None:
        """Add a sensor under a name of its own.

        Args:
            name: The name.
            sensor: The sensor, or several whose numbers follow each other.
            noise: Standard deviation of normal noise in its readings, in their unit. It depends on the seed of the
                world (`seed`), the steps since that began, the name of the sensor and the place in its readings, and on
                nothing else.
        """
        if not (is_number(noise) and noise >= 0.0):
            raise InvalidValue(
                f"the noise of sensor {name!r} must be a standard deviation of 0 or more, not {noise!r}."
            )
        if isinstance(sensor, list | tuple):
            sensor = Several(tuple(sensor))
        if not isinstance(sensor, Sensor):
            raise InvalidValue(
                f"sensor {name!r} must be a Sensor, such as springs.position_of(...), not {sensor!r:.60}."
            )
        with self._gate:
            if not isinstance(name, str) or not name or name in self._readings:
                raise InvalidValue(f"a sensor needs a name of its own, not {name!r}.")
            self._readings[name] = sensor.attach(self._solver)
            if noise > 0.0:
                self._noises[name] = float(noise)
            self._values = self._room()

    def seed(self, seeds: Any) -> None:
        """Choose what noise is drawn from; without this world i has the seed i.

        Args:
            seeds: A whole number, to which that of the world is added, or one for each world.
        """
        given, worlds = as_numbers("seeds of sensors", seeds), self._solver.worlds
        if given.shape not in ((), (worlds,)) or not np.isfinite(given).all() or (given % 1 != 0).any():
            raise InvalidValue(f"seeds of sensors must be a whole number, or {worlds} of them, not {seeds!r:.60}.")
        each = given + np.arange(worlds) if given.ndim == 0 else given
        with self._gate:
            self._seeds.assign((each % 2**31).astype(np.int32))

    def remove(self, name: str) -> None:
        """Forget a sensor; a controller or a task that reads it is told so when it would do that."""
        with self._gate:
            self._require(name)
            del self._readings[name]
            self._noises.pop(name, None)
            self._values = self._room()

    # --- reading ---

    def read(self, keys: wp.array[Any] | None = None) -> wp.array[Any]:
        """Readings of all sensors now, float32 [worlds, size], on the device; the next call overwrites them.

        Args:
            keys: What noise is drawn from, int32 of shape [worlds] on the device; None for seed and step of each world.
        """
        with self._gate:
            first = 0
            given = self._step_keys() if keys is None and self._noises else keys
            for name, reading in self._readings.items():
                self._read(name, self._values, first, given)
                first += reading.size
            return self._values

    def _read(self, name: str, out: wp.array[Any], first: int, keys: wp.array[Any] | None) -> None:
        """Write the readings of one sensor, with their noise."""
        reading = self._readings[name]
        reading.read(self._state(), out, first)
        if name in self._noises:
            inputs = [keys, _salt(name), self._noises[name], first, self._parameters(), out]
            wp.launch(add_noise, (self._solver.worlds, reading.size), inputs, device=self._solver.device)

    def _parameters(self) -> wp.array[Any]:
        """Parameters of worlds, the last of which is a factor on noise; empty where they do not differ."""
        solver = self._solver
        return solver.variation(self._state()).values if isinstance(solver, Variable) else self._nothing

    def _step_keys(self) -> wp.array[Any]:
        """What noise is drawn from now, by seed and step of each world."""
        solver, state, begun = self._solver, self._state(), None
        if isinstance(solver, Controllable):
            place = solver.commanded(state)
            clock, begun = place.clock, place.begun
        else:
            clock = state_arrays(state)["clock"]
        begun = wp.zeros(0, dtype=wp.int64, device=solver.device) if begun is None else begun
        wp.launch(step_keys, solver.worlds, [self._seeds, clock, begun], [self._keys], device=solver.device)
        return self._keys

    def __getitem__(self, name: str) -> np.ndarray:
        """Readings of one sensor now, on the host, shape [worlds, ...]."""
        with self._gate:
            chosen = self._require(name)
            out = wp.zeros((self._solver.worlds, chosen.size), dtype=wp.float32, device=self._solver.device)
            self._read(name, out, 0, self._step_keys() if name in self._noises else None)
            return np.asarray(out.numpy()).reshape(self._solver.worlds, *chosen.shape)

    def numbers(self) -> dict[str, Number]:
        """Readings of the first world by label, for pictures and plots; not of sensors with very many numbers."""
        found = {}
        for name, reading in self._readings.items():
            if reading.size <= MOST_NUMBERS:
                pairs = zip(_labels(name, reading), self[name][0].ravel().tolist(), strict=True)
                found.update({label: Number(value, reading.unit) for label, value in pairs})
        return found

    def means(self, name: str) -> tuple[Mean, ...]:
        """What a sensor makes of positions and velocities; one without a gradient is refused."""
        reading = self._require(name)
        if not reading.means:
            raise InvalidValue(f"sensor {name!r} has no gradient: position_of and velocity_of have one.")
        if name in self._noises:
            raise InvalidValue(f"sensor {name!r} has noise, which has no gradient: add it without.")
        return reading.means

    def at(self, positions: Any, velocities: Any, names: Sequence[str] | None = None) -> list[Any]:
        """Readings of other states than the present one, for gradients: a list of arrays of shape [worlds, 3].

        Args:
            positions: Positions [m], shape [worlds, things, 3], of NumPy, PyTorch or JAX; so are the readings.
            velocities: Velocities [m/s], like them.
            names: Names of sensors of positions and velocities, in the order of the readings; None for all.
        """
        given = {"positions": positions, "velocities": velocities}
        every = self.names if names is None else names
        return [mean.of(given[mean.part]) for name in every for mean in self.means(name)]

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of the numbers of a sensor in one world."""
        return self._require(name).shape

    def columns(self, name: str) -> slice:
        """Columns of a sensor in what `read` returns."""
        chosen = self._require(name)
        first = sum(self._readings[other].size for other in self.names[: self.names.index(name)])
        return slice(first, first + chosen.size)

    def there(self, name: str) -> np.ndarray:
        """Which numbers of a sensor each world has, shape [worlds, size]; NaN is read of the others."""
        return self._require(name).there_in(self._solver.worlds)

    def _require(self, name: str) -> Reading:
        if not isinstance(name, str) or name not in self._readings:
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
        raise InvalidValue(
            f"an orientation is read off three {what} or more that are not all on one line, which the {len(places)} "
            "chosen here are not: choose more of them."
        )


def _salt(name: str) -> int:
    """A number of a sensor by its name: its noise stays the same, whatever other sensors there are."""
    return zlib.crc32(name.encode()) & 0x7FFFFFFF


def _labels(name: str, reading: Reading) -> list[str]:
    if reading.size == 1:
        return [name]
    parts = reading.parts or tuple(map(str, range(reading.size)))
    return [f"{name}.{part}" for part in parts]

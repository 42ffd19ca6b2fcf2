"""Controllers that only look at the clock: phased sines, development, and any functions of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid.control.controller import Controller, Program, TimeFunction, expect, flat
from annelid.control.kernels.kinds import TABLE, WAVES
from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number


@dataclass(frozen=True)
class Sine:
    """A driving function A sin(2π f t + φ).

    Attributes:
        frequency: f [Hz].
        phase: φ [rad].
        amplitude: A.
    """

    frequency: float = 1.0
    phase: float = 0.0
    amplitude: float = 1.0

    def __post_init__(self) -> None:
        for name in ("frequency", "phase", "amplitude"):
            if not is_number(value := vars(self)[name]):
                raise InvalidValue(f"{name} of a sine must be a finite number, not {value!r:.60}.")

    def __call__(self, time: np.ndarray) -> np.ndarray:
        """Values at some times [s]."""
        return self.amplitude * np.sin(2.0 * math.pi * self.frequency * np.asarray(time) + self.phase)


def _each(values: Any, name: str, count: int) -> np.ndarray:
    """Numbers of the channels, from one for all or one a channel."""
    given = as_numbers(f"{name} of sines", values)
    if given.shape not in ((), (1,), (count,)):
        raise InvalidValue(f"{name} of sines must be one number, or {count}, one a channel, not {list(given.shape)}.")
    return np.broadcast_to(flat(given, name) if given.ndim else given, count)


class PhasedSines(Controller):
    """f(t) = A sin(2π f t + φ) + offset, with a phase for each channel; the phases are its parameters.

    Args:
        phases: φ [rad], one a channel.
        frequency: f [Hz], one for all or one a channel.
        amplitude: A, one for all or one a channel.
        offset: Added to the sine, one for all or one a channel.
    """

    kind: ClassVar[str] = "phased-sines"

    def __init__(self, phases: Any, *, frequency: Any = 1.0, amplitude: Any = 1.0, offset: Any = 0.0) -> None:
        self.parameters = flat(phases, "phase")
        count = len(self.parameters)
        self.frequency, self.amplitude, self.offset = (
            _each(values, name, count)
            for values, name in ((frequency, "frequency"), (amplitude, "amplitude"), (offset, "offset"))
        )

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        expect(len(self.parameters), channels, "phases", "one a channel")
        nothing = np.zeros(channels)
        return Program(WAVES, channels, sum(inputs), _waves(self, self.parameters, self.offset, nothing))

    def packed(self, rows: np.ndarray, channels: int) -> np.ndarray:
        """Waves with the phases of the rows."""
        phases = super().packed(rows, channels)
        return _waves(self, phases.reshape(-1), np.tile(self.offset, len(rows)), np.zeros(rows.size), len(rows))

    def with_parameters(self, parameters: np.ndarray) -> PhasedSines:
        """The same sines with other phases."""
        return PhasedSines(parameters, frequency=self.frequency, amplitude=self.amplitude, offset=self.offset)

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        rest = {name: getattr(self, name).tolist() for name in ("frequency", "amplitude", "offset")}
        return {"kind": self.kind, "phases": self.parameters.tolist(), **rest}


class Development(Controller):
    """f(t) = sin(2π f t + φ) + a + (b - a) t / T: a control that drifts over a lifetime (sec. 3.2 of the paper).

    Args:
        parameters: φ₁, a₁, b₁, φ₂, a₂, b₂…: three a channel.
        duration: T [s].
        frequency: f [Hz].
    """

    kind: ClassVar[str] = "development"

    def __init__(self, parameters: Any, *, duration: float = 60.0, frequency: float = 1.0) -> None:
        if not (is_number(duration) and duration > 0.0):
            raise InvalidValue(f"the duration of a development must be a positive time, not {duration!r:.60}.")
        if not is_number(frequency):
            raise InvalidValue(f"the frequency of a development must be a number [Hz], not {frequency!r:.60}.")
        self.parameters, self.duration, self.frequency = flat(parameters, "parameter"), duration, frequency
        self.amplitude = 1.0

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        expect(len(self.parameters), 3 * channels, "parameters", "phase, start and end of each channel")
        phase, start, end = self.parameters.reshape(-1, 3).T
        return Program(WAVES, channels, sum(inputs), _waves(self, phase, start, (end - start) / self.duration))

    def packed(self, rows: np.ndarray, channels: int) -> np.ndarray:
        """Waves with the phases and drifts of the rows."""
        phase, start, end = super().packed(rows, channels).reshape(-1, 3).T
        return _waves(self, phase, start, (end - start) / self.duration, len(rows))

    def with_parameters(self, parameters: np.ndarray) -> Development:
        """The same development with other parameters."""
        return Development(parameters, duration=self.duration, frequency=self.frequency)

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        values = {"parameters": self.parameters.tolist(), "duration": self.duration, "frequency": self.frequency}
        return {"kind": self.kind, **values}


class TimeFunctions(Controller):
    """Any functions of time, one a channel; they are sampled in NumPy ahead of the steps that need them.

    Args:
        functions: One function a channel, each from times [s], shape [n], to values, shape [n]; or one function from
            times to values of shape [n, channels].
    """

    kind: ClassVar[str] = ""

    def __init__(self, functions: Sequence[TimeFunction] | Callable[[np.ndarray], np.ndarray]) -> None:
        several = [functions] if callable(functions) else functions
        if not isinstance(several, Sequence) or not all(map(callable, several)):
            raise InvalidValue(f"time functions must be a function, or a list of one a channel, not {functions!r:.60}.")
        self.functions = functions
        self.parameters = np.zeros(0)

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        if callable(self.functions):
            function = self.functions
            columns = tuple(_column(function, i, channels) for i in range(channels))
        else:
            expect(len(self.functions), channels, "time functions", "one a channel")
            columns = tuple(self.functions)
        return Program(TABLE, channels, sum(inputs), tables=columns)

    def with_parameters(self, parameters: np.ndarray) -> TimeFunctions:
        """Itself: it has no parameters."""
        expect(len(parameters), 0, "parameters", "time functions have none")
        return self


def _column(function: Callable[[np.ndarray], np.ndarray], number: int, channels: int) -> TimeFunction:
    def one(times: np.ndarray) -> np.ndarray:
        values = np.asarray(function(times))
        if values.shape != (len(times), channels):
            raise InvalidValue(
                f"a time function of {channels} channels must return shape {(len(times), channels)}, not "
                f"{values.shape}."
            )
        return values[:, number]

    return one


def _waves(sines: Any, phase: np.ndarray, offset: np.ndarray, drift: np.ndarray, rows: int = 0) -> np.ndarray:
    """Amplitude, frequency, phase in turns, offset and drift [1/s] of each channel, one after the other.

    With `rows` the channels of as many robots follow each other, and the result has shape [rows, q].
    """
    count = len(phase) // max(rows, 1)
    amplitude, frequency = (
        np.tile(np.broadcast_to(v, count), max(rows, 1)) for v in (sines.amplitude, sines.frequency)
    )
    packed = np.stack((amplitude, frequency, phase / (2.0 * math.pi), offset, drift), axis=1)
    return packed.reshape((rows, -1) if rows else -1)

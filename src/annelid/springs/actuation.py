"""Actuation: functions of time that stretch the rest length of springs.

A *signal* is a Warp function of time and of four numbers of the spring's own, which returns the factor on its rest
length. The solver evaluates each distinct signal once a step, however many springs share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue


@wp.func
def sine_signal(time: Any, parameters: Any) -> Any:
    """1 + c sin(2 pi f (t - t0)), and 1 before t0. Parameters: amplitude c, frequency f [Hz], start t0 [s], unused."""
    one = type(time)(1.0)
    phase = parameters[1] * (time - parameters[2])
    # Only the fraction of a cycle goes into the sine: phases grow with time, single precision does not.
    angle = type(time)(6.283185307179586) * (phase - wp.floor(phase))
    return wp.where(phase > type(time)(0.0), one + parameters[0] * wp.sin(angle), one)


@wp.func
def titan_signal(time: Any, parameters: Any) -> Any:
    """Titan's wave as printed (Austin et al., eq. 3 and 4). Parameters: c, omega [rad/s], offset t0 [s], period tp [s].

    With omega = 20 and tp = 1 it jumps at the end of each period.
    """
    shifted = time - parameters[2]
    local = shifted - parameters[3] * wp.floor(shifted / parameters[3])
    return type(time)(1.0) + parameters[0] * wp.sin(parameters[1] * local)


def require_function(function: object) -> None:
    """Refuse what Warp cannot compile."""
    if not isinstance(function, wp.Function):
        raise InvalidValue(f"{function!r} is not a Warp function: decorate it with @wp.func.")


@dataclass(frozen=True, eq=False, repr=False)
class Signal(Brief):
    """A function with its parameters.

    Attributes:
        function: Warp function `(time, parameters) -> factor` of a `wp.float64` and a `wp.vec4d`, or of `Any`.
        parameters: Up to four numbers; each may be a scalar or an array with one value a spring.
    """

    function: Any
    parameters: tuple[float | np.ndarray, ...]

    def __post_init__(self) -> None:
        require_function(self.function)

    def table(self, count: int) -> np.ndarray:
        """The parameters of `count` springs, shape [count, 4]."""
        if len(self.parameters) > 4:
            raise InvalidValue(f"a signal has at most 4 parameters, not {len(self.parameters)}.")
        table = np.zeros((count, 4))
        for column, values in enumerate(self.parameters):
            if np.size(values) not in (1, count):
                raise InvalidValue(f"a parameter of a signal has {np.size(values)} values for {count} springs.")
            table[:, column] = values
        if not np.isfinite(table).all():
            raise InvalidValue("a signal's parameters must be finite numbers.")
        return table


def _amplitude(given: float | np.ndarray) -> float | np.ndarray:
    """An amplitude that leaves every rest length positive."""
    amplitude = signal_numbers("amplitude", given)
    beyond = np.isfinite(amplitude) & (np.abs(amplitude) >= 1.0)
    if beyond.any():
        worst = float(np.atleast_1d(amplitude)[np.atleast_1d(beyond)][0])
        raise InvalidValue(
            f"an amplitude of {worst:g} would make rest lengths pass zero: give a fraction of the rest length below 1."
        )
    return amplitude


def signal_numbers(name: str, given: Any) -> float | np.ndarray:
    """A parameter of a signal as floats; what are no numbers is refused."""
    try:
        values = np.asarray(given)
    except ValueError:  # rows of different lengths
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        raise InvalidValue(f"{name} = {given!r:.60} of a signal cannot be used; give a number, or one a spring.")
    return values.astype(float)


def expand_contract(amplitude: float | np.ndarray, frequency: float, *, start: float | np.ndarray = 0.0) -> Signal:
    """Expand by `amplitude` (a fraction of the rest length), then contract, `frequency` times a second [Hz]."""
    begin = signal_numbers("start", start)
    return Signal(sine_signal, (_amplitude(amplitude), signal_numbers("frequency", frequency), begin))


def contract_expand(amplitude: float | np.ndarray, frequency: float, *, start: float | np.ndarray = 0.0) -> Signal:
    """Contract first, then expand."""
    return expand_contract(-_amplitude(amplitude), frequency, start=start)


def wave(amplitude: float | np.ndarray, frequency: float | np.ndarray, delay: np.ndarray) -> Signal:
    """A travelling wave: expand and contract, each spring starting after its own delay [s].

    Args:
        amplitude: Fraction of the rest length, below 1; one for all springs or one each.
        frequency: Cycles a second [Hz], likewise.
        delay: Start of each spring [s]: its distance along the body divided by the speed of the wave.
    """
    begin = signal_numbers("delay", delay)
    return Signal(sine_signal, (_amplitude(amplitude), signal_numbers("frequency", frequency), begin))


def titan_wave(
    amplitude: float = 0.2, omega: float = 20.0, period: float = 1.0, *, offset: float | np.ndarray
) -> Signal:
    """Titan's wave as printed; its offset is a distance in metres that is read as seconds (eq. 5)."""
    if not (np.size(period) and np.all(signal_numbers("period", period) > 0.0)):
        raise InvalidValue(f"the period of a wave must be positive, not {period!r:.60}.")
    parameters = (_amplitude(amplitude), signal_numbers("omega", omega), signal_numbers("offset", offset), period)
    return Signal(titan_signal, parameters)

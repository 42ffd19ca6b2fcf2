"""Frequencies of recorded motions."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from annelid.core.errors import InvalidValue

_PADDING = 8  # zeros are appended up to this many times the length, to see where a peak is


def zero_crossing_frequency(times: np.ndarray, values: np.ndarray) -> float:
    """Frequency [Hz] from the first and the last passage through zero, both interpolated, and the passages between.

    Args:
        times: Moments [s], rising, shape [n].
        values: Displacement from the position of rest, shape [n].
    """
    before = np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
    if len(before) < 2:
        raise InvalidValue(f"the motion passes through zero {len(before)} times only; record it for longer.")
    ends = before[[0, -1]]
    part = values[ends] / (values[ends] - values[ends + 1])
    first, last = times[ends] + part * (times[ends + 1] - times[ends])
    return float((len(before) - 1) / (2 * (last - first)))


def spectrum(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes of the Fourier transform under a Hann window, mean removed."""
    window = np.hanning(len(values))
    count = _PADDING * len(values)
    amplitudes = np.abs(np.fft.rfft(window * (values - values.mean()), count)) * 2 / window.sum()
    return np.fft.rfftfreq(count, float(times[1] - times[0])), amplitudes


def peak_frequency(times: np.ndarray, values: np.ndarray) -> float:
    """Frequency [Hz] of the highest peak of the spectrum, interpolated.

    Between the lines of the transform the frequency is that of the sinusoid, with offset, that leaves the least squares
    under the same window: unlike a parabola through three lines it does not mind a record of a few periods only.
    """
    frequencies, amplitudes = spectrum(times, values)
    guess = frequencies[1 + int(np.argmax(amplitudes[1:]))]
    width = 1.0 / (times[-1] - times[0])
    window = np.sqrt(np.hanning(len(values)))

    def residual(frequency: float) -> float:
        phase = 2 * np.pi * frequency * times
        terms = window[:, None] * np.stack([np.ones_like(phase), np.cos(phase), np.sin(phase)], axis=1)
        fit = np.linalg.lstsq(terms, window * values, rcond=None)[0]
        return float(np.sum((window * values - terms @ fit) ** 2))

    low = max(guess - width, 0.25 * width)
    found = minimize_scalar(residual, bounds=(low, guess + width), method="bounded", options={"xatol": 1e-7 * guess})
    return float(found.x)


def exponent(sizes: np.ndarray, values: np.ndarray) -> float:
    """Slope of values against sizes, both logarithmic."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])

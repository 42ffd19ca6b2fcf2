"""Frequencies of synthetic motions."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.studies.support.signals import exponent, peak_frequency, spectrum, zero_crossing_frequency

TIMES = np.linspace(0.0, 1.0, 1001)


@pytest.mark.parametrize("frequency", [1.7, 5.03, 41.0])
@pytest.mark.parametrize("phase", [0.0, 1.1])
def test_pure_tone(frequency: float, phase: float) -> None:
    motion = 1e-3 * np.cos(2 * np.pi * frequency * TIMES + phase)
    assert zero_crossing_frequency(TIMES, motion) == pytest.approx(frequency, rel=1e-4)
    assert peak_frequency(TIMES, motion + 7.0) == pytest.approx(frequency, rel=1e-6)


def test_a_second_tone_hardly_disturbs() -> None:
    motion = np.cos(2 * np.pi * 4.0 * TIMES) + 0.03 * np.cos(2 * np.pi * 25.1 * TIMES)
    assert peak_frequency(TIMES, motion) == pytest.approx(4.0, rel=1e-4)
    assert zero_crossing_frequency(TIMES, motion) == pytest.approx(4.0, rel=5e-3)


def test_amplitude_of_the_spectrum() -> None:
    frequencies, amplitudes = spectrum(TIMES, 3.0 + 0.5 * np.sin(2 * np.pi * 20.0 * TIMES))
    assert amplitudes.max() == pytest.approx(0.5, rel=0.01)
    assert frequencies[np.argmax(amplitudes)] == pytest.approx(20.0, abs=0.1)


def test_motion_that_never_returns() -> None:
    with pytest.raises(InvalidValue, match="passes through zero"):
        zero_crossing_frequency(TIMES, TIMES + 1.0)


def test_exponent() -> None:
    sizes = np.array([1.0, 2.0, 5.0])
    assert exponent(sizes, 3.0 * sizes**-2) == pytest.approx(-2.0)

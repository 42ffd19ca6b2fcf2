"""Prony series: how shares of a stress fade with time, and what oscillations lose to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number

Series = tuple[tuple[float, float], ...]
"""Shares [-] and the times in which they fade [s]."""

_PER_DECADE = 2
"""Terms a decade of frequencies: the loss factor ripples by 1 to 3 % between them."""
_WIDEST = 1e12
"""Ratio of the frequencies between which a series can be made."""
_LARGEST = 0.5
"""Loss factor beyond which next to nothing would be left after a long time."""


def as_series(series: object, what: str) -> Series:
    """A series as numbers; one that no material has is refused.

    Args:
        series: As it was given.
        what: What it is, for the sentence: "prony = ... of material 'mine'".
    """
    try:
        terms = tuple((float(share), float(time)) for share, time in cast(Series, series))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"{what} cannot be used; give pairs of a share and a time [s], such as ((0.1, 0.02), (0.05, 2.0))."
        ) from None
    if not all(0.0 < share < 1.0 and 0.0 < time < math.inf for share, time in terms):
        raise InvalidValue(f"{what} cannot be used; give shares between 0 and 1, and times above 0 [s].")
    if not sum(share for share, _ in terms) < 1.0:
        raise InvalidValue(
            f"{what} cannot be used; its shares must sum to less than 1, or nothing would be left after a long time."
        )
    return terms


def loss_factor(series: Series, frequency: ArrayLike) -> np.ndarray:
    """Loss factor tan δ of small oscillations [-] at frequencies [Hz], as shaped."""
    rates = 2.0 * np.pi * as_numbers("frequencies", frequency)
    terms = as_series(series, f"series = {series!r:.60}")
    modulus = 1.0 - sum(share / (1.0 + 1j * rates * time) for share, time in terms)
    return np.asarray(np.imag(modulus) / np.real(modulus))


def steady_loss(loss: float, frequencies: Sequence[float] = (1.0, 100.0)) -> Series:
    """A series whose loss factor is the same between two frequencies.

    Args:
        loss: Loss factor tan δ [-], twice the damping ratio of a material, above 0 and at most 0.5.
        frequencies: Lowest and highest frequency [Hz].
    """
    from scipy.optimize import nnls  # takes long to import, and few ask for it

    try:
        low, high = map(float, frequencies)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (is_number(loss) and 0.0 < loss <= _LARGEST):
        raise InvalidValue(f"a loss factor of {loss!r} cannot be made; give a number above 0 and at most {_LARGEST:g}.")
    if not (0.0 < low < high and high / low < _WIDEST):
        raise InvalidValue(
            f"frequencies = {frequencies!r} cannot be used; give a low and a higher one [Hz], at most "
            f"{_WIDEST:g} times as high."
        )
    decades = math.log10(high / low)
    count = max(2, 1 + math.ceil(_PER_DECADE * decades))
    margin = 0.5 * decades / (count - 1)  # terms beyond the ends hold the loss up there
    times = 1.0 / (2.0 * np.pi * np.logspace(math.log10(low) - margin, math.log10(high) + margin, count))
    x = 2.0 * np.pi * np.geomspace(low, high, 20 * count)[:, None] * times
    # Where lost = loss · stored, in which shares are linear.
    shares, _ = nnls((x + loss) / (1.0 + x * x), np.full(len(x), loss))
    return tuple((float(share), float(time)) for share, time in zip(shares, times, strict=True) if share > 0.0)

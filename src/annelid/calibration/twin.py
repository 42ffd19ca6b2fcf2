"""What a model of an experiment must do: tell where markers are for many sets of constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Twin(Protocol):
    """A model of one run.

    Attributes:
        together: Whether many sets of constants are simulated side by side, at less than the price of one by one.
    """

    together: bool

    def motion(self, constants: Mapping[str, np.ndarray], times: np.ndarray) -> np.ndarray:
        """Where markers are at times [m], shape [copies, t, m, 3]; NaN from where a motion diverges.

        Args:
            constants: A number for each copy, by name, shape [copies].
            times: Moments since the motion began [s], ascending, shape [t].
        """
        ...

    def settled(self, constants: Mapping[str, np.ndarray]) -> np.ndarray:
        """Where markers come to rest under the loads at the end [m], shape [copies, m, 3]; NaN where there is none."""
        ...


def fitting(step: float, times: np.ndarray) -> float:
    """A time step no longer than another with which measured moments fall on steps, where they are evenly spaced."""
    spacing = float(np.median(np.diff(times))) if len(times) > 1 else step
    return float(spacing / np.ceil(spacing / step - 1e-6)) if spacing > step else step


def interpolated(known: np.ndarray, places: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Places at times, from those at the moments just before and after.

    Args:
        known: Moments [s], ascending, shape [k].
        places: Shape [copies, k, m, 3].
        times: Moments [s], shape [t].
    """
    after = np.clip(np.searchsorted(known, times - 1e-12), 1, max(len(known) - 1, 1))
    before = after - 1
    if len(known) == 1:
        return np.asarray(np.repeat(places, len(times), axis=1))
    share = ((times - known[before]) / (known[after] - known[before]))[None, :, None, None]
    return np.asarray((1.0 - share) * places[:, before] + share * places[:, after])

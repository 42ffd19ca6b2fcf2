"""Limits of friction that are found by iteration: where they go to and fro, or creep, they are led to where they end.

The limits with which a step is solved, and those that follow from its solution, must be the same in the end. What is
wedged presses the harder the less friction holds it: there limits overshoot time and again by nearly as much, while
those of other places creep. Anderson's method takes the mixture of the last few limits from which the least would
follow (Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49, 2011).
"""

from __future__ import annotations

import numpy as np

_DEPTH = 4  # changes of limits that are mixed
_PART = 0.5  # of the way that is gone besides
_NOISE = 1e-2  # of the largest change: solutions are only so good


class Limits:
    """Finds limits that follow from themselves."""

    def __init__(self) -> None:
        self._limits: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []

    def forget(self) -> None:
        """Begin anew."""
        self._limits, self._changes = [], []

    def better(self, had: np.ndarray, followed: np.ndarray) -> np.ndarray:
        """Limits to go on with, from those that there were and those that followed from them, shape [l] each."""
        if self._limits and len(self._limits[-1]) != len(had):  # other pairs may touch
            self.forget()
        change = followed - had
        self._limits, self._changes = [*self._limits[-_DEPTH:], had], [*self._changes[-_DEPTH:], change]
        found = had + _PART * change
        if len(self._limits) > 1:
            ways, rises = (np.diff(np.array(each), axis=0).T for each in (self._limits, self._changes))
            shares = np.linalg.lstsq(rises, change, rcond=_NOISE)[0]
            found -= (ways + _PART * rises) @ shares
        return np.maximum(found, 0.0)

"""Anderson's acceleration of iterations that an old factor leads.

Steps that an old factor finds fall off by about the same part from one to the next. How they did so on the last few
ways tells how the factor is off along these: the combination of the last steps that would have left the least is taken
as the next one (Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12, 1965; Walker and Ni 2011).
"""

from __future__ import annotations

import numpy as np

_KEPT = 5  # differences that are kept
_LONGEST = 3.0  # of the step that is made better: a longer one is not believed
_RIDGE = 1e-12  # of the mean square of differences, so that those that are nearly alike do no harm


class Anderson:
    """Makes steps better by what became of those before."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know of no steps, because others will follow."""
        self._ways: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def better(self, here: np.ndarray, step: np.ndarray) -> np.ndarray | None:
        """A better step than the one that was found here, both [m] and of shape [n, 3]; None where none is known."""
        if self._last is not None:
            self._ways = [*self._ways, (here - self._last[0]).ravel()][-_KEPT:]
            self._changes = [*self._changes, (step - self._last[1]).ravel()][-_KEPT:]
        self._last = here, step
        if not self._ways:
            return None
        gram = np.array([[_dot(a, b) for b in self._changes] for a in self._changes])
        gram += _RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
        shares = np.linalg.solve(gram, [_dot(each, step.ravel()) for each in self._changes])
        found = step.copy().ravel()
        for share, way, change in zip(shares, self._ways, self._changes, strict=True):
            found -= share * (way + change)
        return found.reshape(-1, 3) if np.abs(found).max() <= _LONGEST * np.abs(step).max() else None


def _dot(first: np.ndarray, second: np.ndarray) -> float:
    """A scalar product without BLAS, which would divide a short one among threads."""
    return float(np.einsum("i,i->", first, second))

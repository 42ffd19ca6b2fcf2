"""The search for constants: a coarse scan over decades, then Gauss-Newton over windows that grow.

A motion that oscillates has a false best fit wherever it is off by whole cycles. So the scan and the first fit look at
the beginning only, where the right constants are the best by far, and the window grows while phases still agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from annelid.calibration.comparison import Comparison
from annelid.calibration.journal import Journal
from annelid.optimise.free import Space
from annelid.optimise.gauss_newton import Fitted, GaussNewton, gauss_newton

_FIRST, _OTHER = (11, np.log(100.0)), (3, np.log(30.0))  # points of a scan, and how far they go up and down
_MOST = 100  # points of a scan
_STARTS = 3  # best points of a scan from which fits begin
_COARSE: dict[str, Any] = {"tolerance": 0.01, "gain": 1e-3}  # of fits to a window that is not the last


@dataclass(eq=False)
class Course:
    """How a search went.

    Attributes:
        evaluations: Simulations of all runs.
        lines: What was done, in words.
    """

    evaluations: int = 0
    lines: list[str] = field(default_factory=list)


class Search:
    """A search for constants.

    Args:
        space: The coordinates.
        comparisons: Runs beside their models.
        windows: Ends of windows [s], rising.
        how: How Gauss-Newton steps.
        say: Called with what is being done.
        journal: What knows the answers that were given before a break.
    """

    def __init__(
        self,
        space: Space,
        comparisons: Sequence[Comparison],
        windows: Sequence[float],
        how: GaussNewton,
        say: Callable[[str], None],
        journal: Journal,
    ) -> None:
        self._space, self._comparisons, self._windows, self._how, self._say = space, comparisons, windows, how, say
        self._journal = journal
        self.course = Course()

    def residuals(self, at: np.ndarray, window: float) -> np.ndarray:
        """What is left of all runs at coordinates of shape [copies, p], in millimetres, shape [copies, r]."""
        self.course.evaluations += len(at)
        return self._journal.answered(at, window, self._simulated)

    def _simulated(self, at: np.ndarray, window: float) -> np.ndarray:
        constants = self._space.values(at)
        with np.errstate(invalid="ignore", over="ignore"):  # trials that diverge count as bad
            return np.concatenate([each.residuals(constants, window) for each in self._comparisons], axis=1)

    def scan(self) -> np.ndarray:
        """Coordinates of the best points of a coarse grid, and the start, best first, shape [k, p]."""
        points = scanned(self._space)
        left = self.residuals(points, self._windows[0])
        with np.errstate(invalid="ignore", over="ignore"):
            costs = np.where(np.isfinite(left).all(axis=1), (left**2).sum(axis=1), np.inf)
        order = np.argsort(costs, kind="stable")[:_STARTS]
        best = order[np.isfinite(costs[order])]
        self._tell(f"scan of {len(points)} points within {self._windows[0]:g} s: {self._told(points[order[0]])}")
        return points[best] if len(best) else np.zeros((1, self._space.count))

    def fit(self, starts: np.ndarray) -> Fitted:
        """The best fit from some starts, over windows that grow."""
        first = self._windows[0]
        fits = [self._fitted(start, first) for start in starts]
        best = min(fits, key=lambda found: found.cost)
        self._tell(f"best of {len(fits)} fits within {first:g} s: {self._told(best.at)}")
        for window in self._windows[1:]:
            best = self._fitted(best.at, window)
            self._tell(f"fit within {window:g} s: {self._told(best.at)}")
        return best

    def _fitted(self, start: np.ndarray, window: float) -> Fitted:
        how = self._how if window == self._windows[-1] else replace(self._how, **_COARSE)
        return gauss_newton(lambda at: self.residuals(at, window), start, self._space.low, self._space.high, how)

    def _told(self, at: np.ndarray) -> str:
        return ", ".join(f"{name} {float(value):.4g}" for name, value in self._space.values(at).items())

    def _tell(self, line: str) -> None:
        self.course.lines.append(line)
        self._say(line)


def scanned(space: Space) -> np.ndarray:
    """Points of a coarse grid around the start, which is one of them, shape [k, p].

    The first constant, which should be the one that matters most, has eleven points over four decades, the next ones
    three over three; bounds cut the grid. Constants on a linear scale, and those beyond the third, have the start only.
    """
    axes, points = [], 1
    for number in range(space.count):
        count, span = _FIRST if number == 0 else _OTHER
        wide = space.logarithmic[number] and points * count <= _MOST
        line = np.linspace(-span, span, count) if wide else np.zeros(1)
        axes.append(np.unique(np.clip(line, space.low[number], space.high[number])))
        points *= len(axes[-1])
    return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)


def default_windows(comparisons: Sequence[Comparison], given: Sequence[float] | None) -> list[float]:
    """Ends of windows [s], rising; the last covers all."""
    end = max(each.end for each in comparisons)
    if end <= 0.0:
        return [0.0]
    inner = [0.2 * end, 0.5 * end] if given is None else [float(window) for window in given if window < end]
    return [*sorted(inner), end]


def held_values(space: Space, at: np.ndarray) -> Mapping[str, float]:
    """Constants at coordinates of shape [p]."""
    return {name: float(value) for name, value in space.values(at).items()}

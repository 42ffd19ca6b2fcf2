"""Ways down a loss by its gradient: Adam, and L-BFGS of SciPy, from many starts side by side.

A way is a generator: it yields coordinates of all starts, shape [starts, p], and is sent their losses, shape [starts],
and gradients, shape [starts, p]. It neither simulates nor writes files, so that whoever drives it can answer from a
log.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.optimize import minimize

from annelid.core.parameters import Checked, documented, parameter

Way = Generator[np.ndarray, tuple[np.ndarray, np.ndarray], None]


@runtime_checkable
class Descent(Protocol):
    """A kind of way down."""

    def way(self, starts: np.ndarray, low: np.ndarray, high: np.ndarray) -> Way:
        """The way from starts, shape [starts, p], between bounds, shape [p]."""
        ...


@documented
@dataclass(frozen=True, kw_only=True)
class Adam(Checked):
    """Steps of about one length along smoothed gradients (Kingma and Ba, 2015): robust to noise and to kinks.

    A start whose loss is not finite goes back to its best point, and walks half as fast from there.
    """

    steps: int = parameter(200, "Steps to take.", least=0)
    rate: float = parameter(
        0.05, "Length of a step in coordinates: 0.05 changes a positive parameter by 5 %.", above=0.0
    )
    memory: tuple[float, float] = parameter(
        (0.9, 0.999),
        "How much of the mean gradient and of its mean square is kept from step to step.",
        limits=(0.0, 0.9999),
    )

    def way(self, starts: np.ndarray, low: np.ndarray, high: np.ndarray) -> Way:
        """The way down; see `Descent`."""
        at = np.clip(starts, low, high)
        best, least = at.copy(), np.full(len(at), np.inf)
        mean, square, count = np.zeros(at.shape), np.zeros(at.shape), np.zeros((len(at), 1))
        rate, (keep, keep_square) = np.full((len(at), 1), float(self.rate)), self.memory
        for _ in range(self.steps):
            losses, rates = yield at
            lower = losses < least
            best[lower], least[lower] = at[lower], losses[lower]
            lost = ~np.isfinite(losses)
            count = np.where(lost[:, None], 0.0, count + 1.0)
            mean = np.where(lost[:, None], 0.0, keep * mean + (1.0 - keep) * rates)
            square = np.where(lost[:, None], 0.0, keep_square * square + (1.0 - keep_square) * rates**2)
            rate[lost] *= 0.5
            steady = np.maximum(count, 1.0)
            size = np.sqrt(square / (1.0 - keep_square**steady)) + 1e-12
            step = rate * mean / (1.0 - keep**steady) / size
            at = np.clip(np.where(lost[:, None], best, at - step), low, high)
        yield at


@documented
@dataclass(frozen=True, kw_only=True)
class LBFGS(Checked):
    """The quasi-Newton method of SciPy (L-BFGS-B): few steps on a smooth loss."""

    of_what: ClassVar[str] = "L-BFGS"

    iterations: int = parameter(100, "Most iterations.", least=0)
    first: float = parameter(
        0.1, "Length of the first step in coordinates, where SciPy would take 1: a factor of e.", above=0.0
    )
    tolerance: float = parameter(
        1e-9, "It ends where an iteration lowers the loss by less than this part of it.", least=0.0
    )
    gradient: float = parameter(
        1e-9, "It ends where no component of the gradient is larger, after the first step's scaling.", least=0.0
    )

    def way(self, starts: np.ndarray, low: np.ndarray, high: np.ndarray) -> Way:
        """The way down; see `Descent`. Each start has a thread that waits while the others are asked."""
        askers = [_Asker(self, start, low, high) for start in np.clip(starts, low, high)]
        at = np.array([asker.next() for asker in askers])
        try:
            while not all(asker.done for asker in askers):
                losses, rates = yield at
                for asker, loss, rate in zip(askers, losses, rates, strict=True):
                    asker.answer(float(loss), rate)
                at = np.array([asker.next() for asker in askers])
        finally:
            for asker in askers:
                asker.give_up()


class _GivenUp(Exception):
    """The way was left before its end."""


class _Asker:
    """SciPy's search from one start in a thread of its own, asked for its points one by one."""

    def __init__(self, how: LBFGS, start: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self._how, self._start, self._low, self._high = how, start, low, high
        self._points: queue.Queue[np.ndarray | BaseException | None] = queue.Queue()
        self._answers: queue.Queue[tuple[float, np.ndarray] | None] = queue.Queue()
        self._at, self.done, self._worst = start, False, 0.0
        self._thread = threading.Thread(target=self._run, daemon=True, name="annelid-l-bfgs")
        self._thread.start()

    def next(self) -> np.ndarray:
        """The point that it asks for, or the last one where it has ended."""
        if not self.done:
            point = self._points.get()
            if isinstance(point, BaseException):
                raise point
            self.done = point is None
            self._at = self._at if point is None else point
        return self._at

    def answer(self, loss: float, rates: np.ndarray) -> None:
        """The loss at the point that it asked for; one that is not finite counts as larger than all before."""
        if self.done:
            return
        if np.isfinite(loss):
            self._worst = max(self._worst, abs(loss))
            self._answers.put((loss, rates))
        else:
            self._answers.put((10.0 * self._worst + 1.0, np.zeros(rates.shape)))

    def give_up(self) -> None:
        """End the thread."""
        if not self.done:
            self._answers.put(None)
        self._thread.join()

    def _run(self) -> None:
        how, scale = self._how, self._how.first

        def loss(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            self._points.put(np.clip(scale * scaled, self._low, self._high))
            answer = self._answers.get()
            if answer is None:
                raise _GivenUp
            return answer[0], scale * answer[1]

        bounds = list(zip(self._low / scale, self._high / scale, strict=True))
        options = {"maxiter": how.iterations, "ftol": how.tolerance, "gtol": how.gradient}
        try:
            minimize(loss, self._start / scale, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            self._points.put(None)
        except _GivenUp:
            pass
        except BaseException as error:
            self._points.put(error)

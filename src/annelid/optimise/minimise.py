"""`minimise`: parameters that make a loss least, from one start or many, with checkpoints and a way to go on.

Descents are deterministic. So a checkpoint is the log of all that they asked and were answered: to go on, they are
walked again and answered from the log, which costs nothing beside a simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.ownership import owned
from annelid.optimise.descents import LBFGS, Adam, Descent
from annelid.optimise.free import Free, Space
from annelid.optimise.log import CHECKPOINT, Log
from annelid.optimise.sensitivity import Sensitivity

Loss = Callable[[dict[str, np.ndarray]], tuple[Any, Mapping[str, Any]]]
"""From parameters by name to the loss and its rates, by the same names; with starts both have a leading axis."""


@runtime_checkable
class Moving(Protocol):
    """A loss of a motion, which can tell whether its gradient means anything."""

    def sensitivity(self, parameters: Mapping[str, Any]) -> Sensitivity:
        """How the motion with parameters depends on its beginning; warns where that grows."""
        ...


_METHODS: Mapping[str, Callable[[], Descent]] = {"adam": Adam, "l-bfgs": LBFGS}
_SAVED_EVERY = 10.0  # seconds between two checkpoints


@dataclass(frozen=True, eq=False)
class Minimum:
    """What a descent found.

    Attributes:
        parameters: The best parameters by name.
        loss: Their loss.
        each: Loss of the best point of each start, shape [starts].
        points: Coordinates of those points, shape [starts, p].
        history: Loss of each start at each evaluation, shape [evaluations, starts]; of the last stage.
        evaluations: Times that the loss was asked for, of all starts at once.
    """

    parameters: dict[str, np.ndarray]
    loss: float
    each: np.ndarray
    points: np.ndarray
    history: np.ndarray
    evaluations: int


Watch = Callable[[int, np.ndarray], None]
"""Called after each evaluation with its number and the least loss of each start so far, shape [starts]."""


def minimise(
    loss: Loss | Sequence[Loss],
    free: Mapping[str, Free | Any],
    *,
    method: str | Descent = "adam",
    starts: int | None = None,
    spread: float = 0.5,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Minimum:
    """Parameters that make a loss least.

    Args:
        loss: The loss, such as a `RolloutLoss`; or several, each of which begins where the one before has ended:
            motions that grow longer. A loss that is not finite counts as large. Where it is that of a motion (`Moving`,
            as `RolloutLoss` is), its sensitivity is looked at before the first step, for the price of a gradient or
            some, and one warning tells the rate at which it grows.
        free: Free parameters by name.
        method: "adam", "l-bfgs", or an `Adam` or `LBFGS` that says how.
        starts: Starts side by side, the first where the parameters say, the others around it; the loss is then asked
            for all of them at once, in arrays with a leading axis, such as a rollout of as many worlds answers. None
            for one without that axis.
        spread: Standard deviation of further starts around the first, in coordinates.
        seed: Seed of the further starts.
        folder: Where a checkpoint is kept; None keeps none.
        resume: Go on from the checkpoint in the folder, if there is one, to the same result as without a break.
        overwrite: Begin anew even if the folder holds a search.
        watch: Called after each evaluation.
    """
    space, stages = Space(free), list(loss) if isinstance(loss, Sequence) else [loss]
    descent = _descent(method)
    points = _starts(space, starts, spread, seed)
    with ExitStack() as stack:
        place = None if folder is None else Path(folder)
        if place is not None:
            stack.enter_context(owned(place))
        log = Log(_identity(space, descent, points, len(stages)))
        if place is not None:
            log.prepare(place / CHECKPOINT, resume, overwrite)
        warned = False
        for stage in stages:
            if not warned and not log.replays and isinstance(stage, Moving):
                warned = _chaotic(stage, space.values(points if starts is not None else points[0]))
            points, each, history = _walked(stage, space, descent, points, starts is not None, log, place, watch)
        if place is not None:
            log.save(place / CHECKPOINT)
    best = int(np.argmin(each))
    if not np.isfinite(each[best]):
        raise InvalidValue(
            "the loss is finite nowhere on the way: check it at the start, and bound parameters so that the time step "
            "is stable."
        )
    return Minimum(space.values(points[best]), float(each[best]), each, points, history, len(log))


def _walked(
    loss: Loss,
    space: Space,
    descent: Descent,
    starts: np.ndarray,
    together: bool,
    log: Log,
    folder: Path | None,
    watch: Watch | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best point of each start on the way down, its loss, and all losses."""
    best, least, history = starts.copy(), np.full(len(starts), np.inf), []
    way, saved = descent.way(starts, space.low, space.high), time.perf_counter()
    at = next(way)
    while True:
        answer = log.replayed(at)
        if answer is None:
            answer = _asked(loss, space, at, together)
            log.append(at, *answer)
            if folder is not None and time.perf_counter() - saved > _SAVED_EVERY:
                log.save(folder / CHECKPOINT)
                saved = time.perf_counter()
        losses, rates = answer
        lower = losses < least
        best[lower], least[lower] = at[lower], losses[lower]
        history.append(losses)
        if watch is not None:
            watch(len(history), least.copy())
        try:
            at = way.send((losses, rates))
        except StopIteration:
            return best, least, np.array(history)


def _chaotic(loss: Moving, parameters: dict[str, np.ndarray]) -> bool:
    """Whether sensitivity grows along the motion where a stage begins; what diverges is told by the descent."""
    try:
        return loss.sensitivity(parameters).chaotic
    except SimulationDiverged:
        return False


def _asked(loss: Loss, space: Space, at: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """Losses and gradients at coordinates; what is not finite is infinite and has no gradient."""
    try:
        found, by = loss(space.values(at if together else at[0]))
    except SimulationDiverged:
        return np.full(len(at), np.inf), np.zeros(at.shape)
    losses = np.asarray(found, float)
    if losses.shape != ((len(at),) if together else ()):
        wanted = f"one number for each of {len(at)} starts" if together else "one number"
        raise InvalidValue(f"the loss must be {wanted}, not of shape {list(losses.shape)}.")
    for name in space.free:
        if name not in by:
            raise InvalidValue(f"the loss has no rates by {name!r}; it has {', '.join(by) or 'none'}.")
    rates = np.reshape(space.rates(at if together else at[0], by), at.shape)
    losses = np.reshape(losses, len(at))
    good = np.isfinite(losses) & np.isfinite(rates).all(axis=1)
    return np.where(good, losses, np.inf), np.where(good[:, None], rates, 0.0)


def _descent(method: str | Descent) -> Descent:
    if not isinstance(method, str):
        return method
    if method not in _METHODS:
        raise InvalidValue(f"method {method!r} must be one of {', '.join(_METHODS)}, or an Adam or LBFGS.")
    return _METHODS[method]()


def _starts(space: Space, count: int | None, spread: float, seed: int) -> np.ndarray:
    if count is not None and (not isinstance(count, int) or count < 1):
        raise InvalidValue(f"starts must be a whole number of 1 or more, or None, not {count!r}.")
    points = np.random.default_rng(seed).normal(0.0, spread, (count or 1, space.count))
    points[0] = 0.0
    return space.clipped(points)


def _identity(space: Space, descent: Descent, points: np.ndarray, stages: int) -> dict[str, Any]:
    """What makes a search another one, in words."""
    return {"parameters": space.names, "method": repr(descent), "starts": len(points), "stages": stages}

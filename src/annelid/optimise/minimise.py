"""`minimise`: parameters that make a loss least, from one start or many, with checkpoints and a way to go on.

Descents are deterministic. So a checkpoint is the log of all that they asked and were answered: to go on, they are
walked again and answered from the log, which costs nothing beside a simulation.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.described import Described
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.files import as_path
from annelid.core.memory import require_memory
from annelid.core.numbers import MOST_COUNTED, is_number, is_whole
from annelid.core.options import require_taking, require_truth
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


class DependsOnNothing(UserWarning):
    """A loss did not change with a parameter anywhere on the way."""


_METHODS: Mapping[str, Callable[[], Descent]] = {"adam": Adam, "l-bfgs": LBFGS}
_SAVED_EVERY = 10.0  # seconds between two checkpoints
_BYTES_A_COORDINATE = 32  # of each start: the point, its best one and their rates
_STEEPEST = 1e100  # rates beyond, whose squares are not numbers, are those of a motion that diverges


@dataclass(frozen=True, eq=False, repr=False)
class Minimum(Described):
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

    def facts(self) -> Mapping[str, str]:
        """The loss, the parameters, and how many starts and evaluations it took."""
        found = {name: _shown(values) for name, values in self.parameters.items()}
        return {
            "loss": f"{self.loss:.6g}", **found, "starts": str(len(self.each)), "evaluations": str(self.evaluations)
        }  # fmt: skip


def _shown(values: np.ndarray) -> str:
    """A number, or the shape of several and between which they lie."""
    if values.size == 1:
        return f"{values.item():.6g}"
    return f"{list(values.shape)} from {values.min():.4g} to {values.max():.4g}" if values.size else "none"


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
        folder: Where a checkpoint is kept; None keeps none. It is also written where a search is interrupted.
        resume: Go on from the checkpoint in the folder, if there is one, to the same result as without a break.
        overwrite: Begin anew even if the folder holds a search.
        watch: Called after each evaluation.
    """
    require_truth("resume", resume)
    require_truth("overwrite", overwrite)
    if watch is not None:
        require_taking("watch", watch, "number", "losses")
    space, stages = Space(free), list(loss) if isinstance(loss, Sequence) else [loss]
    _require_losses(stages)
    descent = _descent(method)
    points = _starts(space, starts, spread, seed)
    each, history = np.full(len(points), np.inf), np.zeros((0, len(points)))
    with ExitStack() as stack:
        place = None if folder is None else as_path(folder)
        if place is not None:
            stack.enter_context(owned(place))
        log = Log(_identity(space, descent, points, len(stages)))
        if place is not None:
            log.prepare(place / CHECKPOINT, resume, overwrite)
            stack.callback(log.save, place / CHECKPOINT)  # also where a search is interrupted
        warned = False
        for stage in stages:
            if not warned and not log.replays and isinstance(stage, Moving):
                warned = _chaotic(stage, space.values(points if starts is not None else points[0]))
            points, each, history = _walked(stage, space, descent, points, starts is not None, log, place, watch)
    best = int(np.argmin(each))
    if not np.isfinite(each[best]):
        raise InvalidValue(
            "the loss is finite nowhere on the way: check it at the start, and bound parameters so that the time step "
            "is stable."
        )
    if each[best] != 0.0:  # where it is, it may have begun at its least
        _tell_idle(space, log)
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
        answer = loss(space.values(at if together else at[0]))
    except SimulationDiverged:
        return np.full(len(at), np.inf), np.zeros(at.shape)
    found, by = _require_answer(answer)
    losses = as_numbers("the value of a loss", found)
    if losses.shape != ((len(at),) if together else ()) and not (losses.size == len(at) == 1):
        wanted = f"one number for each of {len(at)} starts" if together else "one number"
        raise InvalidValue(f"the loss must be {wanted}, not of shape {list(losses.shape)}.")
    for name, values in space.values(at if together else at[0]).items():
        if name not in by:
            raise InvalidValue(f"the loss has no rates by {name!r}; it has {', '.join(map(str, by)) or 'none'}.")
        if np.size(by[name]) != values.size:
            raise InvalidValue(
                f"the rates of the loss by {name!r} have shape {list(np.shape(by[name]))}, not that of the parameter, "
                f"{list(values.shape)}."
            )
    rates = np.reshape(space.rates(at if together else at[0], by), at.shape)
    losses = np.reshape(losses, len(at))
    good = np.isfinite(losses) & (np.abs(rates) < _STEEPEST).all(axis=1)
    return np.where(good, losses, np.inf), np.where(good[:, None], rates, 0.0)


def _require_losses(stages: Sequence[Any]) -> None:
    if not stages:
        raise InvalidValue("there is no loss to make least: give a function of the parameters, or several in a list.")
    for stage in stages:
        if not callable(stage):
            raise InvalidValue(
                f"a loss must be a function of parameters by name, not {type(stage).__name__}; of a rollout, "
                "give optimise.RolloutLoss(rollout, loss)."
            )
        require_taking("a loss to make least", stage, "parameters")


def _require_answer(answer: Any) -> tuple[Any, Mapping[str, Any]]:
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)):
        raise InvalidValue(
            "a loss must return its value and a dictionary of its rates by parameters, not "
            f"{type(answer).__name__}; a function of values alone is smoothed by optimise.Sampled."
        )
    return answer


def _tell_idle(space: Space, log: Log) -> None:
    """Warn of parameters that nothing depends on."""
    moved = log.moved()
    for name, part in space.parts.items():
        if not moved[part].any():
            warnings.warn(
                f"the loss did not change with {name!r}: its rates by it are 0 at all {len(log)} points of the search, "
                "so that it stays at its start; leave it out, or look at the loss.",
                DependsOnNothing,
                stacklevel=3,
            )


def _descent(method: str | Descent) -> Descent:
    if isinstance(method, Descent) and not isinstance(method, type):
        return method
    if not isinstance(method, str) or method not in _METHODS:
        raise InvalidValue(
            f"method {method!r:.60} must be one of {', '.join(_METHODS)}, or an Adam(...) or LBFGS(...)."
        )
    return _METHODS[method]()


def _starts(space: Space, count: int | None, spread: float, seed: int) -> np.ndarray:
    if count is not None and not is_whole(count, 1):
        raise InvalidValue(f"starts must be a whole number of 1 or more, or None, not {count!r:.40}.")
    if not (is_number(spread) and spread >= 0.0) or not is_whole(seed, 0):
        raise InvalidValue(f"spread and seed must be 0 or more, not {spread!r} and {seed!r}.")
    needed = _BYTES_A_COORDINATE * float(min(count or 1, MOST_COUNTED)) * space.count
    require_memory(f"a search from {count!r:.40} starts", needed, "take fewer starts")
    points = np.random.default_rng(seed).normal(0.0, spread, (count or 1, space.count))
    points[0] = 0.0
    return space.clipped(points)


def _identity(space: Space, descent: Descent, points: np.ndarray, stages: int) -> dict[str, Any]:
    """What makes a search another one, in words.

    Coordinates are counted from where parameters begin, so that the log of a search that begins elsewhere looks alike.
    """
    scales = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in space.scales()))
    return {
        "parameters": space.names,
        "method": repr(descent),
        "starts": len(points),
        "stages": stages,
        "beginnings and bounds": scales.hexdigest(),
    }

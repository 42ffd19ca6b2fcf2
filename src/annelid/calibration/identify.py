"""`identify`: constants of a body from measured tracks of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from annelid.calibration.calibration import Calibration
from annelid.calibration.comparison import NUISANCES, Comparison
from annelid.calibration.identified import Compared, Identified
from annelid.calibration.journal import Journal
from annelid.calibration.search import Search, default_windows, held_values
from annelid.core.errors import InvalidValue
from annelid.core.files import as_path
from annelid.core.identity import identity
from annelid.core.options import require_callable, require_kind, require_truth
from annelid.core.ownership import owned
from annelid.optimise.free import Space
from annelid.optimise.gauss_newton import Fitted, GaussNewton
from annelid.optimise.uncertainty import uncertainty

_SIDE_BY_SIDE = 3  # lengths of a step that are tried at once where copies are


class NotDetermined(UserWarning):
    """Data do not determine what was asked for; the sentence says which direction is open, and the remedy."""


def identify(
    calibration: Calibration,
    *,
    scan: bool = True,
    device: str = "auto",
    threads: int | None = None,
    iterations: int = 30,
    say: Callable[[str], None] | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
) -> Identified:
    """Constants of a body from measured tracks of it.

    A coarse scan over four decades around the start finds where to begin, Gauss-Newton with a trust region fits the
    beginning of the runs, then longer and longer windows of them. Rates are forward differences, copies of the body in
    one batch where its physics has worlds.

    Args:
        calibration: The body, its runs, markers and free constants.
        scan: Whether to scan; else the start must be good to a factor of two or so.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        iterations: Most iterations of each fit.
        say: Called with a line about each thing done.
        folder: Where what was simulated is kept (`checkpoint.npz`), also where the search is interrupted; None keeps it
            nowhere.
        resume: Go on from what the folder has, if there is something, to the same result as without a break; else begin
            anew.
    """
    require_kind("what is identified", calibration, Calibration, "a Calibration")
    require_truth("scan", scan)
    require_truth("resume", resume)
    if say is not None:
        require_callable("say", say)
    space = calibration.space
    fitted = calibration.comparisons(calibration.runs, device, threads)
    predicted = calibration.comparisons(calibration.held_out, device, threads)
    windows = default_windows(fitted, calibration.windows)
    nuisances = NUISANCES[calibration.registration] * len(fitted)
    _require_motion(fitted)
    _require_data(space, fitted, windows[0], nuisances)
    together = all(each.twin.together for each in fitted)
    how = GaussNewton(iterations=iterations, tries=_SIDE_BY_SIDE if together else 1)
    place = None if folder is None else as_path(folder)
    journal = Journal(place, _identity(calibration, space, fitted, windows, how, scan=scan))
    search = Search(space, fitted, windows, how, say or _silent, journal)
    with ExitStack() as stack:
        if place is not None:
            stack.enter_context(owned(place))
            stack.callback(journal.save)  # also where the search is interrupted
        if resume and (known := journal.resume()):
            (say or _silent)(f"{known} batches of simulations are known from before")
        starts = search.scan() if scan else np.zeros((1, space.count))
        found = search.fit(starts)
    _require_fit(found)
    made = _identified(calibration, space, search, found, nuisances, fitted, predicted, windows[-1])
    for sentence in made.warnings():
        warnings.warn(sentence, NotDetermined, stacklevel=2)
    return made


def _identity(
    calibration: Calibration,
    space: Space,
    fitted: Sequence[Comparison],
    windows: Sequence[float],
    how: GaussNewton,
    *,
    scan: bool,
) -> str:
    """What makes a search another one, as far as it can be told; bodies are compared by what they do."""
    data = [(each.run.name, each.run.axes, each.times, each.measured) for each in fitted]
    return identity(space.names, space.scales(), data, calibration.registration, list(windows), how, scan)


def _identified(
    calibration: Calibration,
    space: Space,
    search: Search,
    found: Fitted,
    nuisances: int,
    fitted: Sequence[Comparison],
    predicted: Sequence[Comparison],
    window: float,
) -> Identified:
    known = uncertainty(found.residuals, found.jacobian, nuisances)
    slopes = space.slopes(found.at)
    edge = np.minimum(found.at - space.low, space.high - found.at) < 1e-6
    compared = [_compared(each, space, found.at, held_out=False) for each in fitted]
    compared += [_compared(each, space, found.at, held_out=True) for each in predicted]
    return Identified(
        name=calibration.name,
        constants=held_values(space, found.at),
        deviations={n: float(d) for n, d in zip(space.names, known.deviations * slopes, strict=True)},
        starts=held_values(space, np.zeros(space.count)),
        noise=known.noise,
        uncertainty=known,
        space=space,
        runs=tuple(compared),
        evaluations=search.course.evaluations,
        converged=found.converged,
        at_bound=tuple(name for name, there in zip(space.names, edge, strict=True) if there),
        course=tuple(search.course.lines),
    )


def _compared(one: Comparison, space: Space, at: np.ndarray, *, held_out: bool) -> Compared:
    model = one.model(space.values(at[None]), one.end)[0]
    return Compared(one.run.name, held_out, one.names, one.run.axes, one.times, one.measured, model)


def _require_motion(comparisons: Sequence[Comparison]) -> None:
    """Refuse runs to fit in which no marker moves."""
    for each in comparisons:
        if each.still:
            raise InvalidValue(
                f"no marker moves in run {each.run.name!r}, which says nothing of a motion that begins as built: give "
                "motion=False if the body has settled there, start='settled' if it rests under loads, or leave it out."
            )


def _require_data(space: Space, comparisons: Sequence[Comparison], window: float, nuisances: int) -> None:
    """Refuse fewer data than constants."""
    data, wanted = sum(each.data(window) for each in comparisons), space.count + nuisances
    if data <= wanted:
        frame = f" and {nuisances} numbers of the frames of the capture" if nuisances else ""
        first = f" in the first window, up to {window:g} s," if window > 0.0 else ""
        raise InvalidValue(
            f"{data} measured numbers{first} cannot determine {space.count} constants{frame}: give more moments, "
            f"markers or runs, or fewer constants{', or longer windows' if first else ''}."
        )


def _require_fit(found: Fitted) -> None:
    if not np.isfinite(found.residuals).all():
        raise InvalidValue(
            "no set of constants within the bounds gives a finite motion: check the body, its holds and loads, and "
            "bounds within which the time step is stable."
        )


def _silent(line: str) -> None:
    """Say nothing."""

"""A run beside its model: which moments of which markers are compared, in what frame, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from annelid.calibration.runs import Run
from annelid.calibration.twin import Twin
from annelid.core.errors import InvalidValue

Registration = Literal["none", "shift", "rigid"]
NUISANCES: Mapping[str, int] = {"none": 0, "shift": 3, "rigid": 6}
"""How the frame of the capture may differ from that of the body, and how many numbers that costs a run."""

_UNITS = {"mm": ("millimetres", 300.0, 3000.0), "cm": ("centimetres", 30.0, 300.0)}
"""Units that are guessed, and the ratios of lengths from and to which they are."""
_STILL, _LOST = 1e-6, 1e3  # of the size of what markers span: a motion that is none, and one that has diverged
_SLOW = 1.0  # seconds between two moments from which a motion is not filmed


class Comparison:
    """One run beside its model.

    Args:
        run: The run.
        twin: Its model.
        markers: Places of the markers on the body as built [m], by name.
        registration: How the frame of the capture may differ.

    Attributes:
        run: The run.
        times: Moments that are compared [s], shape [t]; [0] for where it settles.
        measured: Measured places [m], shape [t, m, 3]; NaN where a marker was not seen.
    """

    def __init__(self, run: Run, twin: Twin, markers: Mapping[str, Any], registration: Registration) -> None:
        self.run, self.twin, self.registration = run, twin, registration
        tracks = run.measured.of(list(markers))
        rest = np.array([markers[name] for name in tracks.names], float)
        places = tracks.places
        if run.held is not None:
            before = tracks.between(*run.held).places
            places = places - _mean(before) + rest
        require_units(run, places, rest, apart=len(rest) > 1 or registration != "none" or run.held is not None)
        if run.motion:
            chosen = tracks.times >= -1e-9
            self.times, self.measured = tracks.times[chosen], places[chosen]
            if len(self.times) < 2:
                raise InvalidValue(
                    f"run {run.name!r} has {len(self.times)} moments after t = 0, when it begins to move."
                )
        else:
            span = run.settled or (tracks.times[0], tracks.times[-1])
            late = tracks.between(*span).times
            self.times = np.zeros(1)
            self.measured = _mean(places[np.isin(tracks.times, late)])[None]
        self.columns = run.columns
        self.names = tracks.names
        self._rest = rest
        spans = [np.abs(rest).max(), np.ptp(rest, axis=0).max(), np.nanmax(np.abs(self.measured - rest), initial=0.0)]
        self._size = float(max(spans)) or np.inf

    @property
    def end(self) -> float:
        """When the motion ends [s]."""
        return float(self.times[-1])

    @property
    def still(self) -> bool:
        """Whether no marker moves though a motion that begins as built is compared."""
        first = np.where(np.isfinite(self.measured), self.measured, np.inf).min(axis=0)
        moved = float(np.nanmax(self.measured - first, initial=0.0))
        return self.run.motion and self.run.start == "rest" and moved <= _STILL * self._size

    def within(self, window: float) -> np.ndarray:
        """Whether each moment lies in a window of time that begins with the motion, shape [t]."""
        return np.asarray(self.times <= window + 1e-9)

    def model(self, constants: Mapping[str, np.ndarray], window: float) -> np.ndarray:
        """Places of the markers in the model, in the frame of the capture [m], shape [copies, t, m, 3]."""
        chosen = self.within(window)
        if self.run.motion:
            places = self.twin.motion(constants, self.times[chosen])
            near = (np.abs(places - self._rest) <= _LOST * self._size).all(axis=(1, 2, 3))
            places = np.where(near[:, None, None, None], places, np.nan)  # some diverge and stay finite
        else:
            places = self.twin.settled(constants)[:, None]
        return np.array([registered(each, self.measured[chosen], self.registration) for each in places])

    def residuals(self, constants: Mapping[str, np.ndarray], window: float) -> np.ndarray:
        """What is left of each component that was seen [mm], shape [copies, r]."""
        measured = self.measured[self.within(window)]
        seen = np.isfinite(measured).all(axis=2)
        off = self.model(constants, window) - measured
        return np.asarray(1e3 * off[:, seen][..., self.columns].reshape(len(off), -1))

    def data(self, window: float) -> int:
        """Components that are compared."""
        return int(np.isfinite(self.measured[self.within(window)]).all(axis=2).sum()) * len(self.columns)


def registered(model: np.ndarray, measured: np.ndarray, how: Registration) -> np.ndarray:
    """Places of a model, shape [t, m, 3], moved rigidly to where they fit measured ones best (Kabsch)."""
    seen = np.isfinite(measured).all(axis=2)
    if how == "none" or not np.isfinite(model).all():
        return model
    middle, goal = model[seen].mean(axis=0), measured[seen].mean(axis=0)
    if how == "shift":
        return np.asarray(model + goal - middle)
    left, _, right = np.linalg.svd((measured[seen] - goal).T @ (model[seen] - middle))
    turn = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    return np.asarray((model - middle) @ turn.T + goal)


def require_units(run: Run, places: np.ndarray, rest: np.ndarray, *, apart: bool = True) -> None:
    """Refuse tracks whose lengths or times are off by about 1,000, with the unit that they seem to have.

    Args:
        run: The run.
        places: Places of the markers [m], shape [t, m, 3].
        rest: Where they are on the body as built [m], shape [m, 3].
        apart: Whether to compare how far markers are apart; else where one was seen first, which is about on the body.
    """
    source = run.measured.source
    if apart:
        found, expected = _spread(_mean(places)), _spread(rest)
        what = f"markers are {found:.3g} m apart in {source}, and {expected:.3g} m on the body"
    else:
        found, expected = float(np.linalg.norm(_first(places))), float(np.linalg.norm(rest))
        what = f"the marker is {found:.3g} m from the origin when {source} begins, and {expected:.3g} m as built"
    _require_lengths(what, found, expected)
    spacing = float(np.median(np.diff(run.measured.times))) if len(run.measured.times) > 1 else 0.0
    if run.motion and spacing > _SLOW:
        raise InvalidValue(
            f"moments of {source} are {spacing:.3g} s apart, which shows no motion: if times are milliseconds, give "
            "time_unit='ms' to the run; if it only settles, motion=False."
        )


def _require_lengths(what: str, found: float, expected: float) -> None:
    if min(found, expected) <= 0.0:
        return
    for unit, (name, low, high) in _UNITS.items():
        if low < found / expected < high:
            raise InvalidValue(f"{what}: lengths seem to be {name}; give unit={unit!r} to the run.")
        if low < expected / found < high:
            raise InvalidValue(
                f"{what}: lengths seem to be metres that are called {name}, or the body is built in {name}; build it "
                "in metres, and give unit='m' to the run, or mend the first line of the table."
            )


def _first(places: np.ndarray) -> np.ndarray:
    """Where the first marker was seen first, shape [3]."""
    track = places[:, 0]
    return np.asarray(track[np.isfinite(track).all(axis=1)][0])


def _mean(places: np.ndarray) -> np.ndarray:
    """Mean over moments at which each marker was seen, shape [m, 3]."""
    seen = np.isfinite(places).all(axis=2)
    total = np.where(seen[..., None], places, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / seen.sum(axis=0)[:, None])


def _spread(points: np.ndarray) -> float:
    """Root mean square distance of points from their middle [m]."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))

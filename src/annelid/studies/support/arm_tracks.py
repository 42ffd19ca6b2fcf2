"""What was measured of the pneumatic segment of Dubied et al. (RA-L 2022): where three markers at its tip go.

One chamber is inflated by a step of commanded pressure, and the displacement from rest is taken 1.3 s later. A folder
has static.csv, a table of that, or step-NNNmbar.csv, tracks in time, or both; hold-NNNmbar.csv are another session.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.studies.support.tables import read_columns

MARKERS = np.array([(-0.0096, -0.0265, 0.0), (-0.0096, 0.0265, 0.0), (-0.0282, 0.0, 0.0)])
"""Where the markers are at rest [m], 6 mm off the skin of a tip at z = 0."""
_NAME = re.compile(r"(step|hold)-(\d+)mbar\.csv")
_PLACES = [f"tip{marker}_{axis}" for marker in (1, 2, 3) for axis in "xyz"]
_SHIFTS = [f"tip{marker}_d{axis}" for marker in (1, 2, 3) for axis in "xyz"]
_WINDOW = (1.2, 1.4)  # after the step: when it counts as settled [s]
_MBAR = 100.0  # [Pa]
_FARTHEST = 0.2  # no marker of an arm of 0.1 m goes farther [m]


@dataclass(frozen=True, eq=False)
class Measured:
    """One run: commanded pressure [Pa], and how far the markers have gone 1.3 s after the step [m], shape [3, 3]."""

    name: str
    pressure: float
    shifts: np.ndarray

    @cached_property
    def centre(self) -> np.ndarray:
        """How far the middle of the tip has gone [m], shape [3], if markers and tip are one rigid body."""
        turn, then = self._turned
        return np.asarray(then - turn @ MARKERS.mean(axis=0))

    @property
    def tilt(self) -> float:
        """Angle by which the axis has turned at the tip [rad]."""
        return math.acos(min(self._turned[0][2, 2], 1.0))

    @cached_property
    def _turned(self) -> tuple[np.ndarray, np.ndarray]:
        """Rotation of the markers, and where their mean is then."""
        after = MARKERS + self.shifts
        first, then = MARKERS.mean(axis=0), after.mean(axis=0)
        left, _, right = np.linalg.svd((after - then).T @ (MARKERS - first))
        return left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right, then


def read_steps(folder: Path) -> list[Measured]:
    """Runs of the session of steps, by rising pressure: those of static.csv, then tracks that it does not have."""
    table = folder / "static.csv"
    known = {run.pressure: run for run in (_read_table(table) if table.is_file() else [])}
    for run in _read_tracks(folder, "step"):
        known.setdefault(run.pressure, run)
    if not known:
        raise FileFormatError(f"{folder} has neither static.csv nor step-NNNmbar.csv; name the folder that has them.")
    return [known[pressure] for pressure in sorted(known)]


def read_holds(folder: Path) -> list[Measured]:
    """Runs of the other session, by rising pressure; there may be none."""
    return _read_tracks(folder, "hold")


def _read_table(path: Path) -> list[Measured]:
    rows = read_columns(path, ["pressure_mbar", *_SHIFTS])
    return [_checked(path, "step", row[0], row[1:]) for row in rows]


def _read_tracks(folder: Path, kind: str) -> list[Measured]:
    found = []
    for path in sorted(folder.glob(f"{kind}-*.csv")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        times, places = np.split(read_columns(path, ["t", *_PLACES]), [1], axis=1)
        rest, late = times[:, 0] < 0.0, (times[:, 0] >= _WINDOW[0]) & (times[:, 0] <= _WINDOW[1])
        if not (rest.any() and late.any()):
            raise InvalidValue(
                f"the track of {path} has no moments before 0 s, or none between {_WINDOW[0]:g} and {_WINDOW[1]:g} s, "
                "after which it counts as settled; give a longer one."
            )
        found.append(_checked(path, kind, float(match[2]), places[late].mean(axis=0) - places[rest].mean(axis=0)))
    return sorted(found, key=lambda run: run.pressure)


def _checked(path: Path, kind: str, mbar: float, shifts: np.ndarray) -> Measured:
    farthest = float(np.abs(shifts).max())
    if not (farthest < _FARTHEST and math.isfinite(mbar) and mbar > 0.0):
        raise InvalidValue(
            f"the run of {mbar:g} mbar in {path} cannot be one of the arm: its markers go {farthest:.3g} m; give "
            "pressures above 0 mbar and places in metres."
        )
    return Measured(f"{kind}-{mbar:g}mbar", _MBAR * mbar, shifts.reshape(3, 3))

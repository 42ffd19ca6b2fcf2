"""Constants of bodies from measurements: tracks of markers, runs with loads and releases, and what was found."""

from __future__ import annotations

from annelid.calibration.calibration import Calibration
from annelid.calibration.files import save
from annelid.calibration.identified import Compared, Identified
from annelid.calibration.identify import NotDetermined, identify
from annelid.calibration.runs import Run
from annelid.calibration.synthetic import synthetic_tracks
from annelid.calibration.tracks import Tracks, read_tracks
from annelid.core.lazy import public

__all__ = [
    "Calibration",
    "Compared",
    "Identified",
    "NotDetermined",
    "Run",
    "Tracks",
    "identify",
    "read_tracks",
    "save",
    "synthetic_tracks",
]

__dir__ = public(__name__)

"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Calibration, Free, Run, Tracks, springs
from annelid.calibration import synthetic_tracks
from annelid.core.errors import AnnelidError

NO: Any = "no"


def tracks(**options: Any) -> Tracks:
    return Tracks(**{"times": [0.0, 0.1], "places": np.zeros((2, 1, 3)), "names": ("tip",), **options})


def calibration(**options: Any) -> Calibration:
    body, runs = springs.block((2, 2, 2)), [Run(tracks())]
    return Calibration(body, runs, {"tip": (0.0, 0.0, 0.0)}, {"stiffness": Free(1e4, 1e3, 1e5)}, **options)


def made(**options: Any) -> Tracks:
    given = {"markers": {"tip": (0.0, 0.0, 0.0)}, "constants": {"stiffness": 1e4}, "times": [0.0, 0.1], **options}
    return synthetic_tracks(springs.block((2, 2, 2)), **given)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: tracks(times=3), r"tracks: times must be a list of moments, not of shape \[\]"),
        (lambda: tracks(places="here"), "places of tracks must be given as numbers, not 'here'"),
        (lambda: tracks(names="tip"), "names of markers must be a list of names, not 'tip'"),
        (lambda: Run(tracks(), motion=NO), "motion of a Run must be True or False, not 'no'"),
        (lambda: Run(tracks(), interval=NO), "interval of run 'tracks' must be a time above 0 s, not 'no'"),
        (lambda: Run(tracks(), held=NO), "held of run 'tracks' must be a span of time, .*, or None, not 'no'"),
        (lambda: Run(tracks(), loads=NO), "loads of a run must be forces by group"),
        (lambda: Run(tracks(), releases={"tip": NO}), "must let 'tip' go at a time of 0 s or more, not 'no'"),
        (lambda: Run(tracks(), start=["rest"]), "start of run 'tracks' must be 'rest' or 'settled', not"),
        (lambda: Run(tracks(), name=3), "the name of a run must be a text, not int: 3"),
        (lambda: made(markers=3), "markers must be places by name, not int: 3"),
        (lambda: made(constants=NO), "constants must be numbers by name, not str: 'no'"),
        (lambda: made(times=0.1), r"times must have the shape \[t\], not \[\]"),
        (
            lambda: made(times=[-0.1, 0.1]),
            r"times must rise from 0 s or later, when the motion begins, not \[-0.1, 0.1\]",
        ),
        (lambda: made(times=[0.1, 0.1]), "times must rise from 0 s or later"),
        (lambda: made(noise=-1.0), "the noise of tracks must be 0 m or more, not -1.0"),
        (lambda: made(seed=NO), "seed = 'no' cannot be used; give a whole number of 0 or more"),
        (lambda: calibration(reach=None), "reach must be a length of 0 m or more, not None"),
        (lambda: calibration(windows=3), "windows must be a list of times, or None, not int: 3"),
        (lambda: calibration(registration=["none"]), "registration must be one of"),
        (lambda: calibration(carriers=NO), "carriers must be groups by name of the marker"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()

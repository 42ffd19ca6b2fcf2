"""The study of the worm on sand: its trials, its verdict and its plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.studies.locomotion_on_sand import Found, LocomotionOnSand
from annelid.studies.registry import study_class


def _found(study: LocomotionOnSand, inside: int = 0) -> Found:
    trials = study.trials()
    speeds = np.array([0.1 * t.value * (1.0 if t.ground == "sand" else 2.0) for t in trials])
    return Found(trials, speeds, np.full(len(trials), inside))


def test_it_is_listed() -> None:
    assert study_class("locomotion-on-sand") is LocomotionOnSand


def test_trials_differ_in_one_parameter_on_both_grounds() -> None:
    trials = LocomotionOnSand().trials()
    assert {t.parameter for t in trials} == {"amplitude", "frequency", "friction", "depth"}
    assert {t.ground for t in trials if t.parameter == "depth"} == {"sand"}
    assert len({t.name for t in trials}) == len(trials)
    assert len(LocomotionOnSand(quick=True).trials()) < len(trials) // 2


def test_the_verdict() -> None:
    study = LocomotionOnSand(quick=True)
    results = {m.name: m for m in study.measure(_found(study))}
    assert results["speed-sand-amplitude-0.2"].value == pytest.approx(0.02)
    assert results["gain-by-amplitude-on-sand"].passed
    assert results["grains-inside"].passed
    assert not {m.name: m for m in study.measure(_found(study, inside=1))}["grains-inside"].passed


@pytest.mark.parametrize("quick", [True, False])
def test_the_plot(tmp_path: Path, quick: bool) -> None:
    study = LocomotionOnSand(quick=quick)
    (path,) = study.plot(_found(study), tmp_path)
    assert path.stat().st_size > 10_000


def test_a_worm_on_hard_ground_moves() -> None:
    study = LocomotionOnSand(quick=True)
    speed, inside = study.crawl("hard", study.worm, wp.get_device("cpu"), 1)
    assert inside == 0
    assert abs(speed) > 1e-3

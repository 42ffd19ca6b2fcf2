"""Robots of chance: every kind is built, its targets can be reached, and inverse control finds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.studies.random_robots import RandomRobots
from annelid.studies.support.random_robots import Draft, reachable

from .conftest import by_name


@pytest.mark.parametrize("kind", ["finger", "trunk", "bellows"])
def test_robots_of_chance_reach_what_they_are_led_to(kind: str) -> None:
    drawn = Draft.drawn(np.random.default_rng(3), (5.5e-3, 6e-3))
    draft = replace(drawn, kind=kind, cables=0 if kind == "finger" else 2, axes="x" if kind == "finger" else "xy")
    led = RandomRobots(steps=4)._lead(draft, np.random.default_rng(4))
    assert led.distances.max() < 5e-5


def test_targets_are_a_stride_apart_at_most() -> None:
    draft = replace(Draft.drawn(np.random.default_rng(3), (6e-3, 6.5e-3)), kind="finger", cables=0, axes="x")
    places = reachable(draft.robot(), np.random.default_rng(4), 3, 2e-4)
    assert (np.linalg.norm(np.diff(places, axis=0), axis=1) <= 2e-4).all()


def test_the_study_measures_and_draws(tmp_path: Path, silence: Progress) -> None:
    study = RandomRobots(quick=True, robots=1, seed=1)
    found = study.compute(wp.get_device("cpu"), 1, silence)
    rows = by_name(study.measure(found))
    assert rows["largest-distance"].passed
    assert study.plot(found, tmp_path)[0].stat().st_size > 5_000


@pytest.mark.parametrize("wrong", [{"robots": 0}, {"steps": 0}, {"stride": -1.0}])
def test_numbers_that_lead_nowhere_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        RandomRobots(**wrong)

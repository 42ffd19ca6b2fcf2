"""Robots of chance: every kind is built, its targets can be reached, and inverse control finds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.studies import random_robots
from annelid.studies.random_robots import RandomRobots
from annelid.studies.support.random_paths import Stretched, reachable, stretched
from annelid.studies.support.random_robots import Draft

from .conftest import by_name


def few_nodes(kind: str, **changes: Any) -> Draft:
    number = ["finger", "trunk", "bellows", "gripper"].index(kind)
    drawn = Draft.drawn(np.random.default_rng(3), number, (300, 500))
    return replace(drawn, **{"length": 7.0 * drawn.pitch, **changes})  # shorter than the study draws them


@pytest.mark.parametrize("kind", ["finger", "trunk", "bellows", "gripper"])
def test_robots_of_chance_reach_what_they_are_led_to(kind: str) -> None:
    draft = few_nodes(kind)
    assert draft.kind == kind
    led = RandomRobots(steps=2)._lead(draft, np.random.default_rng(4), draft.robot())
    assert led.distances.max() < 5e-5
    assert led.in_words().startswith(kind)


def test_a_robot_of_silicone_is_led_along_its_limits() -> None:
    draft = few_nodes("finger", law="dragon-skin-10/ogden", modulus=1.48e5, bounded=True)
    led = RandomRobots(steps=3)._lead(draft, np.random.default_rng(5), draft.robot())
    assert led.distances.max() < 5e-5


def test_targets_are_a_stride_apart_at_most() -> None:
    robot = few_nodes("finger").robot()
    places = reachable(robot, np.random.default_rng(4), 3, 2e-4, bounded=False)
    assert (np.linalg.norm(np.diff(places, axis=0), axis=2) <= 2e-4).all()


def test_out_of_reach_a_robot_comes_as_near_as_its_limits_let_it_and_rests() -> None:
    robot = few_nodes("finger").robot()
    found = stretched(robot, fem.Inverse(robot))
    assert found.optimum > 2e-4  # out of reach
    assert found.distance < found.optimum + 5e-5
    assert found.wander < 0.01


def test_the_study_measures_and_draws(tmp_path: Path, silence: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_robots, "stretched", lambda *_: Stretched(1.02e-3, 1e-3, 0.02))
    study = RandomRobots(robots=1, seed=1, steps=2)
    found = study.compute(wp.get_device("cpu"), 1, silence)
    rows = by_name(study.measure(found))
    assert rows["largest-distance"].passed
    assert rows["largest-distance-beyond-optimum"].value == pytest.approx(0.02)
    assert not rows["largest-wander-out-of-reach"].passed
    assert study.plot(found, tmp_path)[0].stat().st_size > 5_000


@pytest.mark.parametrize("wrong", [{"robots": 0}, {"steps": 0}, {"stride": -1.0}, {"stride": 1e-12}, {"seed": -1}])
def test_numbers_that_lead_nowhere_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        RandomRobots(**wrong)

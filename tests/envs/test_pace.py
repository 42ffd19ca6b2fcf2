"""What a training does in its time: it learns soon and often, ends in time, and says where that is too short."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("stable_baselines3")

import gymnasium

from annelid.commands.train import command
from annelid.core.errors import InvalidValue, SlowTask
from annelid.envs.training import callback
from annelid.envs.training.agents import batch_size, make_agent, rollout_rows
from annelid.envs.training.pace import LEAST_CHOICES, UPDATES, announced, fewer_worlds, measured_rate, paced, too_slow
from annelid.envs.training.recipes import OWN, RECIPES, Recipe
from annelid.envs.training.run import Plan, Training

from ..task_file import written

VOXELS = "annelid/VoxelLocomotion-v0"


class Bandit(gymnasium.Env[np.ndarray, np.ndarray]):
    """An environment without a world."""

    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))


@given(
    rate=st.floats(0.5, 1e5),
    seconds=st.floats(30.0, 7200.0),
    length=st.integers(1, 500),
    usual=st.sampled_from([OWN, *RECIPES.values()]),
)
@example(rate=36.0, seconds=6828.0, length=1, usual=RECIPES["annelid/TrunkReachAround-v0"])
@example(rate=18.0, seconds=3556.0, length=1, usual=RECIPES["annelid/TrunkReachAround-v0"])
def test_a_training_learns_often_or_says_that_it_cannot(
    rate: float, seconds: float, length: int, usual: Recipe
) -> None:
    worlds = fewer_worlds(usual, rate * seconds, 2)
    pace = paced(usual, {"worlds": worlds}, rate, seconds, length)
    settings = pace.settings
    if too_slow(pace, seconds):
        return
    rollout = usual.worlds * rollout_rows(usual, usual.worlds)
    often = min(UPDATES, usual.steps / (rollout * usual.repeat))
    assert pace.updates >= 0.5 * often - 1
    assert pace.first <= 2.0 * max(seconds / often, LEAST_CHOICES * settings.repeat / rate)
    assert pace.learning + pace.evaluation <= seconds * 1.01 + 1.0 / rate
    assert worlds <= usual.worlds
    assert pace.rollout == worlds * rollout_rows(settings, worlds)


def test_a_slow_task_learns_within_a_minute_of_five() -> None:
    for rate in (3.0, 5.0, 9.0, 50.0, 800.0):
        worlds = fewer_worlds(OWN, 300.0 * rate, 2)
        pace = paced(OWN, {"worlds": worlds}, rate, 300.0, 80)
        assert pace.first < 60.0
        assert pace.updates >= 10
        assert f"{pace.updates:,} times, first in " in announced(pace, "ppo")


def test_without_a_time_the_recipe_stays_as_it_is() -> None:
    for usual in (OWN, *RECIPES.values()):
        pace = paced(usual, {}, 5.0, math.inf, 80)
        assert pace.settings == usual
        assert pace.rollout == usual.worlds * rollout_rows(usual, usual.worlds)
        assert pace.episodes == 20
        assert not too_slow(pace, math.inf)


def test_an_agent_of_many_worlds_learns_from_as_many_choices_as_are_announced() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    usual = RECIPES["annelid/SpringWalker-v0"]
    pace = paced(usual, {}, 100.0, math.inf, 80)
    env = vec_env.DummyVecEnv([Bandit] * usual.worlds)
    agent = make_agent("ppo", env, pace.settings, seed=0, log=None, device="cpu")
    assert agent.n_steps * usual.worlds == pace.rollout == 8192
    assert "learns from 8,192 choices at once" in announced(pace, "ppo")


def test_what_the_user_says_is_kept() -> None:
    told = {"worlds": 4, "choices": 400, "epochs": 3, "repeat": 2, "steps": 100}
    pace = paced(OWN, told, 1000.0, 60.0, 10, episodes=7)
    assert {name: getattr(pace.settings, name) for name in told} == told
    assert pace.episodes == 7


def test_a_task_that_is_too_slow_is_warned_of_with_the_minutes_that_it_needs() -> None:
    slow, fast = (paced(OWN, {"worlds": 8}, rate, 120.0, 80) for rate in (5.0, 500.0))
    assert not too_slow(fast, 120.0)
    sentence = too_slow(slow, 120.0)
    minutes = int(sentence.split("--minutes ")[1].split(",")[0])
    assert sentence.startswith("5 actions a second are too few to learn much in 2 min: give --minutes ")
    assert not too_slow(paced(OWN, {"worlds": 8}, 5.0, 60.0 * minutes, 80), 60.0 * minutes)


@given(rollout=st.integers(1, 100_000))
def test_all_batches_of_a_rollout_are_alike(rollout: int) -> None:
    size = batch_size(rollout)
    assert rollout % size == 0
    assert size <= max(64, rollout // 16)


@pytest.mark.parametrize(("fitting", "rollouts"), [(0.3, 1), (2.4, 2), (2.6, 3)])
def test_ppo_begins_no_rollout_that_ends_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitting: float, rollouts: int
) -> None:
    monkeypatch.setitem(RECIPES, VOXELS, Recipe(choices=32))
    plan = Plan(VOXELS, worlds=2, options={"body": "worm", "seconds": 0.5})
    training = Training(plan, tmp_path, device="cpu", threads=1)
    clock = SimpleNamespace(perf_counter=lambda: float(training.steps))  # a second for each action
    monkeypatch.setattr(callback, "time", clock)
    training.learn(10_000, seconds=fitting * 32.0)
    assert training.steps // 32 == rollouts


def test_the_rate_counts_all_worlds() -> None:
    counted = []
    worlds = SimpleNamespace(
        count=3,
        action_size=2,
        done=SimpleNamespace(numpy=lambda: np.array([False, True, False])),
        restart=lambda *_, **__: None,
        step=lambda actions: counted.append(actions.shape),
    )
    rate = measured_rate(worlds)  # type: ignore[arg-type]
    assert set(counted) == {(3, 2)}
    assert rate > 0.0


def test_the_command_says_what_it_does_and_warns_of_what_is_too_slow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = written(tmp_path, ("every = 0.02", "every = 0.002"), ("seconds = 0.06", "seconds = 0.02"))
    few = ["--no-plot", "--device", "cpu", "--threads", "1", "--out", str(tmp_path / "out")]
    with pytest.warns(SlowTask, match="too few to learn much in 1 s: give --minutes"):
        assert command([task, "--minutes", "0.001", "--worlds", "2", *few]) == 0
    said = capsys.readouterr().err
    assert " actions a second in 2 worlds, so " in said
    assert "it learns from 64 choices at once, once, first in " in said
    assert "An evaluation of 2 episodes takes another " in said
    with pytest.raises(InvalidValue, match="leave out --rollout and --epochs"):
        command([task, "--resume", "--rollout", "128", *few])
    with pytest.raises(InvalidValue, match="holds a training already"):
        command([task, *few])

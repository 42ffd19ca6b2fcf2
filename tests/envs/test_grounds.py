"""Environments of springs on sand without grains: the same task, on ground that is an option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.envs.kernels.sandworm import FELT
from annelid.envs.task_worlds import TaskWorlds

NAMES = ["WormCrawl", "SpringWalker", "SandWorm"]  # RunnerGallop has kernels of its own, for its motors


def worlds_of(name: str, count: int, tasks: dict[str, dict[str, object]], device: str = "cpu", **options: Any) -> Any:
    given = {**tasks[f"annelid/{name}-v0"], "ground": "resistive", **options}
    worlds = envs.make_worlds(name, count, device=device, **given)
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=np.arange(count))
    return worlds


def actions(worlds: Any, step: int) -> np.ndarray:
    """Those of a world do not depend on how many there are."""
    return np.stack([np.random.default_rng([step, w]).uniform(-1, 1, worlds.action_size) for w in range(worlds.count)])


@pytest.mark.parametrize("name", NAMES)
def test_worlds_are_independent_and_go_on_where_they_were_saved(
    name: str, tasks: dict[str, dict[str, object]], device: str, tmp_path: Path
) -> None:
    many, alone = (worlds_of(name, count, tasks, device) for count in (2, 1))
    for step in range(3):
        for worlds in (many, alone):
            worlds.step(actions(worlds, step))
        np.testing.assert_array_equal(
            many.observations["observation"].numpy()[0], alone.observations["observation"].numpy()[0]
        )
    assert (many.state.hollows.numpy() < 0.0).any(), "it is pressed into sand"
    many.save(tmp_path / "worlds.npz")
    again = worlds_of(name, 2, tasks, device)
    again.load(tmp_path / "worlds.npz")
    for worlds in (many, again):
        worlds.step(actions(worlds, 3))
    for name in ("positions", "hollows", "sand_forces"):
        np.testing.assert_array_equal(getattr(many.state, name).numpy(), getattr(again.state, name).numpy())


def test_a_worm_on_sand_feels_what_carries_it(tasks: dict[str, dict[str, object]]) -> None:
    worlds = worlds_of("SandWorm", 1, tasks, segments=4, action_time=0.1, seconds=2.0, noise=0.0)
    for _ in range(20):  # it swings by a third of a millimetre at first
        worlds.step(np.zeros((1, 4)))
    felt = worlds.observations["observation"].numpy()[0, : 4 * FELT].reshape(4, FELT)
    assert felt[:, 4].sum() == pytest.approx(1.0, abs=0.02)
    assert np.abs(felt[:, 2:4]).max() < 0.15
    assert worlds.snapshot().parts[0].name == "sand"


def test_a_wave_crawls_on_sand(tasks: dict[str, dict[str, object]]) -> None:
    worlds = worlds_of("SandWorm", 1, tasks, segments=6, action_time=0.05, seconds=2.0, noise=0.0)
    total = 0.0
    for step in range(40):
        phase = 2.0 * np.pi * (2.0 * step * worlds.action_seconds - 2.0 * np.arange(6) / 6.0)
        worlds.step(np.sin(phase)[None])
        total += float(worlds.rewards.numpy()[0])
    assert total > 0.02


@pytest.mark.parametrize("name", [*NAMES, "RunnerGallop"])
def test_a_ground_or_a_medium_that_is_not_known_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="ground of .* must be one of .*resistive, not 'sand'"):
        envs.make_worlds(name, 1, device="cpu", ground="sand")
    with pytest.raises(UnknownName, match="snad"):
        envs.make_worlds(name, 1, device="cpu", ground="resistive", medium="snad")
    with pytest.raises(InvalidValue, match="medium = 'glass' is what ground = 'resistive' consists of"):
        envs.make_worlds(name, 1, device="cpu", medium="glass")


def test_the_sand_worm_feels_sand_that_stays(tasks: dict[str, dict[str, object]]) -> None:
    worlds = worlds_of("SandWorm", 1, tasks)
    for step in range(3):
        worlds.step(actions(worlds, step))
    (sand,) = worlds.simulation.solver.model.world.obstacles
    assert sand.furrow is not None
    assert np.isfinite(worlds.observations["observation"].numpy()).all()

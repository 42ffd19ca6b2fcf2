"""Scripted policies of all environments: they fit, depend on observations and time alone, and beat doing nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import envs
from annelid.benches import tasks as bench
from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue, UnknownName
from annelid.envs.baselines import scripted
from annelid.envs.spaces import host_observations, packed
from annelid.envs.training.evaluation import baseline_outcomes


def test_every_environment_has_a_script_that_acts_alike_in_equal_episodes(task: tuple[str, dict[str, Any]]) -> None:
    name, options = task
    worlds = envs.make_worlds(name, 2, device="cpu", threads=1, **options)
    policy, runs = scripted(name, worlds), []
    for _ in range(2):
        worlds.restart(seeds=[3, 4])
        actions = []
        for _ in range(2):
            actions.append(np.asarray(policy(packed(host_observations(worlds)))))
            assert actions[-1].shape == (2, worlds.action_size)
            assert np.abs(actions[-1]).max() <= 1.0
            worlds.step(actions[-1])
        runs.append(np.array(actions))
    np.testing.assert_array_equal(*runs)
    assert np.abs(runs[0]).max() > 0.0


@pytest.mark.parametrize(
    ("name", "options", "better"),
    [
        ("annelid/VoxelJump-v0", {}, 3.0),  # [m]
        ("annelid/WormCrawl-v0", {"segments": 4, "seconds": 1.0}, 0.05),  # [lengths]
        ("annelid/TrunkReach-v0", {"seconds": 0.3}, 1.0),  # [cm]
    ],
)
def test_scripts_beat_doing_nothing_and_chance(name: str, options: dict[str, Any], better: float) -> None:
    worlds = envs.make_worlds(name, 2, device="cpu", threads=1, **options)
    means = {kind: float(returns.mean()) for kind, returns, _ in baseline_outcomes(name, worlds, 2)}
    assert list(means) == ["zero", "random", "scripted"]
    assert means["scripted"] > max(means["zero"], means["random"]) + better


def test_a_task_of_ones_own_has_no_script() -> None:
    worlds = envs.make_worlds("VoxelJump", 1, device="cpu")  # a name without namespace and version will do
    assert callable(scripted("VoxelJump", worlds))
    with pytest.raises(UnknownName, match="environment with a scripted policy"):
        scripted("annelid/VoxelJmp-v0", worlds)


def test_the_bench_tells_means_and_deviations() -> None:
    options = bench.Options(names=("voxeljump",), episodes=2)
    found = {m.name: m.value for m in bench.bench(find_device("cpu"), 1, options)}
    assert found["voxeljump-scripted-mean"] > found["voxeljump-random-mean"] > found["voxeljump-zero-mean"]
    assert found["voxeljump-random-deviation"] > 0.0
    with pytest.raises(UnknownName, match="Did you mean 'HeapPush'"):
        next(bench.bench(find_device("cpu"), 1, bench.Options(names=("HepPush",))))
    with pytest.raises(InvalidValue, match="must be 1 or more, not 0"):
        next(bench.bench(find_device("cpu"), 1, bench.Options(episodes=0)))

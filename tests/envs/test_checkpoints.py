"""Worlds on disk: loaded again, they go on to the bit as if nothing had happened."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import FileFormatError
from annelid.core.state import state_hash
from annelid.envs import Worlds

Task = tuple[str, dict[str, object]]

COUNT = 2


def made(task: Task, device: str = "cpu", **changes: object) -> Worlds:
    name, options = task
    return envs.make_worlds(name, COUNT, device=device, threads=1, **{**options, **changes})  # type: ignore[arg-type]


def everything(worlds: Worlds) -> str:
    return state_hash(worlds._everything())


def gone_on(worlds: Worlds, seed: int) -> list[str]:
    """Hashes along a few actions, a restart of one world among them."""
    random, seen = np.random.default_rng(seed), [everything(worlds)]
    for step in range(3):
        if step == 1:
            worlds.restart(np.array([True, False]))
        worlds.step(random.uniform(-1.0, 1.0, (COUNT, worlds.action_size)).astype(np.float32))
        seen.append(everything(worlds))
    return seen


def test_saving_and_loading_does_not_matter(task: Task, device: str, tmp_path: Path) -> None:
    worlds = made(task, device)
    worlds.restart(seeds=[3, 7])
    gone_on(worlds, 1)
    worlds.save(tmp_path / "worlds.npz")
    expected = gone_on(worlds, 2)
    assert len(set(expected)) == len(expected)
    worlds.load(tmp_path / "worlds.npz")
    assert gone_on(worlds, 2) == expected
    fresh = made(task, device)
    fresh.load(tmp_path / "worlds.npz")
    assert gone_on(fresh, 2) == expected


VOXELS: Task = ("annelid/VoxelLocomotion-v0", {"seconds": 1.0})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    worlds = made(VOXELS)
    worlds.restart(seeds=[1, 2])
    path = tmp_path_factory.mktemp("worlds") / "worlds.npz"
    worlds.save(path)
    return path


def refused(saved: Path, worlds: Worlds, sentence: str) -> None:
    before = everything(worlds)
    with pytest.raises(FileFormatError, match=sentence):
        worlds.load(saved)
    assert everything(worlds) == before


def test_another_environment_is_refused(saved: Path) -> None:
    other: Any = envs.make_worlds("annelid/SpringWalker-v0", COUNT, device="cpu", substeps=30)
    refused(saved, other, "saved with environment = VoxelLocomotion, not SpringWalker")


def test_another_number_of_worlds_is_refused(saved: Path) -> None:
    name, options = VOXELS
    other: Any = envs.make_worlds(name, 3, device="cpu", **options)  # type: ignore[arg-type]
    refused(saved, other, "saved with worlds = 2, not 3")


def test_other_options_are_refused(saved: Path) -> None:
    refused(saved, made(VOXELS, noise=0.1), r"saved with noise = 0\.05, not 0\.1")


def test_a_damaged_file_is_refused(saved: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.npz"
    cut.write_bytes(saved.read_bytes()[:-100])
    refused(cut, made(VOXELS), "not a checkpoint, or it is damaged")


def test_the_checkpoint_of_a_simulation_is_refused(tmp_path: Path) -> None:
    worlds: Any = made(VOXELS)
    simulation = worlds.task.build(worlds=COUNT, device="cpu", threads=1)
    simulation.save(tmp_path / "simulation.npz")
    refused(tmp_path / "simulation.npz", worlds, "without the setting environment")

"""Worlds that several processes share do to the bit what they do in one, and their errors arrive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.envs.processes import ProcessWorlds

from ..task_file import written


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A task with goals that ends early now and then, and fails on command."""
    end = (
        "    def goals(self):\n        return {'aim': (0.1, 0.2)}\n\n"
        "    def terminated(self, now, before, actions):\n        return now['aim'][:, 0] + actions[:, 0] > 1.0\n\n"
        "    def reward(self, now, before, actions):\n        assert (actions < 0.999).all(), 'too far'\n"
    )
    changes = ("    def reward(self, now, before, actions):\n", end), ("seconds = 0.06", "seconds = 0.008")
    return written(tmp_path_factory.mktemp("task"), *changes, ("every = 0.02", "every = 0.001"))


@pytest.fixture(scope="module")
def shared(task: str) -> Iterator[ProcessWorlds]:
    worlds = envs.make_worlds(task, 3, device="cpu", threads=2, processes=2, friction=0.5)
    assert isinstance(worlds, ProcessWorlds)
    yield worlds
    worlds.close()


def test_they_do_what_they_do_in_one_process(task: str, shared: ProcessWorlds) -> None:
    alone = envs.make_worlds(task, 3, device="cpu", threads=1, friction=0.5)
    draw = np.random.default_rng(0)
    for worlds in (alone, shared):
        worlds.restart(seeds=[4, 5, 6])
    assert [each.shape for each in shared.channels] == [each.shape for each in alone.channels]
    assert (shared.most_steps, shared.action_seconds) == (alone.most_steps, alone.action_seconds)
    ended = 0
    for _ in range(20):
        actions = draw.uniform(-0.99, 0.99, (3, 2))
        for worlds in (alone, shared):
            worlds.step(actions)
        for name in ("rewards", "terminated", "truncated", "done", "steps", "seeds", "episodes"):
            assert np.array_equal(getattr(alone, name).numpy(), getattr(shared, name).numpy()), name
        done = alone.done.numpy().copy()
        ended += done.sum()
        for worlds in (alone, shared):
            if done.any():
                worlds.restart(done, keep_results=True)
            assert np.array_equal(worlds.done.numpy(), done)
        seen = (worlds.observations["observation"].numpy() for worlds in (alone, shared))
        assert np.array_equal(*seen)
    assert ended > 3


def test_what_they_cannot_do_is_refused(task: str, shared: ProcessWorlds, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be saved: give processes=1"):
        shared.save(tmp_path / "worlds")
    with pytest.raises(InvalidValue, match="cannot be drawn: give processes=1"):
        shared.snapshot()
    with pytest.raises(InvalidValue, match="number of processes must be a whole number from 1 to 2, not 3"):
        envs.make_worlds(task, 2, device="cpu", processes=3)

    class Local(envs.Task):
        pass

    with pytest.raises(InvalidValue, match="cannot be handed to another process"):
        envs.make_worlds(Local, 2, device="cpu", processes=2)


def test_errors_and_deaths_of_processes_are_told(shared: ProcessWorlds) -> None:
    shared.restart(seeds=[1, 2, 3])
    second = shared._shares[1]
    with pytest.raises(AnnelidError, match=r"crawl.py, line \d+, in reward: AssertionError: too far."):
        shared.step(np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    assert not second._process.is_alive()  # it has gone on: the worlds are of no use any more
    with pytest.raises(AnnelidError, match="a process with worlds has died"):
        shared.step(np.zeros((3, 2)))

"""Reaching round a post: it stands in the way of each target, and only who goes round it arrives."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.baselines import scripted
from annelid.envs.baselines.parts import readings
from annelid.envs.baselines.reaching import pulled
from annelid.envs.spaces import host_observations, packed
from annelid.envs.task_worlds import TaskWorlds

AROUND = "annelid/TrunkReachAround-v0"
pytestmark = pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")


def trunks(count: int, **options: object) -> TaskWorlds:
    worlds = envs.make_worlds(AROUND, count, device="cpu", threads=1, **options)
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


def test_a_post_stands_before_each_target_wherever_an_episode_begins() -> None:
    worlds = trunks(3, rings=2, dt=1 / 60, every=1 / 60, newtons=2, gradients=4)
    targets, posts = worlds.now["target"].numpy().astype(float), worlds.now["post"].numpy().astype(float)
    ahead = targets / np.linalg.norm(targets, axis=1, keepdims=True)
    across = np.abs(posts[:, 0] * ahead[:, 1] - posts[:, 1] * ahead[:, 0])
    shares = (posts[:, :2] * ahead).sum(axis=1) / np.linalg.norm(targets, axis=1)
    assert len(set(shares)) == 3
    assert 0.47 - 1e-6 <= shares.min() <= shares.max() <= 0.53 + 1e-6
    assert 0.0 < across.max() <= 4e-3 + 1e-6
    before = posts.copy()
    worlds.step(np.zeros((3, 8)))
    worlds.restart(np.array([False, True, False]))
    moved = np.abs(worlds.now["post"].numpy() - before).max(axis=1)
    assert moved[1] > 0.0 == moved[0] == moved[2]
    np.testing.assert_allclose(worlds.info()["distance"][1], np.linalg.norm(worlds.now["target"].numpy()[1]), rtol=1e-3)


def test_who_goes_round_the_post_arrives_and_who_goes_straight_is_caught() -> None:
    """A trunk of few nodes, with a post right in its way; what acts differs from world to world."""
    worlds = trunks(2, rings=4, dt=1 / 30, newtons=2, gradients=6, modulus=220e3, aside=0.0, seconds=1.2)
    worlds.restart(seeds=[3, 4])
    policy = scripted(AROUND, worlds)
    while not worlds.done.numpy().any():
        observations = packed(host_observations(worlds))
        seen = readings(worlds, observations)
        worlds.step(np.stack([policy(observations)[0], pulled(seen, seen["target"], 12.0)[1]]))
    told, forces = worlds.info(), np.linalg.norm(worlds.now["touch"].numpy(), axis=1)
    np.testing.assert_array_equal(told["success"], [1.0, 0.0])
    assert told["distance"][0] < 0.01 < 0.025 < told["distance"][1]
    assert forces[1] > 0.05


def test_posts_that_would_stand_in_the_trunk_are_refused() -> None:
    with pytest.raises(InvalidValue, match="post"):
        trunks(1, post=0.02)

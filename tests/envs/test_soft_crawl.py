"""Crawling of a soft tube: arches that run from head to tail bring it on, those that run the other way do not."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.baselines.waves import wave

CRAWL = "annelid/SoftCrawl-v0"


def test_arches_lead_against_their_way_and_rewards_are_lengths() -> None:
    worlds = envs.make_worlds(CRAWL, 2, device="cpu", threads=1, dt=1 / 60, seconds=0.8)
    worlds.restart(seeds=[0, 1])
    worlds.simulation.parameters.set({"friction": 1.0, "stiffness": 1.0})
    begin = worlds.now["place"].numpy()[:, 0].copy()
    ways, total = [wave(worlds, frequency=3.0, waves=waves) for waves in (-0.5, 0.5)], np.zeros(2)
    touched = np.zeros(2, bool)
    while not worlds.done.numpy().any():
        worlds.step(np.stack([way(None)[world] for world, way in enumerate(ways)]))
        total += worlds.rewards.numpy()
        touched |= (worlds.now["touch"].numpy() != 0.0).any(axis=1)  # it hops: not at every moment
    np.testing.assert_allclose(total, (worlds.now["place"].numpy()[:, 0] - begin) / 0.15, atol=1e-5)
    assert total[0] > 0.005
    assert total[1] < total[0] - 0.01
    assert touched.all()


def test_tubes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidValue, match="pressure"):
        envs.make_worlds(CRAWL, 1, device="cpu", pressure=1e6)

"""Grasping with soft fingers: balls differ from episode to episode, are lifted by what squeezes them, and judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.baselines import scripted
from annelid.envs.spaces import host_observations, packed
from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.training.evaluation import episode_outcomes, successes

GRASP = "annelid/SoftGrasp-v0"
SMALL: dict[str, Any] = {"chambers": 1, "dt": 1 / 60, "every": 1 / 60, "newtons": 2, "gradients": 4}
pytestmark = pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")


def hands(count: int, **options: object) -> TaskWorlds:
    worlds = envs.make_worlds(GRASP, count, device="cpu", threads=1, **options)
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


def test_balls_differ_and_lie_on_the_ground_wherever_an_episode_begins() -> None:
    worlds = hands(3, **SMALL)
    sizes = worlds.simulation.parameters["body_size"]
    assert len(set(sizes.tolist())) == 3
    places = worlds.now["object"].numpy()
    np.testing.assert_allclose(places[:, 2], 0.025 * sizes + 0.97 * 3e-3, rtol=1e-6)
    assert 0.0 < np.abs(places[:, :2]).max() <= 2e-3
    np.testing.assert_allclose(worlds.info()["rise"], 0.0, atol=1e-12)
    for _ in range(3):
        worlds.step(np.full((3, 3), -1.0))
    before = worlds.now["object"].numpy().copy()
    worlds.restart(np.array([False, True, False]))
    after = worlds.now["object"].numpy()
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert worlds.simulation.parameters["body_size"][1] != sizes[1]
    np.testing.assert_allclose(worlds.now["height"].numpy()[:, 0], [-0.01, 0.0, -0.01], rtol=1e-6)  # at 0.2 m/s
    np.testing.assert_allclose(worlds.info()["rise"][1], 0.0, atol=1e-12)


def test_a_ball_is_drawn_as_large_as_it_is() -> None:
    worlds = hands(2, **SMALL)
    for world, size in enumerate(worlds.simulation.parameters["body_size"]):
        (ball,) = (part for part in worlds.snapshot(world).parts if "object" in part.name)
        assert 0.5 * np.ptp(ball.vertices[:, 2]) == pytest.approx(0.025 * size, rel=1e-5)


def test_the_script_lifts_a_light_ball_and_leaves_a_heavy_one() -> None:
    """With fingers of few nodes."""
    worlds = hands(2, chambers=3, dt=1 / 60, newtons=4, seconds=1.2, spread=0.0)
    worlds.simulation.parameters.set({"body_size": 1.0, "body_mass": [0.5, 20.0], "stiffness": 1.0, "friction": 1.2})
    worlds.task.reset(worlds, worlds._every)
    total, policy = np.zeros(2), scripted(GRASP, worlds)
    while not worlds.done.numpy().any():
        worlds.step(policy(packed(host_observations(worlds))))
        total += worlds.rewards.numpy()
    told = worlds.info()
    np.testing.assert_array_equal(told["success"], [1.0, 0.0])
    assert told["rise"][0] > 0.03 > 1e-3 > told["rise"][1]
    assert 0.0 < total[1] + 0.1 < total[0] < 1.0


def test_outcomes_tell_the_share_of_successes() -> None:
    worlds = hands(2, **SMALL, seconds=1 / 20)
    returns, ends = episode_outcomes(worlds, lambda _: np.zeros((2, 3)), 3)
    assert len(returns) == len(ends["rise"]) == 3
    assert successes(ends) == 0.0
    assert successes({}) is None


def test_balls_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidValue, match="radius"):
        hands(1, radius=0.05)

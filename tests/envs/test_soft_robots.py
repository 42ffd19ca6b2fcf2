"""Voxel robots and the quadruped as environments: bodies and sensors as options, rewards that are ways."""

import numpy as np
import pytest

from annelid import envs, voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.voxel_locomotion import BODIES

VOXELS, WALKER = "annelid/VoxelLocomotion-v0", "annelid/SpringWalker-v0"


def robots(count: int = 1, **options: object) -> TaskWorlds:
    worlds = envs.make_worlds(VOXELS, count, device="cpu", **options)
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


@pytest.mark.parametrize("body", list(BODIES))
def test_reward_is_the_way_of_the_centre(body: str) -> None:
    worlds = robots(2, body=body)
    start = worlds.solver.readout.centers(worlds.state)[:, 0]
    total = np.zeros(2)
    for k in range(8):
        worlds.step(np.full((2, worlds.action_size), (-1.0) ** k))
        total += worlds.rewards.numpy()
    assert total == pytest.approx(worlds.solver.readout.centers(worlds.state)[:, 0] - start, abs=1e-4)


def test_a_body_of_ones_own_with_windowed_sensors() -> None:
    body = voxels.Robot.from_text("xxx\nx.x", sensors=voxels.talamini_sensors())
    worlds = robots(2, body=body)
    assert worlds.action_size == 5
    assert worlds.channels[0].shape == (5 * 6 + 5,)
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 2, 5)).astype(np.float32)
    for given in actions:
        worlds.step(given)
    worlds.restart(np.array([True, False]), [0, 9])  # its windows begin anew, in the middle of the other's
    fresh = robots(1, body=body)
    for given in actions[::-1]:
        worlds.step(given)
        fresh.step(given[:1])
        seen, expected = (w.observations["observation"].numpy()[0] for w in (worlds, fresh))
        assert np.array_equal(seen, expected)


def test_observation_ends_with_the_action() -> None:
    worlds = robots()
    action = np.linspace(-0.5, 0.5, worlds.action_size, dtype=np.float32)
    worlds.step(action[None])
    assert np.array_equal(worlds.observations["observation"].numpy()[0, -worlds.action_size :], action)


def test_bad_bodies() -> None:
    with pytest.raises(UnknownName, match="biped"):
        robots(body="byped")
    with pytest.raises(InvalidValue, match="sensors"):
        robots(body=voxels.box(2, 2), sensors=())


def test_picture_of_one_of_many() -> None:
    worlds = robots(3)
    worlds.step(np.zeros((3, worlds.action_size)))
    assert worlds.snapshot(2).parts
    assert envs.make_env(VOXELS, render_mode="rgb_array", device="cpu").render_mode == "rgb_array"


def walker(count: int = 1, **options: object) -> TaskWorlds:
    worlds = envs.make_worlds(WALKER, count, device="cpu", **{"substeps": 300, "noise": 0.0, **options})
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


def test_inflation_lengthens_a_limb_and_bends_it() -> None:
    worlds = walker(2)
    for _ in range(3):
        worlds.step(np.array([[-1.0, 1.0, -1.0, -1.0, -1.0], [-1.0] * 5]))
    blown, calm = worlds.observations["observation"].numpy()
    places = slice(3, 6)  # of the limb in front on the left
    assert np.linalg.norm(blown[places] - calm[places]) > 0.01
    assert blown[-4] == pytest.approx(0.7)
    assert calm[-4] == 0.0


def test_walker_is_rewarded_in_its_lengths() -> None:
    worlds = walker()
    start = worlds.state.positions.numpy()[:, 0].mean(dtype=float)
    worlds.step(np.array([[1.0, 1.0, 1.0, -1.0, -1.0]]))
    way = worlds.state.positions.numpy()[:, 0].mean(dtype=float) - start
    assert worlds.rewards.numpy()[0] == pytest.approx(way / worlds.task.length, abs=1e-5)
    assert worlds.snapshot().parts

"""Tasks of users: a simulation with controls and sensors becomes an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import warp as wp

from annelid import Uniform, envs, springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import host_array
from annelid.envs.own import own_task
from annelid.shapes import ground


class Crawl(envs.Task):
    """Crawl along x."""

    seconds = 0.1
    every = 0.02
    friction: float = 0.8

    def build(self, **machine: Any) -> Any:
        body = springs.block((5, 3, 3), 0.1, damping=20.0)
        middle = body.positions[body.springs].mean(axis=1)[:, 0]
        body.control("back", middle < 0.2).control("front", middle >= 0.2, low=0.7, high=1.3)
        simulation = springs.simulation(body, dt=2e-4, obstacles=[ground(self.friction)], **machine)
        simulation.sensors.add("place", springs.position_of())
        simulation.sensors.add("strain", springs.strain_of())
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["place"][:, 0] - before["place"][:, 0]

    def terminated(self, now: Any, before: Any, actions: Any) -> Any:
        return now["strain"][:, 0] > 1.0


FILE = """
from annelid import envs


class {name}(envs.Task):
    def build(self, **machine):
        raise RuntimeError("not needed here")

    def reward(self, now, before, actions):
        return 0.0
"""


def acted(count: int, device: str, world: int | slice = slice(None), actions: int = 3) -> Any:
    """Some random actions; in one world those of `world` among four."""
    worlds = envs.make_worlds(Crawl, count, device=device)
    worlds.restart(seeds=np.arange(count))
    chance = np.random.default_rng(0)
    for _ in range(actions):
        worlds.step(chance.uniform(-1.0, 1.0, (4, 2))[world].reshape(count, 2))
    return worlds


def test_observations_are_the_readings_and_rewards_what_the_task_says(device: str) -> None:
    worlds = acted(4, device, actions=1)
    (channel,) = worlds.channels
    assert channel.parts == (("place", 3), ("strain", 1))
    assert worlds.action_size == 2
    readings = worlds.simulation.sensors.read().numpy()
    np.testing.assert_array_equal(worlds.observations["observation"].numpy(), readings)
    middle = worlds.simulation.solver.model.one.positions[:, 0].mean()
    np.testing.assert_allclose(worlds.rewards.numpy(), readings[:, 0] - middle, atol=1e-6)
    assert len(set(worlds.rewards.numpy().tolist())) == 4


def test_a_world_among_others_learns_what_it_would_alone(device: str) -> None:
    many, alone = acted(4, device), acted(1, device, world=2)
    np.testing.assert_array_equal(
        many.observations["observation"].numpy()[2], alone.observations["observation"].numpy()[0]
    )


def test_a_world_begins_again_by_itself(device: str) -> None:
    worlds = acted(4, device)
    before = worlds.observations["observation"].numpy().copy()
    worlds.restart(mask=np.array([False, True, False, False]))
    now = worlds.observations["observation"].numpy()
    np.testing.assert_array_equal(now[[0, 2, 3]], before[[0, 2, 3]])
    np.testing.assert_allclose(now[1, :3], worlds.simulation.solver.model.one.positions.mean(axis=0), atol=1e-6)


def test_worlds_that_are_done_begin_again(device: str) -> None:
    worlds = acted(2, device, world=slice(0, 2))
    while not worlds.done.numpy().all():
        worlds.step(np.zeros((2, 2)))
    worlds.restart(mask=worlds.done)
    assert worlds.steps.numpy().tolist() == [0, 0]
    middle = worlds.simulation.solver.model.one.positions.mean(axis=0)
    np.testing.assert_allclose(worlds.observations["observation"].numpy()[:, :3], [middle, middle], atol=1e-6)


def test_episodes_end_by_time_and_by_what_happened(device: str) -> None:
    class Short(Crawl):
        """Ends when the body is stretched."""

        def terminated(self, now: Any, before: Any, actions: Any) -> Any:
            return now["strain"][:, 0] > 0.01

    worlds = envs.make_worlds(Short, 2, device=device)
    worlds.restart(seeds=[0, 1])
    for _ in range(5):
        worlds.step([[1.0, 1.0], [0.0, 0.0]])
    assert worlds.terminated.numpy().tolist() == [True, False]
    assert worlds.truncated.numpy().tolist() == [True, True]


def test_parameters_are_drawn_by_the_seed_of_an_episode(device: str) -> None:
    class Varied(Crawl):
        """A body that is never twice the same."""

        randomise: ClassVar = {"stiffness": Uniform(0.7, 1.3), "friction": Uniform(0.5, 1.5), "gain": Uniform(0.9, 1.1)}

    def played(seeds: list[int], episodes: int) -> Any:
        worlds = envs.make_worlds(Varied, len(seeds), device=device)
        worlds.restart(seeds=seeds)
        for _ in range(episodes):
            worlds.restart()
        worlds.step(np.full((len(seeds), 2), 0.5))
        return worlds

    many, alone = played([7, 3, 5], 1), played([5], 1)
    values = many.simulation.parameters.values()
    np.testing.assert_array_equal(values[2], alone.simulation.parameters.values()[0])
    np.testing.assert_array_equal(many.rewards.numpy()[2:], alone.rewards.numpy())
    assert len(set(many.simulation.parameters["stiffness"].tolist())) == 3
    assert not np.array_equal(values, played([7, 3, 5], 0).simulation.parameters.values())


def test_save_and_load(device: str, tmp_path: Path) -> None:
    worlds = acted(2, device, world=slice(0, 2))
    worlds.save(tmp_path / "worlds.npz")
    worlds.step(np.ones((2, 2)))
    after = worlds.observations["observation"].numpy().copy()
    worlds.load(tmp_path / "worlds.npz")
    worlds.step(np.ones((2, 2)))
    np.testing.assert_array_equal(worlds.observations["observation"].numpy(), after)


def test_gymnasium_takes_a_task() -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    checker.check_env(envs.make_env(Crawl, device="cpu"), skip_render_check=True)
    field = envs.make_vector_env(Crawl, 3, device="cpu", friction=0.3)
    observations, _ = field.reset(seed=1)
    assert observations.shape == (3, 4)
    assert field.step(field.action_space.sample())[1].shape == (3,)


def test_pytorch_tasks_share_memory() -> None:
    pytest.importorskip("torch")

    class Shared(Crawl):
        """Rewards by PyTorch."""

        arrays = "torch"

    worlds, other = envs.make_worlds(Shared, 2, device="cpu"), envs.make_worlds(Crawl, 2, device="cpu")
    for each in (worlds, other):
        each.restart(seeds=[0, 1])
        each.step([[1.0, -1.0], [0.5, 0.0]])
    np.testing.assert_array_equal(worlds.rewards.numpy(), other.rewards.numpy())


def test_one_world_is_pictured_by_itself() -> None:
    worlds = acted(4, "cpu")
    shots = [worlds.snapshot(world) for world in (1, 3)]
    places = [host_array(next(part for part in shot.parts if part.name == "body").vertices) for shot in shots]
    assert len(places[0]) == len(places[1]) <= worlds.simulation.solver.model.one.mass_count
    assert not np.array_equal(places[0], places[1])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"reward": lambda self, now, before, actions: np.zeros(3)},
            r"reward of Bad must be 2 values.*not shape \[3\]",
        ),
        (
            {"reward": lambda self, now, before, actions: np.array([0.0, np.nan])},
            "not a finite number in world 1, action 1",
        ),
        (
            {"terminated": lambda self, now, before, actions: True},
            r"terminated of Bad must be 2 values.*not shape \[\]",
        ),
        (
            {"terminated": lambda self, now, before, actions: now["place"][:, 0]},
            "terminated of Bad must be true or false for each world, not float32: compare",
        ),
        (
            {"reward": lambda self, now, before, actions: now["plaice"][:, 0]},
            "there is no sensor or goal of this task named 'plaice'. Did you mean 'place'",
        ),
        ({"reward": lambda self, now, before, actions: "high"}, "reward of Bad must be given as numbers, not 'high'"),
        ({"reward": lambda self, now, before, actions: [[1], [1, 2]]}, "reward of Bad must be given as numbers"),
        ({"reward": lambda self, now, before, actions: np.array([1j, 2])}, "reward of Bad must be given as numbers"),
        ({"reward": lambda self, now, before, actions: [1e300, 0.0]}, "not a finite number in world 0"),
        (
            {"arrays": "torch", "reward": lambda self, now, before, actions: np.zeros(2)},
            "reward of Bad must be a tensor of PyTorch",
        ),
        (
            {"reward": lambda self, now, before, actions: now["plase"][:, 0]},
            "no sensor or goal of this task named 'plase'. Did you mean 'place'",
        ),
        (
            {"terminated": lambda self, now, before, actions: [np.nan, 0.0]},
            "terminated of Bad must be true or false for each world",
        ),
        ({"build": lambda self, **machine: 3}, "build of Bad must return a simulation, not int"),
        ({"build": lambda self, worlds, **machine: Crawl().build(worlds=1, **machine)}, "made 1 worlds, not 2"),
        ({"every": 1.0}, "longer than an episode"),
        ({"every": 1e-6, "seconds": 1.0}, "shorter than half a time step"),
    ],
)
def test_what_is_wrong_with_a_task_is_said(changes: dict[str, Any], problem: str) -> None:
    if changes.get("arrays") == "torch":
        pytest.importorskip("torch")
    bad = type("Bad", (Crawl,), changes)

    def act() -> None:
        worlds = envs.make_worlds(bad, 2, device="cpu")
        worlds.restart(seeds=[0, 1])
        worlds.step(np.zeros((2, 2)))

    with pytest.raises((InvalidValue, UnknownName), match=problem):
        act()


def test_what_worlds_cannot_begin_or_act_with_is_refused() -> None:
    worlds = envs.make_worlds(Crawl, np.int64(2), device="cpu")
    still = np.zeros((2, 2))
    with pytest.raises(InvalidValue, match="before the first step"):
        worlds.step(still)
    with pytest.raises(InvalidValue, match="restart all of them first"):
        worlds.restart(mask=[True, False])
    for seeds in ([1.5, 2.0], ["a", "b"], [np.nan, 1.0]):
        with pytest.raises(InvalidValue, match="seeds must be whole numbers"):
            worlds.restart(seeds=seeds)
    worlds.restart(seeds=[2**70 + 1, 3])
    assert worlds.seeds.numpy().tolist() == [1, 3]
    for mask in (wp.zeros(1, dtype=wp.bool, device="cpu"), wp.zeros(2, dtype=wp.int32, device="cpu")):
        with pytest.raises(InvalidValue, match="a mask of worlds must be 2 truth values"):
            worlds.restart(mask=mask)
    with pytest.raises(InvalidValue, match="actions must be numbers"):
        worlds.step(still.astype(complex))
    with pytest.raises(InvalidValue, match="a whole number from 1 to 65536, not True"):
        envs.make_worlds(Crawl, True, device="cpu")


def test_more_worlds_than_there_may_be_are_refused_before_they_are_built() -> None:
    built = []
    watched = type("Watched", (Crawl,), {"build": lambda self, **machine: built.append(machine)})
    with pytest.raises(InvalidValue, match="the number of worlds must be a whole number from 1 to 65536"):
        envs.make_worlds(watched, 10**9, device="cpu")
    assert not built


def test_a_task_whose_sensors_change_is_refused() -> None:
    worlds = acted(1, "cpu", 0)
    name = worlds.simulation.sensors.names[0]
    worlds.simulation.sensors.remove(name)
    with pytest.raises(InvalidValue, match="the sensors of Crawl have changed"):
        worlds.step(np.zeros((1, 2)))


def test_a_diverged_world_ends_and_the_others_go_on() -> None:
    worlds = acted(2, "cpu", world=slice(0, 2))
    velocities = worlds.state.velocities.numpy()
    velocities[0] = np.nan
    worlds.step(np.zeros((2, 2)))
    assert worlds.terminated.numpy().tolist() == [True, False]
    assert np.isfinite(worlds.rewards.numpy()).all()


def test_tasks_are_found_in_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(name="First"))
    assert own_task(str(path)).__name__ == "First"
    with pytest.raises(UnknownName, match="Did you mean 'First'"):
        own_task(f"{path}:Frist")
    path.write_text(FILE.format(name="First") + FILE.format(name="Second"))
    with pytest.raises(InvalidValue, match="several tasks: First, Second; name one"):
        own_task(str(path))
    path.write_text("x = 1\n")
    with pytest.raises(InvalidValue, match="has no task"):
        own_task(str(path))
    with pytest.raises(UnknownName, match="Did you mean 'friction'"):
        envs.make_worlds(Crawl, 1, device="cpu", fricton=1.0)
    with pytest.raises(InvalidValue, match="it is a Task, not 3"):
        envs.make_worlds(3)  # type: ignore[arg-type]


def test_noise_belongs_to_seed_and_episode(device: str, tmp_path: Path) -> None:
    class Noisy(Crawl):
        """Does not see well."""

        def build(self, **machine: Any) -> Any:
            simulation = super().build(**machine)
            simulation.sensors.add("seen", springs.position_of(), noise=0.1)
            return simulation

    many, alone = (envs.make_worlds(Noisy, count, device=device) for count in (3, 1))
    many.restart(seeds=[4, 5, 6])
    alone.restart(seeds=[6])
    begun = alone.observations["observation"].numpy().copy()
    many.step(np.zeros((3, 2)))
    alone.step(np.zeros((1, 2)))
    alone.restart()
    many.restart(mask=np.array([False, False, True]))
    alone.save(tmp_path / "alone.npz")
    np.testing.assert_array_equal(
        many.observations["observation"].numpy()[2], alone.observations["observation"].numpy()[0]
    )
    assert not np.isclose(alone.observations["observation"].numpy()[0, 4:], begun[0, 4:]).any()
    many.step(np.zeros((3, 2)))
    alone.step(np.zeros((1, 2)))
    np.testing.assert_array_equal(
        many.observations["observation"].numpy()[2], alone.observations["observation"].numpy()[0]
    )
    alone.load(tmp_path / "alone.npz")
    alone.step(np.zeros((1, 2)))
    np.testing.assert_array_equal(
        many.observations["observation"].numpy()[2], alone.observations["observation"].numpy()[0]
    )

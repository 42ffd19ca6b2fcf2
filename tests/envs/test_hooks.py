"""What tasks may do beyond a reward: on the device, at the beginning of episodes, between steps, in what they show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import warp as wp

from annelid import envs, grains, springs
from annelid.core.errors import InvalidValue, UnknownName, Unsupported
from annelid.core.stopwatch import Stopwatch
from annelid.envs import Batch
from annelid.shapes import Box, Rigid, box_walls, ground

RADIUS, EDGE = 0.01, 0.105


class Crawl(envs.Task):
    """Crawl along x."""

    seconds = 0.1
    every = 0.02

    def build(self, **machine: Any) -> Any:
        body = springs.block((5, 3, 3), 0.1, damping=20.0)
        middle = body.positions[body.springs].mean(axis=1)[:, 0]
        body.control("back", middle < 0.2).control("front", middle >= 0.2, low=0.7, high=1.3)
        simulation = springs.simulation(body, dt=2e-4, obstacles=[ground(0.8)], **machine)
        simulation.sensors.add("place", springs.position_of())
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["place"][:, 0] - before["place"][:, 0]


class Push(envs.Task):
    """Push grains along x."""

    seconds = 0.1
    every = 0.01

    def build(self, **machine: Any) -> Any:
        spots = grains.jittered_lattice((5, 5, 2), 2.1 * RADIUS, seed=1)
        blade = Rigid(Box((0.01, 0.08, 0.04)), position=(-0.01, 0.5 * EDGE, 0.03), motion="driven", name="blade")
        simulation = grains.simulation(
            grains.Bed(spots, RADIUS, grains.Grain(rolling=0.02)),
            obstacles=[*box_walls((-0.05, 0.0, 0.0), (EDGE, EDGE, 1.0)), blade],
            controls=[grains.velocity_control("ahead", blade, "x", low=-0.5, high=0.5)],
            dt=5e-4,
            **machine,
        )
        simulation.sensors.add("middle", grains.grain_position())
        simulation.sensors.add("blade", grains.position_of(blade))
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["middle"][:, 0] - before["middle"][:, 0]


@wp.kernel
def way(now: wp.array2d[wp.float32], before: wp.array2d[wp.float32], reward_out: wp.array[wp.float32]):
    w = wp.tid()
    reward_out[w] = now[w, 0] - before[w, 0]


@wp.kernel
def is_beyond(place: wp.array2d[wp.float32], limit: float, ended_out: wp.array[wp.bool]):
    w = wp.tid()
    ended_out[w] = place[w, 0] > limit


@wp.kernel
def count_steps(counts: wp.array[wp.float64]):
    w = wp.tid()
    counts[w] = counts[w] + wp.float64(1.0)


@wp.kernel
def alternate(counts: wp.array[wp.float64], actions: wp.array2d[wp.float32], values_out: wp.array2d[wp.float32]):
    """Ahead in every other step."""
    w = wp.tid()
    values_out[w, 0] = wp.where(counts[w] % wp.float64(2.0) == wp.float64(0.0), 0.4 * actions[w, 0], 0.0)


class OnDevice(Crawl):
    """The same as `Crawl`, in Warp."""

    arrays = "warp"
    kicked: float = 0.0
    limit: float = 1.0

    def reset(self, worlds: Batch, mask: wp.array) -> None:
        worlds.kick(worlds.normal(2, self.kicked), mask)

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return envs.each_world(way, [now["place"], before["place"]])

    def terminated(self, now: Any, before: Any, actions: Any) -> Any:
        return None

    def truncated(self, now: Any, before: Any, actions: Any) -> Any:
        return envs.each_world(is_beyond, [now["place"], self.limit], wp.bool)


def started(task: type[envs.Task], count: int, device: str, **options: object) -> Any:
    worlds = envs.make_worlds(task, count, device=device, **options)
    worlds.restart(seeds=np.arange(count))
    return worlds


def test_rewards_in_warp_are_those_in_numpy(device: str) -> None:
    there, here = started(OnDevice, 2, device, limit=-1.0), started(Crawl, 2, device)
    for worlds in (there, here):
        worlds.step([[1.0, -1.0], [0.5, 0.0]])
    np.testing.assert_array_equal(there.rewards.numpy(), here.rewards.numpy())
    assert there.truncated.numpy().all()
    assert not there.terminated.numpy().any()


def test_episodes_begin_as_seeds_say_in_masked_worlds_alone(device: str) -> None:
    worlds = started(OnDevice, 3, device, kicked=0.1)

    def velocities() -> np.ndarray:
        return np.array(worlds.state.velocities.numpy()).reshape(3, -1, 3)

    first = velocities()
    assert np.ptp(first, axis=1).max() == 0.0  # of all masses of a world alike
    assert len({tuple(row) for row in first[:, 0].tolist()}) == 3
    assert not first[:, :, 2].any()
    for seed in (1, 0):
        worlds.restart(np.array([True, False, False]), [seed, -1, -1])
        now = velocities()
        np.testing.assert_array_equal(now[1:], first[1:])
        np.testing.assert_array_equal(now[0], first[seed])


def test_what_is_fixed_is_not_kicked() -> None:
    class Held(OnDevice):
        """Held at one end."""

        def build(self, **machine: Any) -> Any:
            body = springs.block((3, 2, 2), 0.1, damping=20.0)
            body.fixed[:4] = True
            simulation = springs.simulation(body.control("all"), dt=2e-4, **machine)
            simulation.sensors.add("place", springs.position_of())
            return simulation

    worlds = started(Held, 2, "cpu", kicked=0.1)
    fixed = np.tile(worlds.solver.model.one.fixed, 2)
    speeds = np.abs(worlds.state.velocities.numpy()).max(axis=1)
    assert not speeds[fixed].any()
    assert speeds[~fixed].all()


def test_a_reward_in_warp_that_is_no_number_is_told_by_the_next_action() -> None:
    bad = type("Bad", (OnDevice,), {"reward": lambda self, now, before, actions: wp.array([0.0, np.nan], dtype=float)})
    worlds = started(bad, 2, "cpu")
    worlds.step(np.zeros((2, 2)))
    with pytest.raises(InvalidValue, match="reward of Bad is not a finite number in world 1, action 1 of its episode"):
        worlds.step(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (np.zeros(2), "reward of Bad must be a Warp array of float32"),
        (wp.zeros(2, dtype=wp.float64, device="cpu"), "reward of Bad must be a Warp array of float32"),
        (wp.zeros(3, dtype=wp.float32, device="cpu"), r"must be 2 values, one a world, not shape \[3\]"),
    ],
)
def test_rewards_of_another_kind_are_refused(given: Any, problem: str) -> None:
    bad = type("Bad", (OnDevice,), {"reward": lambda self, now, before, actions: given})
    with pytest.raises(InvalidValue, match=problem):
        started(bad, 2, "cpu").step(np.zeros((2, 2)))


class Mapped(Push):
    """Observes heights as an image, measures in double, and moves in every other step."""

    apart: ClassVar[tuple[str, ...]] = ("heights",)
    told: ClassVar[Mapping[str, str]] = {"steps": "steps of the episode"}
    behind: float = 0.0

    def build(self, **machine: Any) -> Any:
        simulation = super().build(**machine)
        simulation.sensors.add("heights", grains.height_map((-0.05, 0.0), (0.1, 0.1), (4, 3)))
        return simulation

    def prepare(self, worlds: Batch) -> Any:
        kinds = {"counts": (worlds.count, wp.float64), "values": ((worlds.count, 1), wp.float32)}
        return {name: wp.zeros(shape, dtype=kind, device=worlds.device) for name, (shape, kind) in kinds.items()}

    def memory(self, worlds: Batch) -> Mapping[str, Any]:
        return {"counts": worlds.own["counts"]}

    def reset(self, worlds: Batch, mask: wp.array) -> None:
        worlds.own["counts"].zero_()
        places = np.tile([-0.02 - self.behind, 0.05, 0.04], (worlds.count, 1))
        turns = np.tile([0.0, 0.0, 0.0, 1.0], (worlds.count, 1))
        given = (
            wp.array(rows, dtype=kind, device=worlds.device) for rows, kind in ((places, wp.vec3), (turns, wp.quat))
        )
        worlds.simulation.solver.place(worlds.state, "blade", *given, mask)

    def act(self, worlds: Batch) -> None:
        pass

    def before_step(self, worlds: Batch) -> None:
        inputs = [worlds.own["counts"], worlds.actions]
        wp.launch(alternate, worlds.count, inputs, [worlds.own["values"]], device=worlds.device)
        worlds.command(worlds.own["values"])

    def after_step(self, worlds: Batch) -> None:
        wp.launch(count_steps, worlds.count, [worlds.own["counts"]], device=worlds.device)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array]:
        return {"counts": worlds.own["counts"]}

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["counts"] - before["counts"]

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        return {"steps": worlds.own["counts"].numpy().copy()}


def test_a_task_acts_between_steps_and_measures(device: str) -> None:
    worlds = started(Mapped, 2, device)
    before = worlds.simulation.sensors["blade"][:, 0]
    np.testing.assert_allclose(before, -0.02, atol=1e-7)
    worlds.step([[1.0], [0.5]])
    assert worlds.rewards.numpy().tolist() == [20.0, 20.0]
    assert worlds.info()["steps"].tolist() == [20.0, 20.0]
    moved = worlds.simulation.sensors["blade"][:, 0] - before
    np.testing.assert_allclose(moved, [0.4 * 0.5 * 0.01, 0.2 * 0.5 * 0.01], rtol=1e-4)


def test_sensors_that_are_apart_are_channels_of_their_own(device: str) -> None:
    worlds = started(Mapped, 2, device)
    worlds.step([[1.0], [0.5]])
    together, heights = worlds.channels
    assert together.parts == (("middle", 3), ("blade", 3))
    assert (heights.name, heights.shape) == ("heights", (4, 3))
    for name in ("middle", "blade"):
        first = 3 * (name == "blade")
        seen = worlds.observations["observation"].numpy()[:, first : first + 3]
        np.testing.assert_array_equal(seen, worlds.simulation.sensors[name])
    np.testing.assert_array_equal(worlds.observations["heights"].numpy(), worlds.simulation.sensors["heights"])
    with pytest.raises(UnknownName, match="Did you mean 'heights'"):
        envs.make_worlds(type("Bad", (Mapped,), {"apart": ("hights",)}), 1, device="cpu")


def test_memory_of_a_task_is_saved(device: str, tmp_path: Path) -> None:
    worlds = started(Mapped, 2, device)
    worlds.step([[1.0], [0.5]])
    worlds.save(tmp_path / "worlds.npz")
    fresh = envs.make_worlds(Mapped, 2, device=device)
    fresh.load(tmp_path / "worlds.npz")
    for each in (worlds, fresh):
        each.step([[1.0], [0.5]])
    assert fresh.info()["steps"].tolist() == [40.0, 40.0]
    assert fresh.rewards.numpy().tolist() == [20.0, 20.0]
    np.testing.assert_array_equal(*(each.observations["observation"].numpy() for each in (worlds, fresh)))


def test_bodies_are_placed_in_masked_worlds() -> None:
    worlds = started(Mapped, 2, "cpu", behind=0.005)
    worlds.step([[1.0], [1.0]])
    before = worlds.simulation.sensors["blade"]
    worlds.restart(np.array([True, False]))
    now = worlds.simulation.sensors["blade"]
    np.testing.assert_allclose(now[0, 0], -0.025, atol=1e-7)
    np.testing.assert_array_equal(now[1], before[1])
    everywhere = wp.full(2, True, dtype=wp.bool, device="cpu")
    with pytest.raises(InvalidValue, match="body 0 is not driven"):
        worlds.solver.place(worlds.state, worlds.solver.model.bodies[0].source, None, None, everywhere)


def test_a_physics_that_cannot_be_kicked_says_so() -> None:
    class Kicked(Push):
        """Gives grains a velocity."""

        def reset(self, worlds: Batch, mask: wp.array) -> None:
            worlds.kick(worlds.normal(3), mask)

    with pytest.raises(Unsupported, match="grains"):
        started(Kicked, 1, "cpu")


def test_steps_are_taken_one_by_one_where_nobody_can_follow_them(device: str) -> None:
    class Jerky(OnDevice):
        """Commands in every step."""

        def act(self, worlds: Batch) -> None:
            pass

        def before_step(self, worlds: Batch) -> None:
            worlds.obey(ramp=0.0)

    jerky, steady = started(Jerky, 2, device), started(OnDevice, 2, device, smooth=False)
    for worlds in (jerky, steady):
        worlds.step([[1.0, -1.0], [0.5, 0.0]])
    np.testing.assert_array_equal(jerky.observations["observation"].numpy(), steady.observations["observation"].numpy())


def test_fields_that_a_task_sets_itself_are_no_options() -> None:
    with pytest.raises(UnknownName, match="option"):
        envs.make_worlds("annelid/VoxelLocomotion-v0", 1, device="cpu", every=0.1)


def test_a_stopwatch_tells_where_time_goes() -> None:
    worlds = started(OnDevice, 1, "cpu")
    worlds.stopwatch = Stopwatch(worlds.device)
    worlds.step(np.zeros((1, 2)))
    assert list(worlds.stopwatch.seconds) == ["host", "physics", "sensors", "rewards", "observations"]
    assert min(worlds.stopwatch.seconds.values()) > 0.0

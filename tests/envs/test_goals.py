"""Tasks that draw goals and stir their channels at the beginning of an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from annelid import control, envs, springs
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Part, Spheres, host_array


class Stretch(envs.Task):
    """Become as long as the goal says."""

    seconds = 0.02
    every = 0.01
    observed: ClassVar[Mapping[str, str]] = {"length": "length asked for"}

    def goals(self) -> Any:
        return {"length": (1.0, 1.2), "corner": ((0.0, 5.0), (0.0, 6.0))}

    def build(self, **machine: Any) -> Any:
        body = springs.block((3, 2, 2), 0.1, damping=20.0).control("all", None, low=0.8, high=1.2)
        simulation = springs.simulation(body, dt=2e-4, **machine)
        simulation.sensors.add("commanded", control.commanded())
        simulation.sensors.add("ends", [springs.position_of([0]), springs.position_of([8])])
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return -abs(now["commanded"][:, 0] - now["length"][:, 0])

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        return [Spheres("corner", np.array([[*goals["corner"], 0.0]]), 0.1)]


def begun(count: int, device: str, seed: int = 0, **options: Any) -> Any:
    worlds = envs.make_worlds(Stretch, count, device=device, **options)
    worlds.restart(seeds=np.arange(count) + seed)
    return worlds


def test_goals_are_observed_and_named_after_the_sensors(device: str) -> None:
    worlds = begun(3, device)
    (channel,) = worlds.channels
    assert channel.parts == (("commanded", 1), ("ends", 6), ("length asked for", 1), ("corner", 2))
    seen = worlds.observations["observation"].numpy()
    assert ((seen[:, 7] >= 1.0) & (seen[:, 7] <= 1.2)).all()
    np.testing.assert_array_equal(seen[:, 8], 0.0)
    assert ((seen[:, 9] >= 5.0) & (seen[:, 9] <= 6.0)).all()
    assert len(np.unique(seen[:, 7])) == 3


def test_goals_depend_on_seed_and_episode_alone(device: str) -> None:
    many, alone = begun(3, device), begun(1, device, seed=2)
    goals = many.observations["observation"].numpy()[:, 7:].copy()
    np.testing.assert_array_equal(goals[2], alone.observations["observation"].numpy()[0, 7:])
    many.step(np.zeros((3, 1)))
    np.testing.assert_array_equal(many.observations["observation"].numpy()[:, 7:], goals)
    many.restart(mask=np.array([False, True, False]))
    again = many.observations["observation"].numpy()[:, 7:]
    np.testing.assert_array_equal(again[[0, 2]], goals[[0, 2]])
    assert not np.array_equal(again[1], goals[1])


def test_channels_begin_where_they_are_stirred_to(device: str) -> None:
    calm, stirred = begun(4, device), begun(4, device, stir=0.5)
    np.testing.assert_allclose(calm.observations["observation"].numpy()[:, 0], 0.0, atol=1e-6)
    first = stirred.observations["observation"].numpy()[:, 0]
    assert (np.abs(first) <= 0.5).all()
    assert len(np.unique(first)) == 4
    stirred.step(np.ones((4, 1)))
    np.testing.assert_allclose(stirred.observations["observation"].numpy()[:, 0], 1.0, atol=1e-6)


def test_goals_are_saved_and_shown(device: str, tmp_path: Path) -> None:
    worlds, other = begun(2, device), begun(2, device, seed=9)
    worlds.save(tmp_path / "worlds.npz")
    other.load(tmp_path / "worlds.npz")
    for each in (worlds, other):
        each.step(np.zeros((2, 1)))
    np.testing.assert_array_equal(*(each.observations["observation"].numpy() for each in (worlds, other)))
    (mark,) = (part for part in worlds.snapshot(1).parts if part.name == "corner")
    corner = worlds.observations["observation"].numpy()[1, 8:]
    np.testing.assert_allclose(host_array(mark.centers)[0, :2], corner, atol=1e-6)


@pytest.mark.parametrize("limits", [(1.0,), (2.0, 1.0), ((0.0, 0.0), (1.0,)), (0.0, np.nan), "ab", 3])
def test_limits_that_make_no_sense_are_refused(limits: Any) -> None:
    bad = type("Bad", (Stretch,), {"goals": lambda self: {"length": limits}})
    with pytest.raises(InvalidValue, match="goal 'length' needs its least and its largest value"):
        envs.make_worlds(bad, 1, device="cpu")


def test_more_stir_than_there_is_range_is_refused() -> None:
    with pytest.raises(InvalidValue, match="stir of .* must be between 0 and 1, not 1.5"):
        Stretch(stir=1.5)


def test_sensors_of_one_name_are_refused_where_they_do_not_fit_together() -> None:
    simulation = Stretch().build(worlds=1, device="cpu", threads=1)
    assert simulation.sensors.labels[1:] == ("ends.1.x", "ends.1.y", "ends.1.z", "ends.2.x", "ends.2.y", "ends.2.z")
    with pytest.raises(InvalidValue, match="must have one unit, not m, m/s"):
        simulation.sensors.add("mixed", [springs.position_of(), springs.velocity_of()])
    with pytest.raises(InvalidValue, match="each of several sensors must be a Sensor, not 3"):
        simulation.sensors.add("mixed", [springs.position_of(), 3])
    with pytest.raises(InvalidValue, match="must be one at least"):
        simulation.sensors.add("none", [])
    bare = springs.simulation(springs.block((2, 2, 2), 0.1), device="cpu")
    with pytest.raises(InvalidValue, match="without controls has no commands to read"):
        bare.sensors.add("commanded", control.commanded())

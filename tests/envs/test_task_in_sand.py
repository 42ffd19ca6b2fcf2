"""Tasks of users among grains: a blade that is driven through a bed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annelid import envs, grains
from annelid.core.snapshot import Spheres, host_array
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Box, Rigid, box_walls

RADIUS = 0.01
EDGE = 2.1 * RADIUS * 5


class Push(envs.Task):
    """Push grains along x."""

    seconds = 0.1
    every = 0.01

    def build(self, **machine: Any) -> Any:
        spots = jittered_lattice((5, 5, 2), 2.1 * RADIUS, seed=1)
        blade = Rigid(Box((0.01, 0.08, 0.04)), position=(-0.01, 0.5 * EDGE, 0.03), motion="driven", name="blade")
        simulation = grains.simulation(
            grains.Bed(spots, RADIUS),
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


def acted(count: int, device: str, world: int | slice = slice(None)) -> Any:
    """Some actions; in one world those of `world` among three."""
    worlds = envs.make_worlds(Push, count, device=device)
    worlds.restart(seeds=np.arange(count))
    for speed in (1.0, 0.5, 1.0):
        worlds.step(speed * np.array([[1.0], [0.6], [0.2]])[world].reshape(count, 1))
    return worlds


def test_worlds_are_independent_and_seen_one_by_one(device: str) -> None:
    many = acted(3, device)
    seen = many.observations["observation"].numpy()
    for world in (0, 2):
        alone = acted(1, device, world)
        np.testing.assert_array_equal(seen[world], alone.observations["observation"].numpy()[0])
    places = many.simulation.positions().reshape(3, -1, 3)
    for world in range(3):
        (spheres,) = (part for part in many.snapshot(world).parts if isinstance(part, Spheres))
        np.testing.assert_allclose(host_array(spheres.centers), places[world], atol=1e-6)


def test_a_loaded_task_goes_on_as_the_saved_one(device: str, tmp_path: Path) -> None:
    first = acted(2, device, slice(2))
    first.save(tmp_path / "worlds.npz")
    other = envs.make_worlds(Push, 2, device=device)
    other.load(tmp_path / "worlds.npz")
    for worlds in (first, other):
        worlds.step(np.full((2, 1), 0.3))
    np.testing.assert_array_equal(*(worlds.observations["observation"].numpy() for worlds in (first, other)))

"""Many worlds of bodies in sand that gives: each is to the bit as it would be alone, and tells what sand does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import FileFormatError
from annelid.shapes import Furrow, ResistiveGround

SIDE, MASS, FRICTION = 0.06, 0.3, 0.3
SAND = ResistiveGround("sand-close", buried=True, friction=FRICTION, stiffness=1e6)


def cubes(
    worlds: int, device: str = "cpu", *, sand: ResistiveGround = SAND, slope: float = 0.0, depth: float = 0.01
) -> Any:
    """Cubes that swell by command, in sand, and tell what touches them."""
    body = springs.block((4, 4, 4), SIDE / 3.0, mass=MASS / 64.0, stiffness=2000.0, damping=1.0)
    body = body.control("size", low=0.95, high=1.05).moved((0.0, 0.0, -depth))
    gravity = (slope * 9.81, 0.0, -9.81)
    simulation = springs.simulation(
        body, dt=5e-5, obstacles=[sand], gravity=gravity, velocity_damping=60.0, worlds=worlds, device=device, threads=1
    )
    simulation.sensors.add("push", springs.contact_force_of())
    simulation.sensors.add("touch", springs.touch_of())
    return simulation


def act(simulation: Any, sizes: Any, steps: int) -> None:
    simulation.controls.command(np.reshape(sizes, (-1, 1)), ramp=0.005)
    simulation.step(steps)


def seen(simulation: Any, world: int = 0) -> list[np.ndarray]:
    """What a world is like, with what sand remembers of it and what it feels."""
    state, worlds = simulation.state, simulation.solver.worlds
    arrays = [getattr(state, name).numpy() for name in ("positions", "velocities", "hollows", "sand_forces")]
    return [
        *(array.reshape(worlds, -1, *array.shape[1:])[world] for array in arrays),
        simulation.sensors.read().numpy()[world],
    ]


def assert_same(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


STAYING = replace(SAND, furrow=Furrow(friction_way=0.002))


@pytest.mark.parametrize("sand", [SAND, STAYING], ids=["going along", "staying"])
def test_each_world_is_what_it_would_be_alone_from_where_it_last_began(
    device: str, tmp_path: Path, sand: ResistiveGround
) -> None:
    many = cubes(3, device, sand=sand)
    act(many, [1.05, 0.98, 0.95], 330)
    many.reset(worlds=[1])
    assert not np.array_equal(seen(many, 0)[2], seen(many, 2)[2])
    assert not any(array.any() for array in seen(many, 1)[2:]), "sand forgets what was before"
    act(many, [0.95, 1.02, 1.05], 350)
    assert (many.state.hollows.numpy() < 0.0).any()
    assert (many.state.hollows.numpy() > 0.0).any()
    many.save(tmp_path / "sunk.npz")
    told = {0: [(1.05, 330), (0.95, 350)], 1: [(1.02, 350)], 2: [(0.95, 330), (1.05, 350)]}
    for world, commands in told.items():
        alone = cubes(1, device, sand=sand)
        for size, steps in commands:
            act(alone, size, steps)
        assert_same(seen(many, world), seen(alone))
    taken, again = cubes(1, device, sand=sand), cubes(3, device, sand=sand)
    many.solver.take_world(many.state, taken.state, 2)
    again.load(tmp_path / "sunk.npz")
    assert_same(seen(again, 1), seen(many, 1))
    for simulation in (many, taken, again):
        simulation.solver.advance(simulation.state, 70)
    assert_same(seen(taken), seen(many, 2))
    assert_same(seen(again, 1), seen(many, 1))


def test_worlds_in_other_sand_are_refused(tmp_path: Path) -> None:
    cubes(2).save(tmp_path / "sunk.npz")
    other = cubes(2, sand=replace(SAND, stiffness=2e6))
    with pytest.raises(FileFormatError):
        other.load(tmp_path / "sunk.npz")


def test_sand_tells_that_it_carries_a_cube_and_holds_it_on_a_slope() -> None:
    """Weight across the surface, what pulls down the slope along it; the eight masses inside touch nothing."""
    slope = 0.5 * FRICTION
    simulation = cubes(2, slope=slope)
    simulation.run(0.25)
    wanted = MASS * 9.81 * np.array([-slope, 0.0, 1.0])
    np.testing.assert_allclose(simulation.sensors["push"], np.tile(wanted, (2, 1)), atol=0.02)
    assert (simulation.sensors["touch"] > 0.2).all(), "the sixteen masses of the underside, at least"
    assert (simulation.sensors["touch"] <= 56 / 64).all()


def test_a_world_of_twice_the_friction_is_one_in_rougher_sand() -> None:
    many = cubes(2, slope=1.5 * FRICTION, depth=0.002)
    many.parameters.set({"friction": [2.0, 0.5]})
    many.run(0.1)
    ways = many.positions().reshape(2, -1, 3)[:, :, 0].mean(axis=1) - 0.5 * SIDE
    for way, friction in zip(ways, (2.0 * FRICTION, 0.5 * FRICTION), strict=True):
        alone = cubes(1, sand=replace(SAND, friction=friction), slope=1.5 * FRICTION, depth=0.002)
        alone.run(0.1)
        assert way == pytest.approx(alone.positions()[:, 0].mean() - 0.5 * SIDE, rel=1e-3)
    assert ways[0] < 0.8 * ways[1]

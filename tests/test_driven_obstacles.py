"""Obstacles that are driven, at a velocity or along a path, carry what lies on them, whichever physics computes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem, springs, voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.rollout import Rollout
from annelid.shapes import Box, Cylinder, Obstacle, Plane, Rigid, Surface, tet_beam, turned_about

from .test_incline import PHYSICS, RUBBER, spring_block, voxels_3d

CARRYING = {name: make for name, make in PHYSICS.items() if name not in ("robot", "coupling")}
DOWN = (0.0, 0.0, -9.81)
SPEED = 0.2
ROUGH = Surface(friction=0.5)


def plate(**motion: Any) -> Rigid:
    return Rigid(Box((4.0, 4.0, 0.1)), ROUGH, **{"position": (0.0, 0.0, -0.05), **motion})


def sliding(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.outer(times, [SPEED, 0.0, 0.0]) - np.array([0.0, 0.0, 0.05]), np.tile(
        [0.0, 0.0, 0.0, 1.0], (len(times), 1)
    )


@pytest.mark.parametrize("physics", CARRYING)
@pytest.mark.parametrize("motion", [{"motion": "driven", "velocity": (SPEED, 0.0, 0.0)}, {"motion": sliding}])
def test_a_plate_takes_along_what_lies_on_it(physics: str, motion: dict[str, Any]) -> None:
    simulation, place = CARRYING[physics](plate(**motion), DOWN)
    simulation.run(0.15)
    before, begin = place(), simulation.time
    simulation.run(0.1)
    np.testing.assert_allclose((place() - before)[:2] / (simulation.time - begin), [SPEED, 0.0], atol=0.01 * SPEED)


@pytest.mark.parametrize("make", [spring_block, voxels_3d])
def test_a_plane_that_spins_carries_things_around(make: Callable[..., Any]) -> None:
    simulation, place = make(Rigid(Plane(), ROUGH, motion="driven", spin=(0.0, 0.0, 1.0)), DOWN)
    simulation.run(0.3)
    before, begin = place(), simulation.time
    simulation.run(0.1)
    middle, velocity = 0.5 * (place() + before), (place() - before) / (simulation.time - begin)
    np.testing.assert_allclose(velocity, np.cross([0.0, 0.0, 1.0], middle), atol=3e-3)


def in_a_drum(physics: str, drum: Obstacle) -> tuple[Any, Callable[[], np.ndarray]]:
    """A block that lies at the bottom of a drum."""
    if physics == "springs":
        body = springs.block((3, 3, 3), 0.03, stiffness=1e3, damping=20.0).moved((-0.03, -0.03, -0.19))
        simulation: Any = springs.simulation(body, obstacles=[drum], device="cpu", threads=1)
    elif physics == "voxels3d":
        robot = voxels3d.Robot(np.zeros((3, 3, 3), int), (voxels3d.Voxel(youngs_modulus=1e5),), 0.03)
        positions = np.array([[-0.045, -0.045, -0.18]])
        simulation = voxels3d.simulation([robot], obstacles=[drum], positions=positions, device="cpu", threads=1)
    else:
        mesh = tet_beam(0.06, 0.06, 0.06, cells=(1, 1, 1)).moved((-0.03, 0.0, -0.15))
        simulation = fem.simulation(fem.Solid(mesh, RUBBER), obstacles=[drum], dt=0.01, device="cpu", threads=1)
    return simulation, lambda: simulation.positions()


@pytest.mark.parametrize("physics", ["springs", "voxels3d", "solid"])
def test_a_drum_that_turns_lifts_what_is_in_it(physics: str) -> None:
    drum = Rigid(Cylinder(0.2, 0.4, axis="y"), ROUGH, inside=True, motion="driven", spin=(0.0, 1.0, 0.0))
    simulation, places = in_a_drum(physics, drum)
    simulation.run(0.3)
    found = places()
    assert -0.11 < found[:, 0].mean() < -0.02  # its floor goes towards -x
    assert np.hypot(found[:, 0], found[:, 2]).max() < 0.205


@pytest.mark.parametrize("physics", ["springs", "voxels3d"])
def test_worlds_that_begin_again_have_their_obstacles_where_they_began(physics: str) -> None:
    spun = Rigid(Box((0.4, 0.02, 0.1)), motion="driven", spin=(0.0, 0.0, 2.0), position=(0.3, 0.0, 0.05))
    if physics == "springs":
        options: dict[str, Any] = {"obstacles": [spun, plate()], "dt": 4e-4, "device": "cpu", "threads": 1}
        batch: Any = springs.simulation(springs.block((2, 2, 2), 0.05), worlds=2, **options)
        alone: Any = springs.simulation(springs.block((2, 2, 2), 0.05), worlds=1, **options)
    else:
        robot = voxels3d.Robot(np.zeros((2, 2, 2), int), side_length=0.05)
        options = {"obstacles": [spun, plate()], "device": "cpu", "threads": 1}
        batch, alone = voxels3d.simulation([robot] * 2, **options), voxels3d.simulation([robot], **options)
    batch.step(37)
    batch.reset(worlds=[1])
    batch.step(50)
    alone.step(50)
    half = len(batch.positions()) // 2
    assert np.array_equal(batch.positions()[half:], alone.positions())
    assert not np.array_equal(batch.positions()[:half], alone.positions())


@pytest.mark.parametrize("make", [spring_block, voxels_3d])
def test_steps_along_a_path_are_the_same_however_they_are_taken(make: Callable[..., Any]) -> None:
    whole, place = make(plate(motion=sliding), DOWN)
    parts, there = make(plate(motion=sliding), DOWN)
    whole.step(1100)  # a table of the path reaches 512 steps ahead or more
    for count in (1, 510, 500, 89):
        parts.step(count)
    assert np.array_equal(place(), there())


def test_pictures_show_driven_obstacles_where_they_are() -> None:
    for make in (spring_block, voxels_3d):
        simulation, _ = make(plate(motion="driven", velocity=(SPEED, 0.0, 0.0), spin=(0.0, 0.0, 1.0)), DOWN)
        simulation.step(100)
        [shown] = [part for part in simulation.snapshot().parts if "obstacle" in part.name]
        wanted = plate().picture[0].mean(axis=0) + np.array([SPEED * simulation.time, 0.0, 0.0])
        np.testing.assert_allclose(shown.vertices.mean(axis=0), wanted, atol=1e-6)


@pytest.mark.parametrize("make", [spring_block, voxels_3d])
def test_a_run_goes_on_from_a_file_along_the_path(make: Callable[..., Any], tmp_path: Path) -> None:
    first, place = make(plate(motion=sliding), DOWN)
    first.step(700)
    first.save(tmp_path / "middle.npz")
    first.step(300)
    second, there = make(plate(motion=sliding), DOWN)
    second.load(tmp_path / "middle.npz")
    second.step(300)
    assert np.array_equal(place(), there())


@pytest.mark.parametrize("make", [spring_block, voxels_3d])
def test_what_cannot_be_done_with_motion_is_said(make: Callable[..., Any]) -> None:
    simulation, _ = make(Rigid(Plane(), ROUGH, motion="driven", rotation=turned_about("z", 0.3)), DOWN)
    with pytest.raises(InvalidValue, match="obstacles that are driven or free cannot be run back"):
        Rollout(simulation, 10)

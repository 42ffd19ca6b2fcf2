"""Small bodies that fall onto every geometry, under every physics that moves points, come to rest on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from annelid import grains, springs, voxels3d
from annelid.core.errors import BeginsInside
from annelid.shapes import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Obstacle,
    Rigid,
    Shape,
    Sphere,
    Surface,
    Torus,
    ground,
    turned_about,
)

SIDE = 0.01  # also that of voxels
ROUGH = Surface(friction=1.0)

ON_TOP: dict[str, tuple[Shape, float]] = {
    "sphere": (Sphere(0.2), 0.2),
    "box": (Box((0.3, 0.2, 0.1)), 0.05),
    "cylinder": (Cylinder(0.1, 0.3), 0.15),
    "lying cylinder": (Cylinder(0.1, 0.3, axis="x"), 0.1),
    "capsule": (Capsule(0.1, 0.3, axis="y"), 0.1),
    "ring": (Torus(0.2, 0.1, axis="x"), 0.3),
    "mesh": (Box((0.3, 0.2, 0.1)).surface(), 0.05),
}
"""Shapes, and how high their tops are above their centres [m]."""

Rest = Callable[[Sequence[Obstacle], np.ndarray], np.ndarray]


def springs_at_rest(obstacles: Sequence[Obstacle], places: np.ndarray) -> np.ndarray:
    cubes = [springs.block((2, 2, 2), SIDE, mass=0.001, stiffness=100.0, damping=0.05) for _ in places]
    low = [cube.positions.min(axis=0) + 0.5 * SIDE * np.array([1.0, 1.0, 0.0]) for cube in cubes]
    body = springs.join([cube.moved(place - at) for cube, place, at in zip(cubes, places, low, strict=True)])
    simulation = springs.simulation(body, obstacles=obstacles, device="cpu", threads=1)
    simulation.run(0.3)
    return simulation.positions().reshape(len(places), 8, 3)[..., 2].min(axis=1)


def voxels_at_rest(obstacles: Sequence[Obstacle], places: np.ndarray) -> np.ndarray:
    robot = voxels3d.Robot(np.zeros((1, 1, 1), int))
    corners = places - 0.5 * SIDE * np.array([1.0, 1.0, 0.0])
    robots = [robot] * len(places)
    simulation = voxels3d.simulation(robots, obstacles=obstacles, positions=corners, device="cpu", threads=1)
    simulation.run(0.3)
    return np.asarray(simulation.positions()[:, 2] - 0.5 * SIDE)


def grains_at_rest(obstacles: Sequence[Obstacle], places: np.ndarray) -> np.ndarray:
    radius = 0.5 * SIDE
    bed = grains.Bed(places + np.array([0.0, 0.0, radius]), radius, grains.Grain(friction=1.0, rolling=0.5))
    simulation = grains.simulation(bed, obstacles=obstacles, device="cpu", threads=1)
    simulation.run(0.3)
    return np.asarray(simulation.positions()[:, 2] - radius)


PHYSICS: dict[str, Rest] = {"springs": springs_at_rest, "voxels3d": voxels_at_rest, "grains": grains_at_rest}


@pytest.mark.parametrize("physics", PHYSICS)
def test_what_falls_onto_a_geometry_rests_on_top_of_it(physics: str) -> None:
    places = np.array([(float(k), 0.0, top) for k, (_, top) in enumerate(ON_TOP.values())])
    obstacles = [Rigid(shape, ROUGH, position=(float(k), 0.0, 0.0)) for k, (shape, _) in enumerate(ON_TOP.values())]
    found = PHYSICS[physics](obstacles, places + np.array([0.0, 0.0, 0.002]))
    np.testing.assert_allclose(found, places[:, 2], atol=5e-4)


@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize(
    ("room", "floor"),
    [
        (Sphere(0.3), -0.3),
        (Cylinder(0.2, 0.3), -0.15),
        (Box((0.4, 0.4, 0.2)), -0.1),
        (Torus(0.4, 0.2, center=(0.4, 0.0, 0.0)), -0.2),
    ],
)
def test_what_falls_inside_a_shape_rests_on_its_floor(physics: str, room: Shape, floor: float) -> None:
    found = PHYSICS[physics]([Rigid(room, ROUGH, inside=True)], np.array([[0.0, 0.0, floor + 0.002]]))
    np.testing.assert_allclose(found, floor, atol=5e-4)


@pytest.mark.parametrize("physics", ["springs", "voxels3d"])
def test_a_height_field_may_be_turned(physics: str) -> None:
    """What is flat in its own frame and stands on its side is a wall that things rest on where it is turned back."""
    field = HeightField(np.full((5, 9), 0.1), 0.1)
    turned = Rigid(field, ROUGH, position=(0.0, 0.0, 0.05), rotation=turned_about("z", 1.0))
    found = PHYSICS[physics]([turned], np.array([[0.0, 0.0, 0.152]]))
    np.testing.assert_allclose(found, 0.15, atol=5e-4)
    slope = Rigid(field, Surface(friction=0.0), rotation=turned_about("y", 0.5))
    assert PHYSICS[physics]([slope], np.array([[0.0, 0.0, 0.12]]))[0] < 0.1  # it slides down


@pytest.mark.parametrize("physics", ["springs", "voxels3d"])
def test_what_begins_outside_its_room_is_told(physics: str) -> None:
    room = Rigid(Sphere(0.1), inside=True)
    with pytest.warns(BeginsInside):
        PHYSICS[physics]([room, ground()], np.array([[0.0, 0.0, 0.3]]))

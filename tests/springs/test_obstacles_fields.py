"""Obstacles that are looked up in a grid: height fields and closed meshes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.snapshot import Look, Mesh
from annelid.shapes import (
    Box,
    Capsule,
    HeightField,
    Plane,
    Rigid,
    Sphere,
    Surface,
    TriangleMesh,
    turned_about,
)

Make = Callable[..., Any]

G = 9.81
DEAD, SMOOTH = Surface(restitution=0.0), Surface(friction=0.0)


def particles(points: Any, velocities: Any = 0.0, mass: float = 0.1) -> springs.Body:
    return springs.Body(points, mass, [], [], [], velocities=velocities)


# --- height fields ---


def slope(angle: float, friction: float | None = None) -> Rigid:
    """A plane that rises along +x, as a field of 9 x 5 heights."""
    x = np.linspace(-2.0, 2.0, 9)
    field = HeightField(np.tile(math.tan(angle) * x[:, None], (1, 5)), (0.5, 1.0))
    return Rigid(field, Surface(friction=friction, stiffness=1e4))


def test_a_field_of_equal_heights_is_a_plane(simulate: Make, where: Make) -> None:
    field = HeightField(np.full((4, 6), 0.3), 0.5)
    body = springs.block((4, 4, 4), damping=5.0).rotated((1.0, 1.0, 0.0), 0.4).moved((0.0, 0.0, 1.0))
    ends = []
    for ground in (field, Plane(point=(0.0, 0.0, float(np.float32(0.3))))):
        simulation = simulate(body, obstacles=[ground], gravity=(0.0, 0.0, -G))
        simulation.run(0.5)
        ends.append(where(simulation))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_friction_on_a_slope(factor: float, simulate: Make, where: Make) -> None:
    angle = math.atan(0.5 * factor)
    field = slope(angle, 0.5)
    depth = 0.1 * G * math.cos(angle) / 1e4
    normal = np.array([-math.sin(angle), 0.0, math.cos(angle)])
    simulation = simulate(particles([-depth * normal]), obstacles=[field], gravity=(0.0, 0.0, -G))
    simulation.run(0.4)
    moved = np.linalg.norm(where(simulation)[0] + depth * normal)
    acceleration = max(0.0, G * (math.sin(angle) - 0.5 * math.cos(angle)))
    assert moved == pytest.approx(0.08 * acceleration, rel=0.02, abs=1e-6)


def test_balls_roll_to_the_bottom_of_a_bowl_that_has_a_corner(simulate: Make, where: Make) -> None:
    """Heights are found by place: a bowl whose lowest point is away from the origin."""
    x, y = np.meshgrid(np.linspace(0.0, 4.0, 41), np.linspace(-1.0, 3.0, 81), indexing="ij")
    heights = 0.5 * ((x - 3.0) ** 2 + (y - 0.5) ** 2)
    field = Rigid(HeightField(heights, (0.1, 0.05), corner=(0.0, -1.0)), SMOOTH)
    starts = [[2.2, 0.0, 1.0], [3.5, 1.5, 1.5], [3.0, 0.4, 0.2]]
    simulation = simulate(particles(starts), obstacles=[field], gravity=(0.0, 0.0, -G), velocity_damping=2.0)
    simulation.run(8.0)
    np.testing.assert_allclose(where(simulation)[:, :2], [[3.0, 0.5]] * 3, atol=0.06)


def test_the_ground_goes_on_beyond_the_rim(simulate: Make, where: Make) -> None:
    field = Rigid(HeightField([[0.0, 1.0], [0.0, 1.0]], 1.0, corner=(0.0, 0.0)), DEAD)
    points = [[-5.0, -7.0, 0.5], [9.0, 12.0, 1.5], [0.5, 30.0, 1.5]]
    simulation = simulate(particles(points), obstacles=[field], gravity=(0.0, 0.0, -G))
    simulation.run(2.0)
    np.testing.assert_allclose(
        where(simulation), np.array(points) * [1, 1, 0] + [[0, 0, 0], [0, 0, 1], [0, 0, 1]], atol=1e-3
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heights": [0.0, 1.0], "spacing": 1.0}, "at least \\[2, 2\\], not \\[2\\]"),
        ({"heights": [[0.0], [1.0]], "spacing": 1.0}, "not \\[2, 1\\]"),
        ({"heights": [[0.0, math.nan], [1.0, 1.0]], "spacing": 1.0}, "heights must be finite"),
        ({"heights": np.zeros((3, 3)), "spacing": 0.0}, "spacing of a height field must be positive, not 0.0"),
        ({"heights": np.zeros((3, 3)), "spacing": 1.0, "corner": (0.0, math.inf)}, "corner of a height field"),
    ],
)
def test_bad_height_fields_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        HeightField(**options)


# --- any closed shape ---


def test_masses_bounce_off_a_mesh(simulate: Make, speed: Make) -> None:
    """A sphere as a mesh: head-on from any side they fly straight back."""
    mesh = Sphere(0.5, center=(1.0, 2.0, 3.0)).surface(resolution=96)
    ball = Rigid(mesh, Surface(restitution=0.7), cells=48)
    sides = np.random.default_rng(0).normal(size=(30, 3))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    points = np.array([1.0, 2.0, 3.0]) + 0.52 * sides
    simulation = simulate(particles(points, -sides), obstacles=[ball], dt=1e-5)
    simulation.run(0.1)
    # A chord of the mesh is 0.13 % of the radius off; its facets tilt by half the angle of a segment, 0.03 rad.
    np.testing.assert_allclose(speed(simulation), 0.7 * sides, atol=0.06)


def test_a_body_comes_to_rest_on_a_mesh(simulate: Make, where: Make, speed: Make) -> None:
    table = Rigid(Box((2.0, 2.0, 0.5)).surface(), Surface(stiffness=1e5, restitution=0.1), cells=40)
    body = springs.block((3, 3, 3), damping=20.0)
    body = body.moved((0.1, 0.2, 0.26 - body.bounds()[0][2]))
    simulation = simulate(body, obstacles=[table], gravity=(0.0, 0.0, -G))
    simulation.run(1.0)
    assert where(simulation)[:, 2].min() == pytest.approx(0.25 - 27 * 0.1 * G / 9 / 1e5, abs=1e-4)
    assert np.abs(speed(simulation)).max() < 1e-3


def test_several_obstacles_with_grids_stand_side_by_side(simulate: Make, where: Make) -> None:
    """Each finds its own values in the common array, beside planes and balls."""
    obstacles = [
        Rigid(HeightField(np.full((3, 3), 0.0), 10.0), DEAD, position=(1.0, 2.0, -1.0)),
        Rigid(Sphere(0.5).surface(64), DEAD, cells=32),
        Sphere(0.25, center=(5.0, 0.0, 0.0)),
        Rigid(Capsule(0.3, 1.0), DEAD, position=(3.0, 0.0, 0.0), cells=32),
        Rigid(Box((1.0, 0.2, 1.0)), DEAD, position=(-3.0, 0.0, 0.0), rotation=turned_about("x", 0.5 * math.pi)),
    ]
    points = np.array([[0.0, 0.0, 1.5], [3.0, 0.0, 1.5], [-3.0, 0.0, 1.5], [5.0, 0.0, 1.5], [8.0, 0.0, 1.5]])
    simulation = simulate(particles(points), obstacles=obstacles, gravity=(0.0, 0.0, -G))
    simulation.run(2.0)
    top = Capsule(0.3, 1.0).bounds()[1][2]
    np.testing.assert_allclose(where(simulation)[:, 2], [0.5, top, 0.1, 0.25, -1.0], atol=6e-3)


def test_friction_can_change_while_it_runs(simulate: Make, speed: Make) -> None:
    ramp = slope(math.atan(0.4), 0.5)
    simulation = simulate(particles([[0.0, 0.0, 0.0]]), obstacles=[ramp], gravity=(0.0, 0.0, -G))
    simulation.run(0.2)
    assert np.linalg.norm(speed(simulation)) < 0.1
    model = simulation.solver.model
    model.set_world(replace(model.world, obstacles=[replace(ramp, surface=SMOOTH)]))
    simulation.run(0.2)
    assert np.linalg.norm(speed(simulation)) > 0.5
    with pytest.raises(InvalidValue, match="heights or cells"):
        model.set_world(replace(model.world, obstacles=[replace(ramp, geometry=HeightField(np.zeros((3, 3)), 1.0))]))


def test_the_picture_shows_fields_and_meshes(device: str) -> None:
    field, ball = slope(0.2), Rigid(Sphere(0.5).surface(), cells=16)
    simulation = springs.simulation(springs.block((3, 3, 3)), obstacles=[field, ball], device=device)
    parts = {part.name: part for part in simulation.snapshot(Look()).parts if isinstance(part, Mesh)}
    ground, stone = parts["obstacle-0"], parts["obstacle-1"]
    np.testing.assert_allclose(ground.vertices[:, 2], math.tan(0.2) * ground.vertices[:, 0], atol=1e-6)
    a, b, c = np.moveaxis(ground.vertices[ground.triangles], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()
    assert np.linalg.norm(stone.vertices, axis=1) == pytest.approx(0.5)


def test_a_shape_without_an_inside_is_refused() -> None:
    triangle = TriangleMesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    with pytest.raises(InvalidMesh, match="not closed"):
        Rigid(triangle)
    with pytest.raises(InvalidMesh, match="there is no file ball.stl; give the path"):
        Rigid("ball.stl")
    with pytest.raises(InvalidValue, match="cells of a rigid body = 0 cannot be used"):
        springs.World(obstacles=[Rigid(Sphere(1.0).surface(), cells=0)])

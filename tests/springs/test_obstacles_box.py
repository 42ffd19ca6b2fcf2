"""Boxes as obstacles: every face, turned boxes, friction, pictures, bad values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look, Mesh
from annelid.shapes import Box, Plane, Rigid, Surface, turned_about

Make = Callable[..., Any]

G = 9.81
FACES = np.concatenate([np.eye(3), -np.eye(3)])
SIZE = np.array([0.4, 0.6, 1.0])
TURNED = Rigid(
    Box(tuple(SIZE)), Surface(restitution=0.8), position=(1.0, -2.0, 0.5), rotation=turned_about((1.0, 2.0, 3.0), 0.7)
)
TURN = TURNED.turn.as_matrix()


def particles(points: np.ndarray, velocities: np.ndarray, mass: float = 0.1) -> springs.Body:
    return springs.Body(points, mass, [], [], [], velocities=velocities)


def test_masses_bounce_off_every_face_of_a_turned_box(simulate: Make, speed: Make) -> None:
    """Straight back along the normal of the face, with the restitution of the box."""
    normals = FACES @ TURN.T
    reach = np.abs(FACES @ (0.5 * SIZE))[:, None]
    points = np.array(TURNED.position) + (reach + 0.01) * normals
    simulation = simulate(particles(points, -normals), obstacles=[TURNED], dt=5e-6)
    simulation.run(0.05)
    np.testing.assert_allclose(speed(simulation), 0.8 * normals, atol=0.01)


def test_a_mass_beside_a_box_passes(simulate: Make, speed: Make) -> None:
    points, velocities = np.array([[0.501, 0.0, 2.0]]), np.array([[0.0, 0.0, -10.0]])
    simulation = simulate(particles(points, velocities), obstacles=[Box((1.0, 1.0, 1.0))])
    simulation.run(0.5)
    np.testing.assert_allclose(speed(simulation), [[0.0, 0.0, -10.0]], atol=1e-12)


def test_a_block_rests_on_a_box(simulate: Make, where: Make) -> None:
    body = springs.block((3, 3, 3), damping=20.0).moved((0.0, 0.0, 1.0))
    body = body.moved((0.0, 0.0, 0.5 - body.bounds()[0][2]))
    box = Rigid(Box((2.0, 2.0, 1.0)), Surface(stiffness=1e5, restitution=0.1))
    simulation = simulate(body, obstacles=[box], gravity=(0.0, 0.0, -G))
    simulation.run(1.0)
    bottom = where(simulation)[:, 2].min()
    assert bottom == pytest.approx(0.5 - 27 * 0.1 * G / 9 / 1e5, abs=3e-5)


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_friction_on_a_turned_box(factor: float, simulate: Make, where: Make, speed: Make) -> None:
    """A mass on a tilted face sticks below the angle of friction and slips above."""
    angle = math.atan(0.5 * factor)
    ramp = Rigid(Box((4.0, 4.0, 1.0)), Surface(friction=0.5, stiffness=1e4), rotation=turned_about("y", angle))
    normal = ramp.turn.as_matrix()[:, 2]
    point = normal * (0.5 - 0.1 * G * math.cos(angle) / 1e4)
    simulation = simulate(particles([point], [[0.0] * 3]), obstacles=[ramp], gravity=(0.0, 0.0, -G))
    simulation.run(0.5)
    acceleration = max(0.0, G * (math.sin(angle) - 0.5 * math.cos(angle)))
    assert np.linalg.norm(where(simulation)[0] - point) == pytest.approx(0.125 * acceleration, rel=0.02, abs=1e-9)


def test_the_picture_shows_the_box(device: str) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), obstacles=[Plane(), TURNED], device=device)
    parts = {part.name: part for part in simulation.snapshot(Look()).parts}
    box = parts["obstacle-1"]
    assert isinstance(box, Mesh)
    local = (np.asarray(box.vertices) - TURNED.position) @ TURN
    np.testing.assert_allclose(np.abs(local), np.broadcast_to(0.5 * SIZE, (8, 3)), atol=1e-12)
    again = {part.name: part for part in simulation.snapshot(Look()).parts}
    assert again["obstacle-1"].triangles is box.triangles


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box((1.0, 0.0, 1.0)), "size of the box along y = 0.0 cannot be used"),
        (lambda: Box((1.0, 1.0)), "size = .* give three finite numbers"),
        (lambda: Box((1.0, 1.0, 1.0), center=(0.0, math.nan, 0.0)), "center"),
        (lambda: turned_about((0.0, 0.0, 0.0), 1.0), "axis = .* has no direction"),
        (lambda: turned_about("z", math.inf), "angle of a turn must be finite"),
        (lambda: Surface(stiffness=-1.0), "stiffness of a surface"),
    ],
)
def test_bad_boxes_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        make()

"""Inverse control of robots that nobody tuned it on: chambers without hoops act with the square of the pressure."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid import fem
from annelid.fem.newton import Settings
from annelid.shapes import tet_fill

LENGTH, RADIUS = 60e-3, 15e-3


class Hollow:
    """A hanging cylinder with round chambers around its axis, as a distance."""

    def __init__(self, chambers: int) -> None:
        turns = 0.2 + 2.0 * np.pi * np.arange(chambers) / chambers
        self.axes = 7e-3 * np.stack([np.cos(turns), np.sin(turns)], axis=1)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-RADIUS, -RADIUS, -LENGTH]), np.array([RADIUS, RADIUS, 0.0])

    def signed_distance(self, points: Any) -> np.ndarray:
        p = np.asarray(points, float)
        found = _rod(p, np.zeros(2), RADIUS, -LENGTH, 0.0)
        for axis in self.axes:
            found = np.maximum(found, -_rod(p, axis, 3.5e-3, 8e-3 - LENGTH, -8e-3))
        return found


def _rod(p: np.ndarray, axis: np.ndarray, radius: float, low: float, high: float) -> np.ndarray:
    across = np.linalg.norm(p[:, :2] - axis, axis=1) - radius
    along = np.maximum(low - p[:, 2], p[:, 2] - high)
    outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
    return np.minimum(np.maximum(across, along), 0.0) + outside


def plain_cylinder(material: str = "ecoflex-00-30", most: float = 2e4) -> fem.Robot:
    mesh = tet_fill(Hollow(3), pitch=4e-3, tolerance=None, cavity_tolerance=None)
    solid = fem.Solid(mesh, material).fix(lambda p: p[:, 2] > -1e-3)
    chambers = [fem.Pneumatic(name=f"chamber-{i}", cavity=i, pressure=(0.0, most)) for i in range(3)]
    tip = mesh.nodes[np.argmin(np.linalg.norm(mesh.nodes - [0.0, 0.0, -LENGTH], axis=1))]
    return fem.Robot(solid, chambers, [fem.Point(name="tip", at=tuple(tip), axes="xy")], device="cpu")


def test_chambers_without_hoops_are_led_along_a_circle() -> None:
    robot = plain_cylinder()
    assert robot.model.node_count > 1500  # old stiffnesses serve
    control = fem.Inverse(robot)
    start = robot.places()[0].copy()
    turns = np.linspace(0.0, 0.3 * np.pi, 4)
    path = [(1e-3, 0.0, 0.0)] + [(1e-3 * np.cos(a), 1e-3 * np.sin(a), 0.0) for a in turns]
    steps = list(control.follow(start + np.array(path)))
    assert max(step.distance for step in steps) < 5e-5
    assert steps[0].passes > 1  # from nothing the first linearisation asks for too much
    # where an independent equilibrium under the efforts that were found is
    there = robot.places()[0].copy()
    fem.Forward(robot, Settings(tolerance=1e-9)).settle()
    assert np.linalg.norm((robot.places()[0] - there)[:2]) < 2e-5


def test_efforts_come_to_rest_where_a_target_is_out_of_reach() -> None:
    robot = plain_cylinder(most=5e3)
    control = fem.Inverse(robot)
    far = robot.places()[0] + [8e-3, 3e-3, 0.0]
    found = [np.array(list(control.step(far).efforts.values())) for _ in range(8)]
    assert np.ptp(found[-3:], axis=0).max() < 50.0  # of 5,000 Pa
    assert control.step(far).active

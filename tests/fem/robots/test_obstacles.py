"""Obstacles: distances and their slopes, and robots that stay out of them with forces that balance."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.robots.barriers import Barrier, barriers_of
from annelid.shapes import Box, Capsule, Obstacle, Plane, Rigid, Sphere, turned_about

from .robots import trunk

OBSTACLES = barriers_of(
    [
        Plane(point=(0.0, 0.1, 0.2), normal=(1.0, 2.0, -0.5)),
        Sphere(0.3, center=(0.1, 0.0, -0.2)),
        Box((0.4, 0.6, 0.8), center=(0.1, -0.1, 0.05)),
        Rigid(
            Box((0.4, 0.6, 0.8)), position=(0.1, -0.1, 0.05), rotation=turned_about((1.0, 2.0, 3.0), 0.8), name="turned"
        ),
        Rigid(Capsule(0.2, 0.5, axis="x"), position=(0.1, 0.0, 0.1), rotation=turned_about("z", 0.4)),
    ]
)


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda o: o.name)
def test_normals_and_bends_are_slopes(obstacle: Barrier) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.8, 0.8, (300, 3))
    touch = obstacle.touch(points)
    np.testing.assert_allclose(np.linalg.norm(touch.normals, axis=1), 1.0, atol=1e-12)
    step = 1e-6 * rng.standard_normal(points.shape)
    ahead, behind = obstacle.touch(points + step), obstacle.touch(points - step)
    smooth = np.abs(ahead.normals - behind.normals).max(axis=1) < 1e-3  # not across the ridges inside a box
    slope = (ahead.gaps - behind.gaps) / 2.0
    np.testing.assert_allclose(slope[smooth], (touch.normals * step).sum(axis=1)[smooth], atol=1e-11)
    turn = (ahead.normals - behind.normals) / 2.0
    np.testing.assert_allclose(turn[smooth], np.einsum("pij,pj->pi", touch.bends, step)[smooth], atol=1e-9)
    assert smooth.mean() > 0.95


def test_the_inside_is_negative() -> None:
    for obstacle, point, gap in (
        (Sphere(0.3), (0.0, 0.0, 0.0), -0.3),
        (Box((2.0, 4.0, 6.0)), (0.9, 0.0, 0.0), -0.1),
        (Plane(), (0.0, 0.0, -0.2), -0.2),
        (Capsule(0.3, 1.0), (0.1, 0.0, 0.2), -0.2),
    ):
        (barrier,) = barriers_of([obstacle])
        assert barrier.touch(np.array([point])).gaps[0] == pytest.approx(gap, rel=1e-6)


def test_bad_obstacles_are_refused() -> None:
    for make in (
        lambda: Sphere(-1.0),
        lambda: Box((1.0, 0.0, 1.0)),
        lambda: Plane(normal=(0.0, 0.0, 0.0)),
        lambda: Sphere(1.0, center=(0.0, float("nan"), 0.0)),
    ):
        with pytest.raises(InvalidValue):
            make()


@pytest.mark.parametrize(
    "obstacle",
    [
        Plane(point=(0.0, 0.0, -0.025)),
        Sphere(0.02, center=(0.11, 0.0, -0.036)),
        Box((0.04, 0.1, 0.02), center=(0.13, 0.0, -0.035)),
    ],
    ids=lambda o: type(o).__name__,
)
def test_a_pulled_trunk_rests_on_an_obstacle(obstacle: Obstacle) -> None:
    robot = trunk(obstacles=[obstacle])
    fem.Forward(robot).settle({"down": 1.0})
    contacts = robot.contacts
    assert contacts is not None
    contacts.look(robot.positions.numpy())
    assert contacts.gaps.min() > -1e-9
    assert contacts.forces.max() > 0.01
    assert (contacts.forces >= 0.0).all()
    assert np.abs(contacts.gaps[contacts.forces > 0.0]).max() < 1e-9  # no force at a distance
    # The same forces as plain loads hold the trunk in the same place, without any obstacle.
    free = trunk()
    loads = np.zeros_like(free.solid.nodes)
    np.add.at(loads, contacts.loads.outer, np.einsum("ok,okx->kx", contacts.forces, contacts.normals))
    free.model.set_forces(loads)
    free.positions.assign(robot.positions.numpy())
    fem.Forward(free).settle({"down": 1.0})
    np.testing.assert_allclose(free.places(), robot.places(), atol=1e-6)


def test_an_inverse_step_does_not_enter_an_obstacle() -> None:
    floor = Plane(point=(0.0, 0.0, -0.025))
    robot = trunk(obstacles=[floor])
    control = fem.Inverse(robot)
    step = control.reach((0.14, 0.0, -0.05), iterations=12)
    contacts = robot.contacts
    assert contacts is not None
    contacts.look(robot.positions.numpy())
    assert contacts.gaps.min() > -1e-6
    assert step.contacts > 0
    assert not step.reached
    assert step.optimality < 1e-6
    twin = trunk(obstacles=[floor])
    fem.Forward(twin).settle(robot.efforts)
    assert np.linalg.norm(twin.places() - robot.places()) < 1e-4


def test_obstacles_do_not_matter_where_they_are_far_away() -> None:
    target = (0.14, 0.02, 0.0)
    free, fenced = (
        trunk(),
        trunk(obstacles=[Plane(point=(0.0, 0.0, -1.0)), Sphere(0.1, center=(1.0, 0.0, 0.0))]),
    )
    for robot in (free, fenced):
        assert fem.Inverse(robot).reach(target).reached
    np.testing.assert_allclose(free.places(), fenced.places(), atol=2e-6)

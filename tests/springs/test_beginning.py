"""Bodies that begin inside obstacles or inside each other are told of; those that lie at rest are not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import BeginsInside
from annelid.shapes import Box, Capsule, HeightField, Plane, ResistiveGround, Rigid, Sphere, ground, turned_about
from annelid.shapes.beginning import depths_inside

EVERYTHING = springs.Collide("all", "all")


def block(*, at: Sequence[float] = (0.0, 0.0, 0.0)) -> springs.Body:
    return springs.block((3, 3, 3), 0.1, damping=5.0).moved(at)


def quiet(body: springs.Body, **options: Any) -> None:
    """Make a simulation that tells of nothing that begins inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", BeginsInside)
        springs.simulation(body, device="cpu", threads=1, **options)


# --- inside each other ---


def test_pieces_that_begin_inside_each_other_are_told_of() -> None:
    """Nine masses of each face, 0.06 m from each other, touch at 0.1 m."""
    body = block() + block(at=(0.26, 0.0, 0.0))
    told = r"18 of 54 masses begin inside masses of another piece, the deepest by 0\.04 m, .*body\.moved"
    with pytest.warns(BeginsInside, match=told):
        simulation = springs.simulation(body, collisions=[EVERYTHING], gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.run(0.01)
    assert np.linalg.norm(simulation.solver.readout.velocities(simulation.state), axis=-1).max() > 5.0


@pytest.mark.parametrize("worlds", [None, 3])
def test_how_many_are_told_does_not_depend_on_worlds(worlds: int | None) -> None:
    with pytest.warns(BeginsInside, match="18 of 54 masses"):
        springs.simulation(
            block() + block(at=(0.26, 0.0, 0.0)), collisions=[EVERYTHING], worlds=worlds, device="cpu", threads=1
        )


@pytest.mark.parametrize("itself", [True, False])
def test_what_does_not_touch_the_others_is_not_told_of(itself: bool) -> None:
    rule = springs.Collide("all", "all", itself=itself)
    quiet(block(), collisions=[rule])
    quiet(block() + block(at=(0.3, 0.0, 0.0)), collisions=[rule])
    inside = block() + block(at=(0.26, 0.0, 0.0))
    quiet(inside)
    with pytest.warns(BeginsInside):
        springs.simulation(inside, collisions=[rule], device="cpu", threads=1)


def test_pieces_that_are_held_push_nobody() -> None:
    quiet((block() + block(at=(0.26, 0.0, 0.0))).fix(), collisions=[EVERYTHING])


def test_a_radius_of_a_rule_says_how_deep_they_are() -> None:
    pair = springs.Body([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0]], 0.1, [], [], [])
    rule = springs.Collide("all", "all", radius=0.03)
    with pytest.warns(BeginsInside, match=r"2 of 2 masses .* by 0\.01 m"):
        springs.simulation(pair, collisions=[rule], device="cpu", threads=1)
    quiet(pair, collisions=[springs.Collide("all", "all", radius=0.025)])


# --- inside obstacles ---


@pytest.mark.parametrize(
    ("obstacle", "deepest"),
    [
        (Plane(point=(0.0, 0.0, 0.02)), "0\\.02"),
        (Rigid(Plane(), position=(0.0, 0.0, 0.02)), "0\\.02"),
        (HeightField(np.full((4, 6), 0.02), 0.5), "0\\.02"),
        (Rigid(Box((2.0, 2.0, 1.0)), position=(0.0, 0.0, -0.48), rotation=turned_about("z", 0.3)), "0\\.02"),
        (Rigid(Sphere(50.0), position=(0.1, 0.1, -49.98)), "0\\.02"),
        (Rigid(Box((2.0, 2.0, 1.0)).surface(), position=(0.0, 0.0, -0.48)), "0\\.02"),
    ],
    ids=["plane", "moved-plane", "field", "box", "ball", "mesh"],
)
def test_masses_that_begin_inside_obstacles_are_told_of(obstacle: Any, deepest: str) -> None:
    told = f"9 of 27 masses begin inside obstacle 1, an? .*, the deepest by {deepest} m, .*body\\.moved"
    with pytest.warns(BeginsInside, match=told):
        springs.simulation(block(), obstacles=[Plane(point=(0.0, 0.0, -9.0)), obstacle], device="cpu", threads=1)
    quiet(block(at=(0.0, 0.0, 0.02)), obstacles=[obstacle])


def test_a_piece_that_begins_at_rest_is_not_told_of() -> None:
    """It may begin twice as deep as it would lie: from there it comes back to the surface, and no farther."""
    weight = 27 * 0.1 * 9.81
    rest, obstacles = weight / (9 * 1e4), [ground(stiffness=1e4)]
    quiet(block(at=(0.0, 0.0, -rest)), obstacles=obstacles)
    quiet(block(at=(0.0, 0.0, -1.99 * rest)), obstacles=obstacles)
    with pytest.warns(BeginsInside):
        springs.simulation(block(at=(0.0, 0.0, -2.01 * rest)), obstacles=obstacles, device="cpu", threads=1)


def test_what_is_held_inside_an_obstacle_is_not_told_of() -> None:
    body = block(at=(0.0, 0.0, -0.05)).fix(lambda p: p[:, 2] < 0.0)
    quiet(body, obstacles=[Plane()])


def test_a_body_may_begin_in_sand() -> None:
    quiet(block(at=(0.0, 0.0, -0.05)), obstacles=[ResistiveGround("sand-loose", buried=True)])


def test_depths_inside_obstacles() -> None:
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.09], [0.3, 0.0, 0.0], [0.0, 0.0, -1.0]])
    ball = Rigid(Capsule(0.1, 0.2), position=(0.0, 0.0, 0.0))
    np.testing.assert_allclose(depths_inside(ball, points), [0.1, 0.1, 0.0, 0.0], atol=1e-12)
    x = np.linspace(-1.0, 1.0, 5)
    slope = Rigid(HeightField(np.tile(0.5 * x[:, None], (1, 3)), 0.5), position=(0.0, 0.0, 0.1))
    np.testing.assert_allclose(depths_inside(slope, points), [0.1, 0.01, 0.25, 1.1], atol=1e-7)
    tilted = Plane(normal=(-math.sin(0.1), 0.0, math.cos(0.1)))
    np.testing.assert_allclose(
        depths_inside(Rigid(tilted), points), [0.0, 0.0, 0.3 * math.sin(0.1), math.cos(0.1)], atol=1e-12
    )

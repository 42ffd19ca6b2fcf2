"""Solids of revolution: volumes, distances and closed surfaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue
from annelid.shapes import Cylinder, Revolved, hopper, tube


def test_a_tube_is_a_cylinder_less_another() -> None:
    solid = tube(0.8, 1.0, 2.0)
    assert solid.volume == pytest.approx(math.pi * (1.0 - 0.64) * 2.0)
    assert solid.surface(512).volume == pytest.approx(solid.volume, rel=1e-4)
    points = np.random.default_rng(0).uniform(-1.5, 2.5, (500, 3))
    outer, inner = Cylinder(1.0, 2.0, center=(0, 0, 1.0)), Cylinder(0.8, 2.0, center=(0, 0, 1.0))
    inside = outer.contains(points) & (inner.signed_distance(points) >= 0.0)
    assert np.array_equal(solid.contains(points), inside)
    away = outer.signed_distance(points) > 0.3  # outside, the hole does not matter
    side = away & (np.hypot(points[:, 0], points[:, 1]) > 1.0)
    assert solid.signed_distance(points)[side] == pytest.approx(outer.signed_distance(points)[side])


def test_either_way_round() -> None:
    corners = ((1.0, 0.0), (2.0, 0.0), (2.0, 1.0))
    assert Revolved(corners) == Revolved(corners[::-1])


@given(
    st.floats(0.2, 2.0), st.floats(0.1, 3.0), st.floats(0.1, 0.9), st.floats(0.0, 1.2), st.floats(0.01, 0.5),
)  # fmt: skip
def test_hoppers_are_closed(radius: float, height: float, part: float, angle: float, wall: float) -> None:
    solid = hopper(radius, height, part * radius, angle=angle, wall=wall)
    mesh = solid.surface(64)
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(solid.volume, rel=0.01)
    low, high = solid.bounds()
    points = np.random.default_rng(1).uniform(low, high, (200, 3))
    inner = np.hypot(points[:, 0], points[:, 1]) < part * radius
    assert (solid.signed_distance(points)[inner] > 0.0).all()
    exact = mesh.query("cpu").signed_distance(points)
    assert np.abs(exact - solid.signed_distance(points)).max() < 0.01 * radius + 1e-6


@pytest.mark.parametrize(
    "profile",
    [
        ((0.0, 0.0), (0.5, 1.0), (0.0, 1.0)),  # a cone on its tip
        ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0)),  # two tips
        ((0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 1.0)),  # a cylinder with a roof
        ((0.0, 0.0), (1.0, -0.5), (1.0, 1.0)),  # a tip in the middle
    ],
)
def test_profiles_that_reach_the_axis_are_solid(profile: tuple[tuple[float, float], ...]) -> None:
    solid = Revolved(profile)
    mesh = solid.surface(128)
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(solid.volume, rel=1e-3)
    low, high = solid.bounds()
    points = np.random.default_rng(2).uniform(low - 0.2, high + 0.2, (300, 3))
    points[:40, :2] = 0.0  # on the axis
    np.testing.assert_allclose(mesh.query("cpu").signed_distance(points), solid.signed_distance(points), atol=2e-3)


@pytest.mark.parametrize(
    "profile",
    [
        ((1.0, 0.0), (2.0, 0.0)),
        ((-0.1, 0.0), (1.0, 0.0), (1.0, 1.0)),
        ((1.0, 0.0), (2.0, 1.0), (3.0, 2.0)),
        ((1.0, 0.0), (1.0, float("nan")), (2.0, 2.0)),
    ],
)
def test_bad_profiles_are_refused(profile: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidValue):
        Revolved(profile)


@pytest.mark.parametrize("bad", [{"opening": 1.0}, {"angle": 2.0}, {"wall": 0.0}, {"radius": -1.0}])
def test_bad_hoppers_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidValue):
        hopper(**{"radius": 0.5, "height": 1.0, "opening": 0.1, **bad})


def test_the_hole_is_open_at_the_height_of_a_corner() -> None:
    solid = hopper(0.08, 0.12, 0.04, wall=0.02)
    heights = np.concatenate([[0.0, -0.0], 1e-17 * np.arange(-5, 6), np.linspace(-0.03, 0.1, 27)])
    assert (solid.signed_distance(np.column_stack([0.0 * heights, 0.0 * heights, heights])) > 0.03).all()

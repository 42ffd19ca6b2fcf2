"""Edge, height and slope of heaps whose shape is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue
from annelid.scenes.support.heaps import heap, together

SIZE = 0.02


def cone(radius: float, degrees: float) -> np.ndarray:
    """Spheres at random places inside a cone that stands on the ground, so many that they hang together."""
    slope = math.tan(math.radians(degrees))
    count = int(4.0 * radius**3 * slope / (1.6 * SIZE) ** 3)
    points = np.random.default_rng(0).uniform((-radius, -radius, 0.0), (radius, radius, radius * slope), (count, 3))
    room = (radius - np.hypot(points[:, 0], points[:, 1])) * slope
    x, y = np.meshgrid(*2 * [np.arange(-radius, radius, 1.8 * SIZE)])
    ground = np.stack([x, y, np.full_like(x, SIZE)], axis=-1)[np.hypot(x, y) <= radius - SIZE]
    return np.concatenate([points[points[:, 2] + SIZE <= room], ground])


@settings(max_examples=8)
@given(st.floats(0.8, 1.2), st.floats(20.0, 40.0))
def test_a_cone_is_measured(radius: float, degrees: float) -> None:
    found = heap(cone(radius, degrees), SIZE)
    assert found.radius == pytest.approx(radius, abs=0.02)
    assert math.degrees(found.angle) == pytest.approx(degrees, abs=2.0)
    assert found.height == pytest.approx(radius * math.tan(math.radians(degrees)), abs=0.06)
    assert found.strays < 20


def test_grains_that_rolled_away_do_not_count() -> None:
    points = cone(0.6, 25.0)
    strays = np.array([[1.2, 0.0, 0.02], [0.0, -1.0, 0.02], [0.9, 0.9, 0.02]])
    alone, with_strays = heap(points, SIZE), heap(np.concatenate([points, strays]), SIZE)
    assert with_strays.strays == alone.strays + 3
    assert with_strays.radius == pytest.approx(alone.radius)


def test_the_axis_and_the_floor_may_be_elsewhere() -> None:
    points = cone(0.6, 25.0)
    assert heap(points + np.array([1.0, 2.0, 3.0]), SIZE, axis=(1.0, 2.0), floor=3.0).radius == pytest.approx(
        heap(points, SIZE).radius, abs=1e-9
    )


def test_groups() -> None:
    points = np.array([[0, 0, 0], [1.05, 0, 0], [2.1, 0, 0], [5, 0, 0], [6, 0, 0]], float)
    assert together(points, 0.5).tolist() == [True, True, True, False, False]


def test_too_few_grains() -> None:
    with pytest.raises(InvalidValue, match="at least 8 grains"):
        heap(np.zeros((3, 3)), 0.01)

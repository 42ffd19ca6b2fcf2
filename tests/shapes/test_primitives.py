"""Primitives: known distances, properties that every distance has, and surfaces that converge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Capsule, Cylinder, Shape, Sphere, Torus, beam

SHAPES: list[Shape] = [
    Box((1.0, 2.0, 3.0), center=(0.5, -0.25, 0.1)),
    Sphere(0.8, center=(0.1, 0.2, 0.3)),
    Cylinder(0.4, 1.5, axis=(1.0, 2.0, -1.0), center=(0.0, 0.3, 0.0)),
    Capsule(0.3, 1.0, axis="y", center=(-0.2, 0.0, 0.1)),
    Torus(0.4, 0.15, axis=(0.0, 1.0, 1.0), center=(0.1, 0.0, 0.2)),
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
points = arrays(np.float64, (2, 3), elements=st.floats(-4.0, 4.0))


@pytest.mark.parametrize(
    ("shape", "point", "distance"),
    [
        (Box((2, 2, 2)), (0, 0, 0), -1.0),
        (Box((2, 2, 2)), (0.75, 0, 0.5), -0.25),
        (Box((2, 2, 2)), (3, 0, 0), 2.0),
        (Box((2, 2, 2)), (2, 2, 2), math.sqrt(3)),
        (Box((2, 4, 6), center=(1, 1, 1)), (1, 1, 5), 1.0),
        (Sphere(2.0), (0, 0, 0), -2.0),
        (Sphere(2.0, center=(1, 0, 0)), (1, 3, 4), 3.0),
        (Cylinder(1.0, 4.0), (0, 0, 0), -1.0),
        (Cylinder(1.0, 4.0), (0, 0, 1.75), -0.25),
        (Cylinder(1.0, 4.0), (4, 0, 6), 5.0),
        (Cylinder(1.0, 4.0, axis="x"), (5, 0, 0), 3.0),
        (Cylinder(1.0, 4.0, axis=(0, -3, 0)), (0, 0, 3), 2.0),
        (Capsule(1.0, 4.0), (0, 0, 4), 1.0),
        (Capsule(1.0, 4.0), (3, 0, 6), 4.0),
        (Capsule(1.0, 4.0), (0, 0, 2.5), -0.5),
        (Capsule(1.0, 4.0, axis="y", center=(0, 2, 0)), (0, 5, 0), 0.0),
    ],
)
def test_distance_at_known_points(shape: Shape, point: tuple[float, float, float], distance: float) -> None:
    assert shape.signed_distance([point]) == pytest.approx([distance], abs=1e-12)


@shapes
@given(points)
def test_distance_never_changes_faster_than_position(shape: Shape, pair: np.ndarray) -> None:
    first, second = shape.signed_distance(pair)
    assert abs(first - second) <= np.linalg.norm(pair[0] - pair[1]) + 1e-12


@shapes
@given(points)
def test_distance_leads_to_the_surface(shape: Shape, pair: np.ndarray) -> None:
    """Walking against the gradient by the distance ends on the surface, wherever the gradient exists."""
    step = 1e-6 * np.eye(3)
    for point in pair:
        distance = shape.signed_distance(point[None])[0]
        gradient = (shape.signed_distance(point + step) - shape.signed_distance(point - step)) / 2e-6
        if abs(np.linalg.norm(gradient) - 1.0) < 1e-6:  # off the medial axis
            assert shape.signed_distance([point - distance * gradient]) == pytest.approx([0.0], abs=1e-4)


@shapes
@given(points)
def test_bounds_enclose_everything_inside(shape: Shape, pair: np.ndarray) -> None:
    low, high = shape.bounds()
    inside = shape.contains(pair)
    assert np.array_equal(inside, shape.signed_distance(pair) <= 0.0)
    assert ((pair[inside] >= low - 1e-12) & (pair[inside] <= high + 1e-12)).all()


@shapes
def test_bounds_touch_the_surface(shape: Shape) -> None:
    low, high = shape.surface(400).bounds()
    assert np.stack([low, high]) == pytest.approx(np.stack(shape.bounds()), abs=2e-4)


@shapes
def test_surface_is_closed_outward_and_on_the_shape(shape: Shape) -> None:
    mesh = shape.surface(24).require_closed()
    assert mesh.volume > 0.0
    assert np.abs(shape.signed_distance(mesh.vertices)).max() < 1e-12


@shapes
def test_volume_of_the_surface_converges_with_order_two(shape: Shape) -> None:
    errors = [1.0 - shape.surface(n).volume / shape.volume for n in (32, 64, 128)]
    if isinstance(shape, Box):
        assert errors == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    else:
        assert errors[0] < 0.025
        assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.05)


@shapes
def test_volume_agrees_with_counting_points(shape: Shape) -> None:
    low, high = shape.bounds()
    random = np.random.default_rng(1)
    share = shape.contains(random.uniform(low, high, (200_000, 3))).mean()
    assert share * np.prod(high - low) == pytest.approx(shape.volume, rel=0.02)


@pytest.mark.parametrize("resolution", [3, 4, 5, 7])
@shapes
def test_coarse_surfaces_are_closed_too(shape: Shape, resolution: int) -> None:
    assert shape.surface(resolution).volume > 0.0


def test_a_beam_begins_at_the_origin() -> None:
    low, high = beam(2.0, 0.2, 0.1).bounds()
    assert low == pytest.approx([0.0, -0.1, -0.05])
    assert high == pytest.approx([2.0, 0.1, 0.05])


def test_axes_are_unit_vectors() -> None:
    assert Cylinder(1.0, 1.0, axis="y").axis == (0.0, 1.0, 0.0)
    assert Capsule(1.0, 1.0, axis=(0.0, 0.0, -5.0)).axis == (0.0, 0.0, -1.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "wide", None])
def test_lengths_must_be_positive(bad: float) -> None:
    for make in (
        lambda: Box((1.0, bad, 1.0)),
        lambda: Sphere(bad),
        lambda: Cylinder(bad, 1.0),
        lambda: Cylinder(1.0, bad),
        lambda: Capsule(bad, 1.0),
        lambda: Capsule(1.0, bad),
        lambda: beam(bad, 1.0, 1.0),
        lambda: beam(1.0, 1.0, bad),
    ):
        with pytest.raises(InvalidValue, match="cannot be used; give"):
            make()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Box((1.0, 1.0)), r"size = \(1.0, 1.0\) cannot be used"),
        (lambda: Box((1.0, 0.0, 1.0)), "size of the box along y = 0.0"),
        (lambda: Sphere(1.0, center=(0, 0, math.nan)), "center = .*nan"),
        (lambda: Cylinder(1.0, 1.0, axis="w"), "axis = 'w' cannot be used; give 'x', 'y', 'z'"),
        (lambda: Cylinder(1.0, 1.0, axis=(0, 0, 0)), "has no direction"),
        (lambda: Sphere(1.0).surface(2), "resolution = 2 cannot be used; give a whole number from 3"),
        (lambda: Sphere(1.0).surface(3.5), "resolution = 3.5"),
        (lambda: Sphere(1.0).signed_distance([0, 0, 0]), r"shape \[n, 3\], not \[3\]"),
        (lambda: Sphere(1.0).contains([[0, 0, math.inf]]), "point 0 is"),
        (lambda: Sphere(1.0).contains("here"), "numbers of shape"),
    ],
)
def test_bad_input_is_named(call, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        call()


def test_no_points_are_no_trouble() -> None:
    assert Sphere(1.0).signed_distance(np.empty((0, 3))).shape == (0,)

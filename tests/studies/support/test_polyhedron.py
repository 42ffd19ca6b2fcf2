"""Exact integrals over polyhedra, whole and cut, against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.studies.support.cavities import divided_box, icosphere, knot
from annelid.studies.support.polyhedron import moments, moments_below


def turn(seed: int) -> np.ndarray:
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def test_moments_of_a_box() -> None:
    vertices, triangles = divided_box((1.0, 2.0, 3.0), 1)
    found = moments(vertices + np.array([4.0, 5.0, 6.0]), triangles)
    assert found.volume == pytest.approx(6.0, rel=1e-14)
    assert found.centre == pytest.approx([4.0, 5.0, 6.0], rel=1e-13)
    spread = found.second / found.volume - np.outer(found.centre, found.centre)
    assert spread == pytest.approx(np.diag([1.0, 4.0, 9.0]) / 12.0, abs=1e-12)


@given(st.floats(-1.4, 1.4), st.integers(0, 100))
def test_a_cut_box_is_a_box(level: float, seed: int) -> None:
    vertices, triangles = divided_box((1.0, 2.0, 3.0), 1)
    rotation = turn(seed)
    found = moments_below(vertices @ rotation.T, triangles, level, up=rotation @ [0.0, 0.0, 1.0])
    depth = level + 1.5
    assert found.volume == pytest.approx(2.0 * depth, rel=1e-12)
    assert rotation.T @ found.centre == pytest.approx([0.0, 0.0, 0.5 * (level - 1.5)], abs=1e-12)
    width = found.second / found.volume - np.outer(found.centre, found.centre)
    assert rotation.T @ width @ rotation == pytest.approx(np.diag([1.0, 4.0, depth**2]) / 12.0, abs=1e-11)


def test_the_cap_of_a_sphere() -> None:
    vertices, triangles = icosphere(5, 1.0)
    height = 0.6
    found = moments_below(vertices, triangles, height - 1.0)
    assert found.volume == pytest.approx(np.pi * height**2 * (3.0 - height) / 3.0, rel=3e-3)


@given(st.floats(-0.02, 0.02), st.integers(0, 100))
def test_two_parts_make_a_whole(level: float, seed: int) -> None:
    vertices, triangles = knot(40, 9, size=0.02, thickness=0.006)
    up = turn(seed)[0]
    below, above = (moments_below(vertices, triangles, side * level, up=side * up) for side in (1.0, -1.0))
    whole = moments(vertices, triangles)
    assert below.volume >= 0.0
    assert below.volume + above.volume == pytest.approx(whole.volume, rel=1e-12)
    assert below.first + above.first == pytest.approx(whole.first, abs=1e-12 * whole.volume)
    assert below.second + above.second == pytest.approx(whole.second, abs=1e-12 * whole.volume)


def test_nothing_below_the_bottom() -> None:
    vertices, triangles = icosphere(1, 1.0)
    found = moments_below(vertices, triangles, -2.0)
    assert found.volume == 0.0
    assert np.isnan(found.centre).all()

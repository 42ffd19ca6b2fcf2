"""Overlaps and packing: lattices whose filling is known, spheres cut by walls, areas of discs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidValue
from annelid.grains.filling import jittered_lattice
from annelid.grains.packing import overlaps, packing_fraction
from annelid.grains.sections import Disc, Rectangle
from annelid.shapes import Box, Cylinder

BALL = 4.0 / 3.0 * math.pi


def test_overlaps_are_counted_and_measured() -> None:
    found = overlaps([[0, 0, 0], [1.5, 0, 0], [3.6, 0, 0]], [1.0, 1.0, 0.2])
    assert found.count == 1
    assert found.pairs.tolist() == [[0, 1]]
    assert found.depths == pytest.approx([0.5])
    assert (found.deepest, found.mean) == (pytest.approx(0.25), pytest.approx(0.25))
    assert overlaps(np.zeros((0, 3)), 1.0).count == 0


@pytest.mark.parametrize("margin", [0.05, 0.2, 0.35])
def test_a_cubic_lattice_fills_pi_sixths(margin: float) -> None:
    """Periods of 0.1 m: any box of whole periods holds π/6, wherever its walls cut the spheres."""
    positions = jittered_lattice((20, 20, 20), 0.1)
    found = packing_fraction(positions, 0.05, Box((2.0, 2.0, 2.0), center=(1, 1, 1)), margin=margin, top=2.0)
    assert found == pytest.approx(math.pi / 6.0, rel=1e-4)


def test_the_whole_container_counts_every_sphere() -> None:
    positions = jittered_lattice((4, 5, 6), 0.1)
    box = Box((0.4, 0.5, 0.6), center=(0.2, 0.25, 0.3))
    assert packing_fraction(positions, 0.05, box, margin=0.0) == pytest.approx(math.pi / 6.0, rel=1e-9)


def test_a_cylinder_cuts_spheres_exactly() -> None:
    """Two points of view of one section: closed-form lenses against points at random."""
    positions = jittered_lattice((10, 10, 10), 0.1)
    cylinder = Cylinder(0.5, 1.0, center=(0.5, 0.5, 0.5))
    found = packing_fraction(positions, 0.05, cylinder, margin=0.13, top=1.0)
    probes = np.random.default_rng(0).uniform(0.0, 1.0, (400_000, 3))
    inside = (np.hypot(probes[:, 0] - 0.5, probes[:, 1] - 0.5) < 0.37) & (np.abs(probes[:, 2] - 0.5) < 0.37)
    near = np.abs((probes[inside] / 0.1) % 1.0 - 0.5)
    assert found == pytest.approx((np.linalg.norm(near, axis=1) < 0.5).mean(), abs=3e-3)


def test_other_shapes_are_counted_by_points() -> None:
    positions = jittered_lattice((12, 12, 12), 0.1)
    box = Box((1.2, 1.2, 1.2), center=(0.6, 0.6, 0.6))
    found = packing_fraction(positions, 0.05, box.surface(), margin=0.1, top=1.2)
    assert found == pytest.approx(math.pi / 6.0, abs=3e-3)


def test_the_surface_of_a_bed_is_left_out() -> None:
    positions = jittered_lattice((20, 20, 10), 0.1)  # the upper half is empty
    box = Box((2.0, 2.0, 2.0), center=(1, 1, 1))
    assert packing_fraction(positions, 0.05, box, margin=0.2, top=1.0) == pytest.approx(math.pi / 6.0, rel=1e-4)
    assert packing_fraction(positions, 0.05, box, margin=0.2) == pytest.approx(math.pi / 6.0, abs=0.06)


@given(*[st.floats(-1.6, 1.6)] * 2, st.floats(0.2, 1.0), st.floats(0.2, 1.5))
def test_discs_in_a_rectangle(x: float, y: float, radius: float, half: float) -> None:
    """The part of a disc in a square, against strips of it."""
    found = Rectangle(np.array([half, half])).areas(np.array([[x]]), np.array([[y]]), np.array([[radius]]))[0, 0]
    at = np.linspace(-half, half, 20_001)
    at = 0.5 * (at[1:] + at[:-1])
    reach = np.sqrt(np.maximum(radius**2 - (at - x) ** 2, 0.0))
    strips = np.maximum(np.minimum(y + reach, half) - np.maximum(y - reach, -half), 0.0)
    assert found == pytest.approx(float(strips.sum()) * 2.0 * half / 20_000, abs=1e-4)


def test_discs_in_a_disc() -> None:
    section = Disc(1.0)
    x = np.array([[0.0], [0.2], [1.0], [3.0]])
    areas = section.areas(x, 0.0 * x, np.full((4, 1), 0.5))[:, 0]
    assert areas[[0, 1, 3]] == pytest.approx([0.25 * math.pi, 0.25 * math.pi, 0.0])
    # Centre on the rim: two circular segments.
    alpha, beta = math.acos(0.25), math.acos(0.875)
    lens = 0.25 * alpha + beta - 0.5 * math.sqrt(0.5 * 0.5 * 1.5 * 2.5)
    assert areas[2] == pytest.approx(lens)
    assert section.areas(np.zeros((1, 1)), np.zeros((1, 1)), np.full((1, 1), 2.0)) == pytest.approx(math.pi)


def test_bad_input_is_refused() -> None:
    box = Box((1.0, 1.0, 1.0))
    with pytest.raises(InvalidValue, match="use a smaller margin"):
        packing_fraction(np.zeros((3, 3)), 0.1, box)
    with pytest.raises(InvalidValue, match="margin = -1"):
        packing_fraction(np.zeros((3, 3)), 0.1, box, margin=-1.0)
    with pytest.raises(InvalidValue, match="radii must be finite"):
        overlaps(np.zeros((3, 3)), 0.0)

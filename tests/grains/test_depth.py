"""The default step follows the depth of a bed, not the height of its highest grain."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.grains.depth import bed_depth
from annelid.grains.filling import jittered_lattice
from annelid.grains.steps import default_step

UP = np.array([0.0, 0.0, 1.0])
SPOTS = jittered_lattice((20, 20, 25), 0.021, jitter=4e-4)


def test_the_lattice_of_the_comparison_keeps_its_step() -> None:
    assert default_step(grains.Bed(SPOTS, 0.01), grains.World()) == pytest.approx(2.22e-4, rel=0.01)


def test_one_grain_high_above_changes_nothing() -> None:
    stray = np.concatenate([SPOTS, [[0.2, 0.2, 5.0]]])
    assert bed_depth(grains.Bed(stray, 0.01), UP) == pytest.approx(bed_depth(grains.Bed(SPOTS, 0.01), UP), rel=1e-3)


def test_a_shower_counts_for_what_it_weighs() -> None:
    shower = np.random.default_rng(0).uniform((0.0, 0.0, 0.0), (0.4, 0.4, 100.0), (500, 3))
    assert bed_depth(grains.Bed(shower, 0.01), UP) < 0.6
    assert bed_depth(grains.Bed(shower[:, ::-1], 0.01), UP[::-1]) < 0.6


def test_a_tower_counts_for_its_height_and_so_does_the_deepest_world() -> None:
    tower = np.array([[0.0, 0.0, 0.02 * k] for k in range(25)])
    assert bed_depth(grains.Bed(tower, 0.01), UP) == pytest.approx(0.48)
    worlds = np.repeat([0, 2], [25, 25])
    both = np.concatenate([tower, 0.5 * tower + [0.0, 0.0, 7.0]])
    assert bed_depth(grains.Bed(both, 0.005), UP, worlds) == pytest.approx(0.48, rel=0.05)

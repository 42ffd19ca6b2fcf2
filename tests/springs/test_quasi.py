"""Quasi-uniform bodies: mass, stiffness, isotropy, parts of another material, bending."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.shapes import Box, Sphere
from annelid.springs.body import Body
from annelid.springs.modes import modes
from annelid.springs.potential import Potential
from annelid.springs.quasi import quasi_lattice, relaxation

SILICONE = material("dragon-skin-30")


@pytest.fixture(scope="module")
def cube() -> Body:
    return quasi_lattice(Box((1.0, 1.0, 1.0)), 0.09, SILICONE)


def strain_energy(body: Body, strain: np.ndarray) -> float:
    """Energy [J] when all masses follow a small strain."""
    moved = (body.positions @ strain).ravel()
    return 0.5 * float(moved @ (Potential(body).stiffness(body.positions) @ moved))


def test_mass_and_volume(cube: Body) -> None:
    assert cube.masses.sum() == pytest.approx(SILICONE.density)
    assert cube.volumes.sum() == pytest.approx(1.0)
    assert len(cube.triangles) > 0
    assert cube.materials == ("dragon-skin-30",)


def test_total_mass_may_be_given() -> None:
    body = quasi_lattice(Sphere(0.1), 0.03, SILICONE, mass=3.0)
    assert body.masses.sum() == pytest.approx(3.0)


def test_energy_of_a_uniform_strain(cube: Body) -> None:
    """E = Σ k L² / 6 V, before masses relax: λ = μ = 2/5 E, in all directions alike."""
    lame = 0.4 * SILICONE.youngs_modulus / relaxation(2.1)
    stretch = 1e-3 * np.diag([1.0, 0.0, 0.0])
    energies = [strain_energy(cube, np.roll(stretch, shift, axis=(0, 1))) for shift in range(3)]
    np.testing.assert_allclose(energies, 1.5 * lame * 1e-6, rtol=0.03)
    shear = 0.5e-3 * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert strain_energy(cube, shear) == pytest.approx(0.5 * lame * 1e-6, rel=0.03)


def test_wider_reach_relaxes_less() -> None:
    assert 0.8 < relaxation(1.8) < relaxation(2.1) < relaxation(3.0) < 1.02


def test_cantilever_vibrates_as_a_beam_does() -> None:
    length, width, height, spacing = 0.4, 0.02, 0.04, 0.04 / 6 / 1.25
    shape = Box((length + 0.01, width, height), center=(length / 2 - 0.005, 0.0, 0.0))
    body = quasi_lattice(shape, spacing, SILICONE, seed=2).fix(lambda p: p[:, 0] < 0.0)
    found = modes(body, 2)
    upright = [(np.sum(shape[:, 2] ** 2) > np.sum(shape[:, 1] ** 2)) for shape in found.shapes]
    theory = (
        1.8751**2 / (2 * math.pi) * math.sqrt(SILICONE.youngs_modulus * height**2 / 12 / SILICONE.density) / length**2
    )
    assert found.frequencies[upright.index(True)] == pytest.approx(theory, rel=0.06)


def test_inserts_change_springs_and_masses() -> None:
    stiff = material("nylon")
    shape = Box((1.0, 0.5, 0.5))
    body = quasi_lattice(shape, 0.1, SILICONE, inserts=[(lambda p: p[:, 0] > 0.0, stiff)])
    middle = body.positions[body.springs].mean(axis=1)[:, 0]
    constants = body.stiffness * body.rest_lengths**2
    ratio = constants[middle > 0.15].mean() / constants[middle < -0.15].mean()
    assert ratio == pytest.approx(stiff.youngs_modulus / SILICONE.youngs_modulus, rel=0.25)
    assert body.masses.sum() == pytest.approx(0.125 * (SILICONE.density + stiff.density), rel=0.01)
    assert set(body.spring_materials[middle > 0.05]) == {1}


def test_damping_has_the_wanted_ratio() -> None:
    frequency = 5.0
    body = quasi_lattice(Sphere(0.1), 0.04, SILICONE, damping_frequency=frequency)
    ratio = body.damping * 2 * math.pi * frequency / (2 * body.stiffness)
    np.testing.assert_allclose(ratio, SILICONE.damping)


def test_same_seed_same_body() -> None:
    first, again = (quasi_lattice(Sphere(0.1), 0.03, SILICONE, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.positions, again.positions)
    np.testing.assert_array_equal(first.stiffness, again.stiffness)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"reach": 1.2}, "reach"), ({"reach": math.nan}, "reach"), ({"damping_frequency": 0.0}, "damping_frequency")],
)
def test_bad_options_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        quasi_lattice(Sphere(0.1), 0.03, SILICONE, **options)  # type: ignore[arg-type]

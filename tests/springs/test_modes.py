"""Natural frequencies against closed forms, at rest, under tension, free, guided and unstable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.springs.body import Body
from annelid.springs.build import beam, block
from annelid.springs.modes import modes
from annelid.springs.potential import Potential


def chain(count: int, *, stiffness: float = 100.0, mass: float = 2.0, rest: float = 1.0) -> Body:
    """Masses in a row along x, a metre apart, the two ends held."""
    positions = np.zeros((count + 2, 3))
    positions[:, 0] = np.arange(count + 2)
    links = np.column_stack([np.arange(count + 1), np.arange(1, count + 2)])
    body = Body(positions, mass, links, rest, stiffness)
    return body.fix(np.array([0, count + 1]))


def test_chain_has_the_frequencies_of_the_textbook() -> None:
    count, stiffness, mass = 20, 100.0, 2.0
    body = chain(count).guide(None, "line", (1.0, 0.0, 0.0))
    number = np.arange(1, count + 1)
    theory = 2 * math.sqrt(stiffness / mass) * np.sin(number * math.pi / (2 * (count + 1))) / (2 * math.pi)
    found = modes(body, count)
    np.testing.assert_allclose(found.frequencies, theory, rtol=1e-9)
    wave = np.sin(math.pi * np.arange(count + 2) / (count + 1))
    wave /= np.linalg.norm(wave) * math.sqrt(mass)
    np.testing.assert_allclose(np.abs(found.shapes[0][:, 0]), wave, atol=1e-9)


def test_tension_tunes_a_string() -> None:
    """Springs of half the distance pull with k/2; across, a string of masses obeys 2 √(T / m a) sin."""
    count = 15
    body = chain(count, rest=0.5).guide(None, "line", (0.0, 1.0, 0.0))
    number = np.arange(1, 4)
    theory = 2 * math.sqrt(100.0 * 0.5 / 2.0) * np.sin(number * math.pi / (2 * (count + 1))) / (2 * math.pi)
    np.testing.assert_allclose(modes(body, 3).frequencies, theory, rtol=1e-9)


def test_compressed_string_is_unstable() -> None:
    found = modes(chain(15, rest=1.5), 2)
    assert (found.frequencies < 0.0).all()


def test_free_body_has_six_motions_without_stiffness() -> None:
    body = block((4, 5, 6))
    frequencies = modes(body, 8).frequencies
    assert (frequencies[:6] == 0.0).all()
    assert frequencies[6] > 0.1


def test_few_and_all_modes_agree() -> None:
    """The sparse search for a few, the dense one for small bodies."""
    body = block((9, 5, 5), 0.1).fix(lambda p: p[:, 0] < 0.01)
    few = modes(body, 4)
    potential = Potential(body)
    stiffness = (potential.basis.T @ potential.stiffness(body.positions) @ potential.basis).toarray()
    true = np.linalg.eigvalsh(stiffness / 0.1)[:4]
    np.testing.assert_allclose(few.frequencies, np.sqrt(true) / (2 * math.pi), rtol=1e-8)


def test_shapes_are_orthonormal_in_mass_and_still_where_held() -> None:
    body = block((9, 5, 5), 0.1).fix(lambda p: p[:, 0] < 0.01)
    body.masses *= np.random.default_rng(0).uniform(0.5, 1.5, body.mass_count)
    shapes = modes(body, 5).shapes
    gram = np.einsum("ani,n,bni->ab", shapes, body.masses, shapes)
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-8)
    assert (shapes[:, body.fixed] == 0.0).all()


def test_cantilever_approaches_the_beam_formula() -> None:
    rubber = material("dragon-skin-30")
    errors = []
    for cells in (2, 4):
        body = beam(0.4, 0.02, 0.02, 0.02 / cells, rubber).fix(lambda p: p[:, 0] < 1e-6)
        theory = 1.8751**2 / (2 * math.pi) * math.sqrt(rubber.youngs_modulus * 0.02**2 / 12 / rubber.density) / 0.4**2
        errors.append(modes(body, 1).frequencies[0] / theory - 1.0)
    assert 0.0 < errors[1] < 0.05
    assert errors[1] < 0.4 * errors[0]


def test_stiffness_is_the_derivative_of_the_forces() -> None:
    rng = np.random.default_rng(0)
    body = block((3, 3, 3), 0.1)
    body.springs = np.concatenate([body.springs, body.springs[:5, ::-1]])  # parallel springs, also the other way round
    of_springs = "rest_lengths", "stiffness", "damping", "diameters", "yield_strains", "spring_materials"
    for name in (*of_springs, "signal_kinds", "signal_parameters"):
        values = getattr(body, name)
        setattr(body, name, np.concatenate([values, values[:5]]))
    potential = Potential(body, (0.0, 0.0, -9.81))
    here = body.positions + rng.normal(0.0, 0.01, body.positions.shape)
    step = rng.normal(0.0, 1e-6, here.shape)
    change = (potential.forces(here + step) - potential.forces(here - step)).ravel()
    np.testing.assert_allclose(
        -2 * (potential.stiffness(here) @ step.ravel()), change, atol=1e-5 * np.abs(change).max()
    )
    work = potential.energy(here + step) - potential.energy(here - step)
    assert work == pytest.approx(-2 * np.sum(potential.forces(here) * step), rel=1e-5)


def test_convex_stiffness_has_no_negative_eigenvalue() -> None:
    body = chain(6, rest=1.5)
    convex = Potential(body).stiffness(body.positions, convex=True).toarray()
    assert np.linalg.eigvalsh(convex).min() > -1e-9


@pytest.mark.parametrize("count", [0, 46])
def test_number_of_modes_must_fit(count: int) -> None:
    with pytest.raises(InvalidValue, match="directions of motion"):
        modes(chain(15), count)


def test_positions_must_fit() -> None:
    with pytest.raises(InvalidValue, match="shape"):
        modes(chain(5), 2, positions=np.zeros((3, 3)))

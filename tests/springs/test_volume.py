"""The volume term: derivatives, moduli, and nearly incompressible tension."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.shapes import Box
from annelid.shapes.lattice import Lattice
from annelid.springs.equilibrium import equilibrium
from annelid.springs.modes import modes
from annelid.springs.potential import Potential
from annelid.springs.volume import VolumeTerm, split_moduli

SHAPE, PITCH = Box((0.06, 0.03, 0.03)), 0.01


def rubber(poisson: float) -> tuple[springs.Body, VolumeTerm]:
    """A bar with both constants of a material."""
    matter = material("ecoflex-00-30").with_(poisson_ratio=poisson)
    modulus, kappa = split_moduli(matter)
    body = springs.lattice(SHAPE, PITCH, matter.with_(youngs_modulus=modulus))
    return body, VolumeTerm(Lattice.fill(SHAPE, PITCH), kappa)


def test_derivatives() -> None:
    body, volume = rubber(0.45)
    rng = np.random.default_rng(1)
    here = body.positions + rng.normal(0.0, 5e-4, body.positions.shape)
    step = rng.normal(0.0, 1e-8, here.shape)
    potential = Potential(body, volume=volume)
    change = (potential.forces(here + step) - potential.forces(here - step)).ravel()
    np.testing.assert_allclose(
        -2 * (potential.stiffness(here) @ step.ravel()), change, atol=1e-6 * np.abs(change).max()
    )
    work = volume.energy(here + step) - volume.energy(here - step)
    assert work == pytest.approx(-2 * np.sum(volume.forces(here) * step), rel=1e-6)


def test_turning_costs_nothing() -> None:
    body, volume = rubber(0.45)
    turned = body.rotated((1.0, 2.0, 3.0), 0.8).positions
    assert volume.energy(turned) == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("poisson", [0.25, 0.4, 0.49])
def test_tension_has_the_materials_constants(poisson: float) -> None:
    body, volume = rubber(poisson)
    matter = material("ecoflex-00-30")
    low, high = body.positions[:, 0] < -0.029, body.positions[:, 0] > 0.029
    body.guide(low, "plane", (1.0, 0.0, 0.0))
    body.fix(lambda p: np.linalg.norm(p - [-0.03, -0.015, -0.015], axis=1) < 1e-6)
    body.guide(lambda p: np.linalg.norm(p - [-0.03, 0.015, -0.015], axis=1) < 1e-6, "line", (0.0, 1.0, 0.0))
    strain = 1e-4
    shares = body.volumes[high] / body.volumes[high].sum()
    body.forces[high, 0] = strain * matter.youngs_modulus * 0.03**2 * shares
    still = equilibrium(body, gravity=(0.0, 0.0, 0.0), volume=volume)
    size = np.ptp(still, axis=0) / np.ptp(body.positions, axis=0) - 1.0
    assert size[0] == pytest.approx(strain, rel=2e-3)
    np.testing.assert_allclose(-size[1:] / size[0], poisson, atol=2e-3)


def test_modes_know_it() -> None:
    body, volume = rubber(0.49)
    body.fix(lambda p: p[:, 0] < -0.029)
    assert modes(body, 1, volume=volume).frequencies[0] > modes(body, 1).frequencies[0]


def test_ratios_below_a_quarter_are_refused() -> None:
    with pytest.raises(InvalidValue, match="1/4"):
        split_moduli(material("ecoflex-00-30").with_(poisson_ratio=0.2))

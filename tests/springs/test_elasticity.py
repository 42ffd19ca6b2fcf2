"""From material to springs: moduli of the lattice, a tension test, bars, masses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Look, springs
from annelid.core.errors import InvalidValue
from annelid.materials import Material, material
from annelid.shapes import Box
from annelid.springs.stiffness import lattice_modulus

Make = Callable[..., Any]

E, PITCH = 60e3, 0.01
NU = 0.25


def pulled_bar(body: springs.Body, force: float) -> springs.Body:
    """The bar along x with a force on both end faces, shared by the area that each mass of the face stands for."""
    x, across = body.positions[:, 0], body.positions[:, 1:]
    low, high = across.min(axis=0), across.max(axis=0)
    rim = (np.isclose(across, low) | np.isclose(across, high)).sum(axis=1)
    area = 0.5**rim
    for end, sign in ((x.min(), -1.0), (x.max(), 1.0)):
        face = np.isclose(x, end)
        body.forces[face, 0] += sign * force * area[face] / area[face].sum()
    return body


def stretch(x: np.ndarray, body: springs.Body, axis: int, *, middle: float) -> float:
    """Mean strain along an axis of the part of the bar within `middle` of its centre [m], by least squares."""
    chosen = np.abs(body.positions[:, 0] - body.center_of_mass[0]) < middle
    return float(np.polyfit(body.positions[chosen, axis], x[chosen, axis], 1)[0]) - 1.0


def at_rest(simulation: Any, speed: Make) -> None:
    for _ in range(40):
        simulation.step(50)
        if np.abs(speed(simulation)).max() < 1e-8:
            return
    pytest.fail("the bar does not come to rest")


def test_tension_of_a_bar(simulate: Make, where: Make, speed: Make) -> None:
    """Ten cells thick, ends free to contract: Young's modulus, Poisson's ratio, and the stress that is shown."""
    matter = material("silicone-marchal")
    body = springs.beam(0.24, 0.1, 0.1, PITCH, matter)
    assert body.mass_count == 25 * 11 * 11
    strain = 1e-4
    force = strain * matter.youngs_modulus * 0.1 * 0.1
    slowest = (
        math.pi * math.sqrt(matter.youngs_modulus / matter.density) / 0.24
    )  # of the bar's own oscillations [rad/s]
    probe = simulate(pulled_bar(body, force), velocity_damping=2.0 * slowest)
    simulation = simulate(body, velocity_damping=2.0 * slowest, dt=0.9 * probe.solver.stable_step())
    at_rest(simulation, speed)
    x = where(simulation)
    along, across, up = (stretch(x, body, axis, middle=0.06) for axis in range(3))
    assert force / 0.01 / along == pytest.approx(matter.youngs_modulus, rel=5e-3)
    assert -across / along == pytest.approx(NU, rel=5e-3)
    assert -up / along == pytest.approx(NU, rel=5e-3)
    picture = simulation.snapshot(Look(surface=False, spheres=True, fields=("stress",)))
    inside = np.abs(body.positions[:, 0] - 0.12) < 0.1
    np.testing.assert_allclose(picture.parts[0].fields["stress"].values[inside], force / 0.01, rtol=5e-3)


@pytest.mark.parametrize("cells", [1, 2])
def test_a_thin_bar_is_as_stiff_as_a_thick_one(cells: int, simulate: Make, where: Make, speed: Make) -> None:
    """Springs on the surface belong to fewer cells; without their share a thin beam would be too stiff."""
    width = cells * PITCH
    matter = material("silicone-marchal")
    body = springs.beam(0.12, width, width, PITCH, matter)
    force = 1e-4 * matter.youngs_modulus * width**2
    slowest = math.pi * math.sqrt(matter.youngs_modulus / matter.density) / 0.12
    probe = simulate(pulled_bar(body, force), velocity_damping=2.0 * slowest)
    simulation = simulate(body, velocity_damping=2.0 * slowest, dt=0.9 * probe.solver.stable_step())
    at_rest(simulation, speed)
    along = stretch(where(simulation), body, 0, middle=0.04)
    assert force / width**2 / along == pytest.approx(matter.youngs_modulus, rel=5e-3)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (0.3, -0.8, 0.5)])
def test_young_modulus_in_every_direction(direction: tuple[float, float, float]) -> None:
    tensor = springs.elastic_tensor(springs.lattice_stiffness(E, PITCH), PITCH)
    assert springs.directional_modulus(tensor, np.array(direction)) == pytest.approx(E, rel=1e-9)


@pytest.mark.parametrize(
    ("normal", "direction"),
    [((1, 0, 0), (0, 1, 0)), ((1, 1, 0), (1, -1, 0)), ((1, 1, 1), (1, -1, 0)), ((1, 1, 0), (0, 0, 1))],
)
def test_shear_modulus_in_every_plane(normal: tuple[int, int, int], direction: tuple[int, int, int]) -> None:
    tensor = springs.elastic_tensor(springs.lattice_stiffness(E, PITCH), PITCH)
    shear = springs.shear_modulus(tensor, np.array(normal), np.array(direction))
    assert shear == pytest.approx(E / (2.0 * (1.0 + NU)), rel=1e-9)


def test_the_elastic_tensor_of_given_constants() -> None:
    """C11 = (k1 + 2 k2 + 4/3 k3)/a and C12 = C44 = (k2 + 4/3 k3)/a."""
    k1, k2, k3 = 3.0, 2.0, 0.7
    tensor = springs.elastic_tensor((k1, k2, k3), 0.1)
    assert tensor[0, 0, 0, 0] == pytest.approx((k1 + 2 * k2 + 4 / 3 * k3) / 0.1)
    assert tensor[0, 0, 1, 1] == tensor[0, 1, 0, 1] == pytest.approx((k2 + 4 / 3 * k3) / 0.1)
    assert tensor[0, 0, 0, 1] == pytest.approx(0.0)


def test_the_lattice_of_cronos_is_not_isotropic() -> None:
    """With k inversely as the length: E along an edge is 2.248 k1/a, and the anisotropy 1.73."""
    k = (1.0, 1.0 / math.sqrt(2.0), 1.0 / math.sqrt(3.0))
    tensor = springs.elastic_tensor(k, 1.0)
    assert lattice_modulus(k, 1.0) == pytest.approx(2.248, abs=5e-4)
    c11, c12, c44 = tensor[0, 0, 0, 0], tensor[0, 0, 1, 1], tensor[0, 1, 0, 1]
    assert 2.0 * c44 / (c11 - c12) == pytest.approx(1.73, abs=5e-3)
    assert c12 / (c11 + c12) == pytest.approx(0.317, abs=5e-4)


def test_lattice_constants_are_isotropic() -> None:
    k1, k2, k3 = springs.lattice_stiffness(E, PITCH)
    assert k1 == pytest.approx(k2 + 8 / 3 * k3)
    assert 2.5 * (k2 + 4 / 3 * k3) / PITCH == pytest.approx(E)


def test_a_nylon_bar() -> None:
    area = math.pi * 0.5e-3**2
    assert springs.bar_stiffness(4.56e9, area, 0.01) == pytest.approx(3.58e5, rel=1e-3)
    truss = springs.truss([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0]], [[0, 1]], "nylon-titan", 1e-3)
    assert truss.stiffness[0] == pytest.approx(3.58e5, rel=1e-3)


@pytest.mark.parametrize("name", ["youngs_modulus", "area", "length"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_bar_needs_positive_numbers(name: str, value: float) -> None:
    with pytest.raises(InvalidValue, match=name):
        springs.bar_stiffness(**{"youngs_modulus": 1.0, "area": 1.0, "length": 1.0, name: value})


@pytest.mark.parametrize("modulus", [0.0, -1.0, math.nan, math.inf])
def test_a_lattice_needs_a_positive_modulus(modulus: float) -> None:
    with pytest.raises(InvalidValue, match="youngs_modulus must be positive"):
        springs.lattice_stiffness(modulus, PITCH)


def test_masses_come_from_density_and_volume() -> None:
    body = springs.box((0.3, 0.2, 0.1), 0.02, "steel")
    assert body.masses.sum() == pytest.approx(7850.0 * 0.3 * 0.2 * 0.1, rel=1e-12)
    assert body.volumes.sum() == pytest.approx(0.3 * 0.2 * 0.1, rel=1e-12)
    corner = np.argmin(body.positions.sum(axis=1))
    inner = np.argmin(np.linalg.norm(body.positions, axis=1))
    assert body.masses[corner] == pytest.approx(7850.0 * 0.02**3 / 8)
    assert body.masses[inner] == pytest.approx(7850.0 * 0.02**3)


def test_masses_can_be_uniform() -> None:
    body = springs.box((0.3, 0.2, 0.1), 0.05, "steel", mass=2.0)
    np.testing.assert_allclose(body.masses, 2.0 / body.mass_count)


def test_bars_give_half_their_mass_to_each_end() -> None:
    points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]
    truss = springs.truss(points, [[0, 1], [1, 2]], "steel", 0.01)
    bar = 7850.0 * math.pi * 0.005**2  # kg per metre
    np.testing.assert_allclose(truss.masses, [0.5 * bar, 1.5 * bar, 1.0 * bar])
    np.testing.assert_allclose(truss.stiffness, 210e9 * math.pi * 0.005**2 / np.array([1.0, 2.0]))
    np.testing.assert_allclose(truss.diameters, 0.01)


def test_two_materials_by_a_shape_or_by_a_function() -> None:
    """The right half of a bar of soft rubber is steel."""
    half = Box((0.1, 0.1, 0.1), center=(0.05, 0.0, 0.0))
    bodies = [
        springs.box((0.2, 0.1, 0.1), 0.02, "ecoflex-00-30", inserts=[(part, "steel")])
        for part in (half, lambda points: points[:, 0] > 0.0, half.surface())
    ]
    for body in bodies:
        assert body.materials == ("ecoflex-00-30", "steel")
        assert body.masses.sum() == pytest.approx(0.1**3 * (1070.0 + 7850.0))
        right = (body.positions[body.springs][:, :, 0] > 1e-9).any(axis=1)
        assert (body.spring_materials[right] == 1).all()
        assert (body.spring_materials[(body.positions[body.springs][:, :, 0] < -1e-9).any(axis=1)] == 0).all()
        np.testing.assert_allclose(body.stiffness, bodies[0].stiffness)
    # A spring in the plane between them holds half of each.
    x = bodies[0].positions[bodies[0].springs]
    between = (np.abs(x[:, :, 0]) < 1e-9).all(axis=1) & (np.abs(x[:, :, 1:]) < 0.045).all(axis=(1, 2))
    edges = between & (np.abs(bodies[0].rest_lengths - 0.02) < 1e-9)
    soft, hard = (
        springs.lattice_stiffness(material(name).youngs_modulus, 0.02)[0] for name in ("ecoflex-00-30", "steel")
    )
    np.testing.assert_allclose(bodies[0].stiffness[edges], 0.5 * (soft + hard))


def test_later_inserts_win() -> None:
    whole = Box((1.0, 1.0, 1.0))
    body = springs.box((0.1, 0.1, 0.1), 0.05, "tpu", inserts=[(whole, "steel"), (whole, "pla")])
    assert (body.spring_materials == 2).all()
    assert body.masses.sum() == pytest.approx(1240.0 * 1e-3)


def test_damping_ratio_at_a_frequency(simulate: Make, where: Make) -> None:
    """A cell-thick rod that rings along its axis at its own frequency loses what its material's damping ratio says."""
    matter = Material("jelly", 1000.0, 1e5, 0.25, 1.0, 0.05, "made up")
    length = 0.2
    frequency = math.sqrt(matter.youngs_modulus / matter.density) / (2.0 * length)  # both ends free
    body = springs.beam(length, 0.02, 0.02, 0.02, matter, damping_frequency=frequency)
    np.testing.assert_allclose(body.damping / body.stiffness, matter.damping / (math.pi * frequency))
    shape = -np.cos(math.pi * body.positions[:, 0] / length)
    body.velocities[:, 0] = 1e-3 * shape
    simulation = simulate(body, dt=2e-5)
    ringing = []
    simulation.observe(lambda s: ringing.append(shape @ (where(s) - body.positions)[:, 0]), every=1e-4)
    simulation.run(4.0 / frequency)
    values = np.array(ringing)
    peaks = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:])) + 1
    decrement = math.log(values[peaks[0]] / values[peaks[2]]) / 2
    assert np.diff(peaks).mean() * 1e-4 == pytest.approx(1.0 / frequency, rel=0.02)
    assert decrement == pytest.approx(2.0 * math.pi * 0.05, rel=0.03)


def test_shapes_of_bodies() -> None:
    box = springs.box((0.2, 0.1, 0.1), 0.05, "pla")
    np.testing.assert_allclose(box.bounds(), [[-0.1, -0.05, -0.05], [0.1, 0.05, 0.05]], atol=1e-12)
    beam = springs.beam(0.2, 0.1, 0.1, 0.05, "pla")
    np.testing.assert_allclose(beam.bounds(), [[0.0, -0.05, -0.05], [0.2, 0.05, 0.05]], atol=1e-12)
    ball = springs.sphere(0.1, 0.01, "pla")
    assert ball.masses.sum() == pytest.approx(1240.0 * 4 / 3 * math.pi * 1e-3, rel=0.02)
    rod = springs.cylinder(0.1, 0.4, 0.02, "pla")
    assert rod.masses.sum() == pytest.approx(1240.0 * math.pi * 0.01 * 0.4, rel=0.03)
    np.testing.assert_allclose([rod.bounds()[0][2], rod.bounds()[1][2]], [-0.2, 0.2], atol=1e-12)
    assert len(ball.triangles) > 0

"""Energy, forces and tangent of single elements and cells: derivatives, invariance, inverted elements."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.fem.cells import merged
from annelid.fem.shape_functions import integrals, point_gradients, products, rule, values
from annelid.fem.tetrahedra import grouped
from annelid.shapes import tet_beam

from .solids import bar, rubber, shaken

KINDS = [(False, "plain"), (False, "mean"), (True, "plain"), (True, "mean")]
TURN = np.array([[0.36, 0.48, -0.80], [-0.80, 0.60, 0.00], [0.48, 0.64, 0.60]])


def model_of(quadratic: bool, volume: fem.Volume, device: str) -> fem.Model:
    return fem.Model(bar((2, 1, 1), quadratic=quadratic, volume=volume), device=device, threads=1)


def look(model: fem.Model, positions: np.ndarray, *, tangent: bool = False) -> tuple[float, np.ndarray]:
    """Energy [J] and forces [N], shape [n, 3]."""
    model.assembly.evaluate(model.vectors(positions), tangent=tangent)
    return float(model.assembly.energy.numpy()[0]), model.assembly.forces.numpy().copy()


@pytest.mark.parametrize(("quadratic", "volume"), KINDS)
def test_forces_and_tangent_are_derivatives(quadratic: bool, volume: fem.Volume, device: str) -> None:
    model = model_of(quadratic, volume, device)
    here = shaken(model.solid, 0.02)
    way = np.random.default_rng(1).standard_normal(here.shape)
    _, force = look(model, here, tangent=True)
    matrix = model.assembly.matrix()
    step = 1e-7
    (low, force_low), (high, force_high) = look(model, here - step * way), look(model, here + step * way)
    assert (high - low) / (2 * step) == pytest.approx(-(force * way).sum(), rel=1e-6)
    change = -(force_high - force_low).ravel() / (2 * step)
    np.testing.assert_allclose(matrix @ way.ravel(), change, atol=1e-7 * np.abs(change).max())
    assert abs(matrix - matrix.T).max() <= 1e-12 * abs(matrix).max()


@pytest.mark.parametrize(("quadratic", "volume"), KINDS)
def test_rotation_makes_no_force(quadratic: bool, volume: fem.Volume, device: str) -> None:
    model = model_of(quadratic, volume, device)
    energy, force = look(model, model.solid.nodes @ TURN.T + [3.0, -1.0, 2.0])
    assert energy < 1e-20
    assert np.abs(force).max() < 1e-8  # of a megapascal times a hundredth of a square metre


def test_energy_does_not_depend_on_the_frame(device: str) -> None:
    model = model_of(True, "plain", device)
    here = shaken(model.solid, 0.03)
    energy, force = look(model, here)
    turned, turned_force = look(model, here @ TURN.T)
    assert turned == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(turned_force, force @ TURN.T, atol=1e-9 * np.abs(force).max())


def test_uniaxial_stretch_has_hookes_energy(device: str) -> None:
    model = fem.Model(bar((2, 1, 1), poisson_ratio=0.0), device=device)
    energy, _ = look(model, model.solid.nodes * [1.1, 1.0, 1.0])
    assert energy == pytest.approx(0.5 * 1e6 * 0.1**2 * 1.0 * 0.2 * 0.2, rel=1e-12)


@pytest.mark.parametrize("scale", [-0.8, -0.3, 0.0, 1e-9])
@pytest.mark.parametrize("quadratic", [False, True])
def test_inverted_and_flat_elements_are_pushed_back(scale: float, quadratic: bool, device: str) -> None:
    """Mirrored or squeezed flat along x, the solid pulls itself out again: forces point back to x > 0."""
    model = model_of(quadratic, "plain", device)
    solid = model.solid
    here = solid.nodes * [scale, 1.0, 1.0]
    energy, force = look(model, here, tangent=True)
    assert np.isfinite(energy)
    assert np.isfinite(force).all()
    assert np.isfinite(model.assembly.values.numpy()).all()
    assert energy > 0.0
    tip = solid.nodes[:, 0] > 1.0 - 1e-9
    assert force[tip, 0].sum() > 0.0


@pytest.mark.parametrize("quadratic", [False, True])
def test_solid_that_was_turned_inside_out_recovers(quadratic: bool, device: str) -> None:
    solid = bar((2, 1, 1) if quadratic else (6, 2, 2), quadratic=quadratic)
    start = shaken(solid, 0.06, seed=3)
    start[solid.held.any(axis=1)] = solid.nodes[solid.held.any(axis=1)]
    assert (point_gradients(start, solid.elements)[1] < 0.0).any()
    found = fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), start=start, device=device)
    assert np.abs(found - solid.nodes).max() < 1e-9


def test_means_share_one_change_of_volume(device: str) -> None:
    """In a cell that is sheared so that its parts change volume, but not the whole, only shear costs energy."""
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(1, 1, 1))
    stiff = rubber(0.4999)
    energies = []
    for volume in ("plain", "mean"):
        model = fem.Model(fem.Solid(mesh, stiff, volume=volume), device=device)
        here = mesh.nodes.copy()
        here[:, 0] += 0.05 * here[:, 0] * np.sign(here[:, 1])  # one side longer, the other shorter
        energies.append(look(model, here)[0])
    assert energies[1] < 0.05 * energies[0]


def test_elements_of_different_regions_never_share(device: str) -> None:
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(1, 1, 1))
    halves = np.arange(6) % 2
    solid = fem.Solid(
        type(mesh)(mesh.nodes, mesh.tetrahedra, regions=halves, cells=mesh.cells), [rubber(0.49), rubber(0.45)]
    )
    cells = solid.shared_volumes()
    assert cells is not None
    assert len(np.unique(cells)) == 2
    assert all(len(np.unique(halves[cells == cell])) == 1 for cell in np.unique(cells))


def test_groups_of_a_mesh_without_cells() -> None:
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(4, 4, 4))
    regions = (mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0] > 0.5).astype(int)
    groups = merged(mesh.nodes, mesh.tetrahedra, regions)
    sizes = np.bincount(groups)
    assert sizes.min() >= 1
    assert sizes.max() <= 8
    assert 0.7 < len(sizes) / len(np.unique(mesh.cells)) < 1.4
    assert all(len(np.unique(regions[groups == group])) == 1 for group in range(len(sizes)))
    assert np.array_equal(groups, merged(mesh.nodes, mesh.tetrahedra, regions))


def test_grouping_keeps_every_node_of_every_point() -> None:
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(2, 1, 1))
    plan = grouped(mesh.tetrahedra, mesh.cells)
    assert plan.nodes.shape == (2, 8)
    number = np.repeat(np.arange(2), np.diff(plan.first))
    for point, (place, cell) in enumerate(zip(plan.places, number, strict=True)):
        inside = place >= 0
        assert np.array_equal(mesh.tetrahedra[plan.order][point][place[inside]], plan.nodes[cell][inside])


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_rules_are_exact(degree: int) -> None:
    """∫ x^a over the unit tetrahedron is a! / (a + 3)!, six times that in parts of the volume."""
    points, weights = rule(degree)
    assert weights.sum() == pytest.approx(1.0)
    for power in range(degree + 1):
        exact = 6.0 / ((power + 1) * (power + 2) * (power + 3))
        assert (weights * points[:, 1] ** power).sum() == pytest.approx(exact)


@pytest.mark.parametrize("quadratic", [False, True])
def test_shape_functions_reproduce_polynomials(quadratic: bool) -> None:
    solid = bar((1, 1, 1), quadratic=quadratic)
    gradients, volumes = point_gradients(solid.nodes, solid.elements)
    field = solid.nodes @ [1.0, -2.0, 0.5]
    slope = np.einsum("ts,tqsi->tqi", field[solid.elements], gradients)
    np.testing.assert_allclose(slope, np.broadcast_to([1.0, -2.0, 0.5], slope.shape), atol=1e-12)
    assert volumes.sum() == pytest.approx(0.04)
    assert integrals(solid.nodes, solid.elements).sum() == pytest.approx(0.04)
    assert products(solid.nodes, solid.elements).sum() == pytest.approx(0.04)
    assert values(solid.elements.shape[1], np.eye(4)).argmax(axis=1).tolist() == [0, 1, 2, 3]

"""Equilibria against closed forms, displaced ends, several materials, and loads that are too large."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.linalg.banded import NotPositiveDefinite
from annelid.materials import material
from annelid.shapes import TetMesh, tet_beam
from annelid.studies.support.fem_cases import (
    Case,
    cantilever_ratio,
    elastica,
    elastica_tip,
    manufactured_error,
    patch_error,
)

from .solids import bar, rubber

NOTHING = (0.0, 0.0, 0.0)


class Runaway(fem.ElementSet):
    """An energy -c |x - x₀|³ a node: beyond some c no elastic energy balances it, as with a pressure too high."""

    def __init__(self, nodes: np.ndarray, start: np.ndarray, strength: float, device: wp.Device) -> None:
        super().__init__(nodes[:, None], device)
        self.start, self.strength, self.fraction = start[nodes], strength, 1.0

    def ramp(self, fraction: float) -> None:
        self.fraction = fraction

    def evaluate(self, positions: wp.array, *, tangent: bool = True) -> None:
        away = positions.numpy()[self.nodes[:, 0]] - self.start + [1e-3, 0.0, 0.0]
        length = np.linalg.norm(away, axis=1)
        c = self.strength * self.fraction
        self.energy.assign(-c * length**3)
        self.forces.assign((3 * c * length[:, None] * away)[:, None])
        outer = away[:, :, None] * away[:, None, :] / length[:, None, None]
        self.tangent.assign((-3 * c * (outer + length[:, None, None] * np.eye(3)))[:, None, None])


@pytest.mark.parametrize("quadratic", [False, True])
def test_patch(quadratic: bool, device: str) -> None:
    case = Case(quadratic, choose_device(device))
    assert patch_error(case) < 1e-13
    assert patch_error(case, volume="mean") < 1e-13


@pytest.mark.parametrize("quadratic", [False, True])
def test_bar_under_its_weight(quadratic: bool, device: str) -> None:
    """Hanging along x: the tip moves by ρ g L² / 2E, exactly so at ν = 0 for small loads."""
    solid = bar((4, 1, 1), quadratic=quadratic, poisson_ratio=0.0)
    found = fem.equilibrium(solid, gravity=(0.01, 0.0, 0.0), device=device)
    moved = (found - solid.nodes)[solid.indices("tip"), 0]
    assert moved.mean() == pytest.approx(1000.0 * 0.01 / 2e6, rel=1e-5 if quadratic else 2e-3)


def test_tension_follows_hookes_law_at_large_strain(device: str) -> None:
    """Co-rotational bars are linear in stretch: F = E A (l − L)/L, whatever the strain."""
    solid = bar((3, 1, 1), poisson_ratio=0.0).pull("tip", (0.5e6 * 0.04, 0.0, 0.0))
    found = fem.equilibrium(solid, gravity=NOTHING, device=device)
    np.testing.assert_allclose(found, solid.nodes * [1.5, 1.0, 1.0], atol=1e-9)


def test_large_turn_of_an_end(device: str) -> None:
    """One end is turned by 60 degrees about the bar; the twist is spread evenly along it."""
    solid = bar((8, 2, 2))
    tip = solid.indices("tip")
    turn = np.array([[0.5, -(0.75**0.5)], [0.75**0.5, 0.5]])
    goal = solid.nodes[tip].copy()
    goal[:, 1:] = goal[:, 1:] @ turn.T
    solid.displace("tip", goal - solid.nodes[tip])
    found = fem.equilibrium(solid, gravity=NOTHING, device=device)
    np.testing.assert_allclose(found[tip], goal, atol=1e-12)
    edge = np.flatnonzero((np.abs(solid.nodes[:, 1] - 0.1) < 1e-9) & (np.abs(solid.nodes[:, 2]) < 1e-9))
    angle = np.degrees(np.arctan2(found[edge, 2], found[edge, 1]))
    np.testing.assert_allclose(angle, 60.0 * solid.nodes[edge, 0], atol=2.5)


def test_two_materials_in_a_row(device: str) -> None:
    """The softer half takes the larger part of the stretch."""
    mesh = tet_beam(1.0, 0.1, 0.1, cells=(4, 1, 1))
    regions = (mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0] > 0.5).astype(int)
    both = TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions)
    solid = fem.Solid(both, [rubber(0.0, 1e6), rubber(0.0, 3e6)]).fix(lambda p: p[:, 0] < 1e-9)
    solid.pull(lambda p: p[:, 0] > 1.0 - 1e-9, (300.0, 0.0, 0.0))
    moved = (fem.equilibrium(solid, gravity=NOTHING, device=device) - solid.nodes)[:, 0]
    middle = np.abs(solid.nodes[:, 0] - 0.5) < 1e-9
    np.testing.assert_allclose(moved[middle], 0.03 * 0.5, rtol=1e-8)
    np.testing.assert_allclose(moved[solid.nodes[:, 0] > 0.999], 0.03 * 0.5 + 0.01 * 0.5, rtol=1e-8)


def test_beams(device: str) -> None:
    case = Case(True, choose_device(device))
    assert cantilever_ratio(case, (10, 1, 1)) == pytest.approx(1.0, abs=0.01)
    found, exact = elastica_tip(case, 6.0, (16, 1, 1))
    np.testing.assert_allclose(found, exact, rtol=0.01)


def test_elastica_of_a_small_load_is_linear_theory() -> None:
    reach, drop = elastica(1e-3)
    assert drop == pytest.approx(1e-3 / 3, rel=1e-4)
    assert reach == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("load", "reach", "drop"), [(1.0, 0.94357, 0.30172), (10.0, 0.44500, 0.81061)])
def test_elastica_is_the_published_one(load: float, reach: float, drop: float) -> None:
    np.testing.assert_allclose(elastica(load), [reach, drop], atol=1e-5)


@pytest.mark.parametrize(("quadratic", "order", "counts"), [(False, 2.0, (3, 5)), (True, 3.0, (3, 4))])
def test_orders(quadratic: bool, order: float, counts: tuple[int, int], device: str) -> None:
    case = Case(quadratic, choose_device(device))
    first, second = (manufactured_error(case, count) for count in counts)
    assert np.log(first / second) / np.log(counts[1] / counts[0]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("hexahedra", [True, False])
def test_shared_volumes_relieve_locking(hexahedra: bool, device: str) -> None:
    """Near ν = 0.5 linear tetrahedra are too stiff; sharing closes a part of the gap to 10-node ones."""
    drops = {}
    for name, quadratic, volume in (("plain", False, "plain"), ("mean", False, "mean"), ("fine", True, "plain")):
        mesh = tet_beam(1.0, 1.0, 1.0, cells=(4, 4, 4))
        loose = TetMesh(mesh.nodes, mesh.tetrahedra, cells=mesh.cells if hexahedra else None)
        solid = fem.Solid(loose.quadratic() if quadratic else loose, rubber(0.499), volume=volume)  # type: ignore[arg-type]
        tip = solid.nodes[:, 0] > 1.0 - 1e-9
        solid.fix(lambda p: p[:, 0] < 1e-9).pull(tip, (0.0, 0.0, -1000.0))
        moved = fem.equilibrium(solid, gravity=NOTHING, device=device) - solid.nodes
        drops[name] = -moved[tip, 2].mean()
    assert drops["plain"] < drops["mean"] < drops["fine"]
    assert drops["mean"] - drops["plain"] > 0.2 * (drops["fine"] - drops["plain"])


def test_soft_solid_under_a_huge_load_is_reached_in_parts(device: str) -> None:
    solid = bar((10, 1, 1), thickness=0.05)
    model = fem.Model(solid, fem.World(gravity=(0.0, 0.0, -9.81)), device=device)
    positions = wp.clone(model.rest)
    outcome = fem.Newton(model).equilibrium(positions)
    assert outcome.residual < 1e-6
    moved = positions.numpy() - solid.nodes
    assert moved[solid.indices("tip"), 2].mean() < -0.3


def test_collapse_keeps_the_last_equilibrium(device: str) -> None:
    solid = bar((3, 1, 1))
    runaway = Runaway(solid.indices("tip"), solid.nodes, 3e6, choose_device(device))
    model = fem.Model(solid, fem.World(gravity=NOTHING), device=device, extras=[runaway])
    positions = wp.clone(model.rest)
    with pytest.raises(fem.NoEquilibrium, match="no equilibrium beyond .* % of the load.*equilibrium is kept") as e:
        fem.Newton(model).equilibrium(positions)
    assert 0.0 < e.value.fraction < 1.0
    assert np.abs(positions.numpy() - solid.nodes).max() < 1.0
    assert runaway.fraction == e.value.fraction
    model.assembly.evaluate(positions)
    left = model.assembly.forces.numpy()[~solid.held.any(axis=1)]
    assert np.abs(left).max() < 1e-3


def test_start_near_the_equilibrium(device: str) -> None:
    solid = bar((4, 1, 1))
    first = fem.equilibrium(solid, device=device)
    again = fem.equilibrium(solid, start=first, device=device)
    assert np.abs(first - again).max() < 1e-9


def test_loads_can_be_replaced(device: str) -> None:
    solid = bar((3, 1, 1), poisson_ratio=0.0)
    model = fem.Model(solid, fem.World(gravity=NOTHING), device=device)
    model.set_forces(solid.copy().pull("tip", (1000.0, 0.0, 0.0)).forces)
    positions = wp.clone(model.rest)
    fem.Newton(model).equilibrium(positions)
    assert positions.numpy()[solid.indices("tip"), 0].mean() == pytest.approx(1.0 + 1000.0 / (1e6 * 0.04), rel=1e-6)
    with pytest.raises(InvalidValue, match="forces"):
        model.set_forces(np.full_like(solid.nodes, np.nan))


def test_steel_and_rubber_need_no_special_units(device: str) -> None:
    """The same small strain in materials of very different stiffness, to the same relative accuracy."""
    for matter in (material("steel"), rubber()):
        solid = fem.Solid(tet_beam(1.0, 0.1, 0.1, cells=(4, 1, 1)), matter.with_(poisson_ratio=0.0))
        solid.fix(lambda p: p[:, 0] < 1e-9)
        solid.pull(lambda p: p[:, 0] > 1.0 - 1e-9, (1e-4 * matter.youngs_modulus * 0.01, 0.0, 0.0))
        moved = fem.equilibrium(solid, gravity=NOTHING, device=device) - solid.nodes
        np.testing.assert_allclose(moved[:, 0], 1e-4 * solid.nodes[:, 0], atol=1e-11)


def test_holds_move_where_no_matrix_is_definite_until_it_is_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-9)
    slide = fem.Slide(name="slide", where=lambda p: p[:, 0] < 1e-9, direction=(0, 0, 1), travel=(0.0, 0.1))
    simulation = fem.simulation(solid, actuators=[slide], device="cpu", threads=1)
    linear, shifted, refused = simulation.solver.model.linear, 0.0, 0
    factor, solve = linear.factor, linear.solve

    def factoring(values: wp.array, *, shift: float = 0.0) -> None:
        nonlocal shifted
        shifted = shift
        factor(values, shift=shift)

    def refusing(*given: wp.array) -> wp.array:
        """Only as it solves it is found that the matrix is not positive definite, until it is shifted."""
        nonlocal refused
        if not shifted:
            refused += 1
            raise NotPositiveDefinite
        return solve(*given)

    monkeypatch.setattr(linear, "factor", factoring)
    monkeypatch.setattr(linear, "solve", refusing)
    simulation.controls["slide"] = 1e-3
    simulation.step()
    assert refused > 0
    assert simulation.positions()[solid.nodes[:, 0] < 1e-9, 2].max() == pytest.approx(0.011, abs=1e-12)

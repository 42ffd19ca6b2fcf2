"""Worlds that are stepped together move as they do one by one, and are refused what they cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.fem.batch.alike import alike_cells
from annelid.fem.batch.inverse import stands_rounding
from annelid.fem.kernels.batch_cells import LEAST_MOVED
from annelid.fem.kernels.batch_products import TILE, multiply_tiles
from annelid.materials import Gent, Law, MooneyRivlin, Ogden, OwnLaw, Yeoh
from annelid.shapes import TetMesh, tet_beam

from .robots.robots import hyperelastic_hollow
from .solids import bar, rubber

SHEAR = 1e6 / 2.9
PRECISE = fem.Together(newtons=3, gradients=16)
AIR = fem.Pneumatic(name="air", pressure=(0.0, 2e4), pressure_rate=3e5)


def of_both(i1: Any, i2: Any, c: Any) -> Any:
    """An energy whose second derivatives by I₁, by I₂ and by both differ from 0."""
    return c[0] * (i1 - 3.0) + c[1] * ((i1 * i2 - 9.0) + np.exp(i2 - 3.0))


def of_stretches(s: Any, c: Any) -> Any:
    """An energy that also knows pairs of stretches."""
    pairs = s[0] * s[1] + s[1] * s[2] + s[2] * s[0]
    return c[0] * (s[0] ** 2.2 + s[1] ** 2.2 + s[2] ** 2.2 - 3.0) + c[1] * (pairs - 3.0)


def law_bar(law: Law, *, cells: bool = True) -> fem.Solid:
    """A bar along x of a material with a law, clamped at 0."""
    mesh = tet_beam(1.0, 0.2, 0.2, cells=(4, 1, 1))
    own = mesh if cells else TetMesh(mesh.nodes, mesh.tetrahedra)
    return fem.Solid(own, rubber(0.45).with_(law=law)).fix(lambda p: p[:, 0] < 1e-9)


def furthest(solid: fem.Solid, steps: int, commands: dict[str, Any], **options: Any) -> tuple[float, float]:
    """Largest motion of two worlds one by one [m], and how far those that are stepped together are from them [m]."""
    settings: dict[str, Any] = {"worlds": 2, "device": "cpu", "threads": 1, "dt": 5e-3, **options}
    pair = [fem.simulation(solid, together=how, **settings) for how in (False, PRECISE)]
    for simulation in pair:
        simulation.parameters["stiffness"] = [1.0, 0.7]
        simulation.parameters["slope_x"] = [0.0, 0.4]
        simulation.parameters["mass"] = [1.0, 1.3]
        for name, values in commands.items():
            simulation.controls.command({name: values}, ramp=3 * settings["dt"])
        simulation.step(steps)
    one_by_one, together = (simulation.positions() for simulation in pair)
    moved = np.abs(one_by_one - np.tile(solid.nodes, (2, 1))).max()
    assert pair[1].state.unsettled.numpy().tolist() == [0, 0]
    np.testing.assert_array_equal(pair[0].state.efforts.numpy(), pair[1].state.efforts.numpy())
    return float(moved), float(np.abs(one_by_one - together).max())


def test_chambers_with_pressures_stiffnesses_and_slopes_of_their_own_move_as_one_by_one() -> None:
    solid = hyperelastic_hollow()
    options: dict[str, Any] = {"velocity_damping": 5.0, "ramp": 0.02}
    moved, apart = furthest(solid, 10, {"air": [1.2e4, 6e3]}, actuators=[AIR], **options)
    assert moved > 0.01
    assert apart < 1e-4 * moved


def test_cables_liquids_and_forces_at_points_move_as_one_by_one() -> None:
    solid = hyperelastic_hollow()
    end = int(np.argmax(solid.nodes @ [1.0, 0.0, 0.3]))
    middle = int(np.argmin(np.abs(solid.nodes - [0.05, 0.0, 0.014]).sum(axis=1)))
    actuators = [
        fem.Hydraulic(name="water", pressure=(0.0, 2e4)),
        fem.Cable(name="cable", through=[(-0.02, 0.0, 0.02), middle, end], tension=(0.0, 2.0)),
        fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 1.0, 0.0), force=(0.0, 0.3)),
        fem.Pneumatic(name="air", pressure=3e3),
    ]
    commands = {"water": [5e3, 1e3], "cable": [0.5, 1.0], "push": [0.2, 0.3]}
    moved, apart = furthest(solid, 6, commands, actuators=actuators)
    assert moved > 9e-3
    assert apart < 1e-4 * moved


@pytest.mark.parametrize(
    "law",
    [
        MooneyRivlin(0.3 * SHEAR, 0.2 * SHEAR),
        Yeoh(0.5 * SHEAR, 0.1 * SHEAR, 0.05 * SHEAR),
        Gent(SHEAR, 3.0),
        OwnLaw(of_both, values=(0.4 * SHEAR, 0.05 * SHEAR), factor=1.1),
        Ogden(((0.5 * SHEAR, 2.858),)),
        Ogden(((0.8 * SHEAR, 1.3), (-0.1 * SHEAR, -2.0))),
        OwnLaw(of_stretches, "stretches", (0.3 * SHEAR, 0.1 * SHEAR)),
    ],
)
def test_other_laws_move_as_one_by_one(law: Law) -> None:
    solid = law_bar(law).push(lambda p: p[:, 0] > 0.999, (0.0, 0.0, 800.0))
    moved, apart = furthest(solid, 6, {}, dt=0.01)
    assert moved > 0.1
    assert apart < 1e-4 * moved


def test_parts_of_unlike_laws_move_as_one_by_one() -> None:
    mesh = tet_beam(1.0, 0.2, 0.2, cells=(6, 1, 1))
    regions = (3.0 * mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0]).astype(int)
    laws = [Ogden(((0.8 * SHEAR, 2.0),)), MooneyRivlin(0.3 * SHEAR, 0.2 * SHEAR), Yeoh(0.5 * SHEAR, 0.1 * SHEAR)]
    parts = {number: rubber(0.45).with_(law=law) for number, law in enumerate(laws)}
    solid = fem.Solid(TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, cells=mesh.cells), parts)
    solid.fix(lambda p: p[:, 0] < 1e-9).push(lambda p: p[:, 0] > 0.999, (0.0, 0.0, 800.0))
    moved, apart = furthest(solid, 6, {}, dt=0.01)
    assert moved > 0.1
    assert apart < 1e-4 * moved


def test_cells_of_any_shapes_and_held_nodes_that_go_elsewhere() -> None:
    """Cells without a pattern have their places in memory; held nodes are led away over the ramp."""
    solid = law_bar(Gent(SHEAR, 3.0), cells=False).displace(lambda p: p[:, 0] > 0.999, (0.2, 0.0, 0.05), axes="xz")
    shapes = alike_cells(solid.elements, np.arange(len(solid.elements)) // np.array(5))
    assert [each.shape.places for each in shapes] == [None]
    moved, apart = furthest(solid, 6, {}, dt=0.01, ramp=0.05)
    assert moved == pytest.approx(0.2, rel=1e-3)
    assert apart < 1e-4 * moved


def test_a_blow_never_inverts_a_tetrahedron_and_is_counted() -> None:
    solid, vacuum = hyperelastic_hollow(), fem.Pneumatic(name="air", pressure=(-4e4, 0.0))
    simulation = fem.simulation(solid, actuators=[vacuum], worlds=2, together=True, device="cpu", dt=0.02)
    simulation.controls["air"] = [-4e4, 0.0]
    for _ in range(4):
        simulation.step(1)
        for nodes in np.split(simulation.positions(), 2):
            edges = nodes[solid.elements[:, 1:]] - nodes[solid.elements[:, :1]]
            assert (np.linalg.det(edges) / 6.0 > 0.99 * LEAST_MOVED * solid.element_volumes).all()
    unsettled = simulation.state.unsettled.numpy()
    assert unsettled[0] > 0
    assert unsettled[1] == 0


def test_a_world_that_is_lost_is_named_and_leaves_the_others_alone() -> None:
    def made() -> Any:
        return fem.simulation(hyperelastic_hollow(), worlds=2, together=True, device="cpu", dt=5e-3)

    simulation, other = made(), made()
    simulation.parameters["push_z"] = other.parameters["push_z"] = [0.0, 5.0]
    simulation.step(1)
    other.step(3)
    solver, state = simulation.solver, simulation.state
    broken = simulation.state.velocities.numpy().copy()
    broken[np.argmax(solver.model.solid.nodes[:, 0])] = np.nan
    simulation.state.velocities.assign(broken)
    with pytest.raises(SimulationDiverged, match="in world 0 a step led to forces that are not finite"):
        simulation.step(2)
    simulation.state.velocities.assign(broken)  # the last good state was there again
    solver.advance(state, 2)  # as environments do
    assert solver.troubles.numpy().tolist() == [2, -1]
    assert np.isnan(simulation.positions()[: solver.model.node_count]).all()
    simulation.reset(worlds=[0])
    assert solver.diverged_at() is None
    np.testing.assert_array_equal(np.split(simulation.positions(), 2)[1], np.split(other.positions(), 2)[1])


def test_forces_and_gravity_that_are_set_later_act() -> None:
    solid = law_bar(Gent(SHEAR, 3.0))
    pair = [fem.simulation(solid, worlds=2, together=how, device="cpu", dt=0.01) for how in (False, True)]
    for simulation in pair:
        simulation.step(1)
        simulation.solver.model.set_gravity((0.0, 5.0, 0.0))
        simulation.solver.model.set_forces(np.full(solid.nodes.shape, 3.0))
        simulation.step(3)
    one_by_one, together = (simulation.positions() - np.tile(solid.nodes, (2, 1)) for simulation in pair)
    assert one_by_one[:, 1].max() > 0.0
    np.testing.assert_allclose(together, one_by_one, atol=1e-4 * np.abs(one_by_one).max())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"worlds": None}, "number is missing"),
        ({"dynamic": False}, "only motion by backward Euler"),
        ({"integrator": "midpoint"}, "only motion by backward Euler"),
        ({"together": 3}, "True, False, 'auto' or a fem.Together"),
        ({"solid": bar()}, "need laws for large strains"),
        ({"actuators": [fem.Hydraulic(name="water", pressure=(0.0, 1e3), weight="columns")]}, "weight='hydrostatic'"),
        ({"actuators": [fem.Hydraulic(name="w", pressure=(0.0, 1e3), fluid=fem.Fluid(volume=1e-6))]}, "fill it up"),
    ],
)
def test_what_cannot_be_stepped_together_is_refused_with_a_remedy(options: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"solid": hyperelastic_hollow(), "worlds": 2, "together": True, "device": "cpu"}
    settings |= options
    with pytest.raises(InvalidValue, match=words):
        fem.simulation(**settings)


def test_tiles_multiply(device: str) -> None:
    matrix, vectors = np.random.default_rng(0).standard_normal((2, 2 * TILE, 2 * TILE)).astype(np.float32)
    left, right = (wp.array(each, dtype=wp.float32, device=device) for each in (matrix, vectors))
    found = wp.zeros_like(left)
    inputs = [2, left, right, found]
    wp.launch_tiled(multiply_tiles, dim=(2, 2), inputs=inputs, block_dim=256, device=device)
    np.testing.assert_allclose(found.numpy(), matrix @ vectors, atol=0.05)  # TF32 has ten bits


def test_an_inverse_with_stiff_parts_does_not_stand_rounding() -> None:
    """Springs in a row from a wall, all alike, and every second one much stiffer."""

    def inverse(stiff: float) -> np.ndarray:
        springs = 1.0 + (stiff - 1.0) * (np.arange(60) % 2)
        matrix = np.diag(springs + np.append(springs[1:], 0.0)) - np.diag(springs[1:], 1) - np.diag(springs[1:], -1)
        found = np.zeros((64, 64), np.float32)  # held components are zero
        found[:60, :60] = np.linalg.inv(matrix)
        return found

    assert stands_rounding(inverse(1.0))
    assert not stands_rounding(inverse(1e4))


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidValue, match="newtons of fem.Together must be a whole number between 1 and 1000, not 0"):
        fem.Together(newtons=0)
    with pytest.raises(InvalidValue, match="contacts of fem.Together must be a whole number between 0 and 16, not 40"):
        fem.Together(contacts=40)
    with pytest.raises(InvalidValue, match="fine of fem.Together must be between 0 and 0.99, not 2.0"):
        fem.Together(fine=2.0)

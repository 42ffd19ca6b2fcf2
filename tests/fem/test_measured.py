"""Strains beyond the range in which a material was measured: who is warned, of what and how often."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import BeyondMeasured, InvalidValue
from annelid.materials import material
from annelid.shapes import TetMesh, tet_beam

RUBBER = "ecoflex-00-30/neo-hooke"  # measured to 0.5


def pulled(strain: float, name: Any = RUBBER, *, quadratic: bool = False) -> fem.Solid:
    """A bar along x that keeps its cross-section free and is pulled by its ends."""
    mesh = tet_beam(0.02, 0.01, 0.01, cells=(2, 1, 1))
    regions = (mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0] > 0.01).astype(int)
    mesh = TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, cells=mesh.cells)
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, {0: name, 1: name} if isinstance(name, str) else name)
    low = solid.nodes.min(axis=0)
    for axis, letter in enumerate("xyz"):
        solid.fix(solid.nodes[:, axis] < low[axis] + 1e-9, axes=letter)
    return solid.displace(lambda p: p[:, 0] > 0.02 - 1e-9, (0.02 * strain, 0.0, 0.0), axes="x")


def still(solid: fem.Solid, device: str = "cpu") -> np.ndarray:
    return fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), device=device)


@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
def test_an_equilibrium_warns_of_the_largest_strain_and_where(quadratic: bool, device: str) -> None:
    with pytest.warns(
        BeyondMeasured, match=r"'ecoflex-00-30/neo-hooke' is strained by 0.7 .* to 0.5 only.* near \(0\.0"
    ):
        still(pulled(0.7, quadratic=quadratic), device)


@pytest.mark.filterwarnings("error")
def test_nobody_is_warned_within_the_range_or_where_there_is_none() -> None:
    still(pulled(0.5))
    still(pulled(0.7, "ecoflex-00-30"))
    still(pulled(0.7, {0: material(RUBBER).with_(measured_to=None), 1: "ecoflex-00-30"}))


def test_the_material_that_is_beyond_its_range_is_named() -> None:
    farther = material(RUBBER).with_(measured_to=0.65, name="farther")
    with pytest.warns(BeyondMeasured, match=r"ecoflex.* 0\.6 .*0\.5 only.* near \(0\.00"):
        still(pulled(0.6, {0: RUBBER, 1: farther}))
    with pytest.warns(BeyondMeasured, match=r"'farther'.* 0\.7 .*0\.65 only.* near \(0\.01"):
        still(pulled(0.7, {0: material(RUBBER).with_(measured_to=0.9), 1: farther}))


@pytest.mark.parametrize("worlds", [None, 2])
def test_a_simulation_warns_once_and_notes_the_event(worlds: int | None) -> None:
    simulation = fem.simulation(
        pulled(0.7), dynamic=False, dt=0.1, ramp=0.4, gravity=(0.0, 0.0, 0.0), device="cpu", worlds=worlds
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.run(0.2)
    assert simulation.events == []
    with pytest.warns(BeyondMeasured) as caught:
        simulation.run(0.4)
    simulation.run(0.1)
    assert len(caught) == 1
    (event,) = simulation.events
    assert event.kind == "overstrained"
    assert 0.25 < event.time < 0.65  # seen at the first look after the step in which it happened
    assert event.detail == str(caught[0].message)
    assert ("world 0" in event.detail) == (worlds == 2)


def test_robots_are_watched_too() -> None:
    solid = pulled(0.0).release().fix(lambda p: p[:, 0] < 1e-9)
    force = fem.PointForce(name="pull", at=int(np.argmax(solid.nodes.sum(axis=1))), direction=(1.0, 0.0, 0.0))
    robot = fem.Robot(solid, [force], gravity=(0.0, 0.0, 0.0), device="cpu")
    with pytest.warns(BeyondMeasured, match="tetrahedron"):
        fem.Forward(robot).settle({"pull": 1.5})


@pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])
def test_strains_of_a_solid_are_what_the_warning_looks_at(quadratic: bool) -> None:
    solid = pulled(0.4, quadratic=quadratic)
    np.testing.assert_allclose(solid.strains(still(solid)), np.full(len(solid.elements), 0.4), rtol=1e-9)
    turned = solid.nodes[:, [1, 2, 0]] * [0.5, 1.0, 1.0]  # turned and squeezed: nothing is stretched
    np.testing.assert_allclose(solid.strains(turned), 0.0, atol=1e-12)
    with pytest.raises(InvalidValue, match=r"shape .* of the nodes, not \(3,\)"):
        solid.strains([0.0, 0.0, 0.0])

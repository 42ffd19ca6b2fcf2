"""Fabrics on solids: derivatives, rigid motions, stiffness along and across the warp, strips that bend, bad input."""

from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Lines
from annelid.shapes import tet_hollow_cylinder

from .solids import STILL, bar, evaluated, reinforcement_only, require_derivatives_that_turn, shaken

BOTH = pytest.mark.parametrize("quadratic", [False, True], ids=["linear", "ten-nodes"])


def below(points: np.ndarray) -> np.ndarray:
    return np.asarray(points[:, 2] < -0.1 + 1e-9)


def fabric(**options: Any) -> fem.Fabric:
    return fem.Fabric(**{"where": below, "modulus": (3e8, 1e8), "thickness": 1e-4, "shear_modulus": 2e7, **options})


@BOTH
def test_forces_and_tangents_are_derivatives_and_turn_with_the_solid(quadratic: bool, device: str) -> None:
    solid = bar(quadratic=quadratic).reinforce(fabric(direction=(1.0, 0.5, 0.0)))
    require_derivatives_that_turn(solid, shaken(solid, 0.02, seed=4), device)


@BOTH
def test_it_is_as_stiff_as_it_says_along_and_across_the_warp_and_in_shear(quadratic: bool) -> None:
    area, small = 1.0 * 0.2, 1e-6
    for direction, along, across in (("x", 3e8, 1e8), ("y", 1e8, 3e8)):
        solid = bar(quadratic=quadratic).reinforce(fabric(direction=direction, poisson_ratio=0.0))
        model, assembly = reinforcement_only(solid)
        cases = {(1, 0, 0): along, (0, 1, 0): across, (0, 0, 1): 2e7}
        for (stretch, widen, shear), modulus in cases.items():
            gradient = np.eye(3) + small * np.array([[stretch, shear, 0.0], [0.0, widen, 0.0], [0.0, 0.0, 0.0]])
            stored = evaluated(model, assembly, solid.nodes @ gradient.T)[0]
            assert stored == pytest.approx(0.5 * modulus * 1e-4 * area * small**2, rel=1e-4)
    free = fabric(poisson_ratio=0.4).tangent_modulus()
    assert 1.0 / np.linalg.inv(free)[0, 0] == pytest.approx(3e8 * 1e-4)
    assert 1.0 / np.linalg.inv(free)[1, 1] == pytest.approx(1e8 * 1e-4)
    np.testing.assert_allclose(free, free.T)


def test_a_strip_that_is_pulled_bends_towards_its_fabric() -> None:
    """The neutral axis of two layers is where the mean of their stiffness is; the fabric of EA takes the load there."""
    pulled = bar((8, 1, 2), quadratic=True, poisson_ratio=0.0).pull("tip", (20.0, 0.0, 0.0))
    sheet = fem.Fabric(below, modulus=1e9, thickness=2e-4, poisson_ratio=0.0)
    tip = np.abs(pulled.nodes - [1.0, 0.0, 0.0]).sum(axis=1).argmin()
    shape = fem.equilibrium(pulled.copy().reinforce(sheet), gravity=(0.0, 0.0, 0.0), device="cpu")
    bare, layer = 1e6 * 0.04, 1e9 * 2e-4 * 0.2  # EA [N]
    neutral = -0.1 * layer / (bare + layer)
    bending = 1e6 * 0.2**4 / 12.0 + bare * neutral**2 + layer * (0.1 + neutral) ** 2
    curvature = 20.0 * (0.0 - neutral) / bending
    moved = shape[tip, 2] - pulled.nodes[tip, 2]
    assert moved == pytest.approx(-0.5 * curvature, rel=0.05)


def test_worlds_checkpoints_and_energies_have_it() -> None:
    solid = bar().reinforce(fabric())
    stretched = solid.nodes * [1.01, 1.0, 1.0]
    energies = []
    for each in (solid, bar()):
        simulation = fem.simulation(each, gravity=(0.0, 0.0, 0.0), device="cpu")
        simulation.state.positions.assign(stretched)
        energies.append(simulation.summary().elastic)
    model, assembly = reinforcement_only(solid)
    assert energies[0] - energies[1] == pytest.approx(evaluated(model, assembly, stretched)[0])
    prints = {
        fem.Model(each, STILL, "cpu").fingerprint() for each in (solid, bar(), bar().reinforce(fabric(modulus=1e8)))
    }
    assert len(prints) == 3


@BOTH
def test_facing_leaves_out_ends_and_the_walls_of_a_cavity(quadratic: bool) -> None:
    """On a tube that is chosen up to half its height, a sheet along it would cover its ends and line its cavity."""
    tube = tet_hollow_cylinder(0.01, 0.1, wall=2e-3, cells=2, layers=4, axis="x")
    solid = fem.Solid(tube.quadratic() if quadratic else tube, "ecoflex-00-30")
    half = {"where": lambda p: p[:, 2] < 1e-9, "modulus": 1e8}
    with pytest.raises(InvalidValue, match="perpendicular"):
        solid.copy().reinforce(fabric(**half))
    (sheet,) = solid.reinforce(fabric(**half, facing=(0.0, 0.0, -1.0), name="sheet")).fabrics
    side = 2.0 * 0.01 * np.sin(np.pi / 8.0)  # of the octagon that the tube is
    assert sheet.areas.sum() == pytest.approx(0.1 * 4.0 * side)
    assert "fabrics sheet 0.00306 m²" in repr(solid)


def test_pictures_show_what_it_covers() -> None:
    simulation = fem.simulation(bar().reinforce(fabric(name="sheet")), device="cpu", threads=1)
    (outline,) = (part for part in simulation.snapshot().parts if isinstance(part, Lines))
    assert outline.name == "sheet-outline-1"
    a, b = (outline.points[outline.segments[:, i]] for i in range(2))
    assert np.linalg.norm(b - a, axis=1).sum() == pytest.approx(2.0 * (1.0 + 0.2), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"where": lambda p: p[:, 2] > 5.0}, "no node to be covered by fabric"),
        ({"where": [0]}, "no boundary face lies where fabric should be"),
        (
            {"direction": "z"},
            "direction 'z' of fabric is perpendicular .* leave such faces out with facing=",
        ),
        ({"facing": (0.0, 0.0, 1.0)}, "no chosen face of fabric looks along"),
        ({"poisson_ratio": 1.8}, "poisson_ratio of fabric = 1.8 makes it unstable"),
        ({"modulus": (1e8, -1.0)}, "a modulus of fabric = -1.0"),
        ({"modulus": (1e8, 1e8, 1e8)}, "a number or two"),
        ({"shear_modulus": 0.0}, "a modulus of fabric = 0.0"),
        ({"thickness": 0.0}, "thickness of fabric = 0.0"),
    ],
)
def test_bad_fabrics_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        bar().reinforce(fabric(**options))

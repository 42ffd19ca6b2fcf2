"""Nonsense that could be simulated is warned of once: lengths in millimetres, angles in degrees, bodies that fall."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.errors import FallsForever, UnlikelyUnit, UnlikeShape
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.materials import Material

GROUND = (shapes.Plane(),)


def _solid(length: float = 0.1) -> fem.Solid:
    return fem.Solid(
        shapes.tet_beam(length, length / 5, length / 5, cells=(2, 1, 1)).moved((0, 0, 0.1)), "ecoflex-00-30"
    )


def _warned(build: Callable[[], Any]) -> list[type[Warning]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build()
    return [each.category for each in caught]


BEAM = (100.0, 20.0, 20.0)
SIZES: dict[str, Callable[[float], Any]] = {
    "beam": lambda f: springs.beam(*(f * x for x in BEAM), f * 5.0, "ecoflex-00-30"),
    "sphere": lambda f: springs.sphere(f * 20.0, f * 5.0, "ecoflex-00-30"),
    "network": lambda f: springs.quasi_lattice(shapes.Sphere(f * 20.0), f * 8.0, "ecoflex-00-30"),
    "truss": lambda f: springs.truss(f * np.array([[0, 0, 0], [20.0, 0, 0]]), np.array([[0, 1]]), "pla", f * 1.0),
    "block": lambda f: springs.block((3, 2, 2), f * 20.0, mass=f**3 * 1e3),
    "solid": lambda f: _solid(f * 100.0),
    "bed": lambda f: grains.simulation(
        grains.Bed([[0.0, 0.0, 0.0], [f * 20.0, 0.0, 0.0]], f * 1.5).moved((0.0, 0.0, f * 5.0)),
        obstacles=GROUND,
        device="cpu",
    ),
    "voxels3d": lambda f: voxels3d.simulation(
        voxels3d.Robot(np.zeros((3, 2, 2), int), side_length=f * 10.0), obstacles=GROUND, device="cpu"
    ),
}


@pytest.mark.parametrize("kind", SIZES)
def test_lengths_in_millimetres_are_warned_of_once(kind: str) -> None:
    assert _warned(lambda: SIZES[kind](1.0)) == [UnlikelyUnit]
    assert _warned(lambda: SIZES[kind](1e-3)) == []


def test_a_block_denser_than_any_metal_is_warned_of_with_the_mass_that_suits() -> None:
    with pytest.warns(UnlikelyUnit, match=r"12.5 kg in 6.4e-05 m³.* mass= is of each mass, and about 0.001 kg"):
        springs.block((5, 5, 5), 0.01)
    assert _warned(lambda: springs.box((0.1, 0.1, 0.1), 0.05, "pla", mass=1.0)) == []
    assert _warned(lambda: springs.box((0.1, 0.1, 0.1), 0.05, "pla", mass=1000.0)) == [UnlikelyUnit]


def _matter(density: float, modulus: float) -> Material:
    return Material("own", density, modulus, 0.45, 1.0, 0.05, "Given.")


MATTER: dict[str, Callable[[float, float], Any]] = {
    "solid": lambda d, e: fem.Solid(shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), _matter(d, e)),
    "regions": lambda d, e: fem.Solid(
        shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)).labelled(0)
        + shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)).moved((1.0, 0.0, 0.0)).labelled(1),
        ["pdms", _matter(d, e)],
    ),
    "lattice": lambda d, e: springs.lattice(shapes.Box((0.1, 0.02, 0.02)), 0.01, _matter(d, e)),
    "network": lambda d, e: springs.quasi_lattice(shapes.Box((0.1, 0.02, 0.02)), 0.01, _matter(d, e)),
    "truss": lambda d, e: springs.truss([[0, 0, 0], [0.1, 0, 0]], [[0, 1]], _matter(d, e), 0.01),
    "voxels3d": lambda d, e: voxels3d.simulation(
        voxels3d.Robot(np.zeros((2, 1, 1), int), voxels3d.Voxel(density=d, youngs_modulus=e)),
        obstacles=GROUND,
        device="cpu",
    ),
}


@pytest.mark.parametrize("kind", MATTER)
def test_densities_and_moduli_in_another_unit_are_warned_of_once(kind: str) -> None:
    make = MATTER[kind]
    assert _warned(lambda: make(1070.0, 4e5)) == []
    for density in (1.07, 0.00107):
        assert _warned(lambda: make(density, 4e5)) == [UnlikelyUnit]  # noqa: B023
    for modulus in (400.0, 0.4, 2e15):
        assert UnlikelyUnit in _warned(lambda: make(1070.0, modulus))  # noqa: B023
    assert _warned(lambda: make(1070.0, 400.0)) == [UnlikelyUnit]
    with pytest.warns(UnlikelyUnit, match=r"modulus of 400 Pa, softer than jelly: 1 kPa is 1e3 Pa, 1 MPa 1e6") as told:
        make(1070.0, 400.0)
    assert told[0].filename == __file__


def test_a_solid_denser_than_any_metal_is_warned_of_once() -> None:
    assert _warned(lambda: MATTER["solid"](1.07e6, 4e5)) == [UnlikelyUnit]


def test_pressures_that_are_hardly_in_pascal_are_warned_of_once() -> None:
    mesh = shapes.tet_hollow_cylinder(0.02, 0.1, wall=0.006, cells=2, layers=3)
    solid = fem.Solid(mesh, "ecoflex-00-30").fix(lambda p: p[:, 2] < 1e-9)

    def robot(pressure: Any, kind: Any = fem.Pneumatic) -> Any:
        made = fem.Robot(solid, [kind(name="air", pressure=pressure)], device="cpu")
        return fem.simulation(solid, actuators=made.actuators, device="cpu")

    for unlikely in ((0.0, 30), (-30.0, 0.0), (-0.3, 0.3), 30.0):
        for kind in (fem.Pneumatic, fem.Hydraulic):
            assert _warned(lambda: robot(unlikely, kind)) == [UnlikelyUnit]  # noqa: B023
    assert _warned(lambda: fem.Pneumatic(name="air", pressure=(-30.0, math.inf))) == []
    for likely in ((0.0, 3e4), (-30.0, 3e4), 0.0):
        assert _warned(lambda: robot(likely)) == []  # noqa: B023
    with pytest.warns(UnlikelyUnit, match=r"pressure of air is 30 Pa at most, that of 0.3 cm of water") as told:
        fem.Pneumatic(name="air", pressure=(0.0, 30.0))
    assert told[0].filename == __file__
    inside = fem.Cavity(mesh.cavities()[0])
    assert _warned(lambda: CavityPressure(inside, mesh.nodes, "cpu", pressure=30.0)) == [UnlikelyUnit]
    assert _warned(lambda: CavityPressure(inside, mesh.nodes, "cpu", pressure=3e4)) == []


def test_a_hold_of_all_nodes_is_warned_of_once() -> None:
    with pytest.warns(UnlikelyUnit, match=r"all 12 nodes of the solid are held now.* it is 0.1 m wide") as told:
        _solid().fix(lambda p: p[:, 0] < 1.0)
    assert told[0].filename == __file__
    assert _warned(lambda: _solid().fix(None).fix(None)) == [UnlikelyUnit]
    assert _warned(lambda: _solid().fix(None, axes="y").fix([0, 1, 2])) == []


def test_steps_that_are_hardly_in_seconds_are_warned_of_once() -> None:
    held = _solid().fix([0, 1, 2, 3])
    assert _warned(lambda: fem.simulation(held, dt=10, device="cpu")) == [UnlikelyUnit]
    assert _warned(lambda: fem.simulation(held, dt=0.05, device="cpu")) == []
    assert _warned(lambda: fem.simulation(held, dt=600.0, dynamic=False, device="cpu")) == [], "creep takes its time"


ROTATIONS: dict[str, Callable[[float], Any]] = {
    "springs": lambda angle: springs.block((2, 2, 2)).rotated("z", angle),
    "surface": lambda angle: shapes.Box((1.0, 1.0, 1.0)).surface().rotated("z", angle),
    "tetrahedra": lambda angle: shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)).rotated("z", angle),
    "rigid": lambda angle: shapes.turned_about("z", angle),
}


@pytest.mark.parametrize("kind", ROTATIONS)
def test_angles_in_degrees_are_warned_of_once(kind: str) -> None:
    for degrees in (90, -45.0, 180, np.float64(30.0)):
        assert _warned(lambda: ROTATIONS[kind](degrees)) == [UnlikelyUnit]  # noqa: B023
        assert _warned(lambda: ROTATIONS[kind](math.radians(degrees))) == []  # noqa: B023
    assert _warned(lambda: ROTATIONS[kind](7.3 * math.pi)) == []


def _voxels(**options: Any) -> Any:
    robot = voxels.Robot(np.zeros((2, 2), int), (voxels.Voxel(),))
    return voxels.simulation(robot, device="cpu", **options)


FALLING: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "springs": (lambda **o: springs.simulation(springs.block((2, 2, 2)), device="cpu", **o), GROUND),
    "grains": (lambda **o: grains.simulation(grains.Bed([[0.0, 0.0, 0.1]], 0.01), device="cpu", **o), GROUND),
    "fem": (lambda **o: fem.simulation(_solid(), device="cpu", **o), GROUND),
    "voxels": (_voxels, (voxels.terrain("flat"),)),
    "voxels3d": (
        lambda **o: voxels3d.simulation(voxels3d.Robot(np.zeros((2, 1, 1), int)), device="cpu", **o),
        GROUND,
    ),
    "coupling": (
        lambda **o: coupling.simulation(
            springs.block((2, 2, 2), mass=1.0).moved((0.0, 0.0, 0.2)),
            grains.Bed([[0.0, 0.0, 0.5]], 0.1),
            device="cpu",
            **o,
        ),
        GROUND,
    ),
}


@pytest.mark.parametrize("kind", FALLING)
def test_what_nothing_holds_is_warned_of_once(kind: str) -> None:
    simulate, ground = FALLING[kind]
    assert _warned(simulate).count(FallsForever) == 1
    assert FallsForever not in _warned(lambda: simulate(obstacles=ground))
    assert FallsForever not in _warned(lambda: simulate(gravity=(0.0, 0.0, 0.0)))


def test_a_body_that_is_held_does_not_fall() -> None:
    for held in (springs.block((2, 2, 2)).fix([0]), springs.block((2, 2, 2)).guide([0], "line", "x")):
        assert _warned(lambda: springs.simulation(held, device="cpu")) == []  # noqa: B023
    assert _warned(lambda: fem.simulation(_solid().fix([0, 1, 2, 3]), device="cpu")) == []


def _two_boxes(shift: float) -> shapes.TriangleMesh:
    one = shapes.Box((0.04, 0.04, 0.04)).surface()
    other = one.moved((shift, 0.0, 0.0))
    return shapes.TriangleMesh(
        np.concatenate([one.vertices, other.vertices]),
        np.concatenate([one.triangles, other.triangles + len(one.vertices)]),
    )


@pytest.mark.parametrize("build", [springs.lattice, springs.quasi_lattice])
def test_surfaces_that_overlap_are_warned_of_once(build: Callable[..., Any]) -> None:
    with pytest.warns(UnlikeShape, match="surfaces of the mesh overlap or touch, as at .* one solid"):
        build(_two_boxes(0.02), 0.01, "ecoflex-00-30")
    assert _warned(lambda: build(_two_boxes(0.02), 0.01, "ecoflex-00-30")) == [UnlikeShape]
    assert _warned(lambda: build(_two_boxes(0.06), 0.01, "ecoflex-00-30")) == []

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

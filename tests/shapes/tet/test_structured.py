"""Structured meshers: volumes in closed form, symmetry of the cuts, closed cavities, sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.robots import bellows_mesh, finger_mesh, pendulum_mesh
from annelid.shapes import TetMesh, tet_beam, tet_cylinder, tet_hollow_cylinder, tet_trunk
from annelid.shapes.tet.sections import Section, disk, rectangle
from annelid.shapes.tet.sweep import swept
from annelid.shapes.topology import edges_of, signed_volumes

MESHES: dict[str, Callable[[], TetMesh]] = {
    "beam": lambda: tet_beam(1.0, 0.2, 0.1, cells=(8, 2, 2)),
    "cylinder": lambda: tet_cylinder(0.02, 0.2),
    "trunk": lambda: tet_trunk(0.02, 0.01, 0.2),
    "hollow": lambda: tet_hollow_cylinder(0.02, 0.1, wall=0.004),
    "finger": finger_mesh,
    "bellows": bellows_mesh,
    "box finger": lambda: finger_mesh(arch=0.0, groove=0.0, chambers=3),
    "pendulum": pendulum_mesh,
}


def volumes(mesh: TetMesh) -> list[float]:
    return [float(signed_volumes(mesh.nodes, piece).sum()) for piece in mesh.cavities()]


def polygon(sides: int) -> float:
    """Area of a regular polygon in the unit circle."""
    return 0.5 * sides * math.sin(2.0 * math.pi / sides)


@pytest.mark.parametrize("name", MESHES)
def test_every_mesh_is_sound(name: str) -> None:
    mesh = MESHES[name]()
    angles = np.degrees(mesh.dihedral_angles())
    assert angles.min() > 6.0
    assert angles.max() < 130.0
    assert not edges_of(mesh.boundary()).balance.any()
    assert len(mesh.cavities()) == {"hollow": 1, "finger": 1, "bellows": 1, "box finger": 1, "pendulum": 4}.get(name, 0)
    assert mesh.cells is not None
    assert np.all(np.bincount(mesh.cells) == 6)


def test_volumes_are_those_of_the_prisms() -> None:
    assert tet_beam(1.0, 0.2, 0.1, cells=(5, 2, 3)).volume == pytest.approx(0.02)
    assert tet_cylinder(0.02, 0.2, cells=4).volume == pytest.approx(polygon(16) * 0.02**2 * 0.2)
    assert tet_cylinder(0.02, 0.2, cells=4, equal_area=True).volume == pytest.approx(math.pi * 0.02**2 * 0.2)
    frustum = polygon(16) * 0.2 / 3.0 * (0.02**2 + 0.02 * 0.01 + 0.01**2)
    assert tet_trunk(0.02, 0.01, 0.2, layers=64).volume == pytest.approx(frustum, rel=1e-3)
    hollow = tet_hollow_cylinder(0.02, 0.1, wall=0.004, cells=6, layers=5)
    assert volumes(hollow) == pytest.approx([polygon(24) * 0.016**2 * 0.092])
    assert hollow.volume == pytest.approx(polygon(24) * (0.02**2 * 0.1 - 0.016**2 * 0.092))


def test_box_finger_has_the_volume_of_its_drawing() -> None:
    mesh = finger_mesh(
        length=0.1,
        width=0.02,
        height=0.02,
        chambers=3,
        wall=2e-3,
        floor=3e-3,
        groove=0.0,
        channel=(6e-3, 4e-3),
        arch=0.0,
    )
    chambers = (0.1 - 4 * 2e-3) * (0.02 - 4e-3) * (0.02 - 5e-3)
    assert volumes(mesh) == pytest.approx([chambers + 2 * 2e-3 * 6e-3 * 4e-3])
    assert mesh.volume + sum(volumes(mesh)) == pytest.approx(0.1 * 0.02 * 0.02)


def test_grooves_and_an_arch_take_material_away() -> None:
    straight = finger_mesh(groove=0.0, arch=0.0)
    grooved = finger_mesh(groove=2e-3, arch=0.0)
    outer = float(signed_volumes(grooved.nodes, grooved.surfaces()[0]).sum())
    assert outer == pytest.approx(0.1 * 0.02 * 0.02 - 4 * 2e-3 * 0.02 * (0.02 - 9e-3))
    assert finger_mesh(groove=0.0, arch=0.9).volume < straight.volume


def test_pendulum_has_four_equal_cavities_in_order_and_the_sizes_promised() -> None:
    mesh = pendulum_mesh()
    centers = np.array([mesh.nodes[np.unique(cavity)].mean(axis=0) for cavity in mesh.cavities()])
    assert np.ptp(volumes(mesh)) < 1e-12
    assert np.sign(np.round(centers[:, :2], 6)).tolist() == [[-1, 0], [0, 1], [0, -1], [1, 0]]
    assert mesh.nodes[:, 2].max() == pytest.approx(0.0)
    assert mesh.nodes[:, 2].min() == pytest.approx(-0.08)
    assert len(mesh.nodes) == 399
    fine = pendulum_mesh(resolution=2, layers=24)
    assert len(fine.nodes) == pytest.approx(5000, rel=0.02)
    assert len(fine.cavities()) == 4


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["beam", "cylinder", "hollow", "pendulum"])
def test_meshes_are_their_own_mirror_images(name: str, axis: int) -> None:
    """So that a symmetric load cannot push the solid sideways."""
    mesh = MESHES[name]()
    low, high = mesh.bounds()
    mirrored = mesh.nodes.copy()
    mirrored[:, axis] = low[axis] + high[axis] - mirrored[:, axis]
    same = mesh.nearest(mirrored)
    assert mesh.nodes[same] == pytest.approx(mirrored, abs=1e-12)
    elements = {tuple(row) for row in np.sort(mesh.tetrahedra, axis=1).tolist()}
    assert {tuple(row) for row in np.sort(same[mesh.tetrahedra], axis=1).tolist()} == elements


@pytest.mark.parametrize("axis", ["x", "y", "z", (1.0, 2.0, -0.5)])
def test_the_axis_turns_the_mesh_and_no_more(axis: str | tuple[float, float, float]) -> None:
    mesh, upright = tet_cylinder(0.02, 0.2, axis=axis), tet_cylinder(0.02, 0.2)
    assert mesh.volume == pytest.approx(upright.volume)
    along = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.array(axis) / np.linalg.norm(axis)
    assert mesh.nodes @ along == pytest.approx(upright.nodes[:, 2], abs=1e-12)


def test_regions_follow_the_cells() -> None:
    section = rectangle([0.0, 1.0, 2.0], [0.0, 1.0])
    mesh = swept(section, [0.0, 1.0, 2.0], regions=np.array([[0, 1], [2, 3]]))
    centers = mesh.nodes[mesh.tetrahedra].mean(axis=1)
    assert mesh.regions.tolist() == (2 * (centers[:, 2] > 1.0) + (centers[:, 0] > 1.0)).tolist()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: tet_beam(1.0, 1.0, 0.0, cells=(1, 1, 1)), "height = 0"),
        (lambda: tet_beam(1.0, 1.0, 1.0, cells=(0, 1, 1)), "cells = 0"),
        (lambda: tet_beam(1.0, 1.0, 1.0, cells=(1, 1)), "three numbers"),
        (lambda: tet_cylinder(0.1, 1.0, cells=3), "even number"),
        (lambda: tet_cylinder(-0.1, 1.0), "radius = -0.1"),
        (lambda: tet_hollow_cylinder(0.1, 1.0, wall=0.2), "leave no cavity"),
        (lambda: finger_mesh(chambers=50), "do not fit"),
        (lambda: finger_mesh(arch=1.0), "arch = 1"),
        (lambda: finger_mesh(channel=(0.05, 0.01)), "leaves no room"),
        (lambda: pendulum_mesh(wall=0.1), "no room for cavities"),
        (lambda: pendulum_mesh(share=float("nan")), "share = nan"),
        (lambda: pendulum_mesh(layers=1), "layers = 1"),
        (lambda: disk([0.1], cells=2), "radii"),
        (lambda: rectangle([0.0, 1.0], [1.0, 0.0]), "upwards"),
        (lambda: swept(rectangle([0.0, 1.0], [0.0, 1.0]), [1.0, 0.0]), "rise"),
        (lambda: swept(rectangle([0.0, 1.0], [0.0, 1.0]), [0.0, 1.0], keep=np.zeros((1, 1), dtype=bool)), "keep"),
    ],
)
def test_dimensions_that_cannot_be_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make()


def test_sections_with_wrong_labels_are_refused() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(InvalidValue, match="labelled 0, 1, 2, 1"):
        Section(square, np.array([[0, 1, 2, 3]]), np.array([0, 2, 1, 1]), np.zeros((1, 2), dtype=int))

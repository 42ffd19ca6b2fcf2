"""Tetrahedral meshes: orientation, boundary, cavities, 10-node meshes, files, points in elements."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid.core.archives import write_archive
from annelid.core.errors import FileFormatError, InvalidMesh, InvalidValue
from annelid.shapes import TetMesh, tet_beam, tet_hollow_cylinder
from annelid.shapes.tet.files import KIND
from annelid.shapes.tet.sections import rectangle
from annelid.shapes.tet.sweep import swept
from annelid.shapes.topology import edges_of, signed_volumes

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
ONE = np.array([[0, 1, 2, 3]])


def blocks(filled: np.ndarray) -> TetMesh:
    """Unit cubes of a grid, indexed x, y, z."""
    nx, ny, nz = filled.shape
    section = rectangle(np.arange(nx + 1.0), np.arange(ny + 1.0))
    return swept(section, np.arange(nz + 1.0), keep=np.moveaxis(filled, 2, 0).reshape(nz, nx * ny))


def test_the_corner_of_a_cube_has_known_angles_and_volume() -> None:
    mesh = TetMesh(CORNERS, ONE)
    slanted = np.degrees(np.arctan(np.sqrt(2.0)))
    assert mesh.volume == pytest.approx(1.0 / 6.0)
    assert np.degrees(mesh.dihedral_angles()) == pytest.approx(np.array([[90, slanted, 90, 90, slanted, slanted]]))
    assert signed_volumes(mesh.nodes, mesh.boundary()).sum() == pytest.approx(mesh.volume)


def test_boundary_is_closed_and_encloses_the_volume() -> None:
    mesh = tet_hollow_cylinder(0.02, 0.1, wall=0.004)
    assert not edges_of(mesh.boundary()).balance.any()
    assert signed_volumes(mesh.nodes, mesh.boundary()).sum() == pytest.approx(mesh.volume)


def test_cavities_face_into_the_solid_and_outer_surfaces_come_first() -> None:
    filled = np.ones((7, 3, 3), dtype=bool)
    filled[1, 1, 1] = filled[3:6, 1, 1] = False
    mesh = blocks(filled)
    outer, *inner = mesh.surfaces()
    assert signed_volumes(mesh.nodes, outer).sum() == pytest.approx(63.0)
    assert [signed_volumes(mesh.nodes, piece).sum() for piece in inner] == pytest.approx([-1.0, -3.0])
    assert [signed_volumes(mesh.nodes, piece).sum() for piece in mesh.cavities()] == pytest.approx([1.0, 3.0])
    assert not any(edges_of(piece).balance.any() for piece in mesh.cavities())


def test_cavities_that_touch_along_an_edge_stay_two() -> None:
    filled = np.ones((4, 4, 3), dtype=bool)
    filled[1, 1, 1] = filled[2, 2, 1] = False
    mesh = blocks(filled)
    assert [signed_volumes(mesh.nodes, piece).sum() for piece in mesh.cavities()] == pytest.approx([1.0, 1.0])


def test_a_solid_in_a_cavity_is_an_outer_surface() -> None:
    filled = np.ones((5, 5, 5), dtype=bool)
    filled[1:4, 1:4, 1:4] = False
    filled[2, 2, 2] = True
    mesh = blocks(filled)
    assert [signed_volumes(mesh.nodes, piece).sum() for piece in mesh.surfaces()] == pytest.approx([125.0, 1.0, -27.0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
def test_any_pile_of_cubes_has_closed_surfaces(seed: int, density: float) -> None:
    filled = np.random.default_rng(seed).random((4, 3, 3)) < density
    filled[0, 0, 0] = True
    mesh = blocks(filled)
    pieces = mesh.surfaces()
    assert mesh.volume == pytest.approx(filled.sum())
    assert sum(signed_volumes(mesh.nodes, piece).sum() for piece in pieces) == pytest.approx(mesh.volume)
    assert not any(edges_of(piece).balance.any() for piece in pieces)
    assert np.all(np.bincount(mesh.cells) == 6)


def test_ten_node_mesh_puts_a_node_in_the_middle_of_every_edge() -> None:
    mesh = tet_hollow_cylinder(0.02, 0.1, wall=0.004, cells=2, layers=3)
    ten = mesh.quadratic()
    corners, middles = ten.nodes[ten.tetrahedra[:, :4]], ten.nodes[ten.tetrahedra[:, 4:]]
    pairs = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]
    expected = np.stack([0.5 * (corners[:, i] + corners[:, j]) for i, j in pairs], axis=1)
    assert middles == pytest.approx(expected)
    assert ten.corner_count == len(mesh.nodes)
    assert np.array_equal(ten.tetrahedra[:, :4], mesh.tetrahedra)
    assert len(ten.nodes) == len(mesh.nodes) + len(ten.edges)
    for linear, six in zip(mesh.surfaces() + mesh.cavities(), ten.surfaces() + ten.cavities(), strict=True):
        assert np.array_equal(linear, six[:, :3])
        sides = np.stack([six[:, [0, 1]], six[:, [1, 2]], six[:, [2, 0]]], axis=1)
        assert ten.nodes[six[:, 3:]] == pytest.approx(ten.nodes[sides].mean(axis=2))


@pytest.mark.parametrize(
    ("nodes", "tetrahedra", "sentence"),
    [
        (CORNERS, [[0, 2, 1, 3]], "1 of 1 tetrahedra are inverted"),
        (CORNERS, [[0, 1, 2, 4]], "nodes 0 to 3 only"),
        (CORNERS, [[0, -1, 2, 3]], "nodes 0 to 3 only"),
        (CORNERS, np.empty((0, 4), dtype=int), "empty"),
        (CORNERS, [[0.0, 1.0, 2.0, 3.0]], "integers of shape"),
        (CORNERS, [[0, 1, 2]], "integers of shape"),
        (CORNERS * np.nan, ONE, "not finite"),
        (CORNERS[:, :2], ONE, "shape \\[n, 3\\]"),
        (CORNERS * [1, 1, 0], ONE, "1 of 1 tetrahedra are flat"),
        (np.concatenate([CORNERS, CORNERS]), ONE, "4 of 8 nodes belong to no tetrahedron"),
    ],
)
def test_arrays_that_are_no_solid_are_refused(nodes: np.ndarray, tetrahedra: object, sentence: str) -> None:
    with pytest.raises(InvalidMesh, match=sentence):
        TetMesh(nodes, tetrahedra)


def test_elements_that_overlap_or_are_doubled_are_counted() -> None:
    with pytest.raises(InvalidMesh, match="4 faces have both their tetrahedra on one side"):
        TetMesh(CORNERS, np.repeat(ONE, 2, axis=0)).boundary()
    with pytest.raises(InvalidMesh, match="4 faces belong to more than two"):
        TetMesh(CORNERS, np.repeat(ONE, 3, axis=0)).boundary()


def test_labels_must_fit_the_elements() -> None:
    assert TetMesh(CORNERS, ONE, regions=3).regions.tolist() == [3]
    with pytest.raises(InvalidMesh, match="regions must be whole numbers"):
        TetMesh(CORNERS, ONE, regions=[1, 2])
    with pytest.raises(InvalidMesh, match="cells must be whole numbers"):
        TetMesh(CORNERS, ONE, cells=[-1])


def test_repair_turns_inverted_elements_and_drops_idle_nodes() -> None:
    mesh = TetMesh.repaired(np.concatenate([CORNERS + 5.0, CORNERS]), [[4, 6, 5, 7]], regions=[2])
    assert mesh.volume == pytest.approx(1.0 / 6.0)
    assert len(mesh.nodes) == 4
    assert mesh.regions.tolist() == [2]


def test_saved_meshes_come_back_whole(tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(3, 2, 1)).moved((1.0, 0.0, 0.0))
    mesh.save(tmp_path / "beam.npz")
    for copy in (TetMesh.load(tmp_path / "beam.npz"), pickle.loads(pickle.dumps(mesh))):
        for name in ("nodes", "tetrahedra", "regions", "cells"):
            assert np.array_equal(getattr(copy, name), getattr(mesh, name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beam.npz"]


def test_foreign_archives_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", nodes=CORNERS)
    (tmp_path / "text.npz").write_text("not an archive")
    arrays = {"nodes": CORNERS, "tetrahedra": ONE, "regions": np.zeros(1, dtype=int)}
    np.savez(tmp_path / "objects.npz", **arrays | {"nodes": np.array([{}], dtype=object)})
    write_archive(tmp_path / "next.npz", KIND, {"version": 3}, arrays)
    write_archive(tmp_path / "part.npz", KIND, {}, {"nodes": CORNERS})
    TetMesh(CORNERS, ONE).save(tmp_path / "good.npz")
    for name, sentence in (
        ("other", "is not a mesh"),
        ("text", "is not a mesh"),
        ("next", "version 3"),
        ("part", "lacks tetrahedra, regions"),
        ("objects", "is not a mesh"),
        ("none", "there is no file"),
    ):
        with pytest.raises(FileFormatError, match=sentence):
            TetMesh.load(tmp_path / f"{name}.npz")
    with pytest.raises(FileFormatError, match="more than 100"):
        TetMesh.load(tmp_path / "good.npz", max_bytes=100)
    with pytest.raises(InvalidValue, match=".npz"):
        TetMesh(CORNERS, ONE).save(tmp_path / "mesh.vtu")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_located_points_are_given_back_by_their_weights(seed: int) -> None:
    generator = np.random.default_rng(seed)
    mesh = tet_hollow_cylinder(0.02, 0.1, wall=0.004)
    chosen = generator.integers(len(mesh.tetrahedra), size=50)
    points = (generator.dirichlet(np.ones(4), 50)[:, :, None] * mesh.nodes[mesh.tetrahedra[chosen]]).sum(axis=1)
    found, weights = mesh.locate(points)
    assert weights.sum(axis=1) == pytest.approx(1.0)
    assert weights.min() > -1e-9
    assert (weights[:, :, None] * mesh.nodes[mesh.tetrahedra[found]]).sum(axis=1) == pytest.approx(points, abs=1e-12)


def test_points_outside_get_a_negative_weight_and_still_come_back() -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(10, 2, 1))
    points = np.array([[1.1, 0.0, 0.0], [0.5, 0.0, 0.06]])
    found, weights = mesh.locate(points)
    assert (weights.min(axis=1) < 0.0).all()
    assert (weights[:, :, None] * mesh.nodes[mesh.tetrahedra[found]]).sum(axis=1) == pytest.approx(points)
    assert mesh.locate(np.empty((0, 3)))[0].shape == (0,)


def test_nearest_node_is_the_nearest() -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(10, 2, 1))
    points = np.random.default_rng(0).uniform(-0.1, 1.1, (40, 3))
    away = np.linalg.norm(mesh.nodes[None] - points[:, None], axis=2)
    assert away[np.arange(40), mesh.nearest(points)] == pytest.approx(away.min(axis=1))


def test_meshes_turn_and_are_joined_with_regions_and_cells_of_their_own():
    beam = tet_beam(2.0, 1.0, 1.0, cells=(2, 1, 1))
    upright = beam.rotated("y", -0.5 * np.pi, about=(1.0, 0.0, 0.0))
    assert np.ptp(upright.nodes, axis=0) == pytest.approx([1.0, 1.0, 2.0])
    assert upright.volume == pytest.approx(beam.volume)
    both = beam + upright.moved((5.0, 0.0, 0.0)).labelled(3)
    with pytest.raises(InvalidMesh, match="regions must be whole numbers"):
        upright.labelled(1.5)
    with pytest.raises(InvalidValue, match="the angle of a turn must be finite and .*, not 'half'"):
        upright.rotated("z", "half")
    assert both.volume == pytest.approx(2.0 * beam.volume)
    assert set(both.regions.tolist()) == {0, 3}
    assert len(both.surfaces()) == 2
    assert beam.cells is not None
    assert both.cells is not None
    assert len(np.unique(both.cells)) == 2 * len(np.unique(beam.cells))
    loose = TetMesh(CORNERS, ONE)
    assert (loose + loose.moved((2.0, 0.0, 0.0))).cells is None
    mixed = loose.moved((0.0, 5.0, 0.0)) + beam
    assert mixed.cells is not None
    assert len(np.unique(mixed.cells)) == 1 + len(np.unique(beam.cells))

"""Builders take what users have: a path, an object of trimesh, a shape."""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import trimesh

from annelid import springs
from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Rigid, Sphere, TetMesh, TriangleMesh, tet_beam, tet_fill
from annelid.shapes.given import given_solid

BALL = Sphere(0.03).surface(resolution=16)


@pytest.fixture
def millimetres(tmp_path: Path) -> Path:
    path = tmp_path / "ball.stl"
    BALL.scaled(1e3).write(path)
    return path


def test_a_path_a_trimesh_and_a_shape_are_one_body(millimetres: Path) -> None:
    loaded = trimesh.Trimesh(BALL.vertices, BALL.triangles, process=False)
    bodies = [
        springs.lattice(given, 0.01, "ecoflex-00-30", **options)
        for given, options in (
            (millimetres, {"scale": 1e-3}),
            (str(millimetres), {"scale": 1e-3}),
            (loaded, {}),
            (BALL, {}),
        )
    ]
    for body in bodies:
        np.testing.assert_allclose(body.positions, bodies[-1].positions, atol=1e-7)
    assert tet_fill(millimetres, scale=1e-3, pitch=0.015, tolerance=None).nodes.max() == pytest.approx(0.03, abs=2e-3)


def test_millimetres_are_noticed(millimetres: Path) -> None:
    with pytest.raises(InvalidValue, match=r"ball.stl would be 60 m wide: is it in millimetres\? Give scale=1e-3"):
        springs.lattice(millimetres, 5.0, "ecoflex-00-30")
    assert given_solid(millimetres, scale=1.0).bounds()[1].max() == pytest.approx(30.0)


@pytest.mark.parametrize("options", [{"scale": 1e-3}, {"repair": True}])
def test_a_shape_has_its_own_methods(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="not for a Box"):
        springs.lattice(Box((1.0, 1.0, 1.0)), 0.5, "pla", **options)


def test_an_open_surface_is_repaired_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "open.stl"
    opened = trimesh.Trimesh(BALL.vertices, BALL.triangles[3:], process=False)
    path.write_bytes(opened.export(file_type="stl"))
    with pytest.raises(InvalidMesh, match="closed"):
        springs.lattice(path, 0.01, "pla")
    assert springs.lattice(path, 0.01, "pla", repair=True).mass_count == springs.lattice(BALL, 0.01, "pla").mass_count


def test_a_mesh_has_a_unit_too(millimetres: Path) -> None:
    mesh = TriangleMesh.read(millimetres)
    with pytest.raises(InvalidValue, match=r"would be 60 m wide: is it in millimetres\? Give scale=1e-3"):
        springs.quasi_lattice(mesh, 0.01, "pla")
    with pytest.raises(InvalidValue, match="60 m wide"):
        tet_fill(mesh)
    assert springs.lattice(mesh, 0.01, "pla", scale=1e-3).bounds()[1].max() == pytest.approx(0.03)
    assert given_solid(mesh, scale=1.0).bounds()[1].max() == pytest.approx(30.0)


def test_obstacles_take_files_in_metres(millimetres: Path, tmp_path: Path) -> None:
    BALL.write(tmp_path / "metres.stl")
    loaded = trimesh.Trimesh(BALL.vertices, BALL.triangles, process=False)
    givens: list[Any] = [tmp_path / "metres.stl", str(tmp_path / "metres.stl"), loaded, BALL]
    for given in givens:
        rigid = Rigid(given)
        assert isinstance(rigid.geometry, TriangleMesh)
        assert rigid.geometry.bounds()[1].max() == pytest.approx(0.03)
    given = millimetres
    with pytest.raises(InvalidValue, match=r"ball.stl would be 60 m.*TriangleMesh.read\('.*ball.stl', scale=1e-3\)"):
        Rigid(given)
    given = trimesh.Trimesh(1e3 * BALL.vertices, BALL.triangles, process=False)
    with pytest.raises(InvalidValue, match=r"60 m wide: is it in millimetres\?.*scaled\(1e-3\)"):
        Rigid(given)


def test_meshes_of_tetrahedra_in_millimetres_are_noticed(tmp_path: Path) -> None:
    beam, path = tet_beam(100.0, 20.0, 20.0, cells=(2, 1, 1)), tmp_path / "beam.vtu"
    meshio.write_points_cells(path, beam.nodes, [("tetra", beam.tetrahedra)])
    with pytest.raises(InvalidValue, match=r"beam.vtu would be 100 m wide: is it in millimetres\? Give scale=1e-3"):
        TetMesh.read(path)
    assert TetMesh.read(path, scale=1e-3).nodes.max() == pytest.approx(0.1)
    assert TetMesh.read(path, scale=1.0).nodes.max() == pytest.approx(100.0)

"""Builders take what users have: a path, an object of trimesh, a shape."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from annelid import springs
from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Rigid, Sphere, tet_fill
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


def test_an_obstacle_from_a_path_says_how(millimetres: Path) -> None:
    given: Any = millimetres
    with pytest.raises(InvalidValue, match=r"read the file first, TriangleMesh.read\('.*ball.stl'\)"):
        Rigid(given)

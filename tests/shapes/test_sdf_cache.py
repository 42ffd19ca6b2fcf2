"""Baked distances on disk: the same values again, unions, damaged files, folders that cannot be written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Shape, SignedDistanceGrid, Sphere, TriangleMesh, baked
from annelid.shapes.sdf_cache import default_cache

BALL = Sphere(0.3, center=(0.1, 0.0, 0.0)).surface(24)


def joined(*meshes: TriangleMesh) -> TriangleMesh:
    first = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, first, strict=False)]
    return TriangleMesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(triangles))


def test_the_second_time_comes_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    first = baked(BALL, cells=16, cache=tmp_path, device=device)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr("annelid.shapes.sdf_cache._bake", lambda *_: pytest.fail("baked again"))
    again = baked(BALL, cells=16, cache=tmp_path, device=device)
    assert (again.values.numpy() == first.values.numpy()).all()
    assert (again.origin, again.spacing) == (first.origin, first.spacing)


def test_it_is_what_bake_gives(tmp_path: Path) -> None:
    plain = SignedDistanceGrid.bake(BALL, spacing=0.03, margin=0.1)
    kept = baked(BALL, spacing=0.03, padding=0.1, cache=tmp_path)
    assert (kept.values.numpy() == plain.values.numpy()).all()
    assert kept.origin == plain.origin


def test_other_content_is_another_file(tmp_path: Path) -> None:
    baked(BALL, cells=8, cache=tmp_path)
    baked(BALL, cells=9, cache=tmp_path)
    baked(BALL.moved((1e-9, 0.0, 0.0)), cells=8, cache=tmp_path)
    baked(Sphere(0.3), cells=8, cache=tmp_path)
    baked(Sphere(0.3, center=(1e-12, 0.0, 0.0)), cells=8, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("harm", ["cut", "lengthen", "header", "nan", "empty"])
def test_a_damaged_file_is_baked_again(tmp_path: Path, harm: str) -> None:
    good = baked(BALL, cells=8, cache=tmp_path).values.numpy()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    nan = np.float32(np.nan).tobytes()
    bad = {
        "cut": content[:-4],
        "lengthen": content + b"0000",
        "header": b"x" + content[1:],
        "nan": content[:-4] + nan,
        "empty": b"",
    }
    path.write_bytes(bad[harm])
    assert (baked(BALL, cells=8, cache=tmp_path).values.numpy() == good).all()
    assert path.read_bytes() == content


@pytest.mark.parametrize("base", [Sphere, Box])
def test_an_edited_shape_of_the_user_is_baked_again(tmp_path: Path, base: type[Shape]) -> None:
    def written(raised: float) -> Shape:
        @dataclass(frozen=True)
        class Own(base):  # type: ignore[valid-type, misc]
            def signed_distance(self, points: ArrayLike) -> np.ndarray:
                return np.asarray(super().signed_distance(points)) - raised

        return Own(0.3 if base is Sphere else (0.3, 0.3, 0.3))

    before, after = (baked(written(raised), cells=8, cache=tmp_path).values.numpy() for raised in (0.0, 0.02))
    assert after == pytest.approx(before - 0.02, abs=1e-6)
    assert not list(tmp_path.iterdir())


def test_the_users_cache_is_where_the_standard_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    baked(BALL, cells=6)
    assert len(list((tmp_path / "annelid" / "sdf").glob("*.sdf"))) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache() == Path.home() / ".cache" / "annelid" / "sdf"


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    grid = baked(BALL, cells=8, cache=blocked / "sdf")
    assert (grid.values.numpy() == baked(BALL, cells=8, cache=False).values.numpy()).all()


def test_overlapping_shells_are_one_solid() -> None:
    left, right = Box((1.0, 0.4, 0.4)), Box((1.0, 0.4, 0.4), center=(0.8, 0.0, 0.0))
    grid = baked(joined(left.surface(), right.surface()), spacing=0.05, cache=False)
    x = np.linspace(-0.45, 1.25, 35)
    points = np.stack([x, 0 * x, 0 * x], axis=1)
    depth, _ = grid.sample(points)
    # Half-way through the joint the walls of the two boxes are near, but buried.
    assert depth == pytest.approx(np.minimum(left.signed_distance(points), right.signed_distance(points)), abs=0.026)
    assert grid.sample([[0.31, 0.0, 0.0]])[0] == pytest.approx([-0.19], abs=0.01)


def test_a_cavity_stays_hollow(hollow) -> None:
    grid = baked(hollow.mesh(), spacing=0.05, cache=False)
    assert grid.sample([[0.5, 0.5, 0.5]])[0] == pytest.approx([0.25], abs=0.03)


def test_several_shapes_are_one_solid() -> None:
    grid = baked([Sphere(0.2), Box((0.2, 0.2, 1.0))], cells=32, padding=0.15, cache=False)
    assert grid.sample([[0.0, 0.0, 0.6], [0.3, 0.0, 0.0]])[0] == pytest.approx([0.1, 0.1], abs=0.02)


def test_bad_input_is_refused() -> None:
    opened = TriangleMesh(BALL.vertices, BALL.triangles[1:])
    with pytest.raises(InvalidMesh, match=r"3 edges are open.*repair"):
        baked(opened, cells=8, cache=False)
    with pytest.raises(InvalidValue, match="exclude each other"):
        baked(BALL, cells=8, spacing=0.1)
    with pytest.raises(InvalidValue, match="nothing to bake"):
        baked([])
    with pytest.raises(InvalidValue, match="coarser"):
        baked(BALL, spacing=1e-5)

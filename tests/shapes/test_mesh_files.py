"""Mesh files: round trips, and everything that a stranger's file can be."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Capsule, Sphere, TriangleMesh

SUFFIXES = [".stl", ".obj", ".ply"]
CAPSULE = Capsule(0.2, 0.7, axis=(1.0, 2.0, 3.0), center=(0.3, -0.1, 5.0)).surface(16)
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".STL"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    CAPSULE.write(tmp_path / f"capsule{suffix}")
    mesh = TriangleMesh.read(str(tmp_path / f"capsule{suffix}"))
    assert (len(mesh.vertices), len(mesh.triangles)) == (len(CAPSULE.vertices), len(CAPSULE.triangles))
    single = suffix.lower() == ".stl"
    expected = CAPSULE.vertices[CAPSULE.triangles]
    assert mesh.vertices[mesh.triangles] == pytest.approx(
        expected, rel=1e-6 if single else 0.0, abs=1e-7 if single else 0.0
    )
    assert mesh.require_closed().volume == pytest.approx(CAPSULE.volume, rel=1e-5 if single else 1e-12)
    assert [path.name for path in tmp_path.iterdir()] == [f"capsule{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e6])
def test_formats_without_units_take_any_size(tmp_path: Path, suffix: str, size: float) -> None:
    path = tmp_path / f"ball{suffix}"
    Sphere(size).surface(16).write(path)
    mesh = TriangleMesh.read(path)
    assert mesh.volume == pytest.approx(Sphere(1.0).surface(16).volume * size**3, rel=1e-5)
    distance, gradient = mesh.distance_and_gradient([[0.0, 0.0, 3.0 * size]])
    assert distance == pytest.approx([2.0 * size], rel=1e-5)
    assert gradient == pytest.approx(np.array([[0.0, 0.0, 1.0]]), abs=1e-5)


def test_scale_gives_the_unit_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "box.stl"
    Box((10.0, 20.0, 30.0)).surface().write(path)
    assert TriangleMesh.read(path, scale=1e-3).volume == pytest.approx(6e-6)
    for scale in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidValue, match="scale"):
            TriangleMesh.read(path, scale=scale)


def test_text_stl_is_read(tmp_path: Path) -> None:
    mesh = Box((1.0, 1.0, 1.0)).surface()
    lines = ["solid cube"]
    for corners in mesh.vertices[mesh.triangles]:
        lines += [
            "facet normal 0 0 0",
            "outer loop",
            *(f"vertex {x} {y} {z}" for x, y, z in corners),
            "endloop",
            "endfacet",
        ]
    path = tmp_path / "cube.stl"
    path.write_text("\n".join([*lines, "endsolid cube"]))
    assert TriangleMesh.read(path).volume == pytest.approx(1.0)


def test_quadrilaterals_groups_and_materials_of_an_obj(tmp_path: Path) -> None:
    corners = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    faces = ["1 2 4 3", "5 7 8 6", "1 5 6 2", "3 4 8 7", "1 3 7 5", "2 6 8 4"]
    body = "".join(f"g part{i}\nusemtl paint{i % 2}\nf {face}\n" for i, face in enumerate(faces))
    path = tmp_path / "cube.obj"
    path.write_text("mtllib ../secret.mtl\n" + corners + body)
    assert TriangleMesh.read(path).volume == pytest.approx(1.0)


def test_an_open_file_is_read_and_repaired_on_request(tmp_path: Path) -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    path = tmp_path / "open.stl"
    TriangleMesh(cube.vertices, cube.triangles[2:]).write(path)
    mesh = TriangleMesh.read(path)
    assert len(mesh.open_edges()) == 6
    with pytest.raises(InvalidMesh, match="6 edges are open .*repair=True"):
        mesh.require_closed()
    assert TriangleMesh.read(path, repair=True).volume == pytest.approx(1.0)


def test_a_file_that_cannot_be_repaired_is_named(tmp_path: Path) -> None:
    path = tmp_path / "flat.obj"
    path.write_text(TRIANGLE + "f 1 2 3\n")
    with pytest.raises(InvalidMesh, match=r"flat.obj: the mesh encloses no volume"):
        TriangleMesh.read(path, repair=True)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.stl", b"", "is empty"),
        ("blank.ply", b" \n\n", "is empty"),
        ("garbage.stl", b"these are only words\n" * 20, "does not begin with 'solid'"),
        ("garbage.obj", b"these are only words\n" * 20, "holds no triangles"),
        ("garbage.ply", b"these are only words\n" * 20, "cannot be read as PLY"),
        ("none.stl", b"solid x\nendsolid x\n", "holds no triangles"),
        ("points.obj", TRIANGLE.encode(), "holds no triangles"),
        ("nan.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "1 of 3 vertices .*\\(0, 0, nan\\)"),
        ("inf.obj", b"v 0 0 1e999\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("word.obj", b"v 0 0 up\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "cannot be read as OBJ"),
        ("index.obj", (TRIANGLE + "f 1 2 9\n").encode(), "cannot be read as OBJ"),
        ("line.obj", (TRIANGLE + "f 1 2 2\n").encode(), "empty"),
        ("long.stl", b"x" * 80 + b"\xff\xff\xff\xff", "states 214748364834 bytes where there are 84"),
        (
            "huge.ply",
            b"ply\nformat binary_little_endian 1.0\nelement vertex 99999999999\nproperty float x\nproperty float y\n"
            b"property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n" + bytes(40),
            "cannot be read as PLY",
        ),
        ("mesh.glb", b"glTF", "suffix '.glb'; meshes are read and written as .stl, .obj, .ply"),
        ("mesh", b"?", "suffix ''"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidMesh, match=sentence) as caught:
        TriangleMesh.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_off_anywhere_is_refused_or_open(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    Box((1.0, 1.0, 1.0)).surface().write(path)
    whole = path.read_bytes()
    for length in range(1, len(whole) - 2, 23):
        path.write_bytes(whole[:length])
        try:
            mesh = TriangleMesh.read(path)
        except InvalidMesh:
            continue
        assert not mesh.is_closed


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidMesh, match="there is no file .*absent.stl"):
        TriangleMesh.read(tmp_path / "absent.stl")
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(InvalidMesh, match="is not a file"):
        TriangleMesh.read(tmp_path / "folder.stl")


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.obj"
    path.write_bytes(b"v 0 0 0\n" * 1000)
    with pytest.raises(InvalidMesh, match="has 8000 bytes, more than the 4000 that it may have; simplify"):
        TriangleMesh.read(path, max_bytes=4000)
    with pytest.raises(InvalidValue, match="max_bytes = -1 cannot be used; give a finite number above 0"):
        TriangleMesh.read(path, max_bytes=-1)


def test_writing_elsewhere_or_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidMesh, match="suffix '.step'"):
        CAPSULE.write(tmp_path / "capsule.step")
    with pytest.raises(InvalidValue, match="cannot be written: No such file"):
        CAPSULE.write(tmp_path / "nowhere" / "capsule.stl")
    (tmp_path / "taken.stl").mkdir()
    with pytest.raises(InvalidValue, match="cannot be written"):
        CAPSULE.write(tmp_path / "taken.stl")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.stl"]


FRAGMENTS = [
    *("ply", "format ascii 1.0", "format binary_little_endian 1.0", "element vertex 3", "element face 1", "end_header"),
    *("property float x", "property list uchar int vertex_indices", "3 0 1 2", "v 0 0 1", "v 1 2 nan", "f 1 2 3"),
    *("f 1/2 -1 7", "solid", "facet normal 0 0 1", "outer loop", "vertex 1 2 3", "endsolid", "-1e400"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.sampled_from(SUFFIXES),
    st.one_of(
        st.binary(max_size=300), st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(lambda f: "\n".join(f).encode())
    ),
)
@example(".obj", b"v 1e30 0 0\nv 0 1e29 0\nv 0 0 1e29\nf 1 2 3\n")
def test_any_bytes_give_a_mesh_or_a_sentence(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"fuzz{suffix}"
    path.write_bytes(content)
    try:
        mesh = TriangleMesh.read(path)
    except InvalidMesh:
        return
    assert np.isfinite(mesh.vertices).all()
    assert mesh.triangles.max() < len(mesh.vertices)

"""gmsh and VTK files through meshio: regions, orders, units, and everything that can be wrong with them."""

from __future__ import annotations

import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue, MissingPackage
from annelid.core.packages import installation
from annelid.shapes import TetMesh, tet_beam, tet_hollow_cylinder

meshio = pytest.importorskip("meshio")

FORMATS = [("mesh.msh", "gmsh22"), ("mesh.msh", "gmsh"), ("mesh.vtk", "vtk"), ("mesh.vtu", "vtu")]


def write(path: Path, points: Any, cells: Any, file_format: str | None = None, **data: Any) -> Path:
    meshio.write(path, meshio.Mesh(np.asarray(points), cells, **data), file_format=file_format)
    return path


@pytest.mark.parametrize(("name", "file_format"), FORMATS)
def test_tetrahedra_come_back(name: str, file_format: str, tmp_path: Path) -> None:
    mesh = tet_hollow_cylinder(0.02, 0.1, wall=0.004, cells=2, layers=4)
    cells = [("triangle", mesh.boundary()), ("tetra", mesh.tetrahedra)]
    cells = cells[1:] if file_format == "gmsh" else cells  # meshio writes one kind only in version 4
    path = write(tmp_path / name, 1000.0 * mesh.nodes, cells, file_format)
    read = TetMesh.read(path, scale=1e-3)
    assert read.nodes == pytest.approx(mesh.nodes, abs=1e-9)
    assert np.array_equal(read.tetrahedra, mesh.tetrahedra)
    assert len(read.cavities()) == 1
    assert not read.regions.any()


def test_physical_groups_and_region_fields_become_regions(tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(2, 1, 1))
    numbers = np.arange(len(mesh.tetrahedra)) % 3 + 1
    blocks = [("tetra", mesh.tetrahedra)]
    tags = {"gmsh:physical": [numbers], "gmsh:geometrical": [np.ones_like(numbers)]}
    assert TetMesh.read(
        write(tmp_path / "a.msh", mesh.nodes, blocks, "gmsh22", cell_data=tags)
    ).regions.tolist() == list(numbers)
    field = {"region": [numbers]}
    assert TetMesh.read(write(tmp_path / "a.vtu", mesh.nodes, blocks, cell_data=field)).regions.tolist() == list(
        numbers
    )


def test_corners_of_ten_node_elements_are_read_and_inverted_ones_turned(tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(2, 1, 1))
    ten = mesh.quadratic()
    read = TetMesh.read(write(tmp_path / "ten.vtu", ten.nodes, [("tetra10", ten.tetrahedra)]))
    assert read.nodes == pytest.approx(mesh.nodes)
    assert np.array_equal(read.tetrahedra, mesh.tetrahedra)
    turned = mesh.tetrahedra[:, [1, 0, 2, 3]]
    assert TetMesh.read(write(tmp_path / "turned.vtk", mesh.nodes, [("tetra", turned)])).volume == pytest.approx(0.02)


def test_files_that_hold_no_solid_of_tetrahedra_are_refused(tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(1, 1, 1))
    hexahedron = [("hexahedron", np.arange(8)[None])]
    with pytest.raises(InvalidMesh, match="cells of the kind hexahedron; only tetra and tetra10"):
        TetMesh.read(write(tmp_path / "hex.vtk", mesh.nodes, hexahedron))
    with pytest.raises(InvalidMesh, match="only triangle and no tetrahedra"):
        TetMesh.read(write(tmp_path / "skin.vtu", mesh.nodes, [("triangle", mesh.boundary())]))
    with pytest.raises(InvalidMesh, match="nodes 0 to 7 only"):
        TetMesh.read(write(tmp_path / "far.vtk", mesh.nodes, [("tetra", mesh.tetrahedra + 1)]))
    with pytest.raises(InvalidMesh, match="not finite"):
        TetMesh.read(write(tmp_path / "nan.vtu", mesh.nodes * np.nan, [("tetra", mesh.tetrahedra)]))
    with pytest.raises(InvalidMesh, match="flat"):
        TetMesh.read(write(tmp_path / "flat.vtk", mesh.nodes * [1, 1, 0], [("tetra", mesh.tetrahedra)]))


def test_names_sizes_and_scales_are_checked(tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(1, 1, 1))
    path = write(tmp_path / "mesh.vtk", mesh.nodes, [("tetra", mesh.tetrahedra)])
    with pytest.raises(InvalidMesh, match="there is no file"):
        TetMesh.read(tmp_path / "none.msh")
    (tmp_path / "words.msh").write_text("no mesh\n")
    with pytest.raises(InvalidMesh, match="words.msh is no gmsh file, or damaged; write it again as gmsh"):
        TetMesh.read(tmp_path / "words.msh")
    with pytest.raises(InvalidMesh, match="suffix '.stl'"):
        TetMesh.read(tmp_path / "mesh.stl")
    with pytest.raises(InvalidMesh, match="more than the 10"):
        TetMesh.read(path, max_bytes=10)
    with pytest.raises(InvalidValue, match="max_bytes = 0 cannot be used"):
        TetMesh.read(path, max_bytes=0)
    with pytest.raises(InvalidValue, match="scale = 0"):
        TetMesh.read(path, scale=0.0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_are_refused_with_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(1, 1, 1))
    name, file_format = data.draw(st.sampled_from(FORMATS))
    path = write(folder / name, mesh.nodes, [("tetra", mesh.tetrahedra)], file_format)
    content = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    sentence = ""
    try:
        assert np.isfinite(TetMesh.read(path).nodes).all()
    except InvalidMesh as error:
        sentence = str(error)
    assert sentence == "" or str(path) in sentence


HUGE = 2**31 - 2
CLAIMS = {
    "a tag": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n%d 0 0 1\n$EndNodes\n"
    b"$Elements\n1\n1 4 2 1 1 1 2 3 %d\n$EndElements\n" % (HUGE, HUGE),
    "nodes": b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 %d 1 4\n3 1 0 4\n$EndNodes\n" % HUGE,
    "texts": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$NodeData\n%d\n" % HUGE,
    "numbers": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$NodeData\n1\nx\n%d\n" % HUGE,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_that_the_file_is_too_small_for_are_refused_at_once(tmp_path: Path, claim: str) -> None:
    """The first one took 8.9 GB, the last two looped for minutes."""
    (tmp_path / "mesh.msh").write_bytes(CLAIMS[claim])
    tracemalloc.start()
    with pytest.raises(InvalidMesh, match="which a file of this size cannot hold"):
        TetMesh.read(tmp_path / "mesh.msh")
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()
    assert len(meshio.gmsh._gmsh22.np.ones(10**6)) == 10**6, "others may use meshio as it is"


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mesh.msh").write_text("$MeshFormat")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(MissingPackage, match=re.escape(installation("fem"))):
        TetMesh.read(tmp_path / "mesh.msh")

"""Meshes with regions and groups in files of Gmsh 4.1, Abaqus and VTK: they come back, and others read the same."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidMesh, InvalidValue, PartlyUsed, UnknownName
from annelid.shapes import QuadraticTetMesh, TetMesh, tet_beam, tet_hollow_cylinder
from annelid.shapes.tet.contents import faces_in

SUFFIXES = (".msh", ".inp", ".vtu")


def needs(suffix: str) -> None:
    if suffix == ".vtu":
        pytest.importorskip("meshio")


def member(seed: int) -> TetMesh:
    """A mesh with a random number of regions, named or not, and groups of faces, edges and inner nodes."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 2:
        mesh = tet_hollow_cylinder(0.02, 0.1, wall=0.006, cells=2, layers=3)
    else:
        mesh = tet_beam(0.1, 0.02, 0.03, cells=tuple(rng.integers(1, 4, 3).tolist()))
    low = mesh.bounds()[0]
    ends = {f"end {k}": mesh.nodes[:, k % 3] <= low[k % 3] + 1e-9 for k in range(int(rng.integers(0, 4)))}
    some = {"some-nodes": rng.random(len(mesh.nodes)) < 0.3, "one": np.arange(len(mesh.nodes)) == 1}
    groups = {name: np.flatnonzero(chosen) for name, chosen in (ends | some).items() if chosen.any()}
    regions = np.sort(rng.integers(0, 3, len(mesh.tetrahedra))) if seed % 2 else np.zeros(len(mesh.tetrahedra), int)
    names = {int(n): f"part {n}" for n in np.unique(regions)} if seed % 4 == 3 else {}
    return TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, groups=groups, region_names=names)


def same_parts(one: TetMesh, other: TetMesh) -> bool:
    """Whether regions are the same sets of tetrahedra, of the same names."""
    pairs = set(zip(one.regions.tolist(), other.regions.tolist(), strict=True))
    names = {(one.region_names.get(a), other.region_names.get(b)) for a, b in pairs}
    return len(pairs) == len(np.unique(one.regions)) and all(a == b for a, b in names)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("seed", range(12))
def test_meshes_come_back_with_regions_and_groups(seed: int, suffix: str, tmp_path: Path) -> None:
    needs(suffix)
    mesh = member(seed)
    for order in (mesh, mesh.quadratic()):
        order.write(tmp_path / f"mesh{suffix}")
        read = TetMesh.read(tmp_path / f"mesh{suffix}")
        assert np.array_equal(read.nodes, mesh.nodes)
        if suffix == ".msh":  # has them region after region
            assert {*map(tuple, read.tetrahedra.tolist())} == {*map(tuple, mesh.tetrahedra.tolist())}
        else:
            assert np.array_equal(read.tetrahedra, mesh.tetrahedra)
        assert same_parts(mesh, read)
        assert {n: v.tolist() for n, v in read.groups.items()} == {n: v.tolist() for n, v in mesh.groups.items()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_of_regions_without_names_are_kept(suffix: str, tmp_path: Path) -> None:
    needs(suffix)
    mesh = tet_beam(0.1, 0.02, 0.03, cells=(2, 1, 1))
    TetMesh(mesh.nodes, mesh.tetrahedra, regions=np.repeat([3, 7], 6)).write(tmp_path / f"mesh{suffix}")
    assert TetMesh.read(tmp_path / f"mesh{suffix}").regions.tolist() == np.repeat([3, 7], 6).tolist()


@pytest.mark.parametrize(("suffix", "kind"), [(".msh", "gmsh"), (".inp", "abaqus"), (".vtu", "vtu")])
@pytest.mark.parametrize("quadratic", [False, True])
def test_meshio_reads_the_same_volume_and_groups(suffix: str, kind: str, quadratic: bool, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    mesh = tet_beam(0.1, 0.02, 0.03, cells=(3, 2, 2))
    base = np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
    mesh = TetMesh(mesh.nodes, mesh.tetrahedra, regions=1 + (mesh.nodes[mesh.tetrahedra].mean(1)[:, 0] > 0.05),
                   groups={"base": base}, region_names={1: "soft", 2: "stiff"})  # fmt: skip
    written = mesh.quadratic() if quadratic else mesh
    written.write(tmp_path / f"mesh{suffix}")
    found = meshio.read(tmp_path / f"mesh{suffix}", file_format=kind)
    cells = np.concatenate([block.data for block in found.cells if block.type == ("tetra10" if quadratic else "tetra")])
    assert np.array_equal(found.points, written.nodes)
    assert {*map(tuple, cells.tolist())} == {*map(tuple, written.tetrahedra.tolist())}
    if suffix == ".msh":
        faces = found.cells_dict["triangle6" if quadratic else "triangle"]
        assert np.unique(faces).tolist() == written.groups["base"].tolist()
        assert {name: value.tolist() for name, value in found.field_data.items()} == {
            "base": [3, 2], "soft": [1, 3], "stiff": [2, 3],
        }  # fmt: skip
    elif suffix == ".inp":
        assert np.unique(found.point_sets["base"]).tolist() == written.groups["base"].tolist()
    else:
        assert np.flatnonzero(found.point_data["group base"]).tolist() == written.groups["base"].tolist()


def vtk_grid(path: Path) -> object:
    """What the reader of ParaView makes of a file."""
    pytest.importorskip("vtkmodules", reason="the wheel vtk, half a gigabyte, is not among what tests install")
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


@pytest.mark.parametrize("quadratic", [False, True])
def test_paraview_reads_the_same_volume_and_groups(quadratic: bool, tmp_path: Path) -> None:
    mesh = member(5)
    written = mesh.quadratic() if quadratic else mesh
    written.write(tmp_path / "mesh.vtu")
    grid = vtk_grid(tmp_path / "mesh.vtu")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    width = written.tetrahedra.shape[1]
    assert np.array_equal(vtk_to_numpy(grid.GetPoints().GetData()), written.nodes)
    assert np.array_equal(vtk_to_numpy(grid.GetCells().GetConnectivityArray()).reshape(-1, width), written.tetrahedra)
    assert {grid.GetCellType(k) for k in range(grid.GetNumberOfCells())} == {24 if quadratic else 10}
    assert np.array_equal(vtk_to_numpy(grid.GetCellData().GetArray("region")), written.regions)
    group = vtk_to_numpy(grid.GetPointData().GetArray("group some-nodes"))
    assert np.flatnonzero(group).tolist() == written.groups["some-nodes"].tolist()


def test_a_solid_takes_groups_and_materials_by_the_names_of_the_file(tmp_path: Path) -> None:
    mesh = tet_beam(0.1, 0.02, 0.03, cells=(2, 1, 1))
    base = np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
    named = TetMesh(mesh.nodes, mesh.tetrahedra, regions=np.repeat([4, 2], 6), groups={"base": base},
                    region_names={4: "soft", 2: "stiff"})  # fmt: skip
    named.write(tmp_path / "finger.msh")
    for order in (TetMesh.read(tmp_path / "finger.msh"), TetMesh.read(tmp_path / "finger.msh").quadratic()):
        solid = fem.Solid(order, {"soft": "ecoflex-00-30", "stiff": "pdms"}).fix("base")
        assert np.array_equal(solid.held.any(axis=1), solid.nodes[:, 0] < 1e-9)
        assert [m.name for m in solid.materials] == ["pdms", "ecoflex-00-30"]
    with pytest.raises(UnknownName, match="'soft'"):
        fem.Solid(named, {"sofft": "ecoflex-00-30", "stiff": "pdms"})
    with pytest.raises(InvalidValue, match="region 'stiff' of the mesh has no material"):
        fem.Solid(named, {"soft": "ecoflex-00-30"})


@pytest.mark.parametrize("cells", list(itertools.product((1, 3), repeat=3)))
def test_middles_belong_to_the_faces_of_a_group(cells: tuple[int, int, int]) -> None:
    mesh = tet_beam(0.1, 0.02, 0.03, cells=cells)
    for axis, end in itertools.product(range(3), (0, 1)):
        level = mesh.bounds()[end][axis]
        group = np.flatnonzero(np.abs(mesh.nodes[:, axis] - level) < 1e-9)
        ten = TetMesh(mesh.nodes, mesh.tetrahedra, groups={"side": group}).quadratic()
        assert ten.groups["side"].tolist() == np.flatnonzero(np.abs(ten.nodes[:, axis] - level) < 1e-9).tolist()
        faces = ten.boundary()
        assert np.isin(faces[faces_in(faces, group, len(ten.nodes))], ten.groups["side"]).all()


def test_groups_stay_with_the_nodes_of_copies_sums_and_archives(tmp_path: Path) -> None:
    mesh = member(3)
    moved = mesh.moved((1.0, 0.0, 0.0))
    both = mesh + moved
    name, nodes = next(iter(mesh.groups.items()))
    assert both.groups[name].tolist() == [*nodes.tolist(), *(nodes + len(mesh.nodes)).tolist()]
    mesh.save(tmp_path / "mesh.npz")
    loaded = TetMesh.load(tmp_path / "mesh.npz")
    assert loaded.region_names == mesh.region_names
    assert {n: v.tolist() for n, v in loaded.groups.items()} == {n: v.tolist() for n, v in mesh.groups.items()}
    other = TetMesh(mesh.nodes + 2.0, mesh.tetrahedra, regions=mesh.regions, region_names={0: "another"})
    with pytest.raises(InvalidMesh, match="region 0 is called 'part 0' in one mesh and 'another' in the other"):
        mesh + other
    with pytest.raises(InvalidMesh, match="group 'a' names node 999999"):
        TetMesh(mesh.nodes, mesh.tetrahedra, groups={"a": np.array([999999])})


NODES = "1, 0., 0., 0.\n20, 1., 0., 0.\n3, 0., 1., 0.\n4, 0., 0., 1.\n5, 1., 1., 1.\n"
CAE = f"""*Heading
** written by hand in the manner of Abaqus/CAE
*Part, name=Finger
*Node
{NODES}*Element, type=C3D4H,
elset=All
7, 1, 20, 3, 4
8, 20, 3, 4, 5
*Element, type=S3R, elset=Skin
30, 1, 20, 3
*Nset, nset=Base, generate
 1, 4, 1
*Elset, elset=Body
7,
*Elset, elset=Tip, generate
 8, 8, 1
*Elset, elset=_Load_S1, internal
8,
** Section: one
*Solid Section, elset=Body, material=ecoflex
,
*Solid Section, elset=TIP, material=pdms
,
*End Part
*Assembly, name=Assembly
*Instance, name=Finger-1, part=Finger
*End Instance
*Nset, nset=Point, instance=Finger-1
 20,
*Nset, nset=both
 base, Point
*Surface, type=ELEMENT, name=Load
_Load_S1, S3
*End Assembly
*Material, name=pdms
*Elastic
1e6, 0.49
*Step
*Boundary
Base, 1, 3
"""


def test_an_abaqus_file_of_parts_sections_sets_and_surfaces(tmp_path: Path) -> None:
    (tmp_path / "cae.inp").write_text(CAE)
    mesh = TetMesh.read(tmp_path / "cae.inp")
    assert mesh.nodes.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert mesh.region_names == {1: "Body", 2: "Tip"}
    assert mesh.regions.tolist() == [1, 2]
    assert {name: nodes.tolist() for name, nodes in mesh.groups.items()} == {
        "Base": [0, 2, 3], "Point": [1], "both": [0, 1, 2, 3], "Skin": [0, 1, 2], "Load": [2, 3, 4],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CAE.replace("type=C3D4H", "type=C3D8R"), "elements of the type C3D8R; only C3D4 and C3D10"),
        (CAE.replace("*Heading", "*Include, input=/etc/passwd"), "INCLUDE asks for more than the file says itself"),
        (CAE.replace("*Node\n", "*Node, system=C\n"), "NODE asks for more"),
        (CAE.replace("*Assembly", "*Part, name=Other\n*Assembly"), "more than one part"),
        (CAE.replace("8, 20, 3, 4, 5", "8, 20, 3, 4, 6"), "node 6 is named but not there"),
        (CAE.replace("8, 20, 3, 4, 5", "7, 20, 3, 4, 5"), "element 7 is there twice"),
        (CAE.replace("8, 20, 3, 4, 5", "8, 20, 3, 4"), "have 4 nodes each; 9 numbers do not fit"),
        (CAE.replace("3, 0., 1., 0.", "3, 0., one, 0."), "could not convert"),
        ("*NODE\n" + NODES, "no tetrahedra, C3D4 or C3D10"),
        ("", "no tetrahedra"),
    ],
)
def test_abaqus_files_that_cannot_be_used_are_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "bad.inp").write_text(text)
    with pytest.raises(InvalidMesh, match=sentence) as refused:
        TetMesh.read(tmp_path / "bad.inp")
    assert str(tmp_path / "bad.inp") in str(refused.value)


def test_sets_of_sets_and_long_ranges_ask_for_no_memory(tmp_path: Path) -> None:
    doubled = "".join(f"*Nset, nset=A\n{', '.join(['A'] * 200)}\n" for _ in range(40))
    ranges = "*Nset, nset=B, generate\n" + "1, 9000000000000\n" * 40
    (tmp_path / "many.inp").write_text(CAE.replace("*End Part", f"*Nset, nset=A\n1,\n{doubled}{ranges}*End Part"))
    groups = TetMesh.read(tmp_path / "many.inp").groups
    assert groups["A"].tolist() == [0]
    assert groups["B"].tolist() == [0, 1, 2, 3, 4]


GMSH = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Comments
by hand
$EndComments
$PhysicalNames
2
2 5 "the base"
3 9 "soft"
$EndPhysicalNames
$Entities
1 0 2 2
1 0 0 0 1 4
1 0 0 0 1 1 0 2 5 6 0
2 0 0 0 1 1 0 0 0
1 0 0 0 1 1 1 1 9 1 1
2 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
2 5 1 70
2 1 1 3
1
20
3
0 0 0 .1 .2
1 0 0 .1 .2
0 1 0 .1 .2
3 1 0 2
4
70
0 0 1
1 1 1
$EndNodes
$Elements
5 5 1 5
0 1 15 1
1 4
2 1 2 1
2 1 20 3
2 2 2 1
3 20 3 4
3 1 4 1
4 1 20 3 4
3 2 4 1
5 20 3 4 70
$EndElements
"""


def test_a_gmsh_file_of_groups_without_names_gaps_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "hand.msh").write_text(GMSH)
    mesh = TetMesh.read(tmp_path / "hand.msh")
    assert mesh.nodes.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert mesh.regions.tolist() == [9, 0]
    assert mesh.region_names == {9: "soft"}
    assert {name: nodes.tolist() for name, nodes in mesh.groups.items()} == {
        "the base": [0, 1, 2], "surface 6": [0, 1, 2], "point 4": [3],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("5 20 3 4 70", "5 20 3 4 71", "node 71 is named but not there"),
        ("70\n0 0 1", "20\n0 0 1", "node 20 is there twice"),
        ("3 2 4 1\n5 20 3 4 70", "3 2 6 1\n5 20 3 4 70 1 3", "cells of the kind wedge"),
        ("3 2 4 1", "3 2 99 1", "elements of type 99, whose nodes are not known; save it in order 1 or 2"),
        ("2 1 2 1\n", "2 1 2 99999999\n", "which a file of this size cannot hold"),
        ("2 1 1 3\n", "2 1 1 -3\n", "which a file of this size cannot hold"),
        ("$EndElements", "", "Elements does not end"),
        ("3 1 4 1\n4 1 20 3 4\n3 2 4 1\n5 20 3 4 70\n", "", "which a file of this size cannot hold"),
    ],
)
def test_gmsh_files_that_cannot_be_used_are_refused(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "bad.msh").write_text(GMSH.replace(old, new))
    with pytest.raises(InvalidMesh, match=sentence):
        TetMesh.read(tmp_path / "bad.msh")


def test_surfaces_alone_say_what_gmsh_saves(tmp_path: Path) -> None:
    solids = "3 1 4 1\n4 1 20 3 4\n3 2 4 1\n5 20 3 4 70\n"
    (tmp_path / "skin.msh").write_text(GMSH.replace(solids, "").replace("5 5 1 5", "3 3 1 3"))
    with pytest.raises(InvalidMesh, match=r"mesh the volume \(gmsh -3\), and where surfaces have physical groups"):
        TetMesh.read(tmp_path / "skin.msh")


@pytest.mark.parametrize("name", ["material", "Material", "MaterialIds", "mat_id", "region", "Regions"])
@pytest.mark.parametrize("suffix", [".vtu", ".vtk"])
def test_fields_of_materials_make_regions(name: str, suffix: str, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(2, 1, 1))
    numbers = np.arange(len(mesh.tetrahedra)) % 3
    for kind in (np.int32, np.float64):
        cells = [("tetra", mesh.tetrahedra)]
        meshio.write(tmp_path / f"a{suffix}", meshio.Mesh(mesh.nodes, cells, cell_data={name: [numbers.astype(kind)]}))
        assert TetMesh.read(tmp_path / f"a{suffix}").regions.tolist() == numbers.tolist()


def test_fields_of_materials_that_make_no_regions_are_told(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(2, 1, 1))
    halves, path = 0.5 * np.ones(len(mesh.tetrahedra)), tmp_path / "a.vtu"
    meshio.write(path, meshio.Mesh(mesh.nodes, [("tetra", mesh.tetrahedra)], cell_data={"material": [halves]}))
    with pytest.warns(PartlyUsed, match="the field 'material' of .*a.vtu is not a whole number of 0 or more") as told:
        assert not TetMesh.read(path).regions.any()
    assert told[0].filename == __file__
    points = {"Material": np.zeros(len(mesh.nodes), int)}
    meshio.write(path, meshio.Mesh(mesh.nodes, [("tetra", mesh.tetrahedra)], point_data=points))
    with pytest.warns(PartlyUsed, match="belongs to points and not to cells"):
        TetMesh.read(path)
    meshio.write(path, meshio.Mesh(mesh.nodes, [("tetra", mesh.tetrahedra)], cell_data={"stress": [halves]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TetMesh.read(path)


@pytest.mark.parametrize("name", ['a"b', "a,b", "a=b", "a\nb"])
def test_what_cannot_be_written_leaves_nothing(name: str, tmp_path: Path) -> None:
    mesh = tet_beam(1.0, 0.2, 0.1, cells=(1, 1, 1))
    named = TetMesh(mesh.nodes, mesh.tetrahedra, groups={name: np.arange(3)})
    for suffix in SUFFIXES:
        with pytest.raises(InvalidValue, match="leave out quotes, commas and ="):
            named.write(tmp_path / f"a{suffix}")
    with pytest.raises(InvalidValue, match=r"tetrahedra are written as \.msh, \.inp, \.vtu"):
        mesh.write(tmp_path / "a.stl")
    assert list(tmp_path.iterdir()) == []


def test_quadratic_meshes_made_by_hand_have_no_names() -> None:
    ten = tet_beam(1.0, 0.2, 0.1, cells=(1, 1, 1)).quadratic()
    assert QuadraticTetMesh(ten.nodes, ten.tetrahedra, ten.edges, ten.regions).groups == {}

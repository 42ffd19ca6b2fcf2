"""Volume cells for ParaView: displacement, velocity, force, stress and strain are those of the solid."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from annelid import fem, springs
from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Plane, TetMesh, tet_beam

meshio = pytest.importorskip("meshio")

PULL = 0.02
"""Force on the end of a beam of 2 × 2 cm [N]: 50 Pa."""


def beam(material: str, quadratic: bool) -> fem.Solid:
    mesh = tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1))
    base = np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
    regions = (mesh.nodes[mesh.tetrahedra].mean(axis=1)[:, 0] > 0.04).astype(int)
    mesh = TetMesh(mesh.nodes, mesh.tetrahedra, regions=regions, groups={"base": base}, region_names={1: "tip"})
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, {0: material, "tip": material})
    solid.fix("base", axes="x").fix([0]).fix(lambda p: (p[:, 0] < 1e-9) & (p[:, 1] == p[0, 1]), axes="y")
    return solid.pull(lambda p: p[:, 0] > 0.06 - 1e-9, (PULL, 0.0, 0.0))


def tensors(grid: Any, name: str) -> np.ndarray:
    return np.array(grid.cell_data[name][0]).reshape(-1, 3, 3)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("material", ["pdms", "ecoflex-00-30", "ecoflex-00-30/ogden", "ecoflex-00-30/yeoh"])
def test_a_pulled_bar_has_one_stress_and_the_strain_that_goes_with_it(
    material: str, quadratic: bool, tmp_path: Path
) -> None:
    solid = beam(material, quadratic)
    positions = fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), device="cpu")
    grid = meshio.read(fem.write_vtu(tmp_path / "bar.vtu", solid, positions))
    assert grid.cells[0].type == ("tetra10" if quadratic else "tetra")
    assert np.array_equal(grid.points, positions)
    assert np.array_equal(grid.point_data["displacement"], positions - solid.nodes)
    stress, strain = tensors(grid, "stress"), tensors(grid, "strain")
    width = np.ptp(positions[:, 1]) * np.ptp(positions[:, 2])
    assert stress[:, 0, 0] == pytest.approx(PULL / width, rel=1e-3)
    stress[:, 0, 0] = 0.0
    assert np.abs(stress).max() < 0.05
    assert strain[:, 0, 0] == pytest.approx(np.ptp(positions[:, 0]) / 0.06 - 1.0, rel=1e-6)
    assert np.linalg.eigvalsh(strain)[:, -1] == pytest.approx(solid.strains(positions), rel=1e-6)
    assert grid.cell_data["von-mises"][0] == pytest.approx(PULL / width, rel=1e-2)
    held = solid.held.any(axis=1)
    assert grid.point_data["force"][held].sum(axis=0) == pytest.approx([-PULL, 0.0, 0.0], abs=1e-8)
    assert grid.point_data["force"][~held] == pytest.approx(solid.forces[~held], abs=1e-8)


def test_regions_materials_and_groups_come_along_and_can_be_meshed_again(tmp_path: Path) -> None:
    solid = beam("pdms", quadratic=True).group("middle", lambda p: np.abs(p[:, 0] - 0.03) < 1e-9)
    path = fem.write_vtu(tmp_path / "bar.vtu", solid)
    read = TetMesh.read(path)
    assert read.nodes == pytest.approx(solid.nodes[: len(read.nodes)])
    assert read.regions.tolist() == solid.regions.tolist()
    assert read.region_names == {1: "tip"}
    assert set(read.groups) == {"base"}, "the middle is between corners"
    grid = meshio.read(path)
    assert np.flatnonzero(grid.point_data["group middle"]).tolist() == solid.indices("middle").tolist()
    assert grid.cell_data["material"][0].tolist() == solid.element_materials.tolist()


def test_a_falling_solid_has_its_velocity_and_what_touches_it(tmp_path: Path) -> None:
    solid = fem.Solid(tet_beam(0.04, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
    plane = Plane(point=(0.0, 0.0, solid.nodes[:, 2].min() - 1e-4), normal=(0.0, 0.0, 1.0))
    simulation = fem.simulation(solid, obstacles=[plane], device="cpu", dt=2e-3)
    simulation.observe(fem.VtuSeries(tmp_path / "run.pvd"), every=0.02)
    simulation.run(0.06)
    frames = ElementTree.parse(tmp_path / "run.pvd").iter("DataSet")
    listed = [(float(frame.attrib["timestep"]), frame.attrib["file"]) for frame in frames]
    assert listed == [(pytest.approx(0.02 * k), f"run.frames/frame_{k - 1:04d}.vtu") for k in (1, 2, 3)]
    last = meshio.read(tmp_path / listed[-1][1])
    assert last.field_data["TimeValue"] == pytest.approx([0.06])
    assert np.array_equal(last.points, simulation.positions())
    assert np.array_equal(last.point_data["velocity"], simulation.velocities())
    weight = 9.81 * solid.mass
    touch = last.point_data["contact"].sum(axis=0)
    assert touch[2] > 0.2 * weight
    # what acts on it, less inertia, is what its material bears: forces that cancel
    assert last.point_data["force"].sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9 * weight)


def test_each_world_has_its_own_stiffness(tmp_path: Path) -> None:
    solid = beam("pdms", quadratic=False)
    simulation = fem.simulation(solid, dynamic=False, worlds=2, gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.parameters["stiffness"] = [1.0, 2.0]
    simulation.step(1)
    grids = [meshio.read(fem.write_vtu(tmp_path / f"{k}.vtu", simulation, world=k)) for k in (0, 1)]
    ends = [grid.point_data["displacement"][:, 0].max() for grid in grids]
    assert ends[0] == pytest.approx(2.0 * ends[1], rel=1e-3)
    for grid in grids:
        assert tensors(grid, "stress")[:, 0, 0] == pytest.approx(PULL / 4e-4, rel=1e-3)


def test_a_robot_is_written_as_it_stands(tmp_path: Path) -> None:
    solid = beam("pdms", quadratic=False)
    push = fem.PointForce(name="push", at=(0.06, 0.0, 0.0), direction=(0.0, 0.0, 1.0), force=(0.0, 0.1))
    simulation = fem.forward_simulation(fem.Robot(solid, [push], device="cpu"))
    simulation.step(1)
    grid = meshio.read(fem.write_vtu(tmp_path / "robot.vtu", simulation))
    assert np.array_equal(grid.points, simulation.positions())


def test_what_has_no_volume_is_refused(tmp_path: Path) -> None:
    solid = beam("pdms", quadratic=False)
    other = springs.simulation(springs.lattice(Box((0.03, 0.02, 0.02)), 0.01, "pdms"), gravity=(0, 0, 0), device="cpu")
    simulation = fem.simulation(solid, device="cpu")
    for call, sentence in (
        (lambda: fem.write_vtu(tmp_path / "a.vtk", solid), r"'a.vtk' must end in \.vtu"),
        (lambda: fem.VtuSeries(tmp_path / "a.vtu"), r"'a.vtu' must end in \.pvd"),
        (lambda: fem.write_vtu(tmp_path / "a.vtu", other), "a simulation of springs has no solid"),
        (lambda: fem.write_vtu(tmp_path / "a.vtu", solid.mesh), "not a TetMesh"),
        (lambda: fem.write_vtu(tmp_path / "a.vtu", solid, solid.nodes[:3]), "positions must be finite numbers"),
        (lambda: fem.write_vtu(tmp_path / "a.vtu", simulation, solid.nodes), "has positions of its own"),
        (lambda: fem.write_vtu(tmp_path / "a.vtu", simulation, world=1), "world must be one of the 1 worlds"),
    ):
        with pytest.raises(InvalidValue, match=sentence):
            call()
    assert list(tmp_path.iterdir()) == []


def test_the_reader_of_paraview_reads_vectors_and_tensors(tmp_path: Path) -> None:
    pytest.importorskip("vtkmodules", reason="the wheel vtk, half a gigabyte, is not among what tests install")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

    solid = beam("ecoflex-00-30/ogden", quadratic=True)
    positions = fem.equilibrium(solid, gravity=(0.0, 0.0, 0.0), device="cpu")
    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(fem.write_vtu(tmp_path / "bar.vtu", solid, positions)))
    reader.Update()
    grid = reader.GetOutput()
    same = meshio.read(tmp_path / "bar.vtu")
    assert {grid.GetCellType(k) for k in range(grid.GetNumberOfCells())} == {24}
    for name in ("displacement", "force"):
        assert np.array_equal(vtk_to_numpy(grid.GetPointData().GetArray(name)), same.point_data[name])
    for name in ("stress", "strain"):
        assert grid.GetCellData().GetArray(name).GetNumberOfComponents() == 9
        assert np.array_equal(vtk_to_numpy(grid.GetCellData().GetArray(name)), same.cell_data[name][0])

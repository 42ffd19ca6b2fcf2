"""The cylinder against a surface that is known, against the measured one where it is there, and against bad files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.progress import Progress
from annelid.shapes import Box, Sphere, TriangleMesh
from annelid.studies import cylinder
from annelid.studies.support.measured_cylinder import skin
from annelid.studies.support.surfaces import surface_error

from .conftest import by_name

_DATA = Path(__file__).parents[3] / "shared" / "data" / "cylinder"
MEASURED = Path(os.environ.get("ANNELID_CYLINDER", _DATA / "truthCylinder-Deformed.obj"))
"""The measured surface, which may not be part of this project: set ANNELID_CYLINDER to its path."""


class Coarse(cylinder.Cylinder):
    """One model of few cells."""

    def rods(self) -> list[cylinder.Rod]:
        return [cylinder._voxels("voxel", cylinder.LENGTH / 21)]


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The surface that this model itself has at 72 kPa."""
    search = cylinder.LatticeFit(cylinder._voxels("voxel", cylinder.LENGTH / 21), None)
    path = tmp_path_factory.mktemp("surface") / "hanging.obj"
    search.at(72e3).surface.write(path)
    return path


def test_fit_finds_the_modulus_again(hanging: Path, cpu: wp.Device, silence: Progress, tmp_path: Path) -> None:
    study = Coarse(quick=True, reference=hanging)
    found = study.compute(cpu, None, silence)
    rows = by_name(study.measure(found))
    assert rows["voxel-modulus-fitted"].value == pytest.approx(72.0, abs=0.5)
    assert rows["voxel-surface-mean-fitted"].value < 0.05
    assert rows["voxel-surface-mean-nominal"].value > 1.0
    assert rows["best-surface-mean-fitted"].passed
    pytest.importorskip("matplotlib")
    assert all(path.stat().st_size > 10_000 for path in study.plot(found, tmp_path))


def test_without_a_reference_the_tip_alone(cpu: wp.Device, silence: Progress) -> None:
    study = Coarse(quick=True)
    rows = by_name(study.measure(study.compute(cpu, None, silence)))
    assert rows["voxel-tip-fitted"].value < 1.0
    assert rows["voxel-tip-nominal"].value > 5.0
    assert not any("surface" in name for name in rows)


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured surface is not part of this project")
def test_measured_surface(cpu: wp.Device, silence: Progress) -> None:
    study = Coarse(quick=True, reference=MEASURED)
    rows = by_name(study.measure(study.compute(cpu, None, silence)))
    assert rows["voxel-surface-mean-fitted"].value < 0.63


def test_border_cells_have_the_right_thickness() -> None:
    """Area and second moment of the cross-section, where whole cells would be up to 13 and 20 % off."""
    for count in (28, 37, 47):
        grid, shares = cylinder._grid(cylinder.LENGTH / count)
        across = grid.cell_centers[:, :, 0, 0]
        areas = np.where(grid.cells, shares, 0.0)[:, :, 0] * grid.pitch**2
        assert areas.sum() == pytest.approx(np.pi * cylinder.RADIUS**2, rel=0.01)
        assert (areas * across**2).sum() == pytest.approx(np.pi * cylinder.RADIUS**4 / 4, rel=0.02)


def test_file_that_is_no_surface(tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    path = tmp_path / "notes.obj"
    path.write_text("nothing to see here\n")
    with pytest.raises(AnnelidError, match="notes.obj"):
        Coarse(quick=True, reference=path).compute(cpu, None, silence)


def test_open_surface(hanging: Path, tmp_path: Path) -> None:
    mesh = TriangleMesh.read(hanging)
    path = tmp_path / "open.obj"
    TriangleMesh(mesh.vertices, mesh.triangles[:-5]).write(path)
    with pytest.raises(AnnelidError, match="not closed"):
        cylinder.read_reference(path)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1000.0, "99[0-9.]+ times too large, as if in millimetres"),
        (39.37, "as if in inches"),
        (0.001, "times too small;"),
    ],
)
def test_other_units_are_noticed(factor: float, words: str, hanging: Path, tmp_path: Path) -> None:
    path = tmp_path / "scaled.obj"
    TriangleMesh.read(hanging).scaled(factor).write(path)
    with pytest.raises(InvalidValue, match=words + ".*give the deformed cylinder in metres"):
        cylinder.read_reference(path)


def test_another_place_is_noticed(hanging: Path, tmp_path: Path) -> None:
    for number, mesh in enumerate((TriangleMesh.read(hanging).moved((0.0, 0.0, 0.3)), skin(0.01))):
        path = tmp_path / f"elsewhere-{number}.obj"
        mesh.write(path)
        with pytest.raises(InvalidValue, match="hang down towards -y"):
            cylinder.read_reference(path)


def test_distance_of_two_spheres() -> None:
    error = surface_error(Sphere(1.0).surface(96), Sphere(1.1).surface(96))
    assert error.mean == pytest.approx(0.1, rel=0.02)
    assert error.there == pytest.approx(error.back, rel=0.02)
    assert error.percentile == pytest.approx(0.1, rel=0.03)


def test_distance_is_asymmetric() -> None:
    """A long box reaches further from a short one than the short one from it."""
    error = surface_error(Box((4.0, 1.0, 1.0)).surface(), Box((1.0, 1.0, 1.0)).surface())
    assert error.there > error.back
    assert error.mean == (error.there + error.back) / 2

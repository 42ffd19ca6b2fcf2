"""The accuracy study: what it judges, with meshes that take seconds, and bad files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import AnnelidError
from annelid.core.progress import Progress
from annelid.studies.fem_accuracy import FemAccuracy
from annelid.studies.support.fem_cases import Case, cantilever_ratio
from annelid.studies.support.fem_cylinder import Rod, SolidFit

from .conftest import by_name

_DATA = Path(__file__).parents[3] / "shared" / "data" / "cylinder"
MEASURED = Path(os.environ.get("ANNELID_CYLINDER", _DATA / "truthCylinder-Deformed.obj"))
"""The measured surface, which may not be part of this project: set ANNELID_CYLINDER to its path."""


class Coarse(FemAccuracy):
    """One mesh of the cylinder, and small cubes."""

    def rods(self) -> list[Rod]:
        return [Rod(2, 1, 10)]

    def _manufactured(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        return np.array([2, 4]), np.array([8.0, 1.0] if case.quadratic else [4.0, 1.0])  # judged in tests/fem

    def _cantilever(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1]), np.array([cantilever_ratio(case, (10, 1, 1))])


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The surface that this mesh itself has at 55 kPa."""
    path = tmp_path_factory.mktemp("surface") / "hanging.obj"
    SolidFit(Rod(2, 1, 10), None, wp.get_device("cpu"), 1).at(55e3).surface.write(path)
    return path


def test_study_holds_and_finds_the_modulus_again(
    hanging: Path, cpu: wp.Device, silence: Progress, tmp_path: Path
) -> None:
    study = Coarse(quick=True, reference=hanging)
    found = study.compute(cpu, 1, silence)
    rows = by_name(study.measure(found))
    judged = [row for row in rows.values() if row.passed is not None]
    assert len(judged) > 10
    assert all(row.passed for row in judged)
    assert rows["linear-187-modulus-fitted"].value == pytest.approx(55.0, abs=0.4)
    assert rows["best-surface-fitted"].value < 0.05
    pytest.importorskip("matplotlib")
    assert all(path.stat().st_size > 10_000 for path in study.plot(found, tmp_path))


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured surface is not part of this project")
def test_measured_surface(cpu: wp.Device) -> None:
    from annelid.studies.support.measured_cylinder import read_reference

    best = SolidFit(Rod(2, 1, 16), read_reference(MEASURED), cpu, 1).best()
    assert best.error is not None
    assert 1e3 * best.error.mean < 0.45


def test_cylinder_hangs_straight_down(cpu: wp.Device) -> None:
    """Elements mirrored by parity do not push the cylinder aside."""
    state = SolidFit(Rod(2, 1, 10), None, cpu, 1).at(60e3)
    assert abs(state.tip[0]) < 1e-9
    assert state.tip[1] < -0.05


def test_file_that_is_no_surface(tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    path = tmp_path / "notes.obj"
    path.write_text("nothing to see here\n")
    with pytest.raises(AnnelidError, match="notes.obj"):
        FemAccuracy(quick=True, reference=path).compute(cpu, None, silence)

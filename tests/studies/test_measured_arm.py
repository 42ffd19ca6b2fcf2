"""The measured arm: its solid is the segment that was drawn, known constants come back, and bad files are refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import warp as wp
from rich.console import Console

from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.studies.measured_arm import MeasuredArm
from annelid.studies.support.arm_fit import Constants
from annelid.studies.support.arm_tracks import MARKERS, Measured, read_holds, read_steps
from annelid.studies.support.measured_arm import LENGTH, RADIUS, Arm, Cells, Motion, Segment

from .conftest import by_name

DATA = Path(os.environ.get("ANNELID_ARM", Path(__file__).parents[3] / "shared" / "data" / "arm"))
"""The measured runs, which are not part of this project: set ANNELID_ARM to their folder."""

COARSE = Cells(1, 1, 1, 1, 2, 1)


@dataclass(frozen=True)
class Coarse(MeasuredArm):
    """An arm of few elements."""

    def _meshes(self) -> tuple[Cells, ...]:
        return (COARSE,)

    def _start(self) -> Constants:
        return Constants(465e3, 1.05e3, 0.05)


def coarse(modulus: float, winding: float) -> Arm:
    return Arm(Segment(), material("dragon-skin-10/ogden").with_(youngs_modulus=modulus), winding, COARSE, 1)


@pytest.fixture(scope="module")
def own_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of an arm of 450 kPa with 1,000 N/m around it, seen from a frame that is turned, and one track."""
    folder, arm = tmp_path_factory.mktemp("arm"), coarse(450e3, 1e3)
    rows = [np.concatenate([[mbar], arm.settle(100.0 * mbar).markers(0.06).ravel()]) for mbar in (100.0, 200.0)]
    header = ",".join(["pressure_mbar", *(f"tip{m}_d{axis}" for m in (1, 2, 3) for axis in "xyz")])
    np.savetxt(folder / "static.csv", rows[1:], delimiter=",", header=header, comments="")
    written(folder, "step-100mbar", rows[0][1:].reshape(3, 3))
    written(folder, "hold-200mbar", rows[1][1:].reshape(3, 3))
    return folder


def written(folder: Path, name: str, shifts: np.ndarray) -> None:
    times = np.linspace(-0.2, 1.4, 161)
    places = (MARKERS + np.where(times > 0.0, 1.0, 0.0)[:, None, None] * shifts).reshape(-1, 9)
    header = ",".join(["t", *(f"tip{m}_{axis}" for m in (1, 2, 3) for axis in "xyz")])
    np.savetxt(folder / f"{name}.csv", np.column_stack([times, places]), delimiter=",", header=header, comments="")


def test_the_chamber_and_the_solid_are_those_of_the_drawing() -> None:
    segment = Segment(hole=7.15e-3)
    arm = Arm(segment, "dragon-skin-10/ogden", 0.0, Cells(2, 1, 1, 1, 1, 1), 1)
    x, bore = np.linspace(segment.core, RADIUS - segment.outer_wall, 20_001), RADIUS - segment.outer_wall
    half = np.trapezoid(np.minimum(x - segment.rib / np.sqrt(2.0), np.sqrt(np.maximum(bore**2 - x**2, 0.0))), x)
    chamber = half * (LENGTH - segment.floor)
    assert arm.chamber.volume(arm.solid.nodes) == pytest.approx(chamber, rel=0.01)
    whole = LENGTH * (0.5 * np.pi * RADIUS**2 - 2.0 * segment.hole**2)
    assert arm.solid.element_volumes.sum() == pytest.approx(whole - 4.0 * chamber, rel=2e-3)


def test_only_a_winding_makes_it_bend_in_proportion_to_a_small_pressure() -> None:
    """A prismatic cavity in an incompressible body keeps its volume in bending, so pressure in it bends nothing."""
    bare, wound = (abs(coarse(400e3, winding).settle(500.0).x) for winding in (0.0, 1e3))
    assert wound > 4.0 * bare


def test_known_constants_come_back(own_runs: Path, tmp_path: Path, silence: Progress) -> None:
    study = Coarse(data=own_runs, fitted=(2e4,), predict=(5e3,))
    found = study.compute(wp.get_device("cpu"), 1, silence)
    rows = by_name(study.measure(found))
    assert rows["modulus"].value == pytest.approx(450.0, rel=5e-3)
    assert rows["winding"].value == pytest.approx(1e3, rel=0.03)
    assert found.fits[0].constants.turn == pytest.approx(0.06, abs=1e-3)
    assert rows["held-out-rms"].value < 0.05
    assert rows["other-session-rms"].value == pytest.approx(rows["step-200mbar-error"].value, abs=1e-6)
    assert 0.0 < rows["predicted-50mbar-aside"].value < rows["step-100mbar-aside"].value
    assert study.plot(found, tmp_path)[0].stat().st_size > 10_000


def test_markers_follow_a_tip_that_turns() -> None:
    moved = Motion(-0.3, -0.02, 0.004)
    seen = Measured("step", 1e4, moved.markers(0.1))
    assert seen.tilt == pytest.approx(0.3)
    assert seen.centre == pytest.approx([-0.02 * np.cos(0.1), -0.02 * np.sin(0.1), 0.004])


@pytest.mark.skipif(not DATA.is_dir(), reason="the measured runs are not here")
def test_the_measured_runs_are_read() -> None:
    steps, holds = read_steps(DATA), read_holds(DATA)
    last = next(run for run in steps if run.pressure == 4e4)
    assert 1e3 * last.centre == pytest.approx([-33.64, -2.44, 2.88], abs=0.02)
    assert np.degrees(last.tilt) == pytest.approx(36.0, abs=0.1)
    other = next(run for run in holds if run.pressure == 4e4)
    assert 1e3 * np.linalg.norm(other.shifts, axis=1).mean() == pytest.approx(32.2, abs=0.1)


def test_without_data_it_says_so_and_judges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = Console(file=StringIO(), width=200)
    study = Coarse()
    found = study.compute(wp.get_device("cpu"), 1, Progress("study", 1.0, console=said))
    rows = by_name(study.measure(found))
    assert all(row.reference is None and np.isfinite(row.value) for row in rows.values())
    assert rows["predicted-50mbar-aside"].value < rows["predicted-400mbar-aside"].value
    assert "given" in rows["modulus"].source
    assert study.plot(found, tmp_path)[0].stat().st_size > 10_000
    assert "--data" in said.file.getvalue()


def test_bad_runs_are_refused(tmp_path: Path, own_runs: Path, silence: Progress) -> None:
    with pytest.raises(AnnelidError, match=r"has neither static\.csv nor step-NNNmbar\.csv"):
        read_steps(tmp_path)
    with pytest.raises(InvalidValue, match=r"has no run at a pressure of \(12345\.0,\) Pa; name others"):
        MeasuredArm(data=own_runs, fitted=(12345.0,)).compute(wp.get_device("cpu"), 1, silence)
    written(tmp_path, "hold-050mbar", 1e3 * MARKERS)
    with pytest.raises(InvalidValue, match=r"run of 50 mbar .* its markers go 28\.2 m; give pressures"):
        read_holds(tmp_path)
    (tmp_path / "step-050mbar.csv").write_text("t,x\n0.0,nonsense\n")
    with pytest.raises(AnnelidError, match=r"step-050mbar\.csv has no column 'tip1_x'"):
        read_steps(tmp_path)


def test_bad_sizes_and_constants_are_refused() -> None:
    with pytest.raises(InvalidValue, match="is no segment with four chambers"):
        Segment(rib=14e-3)
    with pytest.raises(InvalidValue, match="winding of measured-arm must be .* 0 N/m or more or None, not -1"):
        MeasuredArm(winding=-1.0)
    with pytest.raises(InvalidValue, match="turn of measured-arm must be a finite number or None, not nan"):
        MeasuredArm(turn=float("nan"))
    with pytest.raises(InvalidValue, match="predict of measured-arm must be numbers, each a finite number above 0 Pa"):
        MeasuredArm(predict=(0.0,))

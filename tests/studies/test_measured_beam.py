"""The measured beam: known constants come back from tracks of its own, and bad files are refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import warp as wp
from rich.console import Console

from annelid import fem
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.progress import Progress
from annelid.shapes import tet_beam
from annelid.studies.measured_beam import MeasuredBeam
from annelid.studies.support.measured_beam import MARKERS, RUNS, Beam, damped_sine, read_runs

from .conftest import by_name

DATA = Path(os.environ.get("ANNELID_BEAM", Path(__file__).parents[3] / "shared" / "data" / "beam"))
"""The measured tracks, which are not part of this project: set ANNELID_BEAM to their folder."""

STEPS = 6  # in a period


@dataclass(frozen=True)
class Coarse(MeasuredBeam):
    """A beam of few elements and long steps."""

    steps: int = STEPS

    def _beam(self) -> Beam:
        return Beam((1, 1, 1), self.markers)

    @property
    def _steps(self) -> int:
        return self.steps


def written(folder: Path, name: str, times: np.ndarray, places: np.ndarray) -> None:
    header = ",".join(["t", *(f"tip{m}_{axis}" for m in (1, 2, 3) for axis in "xyz")])
    table = np.column_stack([times, places.reshape(len(times), 9)])
    np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=header, comments="")


@pytest.fixture(scope="module")
def own_tracks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tracks of a beam of 240 kPa, of which 15 % relax in 40 ms; it is taken to settle after the record."""
    folder, beam = tmp_path_factory.mktemp("beam"), Beam((1, 1, 1), 3e-3)
    for (name, weight), period in zip(RUNS.items(), (0.13, 0.23, 0.25), strict=True):
        times, moved = beam.swing(240e3, weight, ((0.15, 0.04),), period, STEPS)
        rest = beam.settled(240e3, weight)
        late = times[-1] + 0.01 * np.arange(1, 130)
        held = -0.1 + 0.01 * np.arange(10)
        places = MARKERS + np.concatenate([np.zeros((10, 3, 3)), moved, np.broadcast_to(rest, (129, 3, 3))])
        written(folder, name, np.concatenate([held, times, late]), places)
    return folder


def test_known_constants_come_back(own_tracks: Path, tmp_path: Path, silence: Progress) -> None:
    study = Coarse(data=own_tracks)
    found = study.compute(wp.get_device("cpu"), 1, silence)
    rows = by_name(study.measure(found))
    assert found.modulus == pytest.approx(240e3, rel=2e-3)
    assert rows["settled-plane-rms"].value < 0.02
    assert all(row.passed is not False for row in rows.values())
    assert rows["load-0-51n-frequency"].value == pytest.approx(rows["load-0-51n-frequency"].reference, rel=0.02)
    assert study.plot(found, tmp_path)[0].stat().st_size > 10_000


@pytest.mark.skipif(not DATA.is_dir(), reason="the measured tracks are not here")
def test_the_measured_tracks_are_read() -> None:
    light, middle, heavy = read_runs(DATA)
    assert [round(run.sine.frequency, 2) for run in (light, middle, heavy)] == [7.73, 4.36, 3.36]
    assert 1e3 * heavy.settled[1, 2] == pytest.approx(-26.13, abs=0.02)


def test_without_data_it_says_so_and_judges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = Console(file=StringIO(), width=200)
    study = Coarse(steps=4)
    found = study.compute(wp.get_device("cpu"), 1, Progress("study", 1.0, console=said))
    rows = by_name(study.measure(found))
    assert all(row.reference is None and np.isfinite(row.value) for row in rows.values())
    assert rows["gravity-sinks"].value < rows["load-1-00n-sinks"].value
    assert "given" in rows["modulus"].source
    assert study.plot(found, tmp_path)[0].stat().st_size > 10_000
    assert "--data" in said.file.getvalue()


def test_bad_tracks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AnnelidError, match=r"has no gravity\.csv, load-0\.51N\.csv, load-1\.00N\.csv; name the folder"):
        read_runs(tmp_path)
    for name in RUNS:
        (tmp_path / f"{name}.csv").write_text("t,height\n0.0,0.0\n")
    with pytest.raises(AnnelidError, match=r"gravity\.csv has no column 'tip1_x'"):
        read_runs(tmp_path)
    places = np.broadcast_to(MARKERS * 1e3, (200, 3, 3)) + np.linspace(0.0, 20.0, 200)[:, None, None]
    for name in RUNS:
        written(tmp_path, name, np.linspace(-0.1, 4.0, 200), places)
    with pytest.raises(InvalidValue, match="a motion of 20 m; give times from before the release"):
        read_runs(tmp_path)


def test_times_from_which_no_motion_can_be_told_are_refused(tmp_path: Path) -> None:
    places = MARKERS - 0.01 * np.linspace(0.0, 1.0, 400)[:, None, None]
    times = np.linspace(-0.1, 4.0, 400)
    twice = np.repeat(times[::2], 2)
    for wrong, sentence in (
        (times[::-1], "do not rise from 4 to"),
        (twice, "do not rise from -0.1 to -0.1 s"),
        (1e3 * times, "0 moments between 0.3 and 2 s; give times in seconds"),
        (0.3 * times, "end at 1.2 s"),
    ):
        for name in RUNS:
            written(tmp_path, name, wrong, places)
        with pytest.raises(InvalidValue, match=sentence):
            read_runs(tmp_path)


def test_a_damped_sine_is_found() -> None:
    times = np.arange(0.0, 3.0, 0.01)
    found = damped_sine(times, 0.01 * np.exp(-0.05 * 30.0 * times) * np.cos(30.0 * times + 0.3) - 0.02 + 1e-4 * times)
    assert (found.frequency, found.damping) == pytest.approx((30.0 / (2.0 * np.pi), 0.05), rel=1e-6)


@pytest.mark.parametrize("quadratic", [False, True])
def test_what_hangs_on_a_solid_weighs_and_must_be_moved(quadratic: bool) -> None:
    mesh = tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1))
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, "ecoflex-00-30")
    bare = solid.mass
    solid.hang(lambda p: p[:, 0] > 0.0999, 0.05)
    assert solid.mass == pytest.approx(bare + 0.05)
    simulation = fem.simulation(solid, dt=0.01, device="cpu")
    simulation.run(0.1)
    assert simulation.velocities()[:, 2] == pytest.approx(-0.981, rel=1e-6)  # it falls as one
    assert simulation.summary().kinetic == pytest.approx(0.5 * solid.mass * 0.981**2, rel=1e-6)
    with pytest.raises(InvalidValue, match="must be 0 kg or more, not -1"):
        solid.hang(None, -1.0)

"""Runs of files: a folder of voxcraft-sim side by side and one by one, stops, measures and the report."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.cli import main
from annelid.core.errors import FileFormatError, InvalidValue, PartlyUsed
from annelid.scenes.support.voxel_files import robot_scene
from annelid.scenes.table import Table
from annelid.voxels3d.files.folders import read_folder, run_setups
from annelid.voxels3d.files.trials import steps_within, stop_step

CPU: dict[str, Any] = {"precision": "float64", "device": "cpu", "threads": 1}


def table(seconds: float | None = 0.1, *, lead: float = 0.25, **simulator: Any) -> voxels3d.Vxa:
    vxa = voxels3d.vxa_of(Table(ramp=0.0, lead=lead).robot(), seconds=seconds, name=f"table{lead:g}")
    return replace(vxa, simulator=replace(vxa.simulator, **simulator))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "robots"
    place.mkdir()
    fitness = voxels3d.Formula(("mtSUB", "x", "mtABS", "y"))
    table(fitness=fitness, record_step=100, save_positions=True).write(place / "base.vxa")
    table(lead=0.25).write(place / "one.vxd")
    table(lead=-0.25).write(place / "2 two.vxd")
    return place


def test_a_folder_runs_unchanged_and_its_report_has_the_fields(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--precision", "float64", "--device", "cpu", "--threads", "1", "--out", str(out), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["run", str(folder), *options])
    assert ended.value.code == 0
    measured = {one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["measurements"]}
    report = ElementTree.parse(out / "report.xml").getroot()
    assert [child.tag for child in report[1]] == ["_2_two", "one"]
    assert report.findtext("bestfit/filename") == "one"
    assert float(report.findtext("bestfit/fitness_score") or 0.0) == measured["best-fitness"] > 0.0
    detail = report.find("detail/one")
    assert detail is not None
    fields = ["fitness_score", "currentTime", "num_voxel", "voxSize", "initialCenterOfMass", "currentCenterOfMass"]
    assert [f.tag for f in detail] == [*fields, "total_distance_of_all_voxels", "init_pos", "pos", "mats"]
    assert detail.findtext("num_voxel") == "23"
    assert float(detail.findtext("initialCenterOfMass/x") or 0.0) == pytest.approx(0.02)
    assert (detail.findtext("mats") or "").count(";") == 23
    assert len(voxels3d.read_history(out / "one.history").frames) > 5
    with pytest.raises(SystemExit) as ended:
        main(["run", str(folder / "one.vxd"), *options[:-3], "--out", str(tmp_path / "alone"), "--json"])
    assert ended.value.code == 0
    alone = ElementTree.parse(tmp_path / "alone" / "report.xml").getroot()
    assert alone.findtext("detail/one/fitness_score") == detail.findtext("fitness_score")
    assert (tmp_path / "alone" / "one.history").read_text() == (out / "one.history").read_text()


def test_robots_run_side_by_side_as_alone(folder: Path) -> None:
    setups = read_folder(folder)
    stiff = table(lead=0.1)
    harder = replace(stiff.palette[0], mechanics=replace(stiff.palette[0].mechanics, youngs_modulus=4e5))
    setups.append(voxels3d.setup_of(replace(stiff, palette=(harder,))))  # has a step of its own
    together = run_setups(setups, **CPU)
    for setup, result in zip(setups, together, strict=True):
        (alone,) = run_setups([setup], **CPU)
        np.testing.assert_array_equal(alone.positions, result.positions)
        assert alone.fitness == result.fitness


def test_one_that_breaks_down_does_not_disturb_others() -> None:
    bad = voxels3d.vxa_of(Table(ramp=0.0).robot(), seconds=0.05)
    wild = voxels3d.Formula(("mtMUL", 1e6, "mtPOW", 10.0, "mtMUL", 1e4, "t"))
    blown = voxels3d.setup_of(replace(bad, simulator=replace(bad.simulator, force_x=wild)))
    results = run_setups([blown, voxels3d.setup_of(table(0.05))], **CPU)
    assert math.isnan(results[0].fitness)
    assert math.isfinite(results[1].fitness)


def test_runs_stop_when_the_file_says() -> None:
    dt = voxels3d.setup_of(table()).dt
    assert stop_step(voxels3d.setup_of(table(0.1))) == math.floor(0.1 / dt) + 1
    assert stop_step(voxels3d.setup_of(table(None))) == 1_000_000
    assert stop_step(voxels3d.setup_of(table(None, stop_type=1, stop_value=77.0))) == 77
    assert stop_step(voxels3d.setup_of(table(None, stop_type=2, stop_value=0.1))) == math.ceil(0.1 / dt)
    assert stop_step(voxels3d.setup_of(table(None, stop_type=3, stop_value=2.0))) == math.ceil(0.5 / dt)
    assert stop_step(voxels3d.setup_of(table(0.1)), 10**15) == math.floor(0.1 / dt) + 1
    with pytest.raises(InvalidValue, match="1 s are 1e.12 time steps .* larger DtFrac"):
        steps_within(1.0, 1e-12)
    with pytest.warns(PartlyUsed, match="StopConditionType 4"):
        voxels3d.setup_of(table(None, stop_type=4))


def test_stops_and_measures_may_depend_on_the_robot() -> None:
    away = voxels3d.Formula(("mtSUB", "mtADD", "mtABS", "mtSUB", "z", 0.01478, "mtMUL", 0.0, "x", 2e-4))
    told = voxels3d.Formula(("mtADD", "mtMUL", 1000.0, "num_voxel", "mtADD", "numClosePairs", "targetCloseness"))
    vxa = table(None, stop=away, fitness=told, pair_distance=1.5, settling=0.002)
    marked = replace(vxa.palette[0], mechanics=replace(vxa.palette[0].mechanics, target=True))
    setup = voxels3d.setup_of(replace(vxa, palette=(marked,)))
    (result,) = run_setups([setup], seconds=0.5, **CPU)
    assert 2e-4 < abs(result.end[2] - 0.01478) < 4e-4
    assert result.time < 0.1
    # Neighbours along axes and across faces are nearer than 1.5 voxels.
    distances = np.linalg.norm(result.positions[:, None] - result.positions, axis=2)[np.triu_indices(23, 1)]
    assert result.fitness == pytest.approx(23000.0 + (distances < 0.015).sum() + (1.0 / distances).sum())
    assert result.begin[2] != pytest.approx(0.0147826, abs=1e-9)  # measured from 2 ms on


def test_turns_of_the_path_are_measured_once_a_period() -> None:
    setup = voxels3d.setup_of(table(0.8, fitness=voxels3d.Formula(("angle",))))
    (result,) = run_setups([setup], **CPU)
    assert 0.0 < result.fitness <= math.pi


def test_scenes_of_files_know_what_they_are(folder: Path) -> None:
    scene = robot_scene(str(folder / "one.vxd"))
    assert scene.name == "one"
    assert scene.__doc__ == "one.vxd: 23 voxels of 10 mm in 5 x 3 x 3 cells."
    assert scene.duration == pytest.approx(0.1, abs=2e-4)
    with pytest.raises(FileFormatError, match="has no robots"):
        read_folder(folder.parent)


@pytest.mark.parametrize("command", ["run", "view", "picture", "video"])
def test_commands_take_files_as_scenes(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    with pytest.raises(SystemExit):
        main([command, str(folder / "one.vxd"), "--help"])
    told = capsys.readouterr().out
    assert "one.vxd: 23 voxels of 10 mm in 5 x 3 x 3 cells." in told
    assert "--parts" in told

"""The list of studies, their command, and quick runs of those that take seconds."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid.commands import study as command
from annelid.core.errors import InvalidMesh, MissingPackage, UnknownName
from annelid.core.measurement import Report
from annelid.core.packages import installation
from annelid.core.progress import Progress
from annelid.shapes import Sphere
from annelid.studies import materials, throughput
from annelid.studies.codesign import Codesign
from annelid.studies.lattices import Lattices
from annelid.studies.materials import Materials
from annelid.studies.registry import studies, study_class
from annelid.studies.study import Filmed, Study, run
from annelid.studies.support import plots
from annelid.studies.support.bone import bone

from .conftest import by_name


@pytest.mark.parametrize(("name", "kind"), studies().items())
def test_studies_are_what_they_should_be(name: str, kind: type[Study]) -> None:
    assert kind.name == name
    assert is_dataclass(kind)
    assert kind.__doc__
    assert "quick" in {f.name for f in fields(kind)}
    assert isinstance(kind(), Study)


def test_unknown_study() -> None:
    with pytest.raises(UnknownName, match="beam-frequency"):
        study_class("beam-frequencies")


def test_materials(cpu: wp.Device, silence: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materials, "_CUBE", 3)
    rows = by_name(run(Materials(quick=True), cpu, None, silence))
    assert all(row.passed is not False for row in rows.values())
    for count in (4, 6):  # bending errs by about 1.25 over the squared number of cells
        assert rows[f"voxel-bending-{count}-cells"].value - 1.0 == pytest.approx(1.25 / count**2, rel=0.05)
    assert rows["voxel-cronos-bending"].value > 1.3
    assert rows["voxel-volume-poisson"].value == pytest.approx(0.49, rel=1e-3)
    assert rows["quasi-uniform-collapse"].value < rows["voxel-collapse"].value


def test_lattices_of_a_file(tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    Sphere(0.1).surface().write(tmp_path / "ball.stl")
    study = Lattices(quick=True, surface=tmp_path / "ball.stl")
    rows = by_name(study.measure(study.compute(cpu, None, silence)))
    assert rows["volume"].value == pytest.approx(4.19e3, rel=0.05)
    with pytest.raises(InvalidMesh, match="no file"):
        Lattices(surface=tmp_path / "none.stl").compute(cpu, None, silence)


def test_bone_is_closed() -> None:
    mesh = bone().require_closed()
    assert np.ptp(mesh.vertices[:, 2]) == pytest.approx(0.4)


class Tiny(throughput.Throughput):
    def _edges(self, device: wp.Device) -> tuple[int, ...]:
        return (3, 5)


def test_throughput_of_tiny_cubes(
    chosen: wp.Device, silence: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = throughput.steps_per_second  # for a moment: nobody looks at how exact the rates are
    monkeypatch.setattr(throughput, "steps_per_second", lambda simulation, seconds: measure(simulation, 0.02 * seconds))
    monkeypatch.setattr(throughput, "BODY", (4, 3, 3))
    study = Tiny(quick=True, chosen_only=True)
    found = study.compute(chosen, 1, silence)
    rows = by_name(study.measure(found))
    kind = "cuda" if chosen.is_cuda else "cpu"
    assert {f"{kind}-3x3x3-rk4", f"{kind}-cost-rk4", f"{kind}-iteration-8025-masses"} <= set(rows)
    assert {f"{kind}-second-5x5x5-{step}us" for step in (10, 50, 100)} <= set(rows)
    assert rows[f"{kind}-whole-second-10x10x10-100us"].value > 0.0
    assert found[0].sizes.tolist() == [158.0, 1036.0]
    pytest.importorskip("matplotlib")
    assert study.plot(found, tmp_path)[0].exists()


def test_body_of_the_third_table() -> None:
    from annelid.springs import block

    body = block(throughput.BODY)
    assert (body.mass_count, body.spring_count) == (8025, 77192)


def test_command_writes_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = command.command(["lattices", "--quick", "--json", "--no-plot", "--device", "cpu", "--out", str(tmp_path)])
    printed = json.loads(capsys.readouterr().out)
    assert code == 0
    assert printed["name"] == "lattices"
    assert sum(row["name"].endswith("-nodes") for row in printed["measurements"]) == 4
    assert printed["passed"] is True
    assert json.loads((tmp_path / "results.json").read_text()) == printed


def test_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.command(["--help"]) == 0
    assert all(name in capsys.readouterr().out + name for name in studies())


def test_verdict_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stub(*_: Any) -> tuple[Report, list[Path]]:
        return Report("materials", "cpu", 0.0, []), [tmp_path / "results.json"]

    monkeypatch.setattr(command, "run_study", stub)
    assert command.command(["materials"]) == 0
    assert "materials has nothing to hold against." in capsys.readouterr().out


def test_missing_matplotlib_is_named_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    plots._pyplot.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingPackage, match=re.escape(installation("view"))):
        command.command(["materials", "--quick"])


@pytest.mark.parametrize("name", ["gait", "throw", "codesign"])
def test_what_a_film_lacks_is_named_before_the_work(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingPackage, match=r"film.*imageio-ffmpeg"):
        command.command([name, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_a_form_without_a_film_needs_nothing_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    monkeypatch.setattr(command, "_run_inside", lambda *_: "begun")
    assert command.run_study(Codesign(quick=True), command.Files(out=tmp_path), command.Machine()) == "begun"


def test_every_study_with_a_film_says_so() -> None:
    """Or it would be looked for what a film needs only after the work."""
    for kind in studies().values():
        draws = "_film(" in inspect.getsource(kind)
        assert draws == isinstance(kind(), Filmed), kind.name

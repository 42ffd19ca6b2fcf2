"""Studies of evolution in miniature: their arms, their statistics, and how they stop and go on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid.commands import study as command
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.evolve.problems.voxel_controller import VoxelController
from annelid.studies.evolve_3d import EvolveBodies3d
from annelid.studies.evolve_body import EvolveBody
from annelid.studies.evolve_body_and_brain import EvolveBodyAndBrain
from annelid.studies.evolve_development import EvolveDevelopment, early, overtaken
from annelid.studies.evolve_sensing import EvolveSensing
from annelid.studies.support.contests import Arm, Contest, comparison, p_value, superiority

from .conftest import by_name

TINY = {"quick": True, "population": 4, "generations": 2, "repetitions": 2, "seconds": 0.3}


@pytest.mark.parametrize("kind", [EvolveBody, EvolveDevelopment, EvolveSensing, EvolveBodyAndBrain])
def test_a_study_in_miniature(kind: type[Contest], tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    study = kind(**TINY)  # type: ignore[arg-type]
    found = study.compute(cpu, None, silence)
    assert all(arm.best.shape == (3, 2) and arm.finished for arm in found.values())
    assert all((np.diff(arm.best, axis=0) >= 0.0).all() for arm in found.values())
    rows = by_name(study.measure(found))  # type: ignore[attr-defined]
    assert rows["evaluations"].value == len(found) * 24
    for path in study.plot(found, tmp_path):  # type: ignore[attr-defined]
        assert path.stat().st_size > 10_000


def test_bodies_in_space(tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    tiny = EvolveBodies3d(quick=True, population=3, generations=1, repetitions=2, seconds=0.02, cells=2)
    found, kinds = tiny.compute(cpu, None, silence), ("age-fitness", "ea", "informed", "random")
    assert list(found) == [f"{code}-{kind}" for code in ("cppn", "direct") for kind in kinds]
    assert all(arm.best.shape == (2, 2) and arm.finished for arm in found.values())
    rows = by_name(tiny.measure(found))
    assert rows["evaluations"].value == 8 * 12
    assert "cppn-age-fitness-over-random-ratio" in rows
    (path,) = tiny.plot(found, tmp_path)
    assert path.stat().st_size > 10_000
    whole = EvolveBodies3d()
    arms: list[Any] = [whole._sized(arm) for arm in whole.arms()]
    assert {(arm.generations, arm.repetitions, arm.searcher.population) for arm in arms} == {(150, 10, 40)}
    assert {arm.name: arm.problem.encoding for arm in arms}["cppn-informed"] == "patched"
    assert {(arm.problem.cells, arm.problem.seconds, arm.problem.settling) for arm in arms} == {((6, 6, 6), 5.0, 1.0)}
    with pytest.raises(InvalidValue, match="cells of evolve-3d must be a whole number between 1 and 100"):
        EvolveBodies3d(cells=0)


def test_the_settings_are_those_of_the_paper() -> None:
    arms = [EvolveSensing()._sized(arm) for arm in EvolveSensing().arms()]
    assert len(arms) == 6
    for arm in arms:
        assert (arm.generations, arm.repetitions, arm.searcher.population) == (500, 10, 250)  # type: ignore[attr-defined]
        assert isinstance(arm.problem, VoxelController)
        assert (arm.problem.seconds, arm.problem.dt, arm.problem.terrain) == (60.0, 1.0 / 30.0, "flat")


def test_a_study_stops_and_goes_on(tmp_path: Path, cpu: wp.Device, silence: Progress) -> None:
    study = EvolveDevelopment(**TINY)  # type: ignore[arg-type]
    whole = study.compute(cpu, None, silence)
    broken = EvolveDevelopment(**TINY, minutes=1e-9, folder=tmp_path)  # type: ignore[arg-type]
    first = broken.compute(cpu, None, silence)
    assert not any(arm.finished for arm in first.values())
    names = by_name(broken.measure(first))
    assert "evolution-generations-of-2" in names
    assert all(row.passed is None for row in names.values())
    later = EvolveDevelopment(**TINY, resume=True, folder=tmp_path).compute(cpu, None, silence)  # type: ignore[arg-type]
    for name, arm in later.items():
        np.testing.assert_array_equal(arm.best, whole[name].best)


def test_the_command_keeps_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--population", "4", "--repetitions", "2", "--seconds", "0.3", "--quick", "--no-plot", "--device", "cpu"]
    where = ["--out", str(tmp_path)]
    command.command(["evolve-development", *sizes, "--generations", "1", *where])
    command.command(["evolve-development", *sizes, "--generations", "2", "--resume", *where])
    assert "evolution-best" in capsys.readouterr().out
    assert (tmp_path / "results.json").exists()
    assert len((tmp_path / "development" / "history.csv").read_text().splitlines()) == 1 + 3 * 2


def test_statistics() -> None:
    low, high = np.arange(5.0), np.arange(5.0) + 10.0
    assert p_value(high, low) == pytest.approx(1.0 / math.comb(10, 5))
    assert p_value(low, high) > 0.99
    assert superiority(high, low) == 1.0
    assert superiority(low, low) == 0.5
    assert np.isnan(superiority(low, np.full(5, np.nan)))  # an arm that was not run
    assert math.isnan(p_value(high, np.array([np.nan])))
    rows = by_name(comparison("a-over-b", high, low, judged=True))
    assert rows["a-over-b-ratio"].value == 6.0
    assert rows["a-over-b-ratio"].passed
    assert rows["a-over-b-p-value"].passed
    assert not by_name(comparison("a", low, high, judged=True))["a-p-value"].passed


def test_overtaking() -> None:
    first, second = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[2.0], [1.0], [3.5], [5.0]])
    assert overtaken(first, second) == 2.0
    assert overtaken(second[:1], second[:1] + 1.0) == 0.0
    assert math.isnan(overtaken(second, first))
    assert early(500) == 25
    assert early(3) == 1


def test_sensing_counts_shapes() -> None:
    def arm(name: str, value: float) -> Arm:
        return Arm(name, np.full((2, 3), value), 1, 6, 1.0, 4)

    found = {f"{kind}-{shape}": arm(kind, 2.0 if kind == "sensing" else 1.0)
             for kind in ("phases", "sensing") for shape in ("worm", "biped", "tripod")}  # fmt: skip
    found["sensing-worm"] = arm("sensing-worm", 0.5)
    rows = by_name(EvolveSensing(quick=True).measure(found))
    assert rows["shapes-where-sensing-is-ahead"].value == 2
    assert rows["shapes-where-sensing-is-ahead"].passed
    assert not by_name(EvolveSensing().measure(found))["shapes-where-sensing-is-ahead"].passed


def test_bad_contests() -> None:
    with pytest.raises(InvalidValue, match="population of .* must be a whole number of 1 or more"):
        EvolveBody(population=0)
    with pytest.raises(InvalidValue, match="minutes of .* must be a finite number above 0"):
        EvolveBody(minutes=-1.0)
    with pytest.raises(InvalidValue, match="generations of .* must be a whole number of 0 or more or None, not -1"):
        EvolveBody(generations=-1)

"""`annelid evolve`: its files, its table, its list, and what it says to what makes no sense."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evolve_test_problems import Bowl, BowlOptions
from rich.console import Console

from annelid import voxels
from annelid.cli import main
from annelid.evolve import EA, Experiment, evolve, read_history
from annelid.evolve.display import SearchDisplay
from annelid.evolve.experiments import experiment_names

FILE = """
generations = 4
repetitions = 2

[problem]
name = "evolve_test_problems:{problem}"
{options}

[searcher]
name = "{searcher}"
population = 10
"""


def written(folder: Path, *, problem: str = "BowlOptions", options: str = "", searcher: str = "ea") -> str:
    path = folder / "mine.toml"
    path.write_text(FILE.format(problem=problem, options=options, searcher=searcher))
    return str(path)


def code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["evolve", *arguments])
    return int(caught.value.code or 0)


def test_a_file_becomes_a_folder_of_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert code(written(tmp_path), "--out", str(out), "--repetitions", "3", "--device", "cpu") == 0
    assert {path.name for path in out.iterdir()} == {
        "best.json", "checkpoint.npz", "experiment.json", "history.csv", "history.png", "results.json",
    }  # fmt: skip
    history = read_history(out / "history.csv")
    assert history["best"].shape == (5, 3)
    assert history["seed"][0].tolist() == [0, 1, 2]
    robots = json.loads((out / "best.json").read_text())["robots"]
    assert [robot["fitness"] for robot in robots] == sorted(history["best"][-1], reverse=True)
    assert len(robots[0]["robot"]["bowl"]) == 4
    assert (out / "history.png").read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr()
    assert "best-fitness" in shown.out
    assert "mine (this process): generation 4/4, best " in shown.err.replace("\n", " ")
    assert "evaluations/s" in shown.err
    assert "remaining 0:00" in shown.err


def test_it_goes_on_further_and_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = written(tmp_path), str(tmp_path / "out")
    assert code(file, "--out", out, "--generations", "2", "--json") == 0
    assert code(file, "--out", out, "--resume", "--json") == 0
    lines = capsys.readouterr().out.splitlines()
    found = {m["name"]: m["value"] for m in json.loads(lines[-1])["measurements"]}
    assert len(lines) == 2
    assert found["evaluations"] == 100
    expected = evolve(Experiment("mine", BowlOptions(), EA(population=10), generations=4, repetitions=2))
    assert found["best-fitness"] == expected.fitness.max()


@pytest.mark.parametrize(
    ("film", "sentence"),
    [
        (lambda problem, row: None, "must be a simulation and the time to watch it [s], not None."),
        (lambda problem, row: (3, 0.2), "must be a simulation and the time to watch it [s], not (3, 0.2)."),
        (lambda problem, row: (crawling(row), "long"), "must be a simulation and the time to watch it [s], not ("),
        (lambda problem, row: (crawling(row), float("nan")), "must begin at step 0 and last a positive time, not at"),
        (lambda problem, row: (crawling(row, 2), 1.0), "not at step 2 for 1.0 s."),
    ],
)
def test_a_film_that_cannot_be_shown_is_told_before_the_search(
    film: Any, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Bowl, "film", film, raising=False)
    out = tmp_path / "out"
    assert code(written(tmp_path), "--out", str(out), "--video", "--device", "cpu") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith("annelid: the film of problem 'bowl' must")
    assert sentence in told
    assert not out.exists()


def crawling(row: np.ndarray, steps: int = 0) -> Any:
    """A simulation that a film could be made of, some steps on."""
    assert row.shape == (4,)
    simulation = voxels.simulation([voxels.worm(3)], gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.step(steps)
    return simulation


def test_a_video_of_the_best(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = written(tmp_path, problem="CrawlOptions", options="seconds = 0.5")
    assert code(file, "--out", str(out), "--generations", "0", "--video", "--device", "cpu") == 0
    assert (out / "best.mp4").stat().st_size > 1000


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("--list") == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in experiment_names())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-experiment"], "there is no experiment named 'no-such-experiment'"),
        (["nowhere.toml"], "nowhere.toml cannot be read"),
        ([], "name a file or an experiment"),
        (["FILE", "--generations", "-1"], "generations of an experiment must be a whole number of 0 or more, not -1"),
        (["FILE", "--repetitions", "0"], "repetitions of an experiment must be a whole number of 1 or more, not 0"),
        (["FILE", "--executor", "processes", "--workers", "0"], "workers must be 1 or more, not 0"),
        (["FILE", "--executor", "processes", "--ray-address", "x:1"], "goes with the executor 'ray'"),
        (["FILE", "--ray-address", "nonsense"], "must be host:port"),
        (["FILE", "--ray-address", "127.0.0.1:9"], "no Ray cluster answers at 127.0.0.1:9"),
        (["FILE", "--out", "FILE/inside"], "cannot be written"),
        (["FILE", "--out", "/proc/nowhere"], "cannot be written"),
        (["FILE", "--device", "tpu"], "unknown device 'tpu'"),
        (["FILE", "--video", "--generations", "1000000"], "problem 'bowl' has no film"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [argument.replace("FILE", written(tmp_path)) for argument in arguments]
    out = [] if "--out" in given or not given else ["--out", str(tmp_path / "out")]
    assert code(*given, *out, *([] if not given else ["--json"])) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert "Traceback" not in shown.err
    assert shown.err.startswith("annelid: ")


def test_an_unknown_searcher_in_a_file_names_the_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code(written(tmp_path, searcher="annealing"), "--out", str(tmp_path / "out")) == 2
    assert "Known: age-fitness, cma, ea, informed, map-elites, novelty, nsga2, random." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_live_table_shows_the_last_generations() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    with SearchDisplay("bowl", console=screen) as display:
        evolve(Experiment("bowl", BowlOptions(), EA(population=10), generations=15, repetitions=2), watch=display)
    last = screen.file.getvalue().rpartition("bowl")[2]
    assert all(name in last for name in ("generation", "best", "median best", "evaluations/s", "remaining"))
    assert "15/15" in last
    assert "6/15" in last
    assert " 5/15" not in last

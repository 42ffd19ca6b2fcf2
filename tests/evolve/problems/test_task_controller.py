"""Controllers of a user's own task: what they earn, alone and among others, and how a search of them is commanded."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import control, envs
from annelid.cli import main
from annelid.core.errors import StepTooLong
from annelid.core.snapshot import host_array
from annelid.evolve import Experiment
from annelid.evolve.experiment import problem_from_table
from annelid.evolve.problems.task_controller import TaskController
from annelid.evolve.registry import problem_table

from ...task_file import written

SENSING: dict[str, Any] = {"controller": "sensing", "hidden": (2,), "frequency": 7.0}


def problem_of(task: str, device: str = "cpu", **options: Any) -> Any:
    return TaskController(task=task, **options).build(device=device, threads=1)


def returned(task: str, act: Any, device: str = "cpu", **options: Any) -> float:
    """Return of an episode in which `act` chooses actions from the time and the observation."""
    worlds = envs.make_worlds(task, 1, device=device, threads=1, **options)
    worlds.restart(seeds=[0])
    total = 0.0
    while not worlds.done.numpy()[0]:
        time = float(worlds.steps.numpy()[0]) * worlds.action_seconds
        worlds.step(np.clip(act(time, worlds.observations["observation"].numpy()[0]), -1.0, 1.0)[None])
        total += float(worlds.rewards.numpy()[0])
    return total


def test_the_fitness_of_phases_is_the_return_of_an_episode(tmp_path: Path, device: str) -> None:
    task = written(tmp_path)
    found = problem_of(task, device, frequency=7.0, options={"friction": 0.5}).evaluate(np.array([[0.3, 2.0]]))
    expected = returned(
        task, lambda time, seen: np.sin(2 * math.pi * 7.0 * time + np.array([0.3, 2.0])), device, friction=0.5
    )
    assert abs(expected) > 1e-4
    assert found.fitness[0] == pytest.approx(expected, rel=1e-3)
    assert found.measures[0, 1] == 1.0


def test_a_network_reads_all_sensors(tmp_path: Path, device: str) -> None:
    task = written(tmp_path)
    problem = problem_of(task, device, **SENSING)
    row = problem.sample(np.random.default_rng(0), 1)
    network = control.controller_from_dict(problem.describe(row[0])["controller"])
    assert isinstance(network, control.MLP)
    expected = returned(task, lambda time, seen: network.act(time, seen, 2), device)
    assert problem.evaluate(row).fitness[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("options", [{}, {"controller": "development"}, SENSING], ids=["phases", "development", "net"])
def test_a_controller_among_others_earns_what_it_would_alone(
    tmp_path: Path, device: str, options: dict[str, Any]
) -> None:
    task = written(tmp_path)
    many, pieces = (problem_of(task, device, worlds=worlds, **options) for worlds in (64, 2))
    rows = many.sample(np.random.default_rng(1), 5)
    found = many.evaluate(rows)
    assert len(set(found.fitness.tolist())) == 5
    for other in (pieces.evaluate(rows), many.evaluate(rows)):
        np.testing.assert_array_equal(other.fitness, found.fitness)
        np.testing.assert_array_equal(other.measures, found.measures)
    assert pieces.evaluate(rows[3:4]).fitness[0] == found.fitness[3]


def test_returns_of_several_episodes_are_averaged(tmp_path: Path) -> None:
    task = written(tmp_path, ("return now", "return self.luck(len(actions)) + now"), ("    def reward", LUCK))
    rows = np.array([[0.0, 1.0], [2.0, 0.5]])
    once, thrice = (problem_of(task, episodes=episodes).evaluate(rows).fitness for episodes in (1, 3))
    places = problem_of(written(tmp_path)).evaluate(rows).fitness
    actions = 3
    np.testing.assert_allclose(once, places + actions * np.array([0.0, 1.0]), atol=1e-6)
    np.testing.assert_allclose(thrice, places + actions * np.array([1.0, 4.0]), atol=1e-6)


LUCK = """    def luck(self, worlds):
        import numpy
        return numpy.arange(worlds)

    def reward"""


def test_a_world_that_diverges_has_failed(tmp_path: Path) -> None:
    task = written(tmp_path, ("dt=2e-4", "dt=0.01"), ("seconds = 0.06", "seconds = 2.0"))
    with pytest.warns(StepTooLong):
        found = problem_of(task).evaluate(np.array([[0.0, 1.0]]))
    assert np.isnan(found.fitness).all()
    assert found.measures[0, 1] < 1.0  # lasted


def test_the_film_shows_what_was_paid(tmp_path: Path) -> None:
    problem = problem_of(written(tmp_path), **SENSING)
    row = problem.sample(np.random.default_rng(2), 1)
    problem.require_film()
    film = problem.shown(row[0])
    places = [
        host_array(next(part for part in shot.parts if part.name == "body").vertices).mean(axis=0)
        for shot in film.moments
    ]
    assert (len(places), film.fps) == (4, 30.0)
    assert places[-1][0] - places[0][0] == pytest.approx(problem.evaluate(row).fitness[0], abs=1e-6)


def test_ready_environments_are_searched_too() -> None:
    options = {"body": "worm", "seconds": 0.2}
    problem = problem_of("annelid/VoxelLocomotion-v0", options=options, controller="sensing")
    assert np.isfinite(problem.evaluate(problem.sample(np.random.default_rng(0), 2)).fitness).all()
    problem.require_film()


def test_the_name_of_a_file_is_short_for_the_problem(tmp_path: Path) -> None:
    task = written(tmp_path)
    short = problem_from_table({"name": task, "episodes": 2, "options": {"friction": 0.1}})
    assert short == TaskController(task=task, episodes=2, options={"friction": 0.1})
    assert problem_from_table(problem_table(short)) == short
    assert Experiment.from_table(Experiment("crawl", short).to_table()).problem == short


def test_a_changed_task_is_another_problem(tmp_path: Path) -> None:
    task = written(tmp_path)
    before = problem_of(task).fingerprint()
    path = Path(task.rpartition(":")[0])
    path.write_text(path.read_text() + "\n# a remark\n")
    assert problem_of(task).fingerprint() == before
    path.write_text(path.read_text().replace("return now", "return 2.0 * now"))
    assert problem_of(task).fingerprint() != before


def code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["evolve", *arguments, "--device", "cpu", "--threads", "1"])
    return int(caught.value.code or 0)


def test_the_command_searches_goes_on_and_leaves_a_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, entries = written(tmp_path), ["searcher.population=4", "problem.frequency=7", "--no-plot", "--json"]
    monkeypatch.chdir(tmp_path)
    assert code(f"problem={task}", *entries, "--generations", "1") == 0
    assert code(task, *entries, "--generations", "2", "--resume") == 0
    assert code("crawl.py", *entries, "--generations", "2", "--out", "whole", f"problem.task={task}") == 0
    folders = tmp_path / "out" / "crawl-phases", tmp_path / "whole"
    histories = [(folder / "history.csv").read_text() for folder in folders]
    assert histories[0] == histories[1]
    best = json.loads((folders[0] / "best.json").read_text())["robots"][0]
    found = control.read_controller(folders[0])
    assert isinstance(found, control.PhasedSines)
    assert found.parameters.tolist() == best["parameters"]
    assert found.frequency.tolist() == [7.0, 7.0]


def test_a_file_beside_an_experiment_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    file = tmp_path / "mine.toml"
    file.write_text('problem = "crawl.py:Crawl"\ngenerations = 0\n[searcher]\nname = "random"\npopulation = 3\n')
    assert code(str(file), "--out", str(tmp_path / "out"), "--no-plot", "--json", "--friction", "0.3") == 0
    told = {m["name"]: m["value"] for m in json.loads(capsys.readouterr().out)["measurements"]}
    assert told["evaluations"] == 3
    assert json.loads((tmp_path / "out" / "experiment.json").read_text())["problem"]["options"] == {"friction": 0.3}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.py:Crawl"], "there is no file absent.py."),
        (["TASKS"], "there is no task in crawl.py named 'CrawlS'. Did you mean 'Crawl'?"),
        (["TASK", "problem.options.friction=1"], "options of a task are flags: give --friction 1 instead."),
        (["TASK", "problem.controller=brain"], "must be one of phases, development, sensing, not 'brain'."),
        (["TASK", "problem.hidden=[4]"], "hidden layers go with the controller 'sensing'"),
        (["TASK", "problem.frequency=0"], "frequency of task-controller must be a finite number above 0 Hz, not 0"),
        (["TASK", "problem.episodes=0"], "episodes of task-controller must be a whole number of 1 or more"),
        (["TASK", "problem.worlds=0"], "worlds of task-controller must be a whole number between 1 and"),
        (["TASK", "problem.seed.x=0"], "problem.seed must be a whole number, not {'x': 0}."),
        (["phases-biped", "problem.width.x=0"], "problem.width is no table of an experiment that could hold x."),
        (["TASK", "searcher=annealing"], "there is no searcher named 'annealing'"),
        (["problem.frequency=2"], "say what is searched"),
        (["problem=task-controller"], "needs a task: FILE.py:NAME"),
        (["problem=task-controller", "problem.task=Crawl"], "A task of your own is named FILE.py:NAME"),
    ],
)
def test_what_cannot_be_searched_is_told_in_a_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = written(tmp_path)
    given = [argument.replace("TASK", task) for argument in arguments]
    assert code(*given, "--out", str(tmp_path / "out")) == 2
    told = capsys.readouterr().err
    assert told.startswith("annelid: ")
    assert told.count("\n") == 1
    assert sentence in told
    assert not (tmp_path / "out").exists()

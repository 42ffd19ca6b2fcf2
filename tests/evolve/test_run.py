"""Runs: repetitions side by side, failures, equal robots, checkpoints and their refusal."""

import logging
from pathlib import Path

import numpy as np
import pytest
from evolve_test_problems import BowlOptions, CrawlOptions

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.evolve import EA, Evaluation, Experiment, Problem, RandomSearch, Run, evolve, read_history
from annelid.evolve.checkpoint import OtherExperiment
from annelid.evolve.executors.local import Local

BOWL = Experiment("bowl", BowlOptions(), EA(population=20), generations=6, seed=3, repetitions=3)


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def test_repetitions_side_by_side_are_those_that_run_alone() -> None:
    together = evolve(BOWL)
    for i, seed in enumerate(BOWL.seeds):
        alone = evolve(BOWL.changed(seed=seed, repetitions=1))
        assert same(alone.history, {name: column[:, [i]] for name, column in together.history.items()})
        assert np.array_equal(alone.champions[0], together.champions[i])


def test_every_generation_is_one_batch_of_all_repetitions() -> None:
    class Counting(Local):
        batches: list[int]

        def evaluate(self, batch: np.ndarray) -> Evaluation:
            self.batches.append(len(batch))
            return super().evaluate(batch)

    executor = Counting(BOWL.problem.build())
    executor.batches = []
    found = evolve(BOWL, executor=executor)
    assert executor.batches == [60] * 7
    assert found.evaluations == 420
    assert found.history["evaluations"][:, 0].tolist() == [20, 40, 60, 80, 100, 120, 140]


def test_voxel_robots_get_better(device: str) -> None:
    found = evolve(Experiment("crawl", CrawlOptions(), EA(population=20), generations=4), device=device)
    assert found.history["best"][-1, 0] > found.history["best"][0, 0]
    problem = CrawlOptions().build(device=device)
    assert problem.evaluate(found.champions).fitness[0] == found.fitness[0]


def test_a_trial_does_not_depend_on_its_neighbours(device: str) -> None:
    problem = CrawlOptions().build(device=device)
    rows = problem.sample(np.random.default_rng(0), 13)
    whole = problem.evaluate(rows).fitness
    parts = [problem.evaluate(rows[part]).fitness for part in (slice(0, 1), slice(1, 6), slice(6, 13))]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(problem.evaluate(rows[::-1]).fitness[::-1], whole)


def test_failures_are_worst_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    options = BowlOptions(fails_below=0.0)
    with caplog.at_level(logging.WARNING, logger="annelid.evolve"):
        found = evolve(Experiment("bowl", options, EA(population=20), generations=5))
    assert 5 <= found.history["invalid"][0, 0] <= 15
    assert "generation 0, seed 0:" in caplog.text
    assert "of 20 trials gave no number and count as worst" in caplog.text
    assert found.champions[0, 0] >= 0.0
    assert np.isfinite(found.fitness).all()


def test_a_search_in_which_all_fails_ends_and_says_so(tmp_path: Path) -> None:
    found = evolve(Experiment("bowl", BowlOptions(fails_below=9.0), EA(population=5), generations=2), folder=tmp_path)
    assert found.history["invalid"].sum() == 15
    assert found.fitness[0] == -np.inf
    assert read_history(tmp_path / "history.csv")["best"][-1, 0] == -np.inf
    assert '"robots": []' in (tmp_path / "best.json").read_text()


def test_equal_robots_are_tried_once_with_the_same_result() -> None:
    experiment = Experiment("bowl", BowlOptions(rounded=True, parameters=2), EA(population=30), generations=10)
    problem = experiment.problem.build()
    remembered = Run(experiment, problem, Local(problem))
    forgetful = experiment.problem.build()
    forgetful.keys = lambda batch: None
    plain = Run(experiment, forgetful, Local(forgetful))
    while not plain.finished:
        plain.step()
        remembered.step()
    assert same(plain.history.arrays(), remembered.history.arrays())
    assert problem.evaluated < forgetful.evaluated == plain.evaluations == remembered.evaluations


@pytest.mark.parametrize("searcher", [EA(population=20), RandomSearch(population=20)])
def test_a_resumed_search_is_an_uninterrupted_one(tmp_path: Path, searcher: object) -> None:
    experiment = Experiment("bowl", BowlOptions(), searcher, generations=8, repetitions=2)
    whole = evolve(experiment, folder=tmp_path / "whole")
    evolve(experiment.changed(generations=3), folder=tmp_path / "parts")
    parts = evolve(experiment, folder=tmp_path / "parts", resume=True)
    assert same(whole.history, parts.history)
    for name in ("history.csv", "best.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_what_was_found_is_on_disk_when_a_search_is_interrupted(tmp_path: Path) -> None:
    def stop(run: Run) -> None:
        if run.generation == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evolve(BOWL, folder=tmp_path, watch=stop)
    assert len(read_history(tmp_path / "history.csv")["best"]) == 3
    assert same(evolve(BOWL, folder=tmp_path, resume=True).history, evolve(BOWL).history)
    assert not list(tmp_path.glob(".*"))


def test_a_folder_with_a_search_is_not_overwritten_unasked(tmp_path: Path) -> None:
    evolve(BOWL.changed(generations=1), folder=tmp_path)
    before = (tmp_path / "checkpoint.npz").read_bytes()
    with pytest.raises(InvalidValue, match="--resume"):
        evolve(BOWL, folder=tmp_path)
    assert (tmp_path / "checkpoint.npz").read_bytes() == before
    evolve(BOWL.changed(generations=0), folder=tmp_path, overwrite=True)
    assert len(read_history(tmp_path / "history.csv")["best"]) == 1


def test_resuming_where_nothing_is_begins(tmp_path: Path) -> None:
    assert same(evolve(BOWL, folder=tmp_path, resume=True).history, evolve(BOWL).history)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (BOWL.changed(searcher=EA(population=21)), "searcher.population is 20 there and 21 here"),
        (BOWL.changed(searcher=RandomSearch(20)), "searcher.name is ea there and random here"),
        (BOWL.changed(problem=BowlOptions(parameters=5)), "problem.parameters is 4 there and 5 here"),
        (BOWL.changed(seed=9), "seed is 3 there and 9 here"),
        (BOWL.changed(repetitions=4), "repetitions is 3 there and 4 here"),
    ],
)
def test_the_checkpoint_of_another_experiment_is_refused(tmp_path: Path, other: Experiment, sentence: str) -> None:
    evolve(BOWL.changed(generations=1), folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(OtherExperiment, match=sentence):
        evolve(other, folder=tmp_path, resume=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_problem_that_means_something_else_now_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evolve(BOWL.changed(generations=1), folder=tmp_path)
    monkeypatch.setattr(Problem, "fingerprint", lambda self: "another")
    with pytest.raises(OtherExperiment, match="meant something else"):
        evolve(BOWL, folder=tmp_path, resume=True)


@pytest.mark.parametrize("damage", [b"", b"not a zip", b"half", b"flip"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: bytes) -> None:
    evolve(BOWL.changed(generations=1), folder=tmp_path)
    path = tmp_path / "checkpoint.npz"
    data = bytearray(path.read_bytes())
    if damage == b"flip":
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(data[: len(data) // 2] if damage == b"half" else data if damage == b"flip" else damage)
    with pytest.raises(FileFormatError, match="checkpoint.npz"):
        evolve(BOWL, folder=tmp_path, resume=True)


def test_a_checkpoint_with_pickles_or_packed_parts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    np.savez(path, header=np.array([{"format": "annelid-evolution"}], dtype=object))
    with pytest.raises(FileFormatError, match="not a checkpoint"):
        evolve(BOWL, folder=tmp_path, resume=True)
    np.savez_compressed(path, header=np.zeros(10_000_000, np.uint8))
    with pytest.raises(FileFormatError, match="unpacks to"):
        evolve(BOWL, folder=tmp_path, resume=True)


def test_a_problem_that_breaks_its_promises_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = BOWL.problem.build()
    monkeypatch.setattr(type(problem), "evaluate", lambda self, batch: Evaluation(np.zeros(3)))
    with pytest.raises(InvalidValue, match=r"shapes \(3,\) and None for 60 rows"):
        evolve(BOWL)
    monkeypatch.setattr(type(problem), "sample", lambda self, rng, count: np.zeros((count, 9)))
    with pytest.raises(AnnelidError, match="has 4 parameters, but rows of shape"):
        evolve(BOWL)

"""The search that foresees: forecasts against their definition, no robot twice, fewer trials than without."""

from __future__ import annotations

import numpy as np
import pytest
from evolve_test_problems import BowlOptions

from annelid.core.errors import InvalidValue
from annelid.evolve.chance import chance
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.forecast import forecast, unlike
from annelid.evolve.informed import Informed


class Letters(Problem):
    """Words of 20 letters from 0 to 3; the more of them are those of a secret word, the fitter."""

    name = "letters"
    parameters = 20

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.uniform(0.0, 4.0, (count, self.parameters))

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        return Evaluation((self.traits(batch) == np.arange(self.parameters) % 4).mean(axis=1))

    def traits(self, batch: np.ndarray) -> np.ndarray:
        return (np.floor(batch) % 4).astype(np.int16)

    def describe(self, parameters: np.ndarray) -> dict[str, object]:
        return {}


def best_of(options: Informed, generations: int, seed: int) -> float:
    problem = Letters()
    search, best = options.build(problem, chance(seed)), 0.0
    for _ in range(generations):
        batch = search.ask()
        evaluation = problem.evaluate(batch)
        search.tell(batch, evaluation)
        best = max(best, float(evaluation.fitness.max()))
    return best


def test_likeness_is_the_share_of_equal_traits() -> None:
    one, other = np.array([[0, 1, 2, 3], [0, 0, 0, 0]]), np.array([[0, 1, 2, 0]])
    np.testing.assert_allclose(unlike(one, other), [[0.25], [0.5]])


def test_forecasts_go_through_trials_and_doubt_what_is_far_from_them() -> None:
    rng = np.random.default_rng(0)
    traits = rng.integers(0, 4, (60, 12))
    fitness = (traits[:, :6] == 1).mean(axis=1)
    expected, deviation = forecast(traits, fitness, traits)
    assert np.corrcoef(expected, fitness)[0, 1] > 0.95
    fresh = rng.integers(0, 4, (200, 12))
    foreseen, doubt = forecast(traits, fitness, fresh)
    assert np.corrcoef(foreseen, (fresh[:, :6] == 1).mean(axis=1))[0, 1] > 0.5
    assert deviation.mean() < doubt.mean()
    flat, _ = forecast(traits, np.ones(60), fresh)
    np.testing.assert_allclose(flat, 1.0)


def test_no_robot_is_tried_twice() -> None:
    problem = Letters()
    search = Informed(population=10, candidates=4).build(problem, chance(1))
    tried = []
    for _ in range(12):
        tried.append(search.ask())
        search.tell(tried[-1], problem.evaluate(tried[-1]))
    words = problem.traits(np.concatenate(tried))
    assert len(np.unique(words, axis=0)) == len(words)


def test_children_differ_from_their_parents_in_one_part() -> None:
    problem = Letters()
    problem.parts = (5, 15)
    search = Informed(population=50, parents=1, candidates=2, crossover=0.0).build(problem, chance(1))
    search.tell(batch := search.ask(), problem.evaluate(batch))
    changed = search._born(400) != search._rows[0]
    first, second = changed[:, :5].any(axis=1), changed[:, 5:].any(axis=1)
    assert (first ^ second).all()
    assert 150 < first.sum() < 250


def test_foresight_saves_trials() -> None:
    blind, seeing = ([best_of(Informed(population=10, candidates=n), 12, seed) for seed in range(5)] for n in (1, 10))
    assert np.median(seeing) > np.median(blind)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidValue, match="tells no traits"):
        Informed(population=4).build(BowlOptions().build(), chance(0)).ask()
    with pytest.raises(InvalidValue, match="mutations of informed must be two numbers, the lower"):
        Informed(mutations=(3.0, 1.0))
    with pytest.raises(InvalidValue, match="candidates of informed must be a whole number of 1 or more"):
        Informed(candidates=0)

"""The operators of the evolutionary algorithm against their definitions."""

import numpy as np
import pytest
from evolve_test_problems import BowlOptions
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from annelid.core.errors import InvalidValue
from annelid.evolve import EA, Evaluation
from annelid.evolve.chance import chance
from annelid.evolve.ea import known_before

UNLIKELY = 1e-3  # of a p-value; seeds are fixed, so that a test that passes once passes always


def evolution(rows: np.ndarray, **settings: float):
    """A search whose population is given, the best first."""
    settings = {"population": len(rows), **settings}
    search = EA(**settings).build(BowlOptions(parameters=rows.shape[1]).build(), chance(1))
    search.tell(rows, Evaluation(-np.arange(len(rows), dtype=float)))
    return search


def test_tournaments_are_won_as_often_as_their_size_says() -> None:
    count, size, draws = 50, 8, 100_000
    search = evolution(np.arange(count, dtype=float)[:, None], tournament=size)
    seen = np.bincount(search._winners(draws), minlength=count)
    at_least = ((count - np.arange(count + 1)) / count) ** size
    expected = -np.diff(at_least) * draws
    common = expected >= 5
    observed = np.append(seen[common], seen[~common].sum())
    theory = np.append(expected[common], expected[~common].sum())
    assert stats.chisquare(observed, theory).pvalue > UNLIKELY


def test_crossover_reaches_uniformly_beyond_both_parents_gene_by_gene() -> None:
    first, second = np.zeros(400), np.ones(400)
    search = evolution(np.stack([first, second]), crossover=1.0, population=2, tournament=1, retries=0)
    children = search._children(400)
    crossed = children[(children != 0.0).any(axis=1) & (children != 1.0).any(axis=1)]
    assert stats.binomtest(len(crossed), 400, 0.5).pvalue > UNLIKELY
    # α from either end: 1 - U(-1, 2) is U(-1, 2) again
    assert stats.kstest(crossed.ravel(), stats.uniform(-1.0, 3.0).cdf).pvalue > UNLIKELY
    assert abs(np.corrcoef(crossed[:, 0], crossed[:, 1])[0, 1]) < 0.25


def test_mutation_adds_noise_of_sigma_to_every_gene() -> None:
    parents = np.zeros((1, 500))
    children = evolution(parents, crossover=0.0)._children(200)
    assert stats.kstest(children.ravel(), stats.norm(0.0, 0.15).cdf).pvalue > UNLIKELY
    assert (children != 0.0).all()


def test_operators_are_chosen_with_their_probabilities() -> None:
    children = evolution(np.zeros((1, 3)))._children(10_000)  # crossing equal parents changes nothing
    mutated = int((children != 0.0).any(axis=1).sum())
    assert stats.binomtest(mutated, 10_000, 0.2).pvalue > UNLIKELY


@pytest.mark.parametrize("retries", [0, 1, 10])
def test_a_child_that_exists_is_drawn_again_so_many_times(retries: int) -> None:
    count = 4000
    search = evolution(np.zeros((count, 2)), retries=retries)
    same = int((search.ask() == 0.0).all(axis=1).sum())
    assert stats.binomtest(same, count, 0.8 ** (retries + 1)).pvalue > UNLIKELY


def test_children_are_new_among_parents_and_siblings() -> None:
    search = EA(population=60).build(BowlOptions().build(), chance(3))
    for _ in range(20):
        batch = search.ask()
        everyone = np.concatenate([search._rows, batch])
        assert len(np.unique(everyone, axis=0)) == len(everyone)
        search.tell(batch, Evaluation(-(batch**2).sum(axis=1)))


@given(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 1.0]), max_size=8), st.lists(st.sampled_from([-1.0, 0.0, 2.0])))
def test_known_before_is_what_a_walk_through_the_children_finds(parents: list[float], children: list[float]) -> None:
    expected = [child in parents or child in children[:i] for i, child in enumerate(children)]
    found = known_before(np.array(parents).reshape(-1, 1), np.array(children).reshape(-1, 1))
    assert found.tolist() == expected


def test_the_best_of_parents_and_children_survive_and_failures_are_worst() -> None:
    search = EA(population=3).build(BowlOptions(parameters=1).build(), chance(0))
    search.tell(np.array([[1.0], [2.0], [3.0]]), Evaluation(np.array([1.0, np.nan, 3.0])))
    assert search.fitnesses().tolist() == [3.0, 1.0, -np.inf]
    search.tell(np.array([[4.0], [5.0], [6.0]]), Evaluation(np.array([3.0, np.inf, -9.0])))
    assert search.fitnesses().tolist() == [3.0, 3.0, 1.0]
    assert search._rows[:, 0].tolist() == [3.0, 4.0, 1.0]  # of equal ones the older first


def test_a_population_in_which_everything_failed_goes_on() -> None:
    search = EA(population=4).build(BowlOptions().build(), chance(0))
    search.tell(search.ask(), Evaluation(np.full(4, np.nan)))
    assert np.isfinite(search.ask()).all()


@pytest.mark.parametrize(
    "settings",
    [{"population": 0}, {"tournament": 0}, {"crossover": 1.5}, {"sigma": -1.0}, {"sigma": np.nan}, {"retries": -1}],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidValue):
        EA(**settings)

"""Every searcher on a small problem whose optimum is known: it improves, repeats itself, and can be put aside."""

import json

import numpy as np
import pytest
from evolve_test_problems import BowlOptions

from annelid.core.errors import FileFormatError, InvalidValue, MissingPackage, UnknownName
from annelid.core.packages import optional
from annelid.evolve import EA, Evaluation, Experiment, evolve
from annelid.evolve.adapters.cma_es import CmaEs
from annelid.evolve.adapters.multi_objective import Nsga2
from annelid.evolve.adapters.quality_diversity import MapElites
from annelid.evolve.age_fitness import AgeFitness
from annelid.evolve.chance import chance
from annelid.evolve.checkpoint import flatten, unflatten
from annelid.evolve.informed import Informed
from annelid.evolve.novelty import Novelty
from annelid.evolve.random_search import RandomSearch
from annelid.evolve.registry import searcher_options

PACKAGES = {"cma": "cma", "map-elites": "ribs", "nsga2": "pymoo"}
SEARCHERS = {
    "ea": (EA(population=60), -1e-4),
    "age-fitness": (AgeFitness(population=30, sigma=0.1, rate=0.5), -0.01),
    "novelty": (Novelty(population=20, fitness=0.7, sigma=0.1, rate=0.5), -0.05),
    "informed": (Informed(population=20, candidates=1, mutations=(1.0, 9.0), sigma=(0.02, 0.5)), -0.01),
    "random": (RandomSearch(population=20), -0.3),
    "cma": (CmaEs(population=10), -1e-4),
    "map-elites": (MapElites(population=20, cells=5), -0.05),
    "map-elites-cma": (MapElites(population=20, cells=5, emitter="cma", sigma=0.2), -0.05),
    "nsga2": (Nsga2(population=20, objectives=("fitness", "-first")), -0.05),
}


@pytest.fixture(params=SEARCHERS)
def searcher(request: pytest.FixtureRequest) -> tuple[object, float]:
    options, goal = SEARCHERS[request.param]
    if options.name in PACKAGES:
        pytest.importorskip(PACKAGES[options.name])
    return options, goal


def told(search, problem, generations: int) -> list[np.ndarray]:
    asked = []
    for _ in range(generations):
        asked.append(search.ask())
        search.tell(asked[-1], problem.evaluate(asked[-1]))
    return asked


def test_it_finds_the_bottom_of_a_bowl(searcher: tuple[object, float]) -> None:
    options, goal = searcher
    found = evolve(Experiment("bowl", BowlOptions(), options, generations=40, repetitions=2))
    assert (found.fitness > goal).all()
    assert (found.history["best"][-1] > found.history["best"][0]).all()
    assert (np.diff(found.history["best"], axis=0) >= 0.0).all()
    assert np.isfinite(found.champions).all()


def test_it_goes_on_from_its_state_as_if_it_had_never_stopped(searcher: tuple[object, float]) -> None:
    options, _ = searcher
    problem = BowlOptions().build()
    whole, first, second = (options.build(problem, chance(5)) for _ in range(3))
    expected = told(whole, problem, 9)
    told(first, problem, 5)
    plain, arrays = flatten(first.state(), "x")
    second.restore(unflatten(json.loads(json.dumps(plain)), arrays, "x"))
    assert second.statistics() == first.statistics()
    for found, known in zip(told(second, problem, 4), expected[5:], strict=True):
        assert np.array_equal(found, known)


def test_it_does_not_listen_to_global_chance(searcher: tuple[object, float]) -> None:
    options, _ = searcher
    problem = BowlOptions().build()
    first = told(options.build(problem, chance(2)), problem, 3)
    np.random.seed(99)  # noqa: NPY002 - the very thing that must not matter
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    second = told(options.build(problem, chance(2)), problem, 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    other = told(options.build(problem, chance(3)), problem, 3)
    assert not np.array_equal(first[0], other[0])


def test_failures_do_not_stop_it(searcher: tuple[object, float]) -> None:
    options, _ = searcher
    problem = BowlOptions(fails_below=0.2).build()
    search = options.build(problem, chance(0))
    search.tell(batch := search.ask(), Evaluation(np.full(len(batch), np.nan), np.full((len(batch), 2), np.nan)))
    best = -np.inf
    for _ in range(25):
        batch = search.ask()
        assert np.isfinite(batch).all()
        evaluation = problem.evaluate(batch)
        search.tell(batch, evaluation)
        best = max(best, np.nanmax(evaluation.fitness, initial=-np.inf))
    assert best > -0.5


def test_map_elites_keeps_the_best_of_every_cell() -> None:
    pytest.importorskip("ribs")
    problem = BowlOptions(fails_below=-0.5).build()
    search = MapElites(population=200, cells=4).build(problem, chance(0))
    rows = np.concatenate(told(search, problem, 10))
    fitness = problem.evaluate(rows).fitness
    cells = np.clip((rows[:, :2] + 1.0) // 0.5, 0, 3).astype(int) @ [4, 1]
    expected = sorted(np.nanmax(fitness[cells == c]) for c in np.unique(cells[np.isfinite(fitness)]))
    assert np.allclose(sorted(problem.evaluate(search.elites()).fitness), expected)
    assert search.statistics()["coverage"] == pytest.approx(len(expected) / 16)


def test_nsga2_keeps_what_nothing_beats_in_everything() -> None:
    pytest.importorskip("pymoo")
    problem = BowlOptions().build()
    search = Nsga2(population=40, objectives=("fitness", "-first")).build(problem, chance(0))
    told(search, problem, 30)
    front = problem.evaluate(search.elites())
    values = np.column_stack([front.fitness, -front.measures[:, 0]])
    beaten = (values[:, None] <= values[None]).all(axis=2) & (values[:, None] < values[None]).any(axis=2)
    assert len(values) > 5
    assert not beaten.any()
    assert front.measures[:, 0].min() < -0.5
    assert front.fitness.max() > -0.05


def test_a_checkpoint_that_cannot_be_replayed_is_refused() -> None:
    pytest.importorskip("cma")
    problem = BowlOptions().build()
    search = CmaEs(population=6).build(problem, chance(0))
    told(search, problem, 3)
    with pytest.raises(FileFormatError, match="cannot be replayed"):
        CmaEs(population=6).build(problem, chance(1)).restore(search.state())
    with pytest.raises(FileFormatError, match="cannot be replayed"):
        CmaEs(population=7).build(problem, chance(0)).restore(search.state())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CmaEs(population=1), "3 or more"),
        (lambda: CmaEs(sigma=0.0), "a finite number above 0"),
        (lambda: MapElites(cells=0), "a whole number of 1 or more"),
        (lambda: MapElites(sigma=-1.0), "a finite number above 0"),
        (lambda: Nsga2(population=2), "4 or more"),
        (lambda: Nsga2(room=-1.0), "0 or more"),
        (lambda: RandomSearch(population=0), "1 or more"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make()


def test_an_unknown_searcher_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'cma'.*ea, informed, map-elites, novelty, nsga2, random"):
        searcher_options("cmaes")


def test_an_unknown_objective_names_the_known_ones() -> None:
    pytest.importorskip("pymoo")
    with pytest.raises(UnknownName, match="no objective named 'third'.*first, fitness, second"):
        Nsga2(objectives=("-third",)).build(BowlOptions().build(), chance(0))


def test_a_missing_package_names_the_extra() -> None:
    with pytest.raises(MissingPackage, match="searcher 'x' needs nowhere_to_be_found.*evolve"):
        optional("nowhere_to_be_found.part", purpose="searcher 'x'", extra="evolve")


def test_novelty_spreads_where_fitness_does_not_lead() -> None:
    problem = BowlOptions().build()
    spread = {}
    for options in (Novelty(population=20, sigma=0.1, rate=0.5), EA(population=20)):
        search = options.build(problem, chance(1))
        asked = told(search, problem, 20)
        measures = problem.evaluate(asked[-1]).measures
        assert measures is not None
        spread[options.name] = measures.std(axis=0).mean()
    assert spread["novelty"] > 3.0 * spread["ea"]
    with pytest.raises(InvalidValue, match="nearest"):
        Novelty(nearest=0)

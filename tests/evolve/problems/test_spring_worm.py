"""The wave of a worm of springs."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.evolve.problems.spring_worm import SpringWorm

TINY = SpringWorm(seconds=0.2, segments=6, thickness=2)


def test_worms_do_not_know_each_other(device: str) -> None:
    problem = TINY.build(device=device)
    batch = problem.sample(np.random.default_rng(0), 5)
    found = problem.evaluate(batch).fitness
    assert np.ptp(found) > 1e-3
    np.testing.assert_array_equal(problem.evaluate(batch[1:3]).fitness, found[1:3])
    np.testing.assert_array_equal(TINY.build(device=device, threads=1).evaluate(batch[::-1]).fitness[::-1], found)


def test_a_wave_decides_where_the_worm_goes() -> None:
    problem = SpringWorm(seconds=1.5).build(device="cpu")
    still, along, against = problem.evaluate(np.array([[0.0, 0.4, 0.8], [0.7, 0.4, 0.7], [0.7, 0.4, 0.3]])).fitness
    assert abs(still) < 1e-3
    assert along > 0.02
    assert against < -0.02


def test_what_a_row_means() -> None:
    problem = TINY.build(device="cpu")
    np.testing.assert_allclose(problem.waves(np.array([[-1.0, 0.5, 2.0]])), [[0.0, 2.75, 3.0]])
    told = problem.describe(np.array([1.0, 0.0, 0.5]))
    assert told == pytest.approx({"amplitude": 0.3, "frequency": 0.5, "slope": 0.0, "length": 0.5})
    simulation, seconds = problem.film(np.array([0.5, 0.5, 0.5]))
    assert simulation.solver.model.body.mass_count == 24
    assert seconds == 0.2


def test_bad_worms() -> None:
    with pytest.raises(InvalidValue, match="segments of spring-worm must be a whole number of 2 or more, not 1"):
        SpringWorm(segments=1)
    with pytest.raises(InvalidValue, match="range of the frequency"):
        SpringWorm(frequency=(2.0, 1.0))
    with pytest.raises(InvalidValue, match="must be a finite number above 0 s"):
        SpringWorm(seconds=0.0)

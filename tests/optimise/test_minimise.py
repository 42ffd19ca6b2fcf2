"""Descents: known minima from one start and many, losses that are not finite, breaks, samples, chaos."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import annelid
from annelid import Travel, springs
from annelid.core.errors import FileFormatError, InvalidValue, SimulationDiverged
from annelid.optimise import (
    LBFGS,
    Adam,
    DependsOnNothing,
    Free,
    RolloutLoss,
    Sampled,
    SensitivityGrows,
    minimise,
    sensitivity,
)

FREE = {"k": Free(5.0, 0.1, 100.0), "x": Free([2.0, -1.0], -5.0, 5.0)}


def bowl(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
    """Least, 1, at k = 2 and x = (1, 1); for one point or rows of them."""
    k, x = values["k"], values["x"]
    off = np.log(k / 2.0)
    loss = 1.0 + off**2 + ((x - 1.0) ** 2).sum(axis=-1)
    return loss, {"k": 2.0 * off / k, "x": 2.0 * (x - 1.0)}


@pytest.mark.parametrize("starts", [None, 3])
@pytest.mark.parametrize("method", ["l-bfgs", Adam(steps=300, rate=0.1)])
def test_the_bottom_of_a_bowl_is_found(method: Any, starts: int | None) -> None:
    found = minimise(bowl, FREE, method=method, starts=starts)
    assert found.loss == pytest.approx(1.0, abs=1e-3)
    assert found.parameters["k"] == pytest.approx(2.0, rel=0.03)
    np.testing.assert_allclose(found.parameters["x"], 1.0, atol=0.03)
    assert found.each.shape == (starts or 1,)
    assert found.history.shape == (found.evaluations, starts or 1)
    assert repr(found).startswith(f"Minimum(loss 1, k {found.parameters['k']:.6g}, x [2] from ")


def test_starts_know_nothing_of_each_other() -> None:
    both = minimise(bowl, FREE, method="l-bfgs", starts=2, seed=4)
    more = minimise(bowl, FREE, method="l-bfgs", starts=5, seed=4)
    np.testing.assert_array_equal(both.points[0], more.points[0])


@pytest.mark.parametrize("method", ["l-bfgs", Adam(steps=300, rate=0.3)])
def test_a_loss_that_is_not_finite_counts_as_large(method: Any) -> None:
    def torn(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        if values["k"] < 1.8:
            raise SimulationDiverged("too soft", time=0.0, step=0)
        loss, rates = bowl(values)
        return (np.nan if values["x"][0] < 0.9 else loss), rates

    assert minimise(torn, FREE, method=method).loss == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"width": "a"}, "a width that is a number above 0, not 'a'"),
        ({"width": np.inf}, "a width that is a number above 0, not inf"),
        ({"samples": 2.5}, "a whole number of samples, 1 or more, not 2.5"),
        ({"seed": -1}, "a whole number of 0 or more, not -1"),
        ({"value": 3.0}, "must be a function of parameters by name, not float"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        Sampled(**{"value": lambda values: 0.0, "free": FREE, **changes})


def test_a_loss_that_is_finite_nowhere_is_refused() -> None:
    with pytest.raises(InvalidValue, match="finite nowhere"):
        minimise(lambda values: (np.nan, bowl(values)[1]), FREE, method=Adam(steps=3))


def test_stages_begin_where_the_last_one_ended() -> None:
    def flat(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        return np.float64(7.0), {"k": np.array(0.0), "x": np.zeros(2)}

    once = minimise(bowl, FREE, method="l-bfgs")
    twice = minimise([bowl, flat], FREE, method="l-bfgs")
    np.testing.assert_array_equal(twice.points, once.points)
    assert twice.loss == 7.0


@pytest.mark.parametrize("method", ["l-bfgs", Adam(steps=20)])
def test_a_search_goes_on_after_a_break(method: Any, tmp_path: Path) -> None:
    calls = 0

    def breaking(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        nonlocal calls
        calls += 1
        return bowl(values)

    whole = minimise(breaking, FREE, method=method, folder=tmp_path)
    asked, calls = calls, 0
    again = minimise(breaking, FREE, method=method, folder=tmp_path, resume=True)
    assert asked > 2
    assert calls == 0
    np.testing.assert_array_equal(again.points, whole.points)
    with pytest.raises(InvalidValue, match="holds a search already"):
        minimise(bowl, FREE, method=method, folder=tmp_path)
    with pytest.raises(FileFormatError, match="belongs to another search: its starts differ"):
        minimise(bowl, FREE, method=method, folder=tmp_path, resume=True, starts=2)
    other = {**FREE, "k": Free(6.0, 0.1, 100.0)}
    with pytest.raises(FileFormatError, match="belongs to another search: its beginnings and bounds differ"):
        minimise(bowl, other, method=method, folder=tmp_path, resume=True)
    minimise(bowl, other, method=method, folder=tmp_path, overwrite=True)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"method": "newton"}, "method 'newton' must be one of adam, l-bfgs"),
        ({"method": Adam}, "method <class .* must be one of adam, l-bfgs"),
        ({"loss": []}, "there is no loss to make least"),
        ({"loss": None}, r"not NoneType; of a rollout, give optimise\.RolloutLoss"),
        ({"loss": lambda values: 1.0}, r"its value and a dictionary of its rates by parameters, not float"),
        ({"loss": lambda values: (1.0, {"k": 0.0, "x": 0.0})}, r"rates of the loss by 'x' have shape \[\], not"),
        ({"free": ["k"]}, "what is free must be a dictionary"),
        ({"spread": np.nan, "starts": 2}, "spread and seed must be 0 or more"),
        ({"starts": 0}, "starts must be a whole number of 1 or more"),
        ({"loss": lambda values: (np.zeros(3), {})}, "the loss must be one number, not of shape"),
        ({"loss": lambda values: (1.0, {"k": 0.0})}, "no rates by 'x'; it has k"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        minimise(**{"loss": bowl, "free": FREE, **changes})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Adam(steps=-1), "steps of Adam must be a whole number of 0 or more, not -1"),
        (lambda: Adam(rate=-1.0), "rate of Adam must be a finite number above 0"),
        (lambda: Adam(memory=(0.9, 1.0)), "memory of Adam must be two numbers, each between 0 and 0.9999"),
        (lambda: LBFGS(first=0.0), "first of L-BFGS must be a finite number above 0"),
    ],
)
def test_bad_descents_are_refused(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make()


@pytest.mark.parametrize("method", ["l-bfgs", Adam(steps=9, rate=1)])
def test_an_interrupted_search_keeps_what_it_knows(method: Any, tmp_path: Path) -> None:
    calls = 0

    def interrupted(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return bowl(values)

    with pytest.raises(KeyboardInterrupt):
        minimise(interrupted, FREE, method=method, folder=tmp_path)
    found = minimise(interrupted, FREE, method=method, folder=tmp_path, resume=True)
    assert found.evaluations == calls - 1  # neither of the first two is asked for again
    np.testing.assert_array_equal(found.points, minimise(bowl, FREE, method=method).points)


def test_parameters_that_nothing_depends_on_are_told() -> None:
    def half(values: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
        loss, rates = bowl(values)
        return loss, {**rates, "k": np.zeros(())}

    with pytest.warns(DependsOnNothing, match="the loss did not change with 'k': its rates by it are 0 at all") as told:
        assert minimise(half, FREE, method="l-bfgs").parameters["k"] == 5.0
    assert len(told) == 1


def test_one_start_is_answered_by_one_number() -> None:
    one = minimise(lambda values: (bowl(values)[0].reshape(()), bowl(values)[1]), FREE, method="l-bfgs", starts=1)
    np.testing.assert_array_equal(one.points, minimise(bowl, FREE, method="l-bfgs").points)


@pytest.mark.parametrize("together", [False, True])
def test_a_sampled_gradient_is_that_of_a_smooth_loss(together: bool) -> None:
    loss = Sampled(lambda values: bowl(values)[0], FREE, width=0.05, samples=400, together=together)
    values = {"k": np.array(3.0), "x": np.array([0.5, 1.2])}
    smooth, rates = loss(values)
    exact, exact_rates = bowl(values)
    assert smooth == pytest.approx(exact, rel=0.05)
    assert rates["k"] == pytest.approx(exact_rates["k"], abs=0.2)
    np.testing.assert_allclose(rates["x"], exact_rates["x"], atol=0.2)
    assert loss(values)[0] == smooth
    with pytest.raises(InvalidValue, match="sampled by k, x, and was given k: name the same free parameters"):
        loss({"k": np.array(3.0)})
    few = Sampled(lambda values: bowl(values)[0], FREE, width=0.05, samples=6)
    assert minimise(few, FREE, method=Adam(steps=60, rate=0.1)).loss < 1.2


def rolled(body: springs.Body, gravity: float = 0.0) -> annelid.Rollout:
    world: dict[str, Any] = {"precision": "float64", "device": "cpu", "threads": 1, "gravity": (0.0, 0.0, gravity)}
    return annelid.Rollout(springs.simulation(body, dt=1e-3, worlds=2, **world), 500, looks=10)


def beam(stretching: float = 0.0) -> annelid.Rollout:
    body = springs.block((3, 2, 2), 0.1, mass=0.1, stiffness=100.0, damping=1.0)
    body.velocities = stretching * (body.positions - body.positions.mean(axis=0))
    return rolled(body)


WRONG_LOSSES: list[tuple[Any, str]] = [
    (lambda track: 1.0, "its value and its rates by the track, not float"),
    (lambda track: ("much", 0.0), "the value of a loss must be numbers, not 'much'"),
    (lambda track: (np.zeros(3), 0.0), "one for each of 2 worlds"),
    (lambda track: (1.0, np.ones(5)), r"shape \[5\], not that of the track"),
]


def test_a_rollout_is_descended_in_its_worlds_and_one_that_is_lost_leaves_the_others() -> None:
    loss = RolloutLoss(beam(5.0), Travel("x"))
    losses, rates = loss({"stiffness_factor": np.array([1.0, 1e9])})
    assert np.isfinite(losses[0])
    assert np.isinf(losses[1])
    assert rates["stiffness_factor"].shape == (2,)
    assert np.isfinite(rates["stiffness_factor"]).all()
    for wrong, sentence in WRONG_LOSSES:
        with pytest.raises(InvalidValue, match=sentence):
            RolloutLoss(loss.rollout, wrong)({"stiffness_factor": np.ones(2)})
    with pytest.raises(InvalidValue, match=r"shape \[\], and the rollout has 2 worlds: .* minimise with starts=2"):
        loss({"stiffness_factor": 1.0})

    def spread(track: annelid.Track) -> tuple[np.ndarray, np.ndarray]:
        off = track.positions[-1] - track.positions[-1].mean(axis=1, keepdims=True)
        by = np.zeros(track.shape)
        by[-1] = 2.0 * off
        return (off**2).sum(axis=(1, 2)), by

    found = minimise(
        RolloutLoss(beam(5.0), spread),
        {"stiffness_factor": Free(1.0, 0.1, 10.0)},
        method=Adam(steps=8, rate=0.1),
        starts=2,
    )
    assert (found.each < found.history[0]).all()


def test_sensitivity_that_grows_is_told() -> None:
    assert not sensitivity(beam(), {"stiffness_factor": 1.0}).chaotic
    places = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.1)]
    upright = springs.Body(places, 0.1, [(0, 1)], rest_lengths=0.1, stiffness=1000.0, damping=1.0).fix([0])
    with pytest.warns(SensitivityGrows, match="at a rate of .* 1/s"):
        found = sensitivity(rolled(upright, gravity=-9.81), {"stiffness_factor": 1.0})
    assert found.rate == pytest.approx(np.sqrt(9.81 / 0.1), rel=0.05)


def test_minimise_warns_once_of_a_motion_that_forgets_its_beginning() -> None:
    places = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.1)]
    upright = springs.Body(places, 0.1, [(0, 1)], rest_lengths=0.1, stiffness=1000.0, damping=1.0).fix([0])
    loss, free = RolloutLoss(rolled(upright, gravity=-9.81), Travel("z")), {"stiffness_factor": Free(1.0, 0.5, 2.0)}
    with pytest.warns(SensitivityGrows, match=r"rate of .* 1/s.*fewer steps.*optimise\.Sampled") as told:
        minimise([loss, loss], free, method=Adam(steps=1), starts=2)
    assert len(told) == 1


def test_a_sampled_gradient_of_many_starts_is_that_of_each() -> None:
    def value(values: Mapping[str, np.ndarray]) -> Any:
        return bowl(values)[0]

    together = Sampled(value, FREE, samples=4, together=True)
    both = {"k": np.array([3.0, 1.0]), "x": np.array([[0.5, 1.2], [0.0, 2.0]])}
    losses, rates = together(both)
    for start in range(2):
        loss, one = together({name: values[start] for name, values in both.items()})
        assert losses[start] == loss
        assert all(np.array_equal(rates[name][start], one[name]) for name in both)
    assert minimise(together, FREE, method=Adam(steps=60, rate=0.1), starts=3).loss < 1.2

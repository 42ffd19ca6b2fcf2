"""One state hash: on any number of threads, again, in pieces, saved and loaded midway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, springs
from annelid.shapes import Plane
from annelid.shapes.kernels.gaps import BOX, GRID, HEIGHTS, PLANE, SPHERE
from annelid.springs.kernels.program import Features, shared_by_teams

STEPS = 157


def crawler() -> springs.Body:
    """A damped block with a wave, large enough for three threads."""
    body = springs.block((16, 10, 10), damping=10.0)
    return body.actuate(springs.wave(0.2, 2.0, body.distance_along((1.0, 0.0, 0.0)) / 3.0))


def plain() -> springs.Body:
    body = springs.block((13, 12, 11))
    body.velocities = np.random.default_rng(0).normal(0.0, 0.2, body.positions.shape)
    return body


def lopsided() -> springs.Body:
    """No two masses alike."""
    body = plain()
    body.stiffness *= np.random.default_rng(1).uniform(0.9, 1.1, body.spring_count)
    return body


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (plain, {}),
    "lopsided": (lopsided, {}),
    "crawler": (crawler, {"obstacles": [Plane()]}),
    "verlet": (plain, {"integrator": "verlet", "precision": "float64"}),
    "rk4": (plain, {"integrator": "rk4", "precision": "float64"}),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, device: str) -> Any:
    """A function that makes the simulation of one case with a number of threads."""
    make, world = CASES[request.param]

    def build(threads: int = 2) -> Simulation[springs.Solver]:
        return springs.simulation(make(), device=device, threads=threads, **world)

    return build


def test_threads_and_repetition(case: Any) -> None:
    hashes = set()
    for threads in (1, 2, 3, 1):
        simulation = case(threads)
        if simulation.solver.device.is_cpu:
            assert simulation.solver.threads == threads
        simulation.step(STEPS)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_pieces_of_any_length(case: Any) -> None:
    whole, pieces = case(), case()
    whole.step(STEPS)
    for count in (1, 3, 0, 7, 31, 2, 1, 65, 47):
        pieces.step(count)
    assert pieces.step_count == STEPS
    assert pieces.state_hash() == whole.state_hash()


def test_saved_and_loaded_midway(case: Any, tmp_path: Path) -> None:
    whole, first, second = case(1), case(2), case(3)
    whole.step(STEPS)
    first.step(38)
    first.save(tmp_path / "midway.npz")
    second.load(tmp_path / "midway.npz")
    assert (second.step_count, second.state_hash()) == (38, first.state_hash())
    second.step(STEPS - 38)
    assert second.state_hash() == whole.state_hash()
    assert second.time == whole.time


def test_looking_changes_nothing(case: Any) -> None:
    whole, watched = case(), case()
    whole.step(STEPS)
    watched.observe(lambda s: s.snapshot(), every=11 * watched.dt)
    watched.run(STEPS * watched.dt)
    assert watched.state_hash() == whole.state_hash()


def test_reset_begins_again(case: Any) -> None:
    simulation = case()
    start = simulation.state_hash()
    simulation.step(STEPS)
    end = simulation.state_hash()
    simulation.reset()
    assert (simulation.step_count, simulation.time, simulation.state_hash()) == (0, 0.0, start)
    simulation.step(STEPS)
    assert simulation.state_hash() == end


def test_small_bodies_take_one_thread() -> None:
    """Threads that wait for each other longer than they work would only slow it down."""
    assert springs.simulation(springs.block((3, 3, 3)), device="cpu", threads=2).solver.threads == 1


def test_models_share_the_kernel_of_a_team_where_that_costs_nothing() -> None:
    plain, ball = shared_by_teams(Features()), shared_by_teams(Features(touching=(SPHERE,)))
    assert plain == shared_by_teams(Features(pushed=True)) != ball
    assert ball == shared_by_teams(Features(touching=(PLANE, BOX, HEIGHTS, GRID), pushed=True))
    assert shared_by_teams(Features(touching=(PLANE,))).touching == (PLANE,)  # by far the most common
    level, uneven = (Features(touching=kinds, varied=True) for kinds in ((SPHERE,), (HEIGHTS,)))
    assert not shared_by_teams(level).shaped  # there is no ground of each world's own
    assert shared_by_teams(uneven).shaped

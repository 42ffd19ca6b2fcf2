"""A new array of the grains is declared in one line: all that is done with states follows the declaration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.core.state import clone_state, rows, state_arrays
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Plane, Rigid

RADIUS = 0.01
COUNT = 48  # grains of a world
WORLDS = 2


@dataclass
class WarmState(grains.State):
    """Grains with temperatures, and contacts with ages."""

    temperatures: wp.array = rows("grain", wp.float32)
    ages: wp.array = rows("place", wp.float32, each=2, grows="places")


class WarmSolver(grains.Solver):
    """Steps them as they are: nothing warms up yet."""

    state_type = WarmState


@pytest.fixture
def warm() -> Simulation[WarmSolver]:
    spots = jittered_lattice((4, 4, 3), 2.1 * RADIUS, seed=1, corner=(0.0, 0.0, 1.1 * RADIUS))
    bed = grains.Bed(np.tile(spots, (WORLDS, 1)), RADIUS)
    floors = [Rigid(Plane(), world=world) for world in range(WORLDS)]
    worlds = np.tile(np.arange(WORLDS), (COUNT, 1)).T.ravel()
    model = grains.Model(bed, world=grains.World(obstacles=floors), world_of=worlds, device="cpu")
    return Simulation(WarmSolver(model, threads=1))


def heat(simulation: Simulation[WarmSolver]) -> np.ndarray:
    """Temperatures that are told apart, in the state as well."""
    values = np.arange(WORLDS * COUNT, dtype=np.float32)
    state = simulation.state
    assert isinstance(state, WarmState)
    state.temperatures.assign(values)
    state.ages.assign(np.arange(len(state.ages), dtype=np.float32))
    return values


def temperatures(simulation: Simulation[WarmSolver]) -> np.ndarray:
    assert isinstance(simulation.state, WarmState)
    return np.asarray(simulation.state.temperatures.numpy())


def test_it_is_allocated_and_stepped(warm: Simulation[WarmSolver]) -> None:
    values = heat(warm)
    places = len(warm.state.neighbours)
    assert len(state_arrays(warm.state)["ages"]) == 2 * places
    warm.step(5)
    assert np.array_equal(temperatures(warm), values)


def test_it_is_cloned_and_hashed(warm: Simulation[WarmSolver]) -> None:
    before = warm.state_hash()
    heat(warm)
    assert warm.state_hash() != before
    clone = clone_state(warm.state)
    assert isinstance(clone, WarmState)
    warm.state.temperatures.zero_()
    assert clone.temperatures.numpy()[3] == 3.0


def test_it_is_saved_and_loaded(warm: Simulation[WarmSolver], tmp_path: Path) -> None:
    values = heat(warm)
    warm.step(3)
    warm.save(tmp_path / "warm.npz")
    saved = warm.state_hash()
    other = Simulation(WarmSolver(warm.solver.model, threads=1))
    other.load(tmp_path / "warm.npz")
    assert other.state_hash() == saved
    assert np.array_equal(temperatures(other), values)


def test_one_world_gets_it_back(warm: Simulation[WarmSolver]) -> None:
    values = heat(warm)
    warm.step(3)
    warm.reset([1])
    assert np.array_equal(temperatures(warm)[:COUNT], values[:COUNT])
    assert not temperatures(warm)[COUNT:].any()


def test_all_worlds_get_it_back(warm: Simulation[WarmSolver]) -> None:
    start = warm.state_hash()
    heat(warm)
    warm.step(3)
    warm.reset()
    assert warm.state_hash() == start


def test_it_grows_with_the_lists(warm: Simulation[WarmSolver]) -> None:
    heat(warm)
    state = warm.state
    old = state.ages.numpy().reshape(WORLDS * COUNT, -1)
    warm.solver.reserve(state, 40, 6)
    new = state.ages.numpy().reshape(WORLDS * COUNT, -1)
    assert new.shape[1] == 2 * 40
    assert np.array_equal(new[:, : old.shape[1]], old)
    assert not new[:, old.shape[1] :].any()
    warm.step(3)


def test_a_world_that_begins_again_moves_as_a_new_one(warm: Simulation[WarmSolver]) -> None:
    fresh = Simulation(WarmSolver(warm.solver.model, threads=1))
    fresh.step(60)
    warm.step(100)
    apart = warm.positions()
    warm.reset([1])
    warm.step(60)
    assert warm.step_count == 160
    assert np.array_equal(warm.positions()[COUNT:], fresh.positions()[COUNT:])
    assert not np.array_equal(warm.positions()[:COUNT], apart[:COUNT])

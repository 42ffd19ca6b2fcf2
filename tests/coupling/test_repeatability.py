"""One state hash: over threads, runs, save and load, and after going back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import coupling
from annelid.core.errors import AnnelidError
from annelid.core.simulation import Simulation
from annelid.core.state import clone_state, state_hash

from .conftest import block, box, dropped

STEPS = 300


def _falling(device: str = "cpu", threads: int = 1, masses: int = 5) -> Simulation[coupling.Solver]:
    body = block(masses).moved((0.0, 0.0, 0.085))
    body.velocities[:, 2] = -1.0
    return dropped(body, box(side=0.2, depth=0.09), inside="remove", device=device, threads=threads)


def test_runs_and_threads_give_one_hash(device: str) -> None:
    hashes = set()
    for threads in (1, 2, 2):
        simulation = _falling(device, threads)
        if device == "cpu":  # small as they are, both sides are to be shared among the threads asked for
            assert simulation.solver.grains.threads == threads
        simulation.step(STEPS)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_steps_one_by_one_are_the_same(device: str) -> None:
    at_once, singly = _falling(device), _falling(device)
    at_once.step(40)
    for _ in range(40):
        singly.step()
    assert at_once.state_hash() == singly.state_hash()


def test_save_and_load(device: str, tmp_path: Path) -> None:
    first, second = _falling(device), _falling(device)
    first.step(150)
    first.save(tmp_path / "half")
    first.step(150)
    second.step(70)
    second.load(tmp_path / "half")
    assert second.time == pytest.approx(150 * first.dt)
    second.step(150)
    assert second.state_hash() == first.state_hash()


@pytest.mark.parametrize("before", [3, 47, 110])  # in flight, as it meets the bed, and in it
def test_what_was_edited_is_saved_and_goes_on_in_pieces_and_elsewhere(before: int, tmp_path: Path) -> None:
    first = _falling()
    first.step(before)
    with first.edit() as edit:
        corner = edit.masses()[:1]
        edit.remove_masses(corner, with_springs=True)
        edit.change_masses(edit.masses()[-3:], velocities=(0.4, 0.0, 0.2))
    first.step(9)
    first.save(tmp_path / "edited")
    first.step(60)
    for threads in (1, 2):
        second = _falling(threads=threads)
        second.load(tmp_path / "edited")
        for steps in (1, 24, 35):
            second.step(steps)
        assert second.state_hash() == first.state_hash()


def test_what_a_cpu_leaves_out_of_a_checkpoint_is_found_on_cuda() -> None:
    simulation = _falling()
    simulation.step(150)
    state, exchange = simulation.state, simulation.solver._exchange
    left = state.turns.numpy().copy()
    exchange.complete(state, state.springs.positions)
    found, centers = state.turns.numpy().copy(), state.centers.numpy().copy()
    exchange.settle(state, state.springs.positions, state.springs.velocities)  # finds those of all guests
    assert (left[:, 0, 0] == 0.0).any()
    assert (left[:, 0, 0] != 0.0).any()
    np.testing.assert_array_equal(found, state.turns.numpy())
    np.testing.assert_array_equal(centers, state.centers.numpy())


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    first, second = _falling(), _falling(masses=6)
    first.step(5)
    first.save(tmp_path / "other")
    before = second.state_hash()
    with pytest.raises(AnnelidError):
        second.load(tmp_path / "other")
    assert second.state_hash() == before


def test_reset_and_clone(device: str) -> None:
    simulation = _falling(device)
    beginning = simulation.state_hash()
    simulation.step(60)
    later = simulation.state_hash()
    twin = clone_state(simulation.state)
    simulation.step(40)
    simulation.solver.advance(twin, 40)
    assert state_hash(twin) == simulation.state_hash()
    simulation.reset()
    assert simulation.state_hash() == beginning
    simulation.step(60)
    assert simulation.state_hash() == later

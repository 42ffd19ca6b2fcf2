"""One state, whatever the number of threads, the way of running there, and a checkpoint between."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from annelid.core.state import state_hash
from annelid.grains.kernels.layout import Features, shared_by_teams
from annelid.shapes.kernels.gaps import BOX, GRID, PLANE, SPHERE

from .conftest import bed_with_ball

STEPS = 700  # the ball has hit the bed by then


@pytest.fixture(scope="module")
def reference() -> str:
    simulation = bed_with_ball("cpu")
    simulation.step(STEPS)
    return simulation.state_hash()


def test_threads_do_not_matter(reference: str) -> None:
    simulation = bed_with_ball("cpu", threads=2)
    assert simulation.solver.threads == 2
    simulation.step(STEPS)
    assert simulation.state_hash() == reference


def test_threads_share_the_work() -> None:
    simulation = bed_with_ball("cpu", threads=2)
    simulation.step()
    listed = simulation.state.counts.numpy()
    edges = simulation.solver._shares.numpy()
    costs = 5 + 14 * listed[:, 1] + np.where(listed[:, 0] > 0, 12 + 4 * ((listed[:, 0] - 1) // 8), 0)
    shares = [costs[low:high].sum() for low, high in itertools.pairwise(edges)]
    assert edges[0] == 0
    assert edges[-1] == len(listed)
    assert np.ptp(shares) <= 2 * 16 * costs.max()  # shares begin at multiples of 16 rows
    assert edges[1] % 16 == 0


def test_pieces_do_not_matter(reference: str) -> None:
    simulation = bed_with_ball("cpu")
    for part in (1, 2, 64, 3, 130, 200, 300):
        simulation.step(part)
    assert simulation.step_count == STEPS
    assert simulation.state_hash() == reference


def test_a_checkpoint_in_between_does_not_matter(reference: str, tmp_path: Path) -> None:
    first = bed_with_ball("cpu")
    first.step(333)
    first.save(tmp_path / "state.npz")
    second = bed_with_ball("cpu")
    second.step(11)
    second.load(tmp_path / "state.npz")
    assert second.state_hash() == first.state_hash()
    second.step(STEPS - 333)
    assert second.state_hash() == reference


def test_a_reset_goes_back_to_the_beginning(reference: str) -> None:
    simulation = bed_with_ball("cpu")
    start = state_hash(simulation.solver.initial_state())
    simulation.step(50)
    simulation.reset()
    assert simulation.state_hash() == start
    simulation.step(STEPS)
    assert simulation.state_hash() == reference


def test_runs_repeat_on_every_device(device: str) -> None:
    hashes = set()
    for _ in range(2):
        simulation = bed_with_ball(device)
        simulation.step(200)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1
    assert np.isfinite(simulation.summary().total)


def test_models_share_the_kernel_of_a_team_where_that_costs_nothing() -> None:
    alone = shared_by_teams(Features(kinds=(PLANE, SPHERE), tracked=True))
    assert alone == shared_by_teams(Features(kinds=(PLANE, BOX), tracked=True, worlds=True, commanded=True))
    with_mesh = Features(kinds=(PLANE, GRID), tracked=True)
    assert alone != shared_by_teams(with_mesh) == shared_by_teams(Features(kinds=(PLANE, SPHERE, GRID), tracked=True))
    assert shared_by_teams(Features(kinds=(PLANE,))) == Features(kinds=(PLANE,), worlds=True)  # walls alone
    assert alone != shared_by_teams(Features(kinds=(PLANE, SPHERE), tracked=True, rolling=True))

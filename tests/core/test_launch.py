"""Launches over CPU threads: all of the work is done once, whatever the number of threads, and kernels compile once."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from annelid.core.launch import Team, split_launch, team_barrier, team_range

wp.set_module_options({"enable_backward": False})


@wp.kernel(module="unique", enable_backward=False)
def sums_of_neighbours(
    rank: int,
    size: int,
    counter: wp.array[wp.int32],
    rounds: int,
    values: wp.array[wp.float64],
    other: wp.array[wp.float64],
):
    """A ring in which every element becomes the mean of its neighbours, again and again."""
    share = team_range(rank, size, values.shape[0], 4)
    for turn in range(rounds):
        for i in range(share[0], share[1]):
            left = (i + values.shape[0] - 1) % values.shape[0]
            right = (i + 1) % values.shape[0]
            if turn % 2 == 0:
                other[i] = (values[left] + values[right]) * wp.float64(0.5)
            else:
                values[i] = (other[left] + other[right]) * wp.float64(0.5)
        team_barrier(counter, size, turn + 1)


@wp.kernel(module="unique", enable_backward=False)
def shares(rank: int, size: int, counter: wp.array[wp.int32], grain: int, visits: wp.array[wp.int32]):
    share = team_range(rank, size, visits.shape[0], grain)
    for i in range(share[0], share[1]):
        visits[i] = visits[i] + 1


@wp.kernel(module="unique", enable_backward=False)
def count_up(offset: int, values: wp.array[wp.int32]):
    i = offset + wp.tid()
    values[i] = values[i] + i


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_members_meet_at_the_barrier(size: int) -> None:
    rng = np.random.default_rng(1)
    values = rng.random(61)
    expected = values.copy()
    for _ in range(200):
        expected = (np.roll(expected, 1) + np.roll(expected, -1)) * 0.5
    array, other = wp.array(values, dtype=wp.float64, device="cpu"), wp.zeros(61, dtype=wp.float64, device="cpu")
    Team(size).run(sums_of_neighbours, [200, array, other])
    np.testing.assert_array_equal(array.numpy(), expected)


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("grain", [1, 8])
def test_shares_cover_everything_once(size: int, count: int, grain: int) -> None:
    visits = wp.zeros(count, dtype=wp.int32, device="cpu")
    Team(size).run(shares, [grain, visits])
    assert (visits.numpy() == 1).all()


def test_a_team_can_be_used_again() -> None:
    team, visits = Team(2), wp.zeros(100, dtype=wp.int32, device="cpu")
    for _ in range(20):
        team.run(shares, [4, visits])
    assert (visits.numpy() == 20).all()


def test_a_kernel_is_compiled_once() -> None:
    Team(2).run(shares, [1, wp.zeros(1, dtype=wp.int32, device="cpu")])
    assert len(shares.module.execs) == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 5, 1001])
def test_a_split_launch_reaches_every_element_once(threads: int, count: int) -> None:
    values = wp.zeros(count, dtype=wp.int32, device="cpu")
    split_launch(count_up, count, [values], wp.get_device("cpu"), threads)
    np.testing.assert_array_equal(values.numpy(), np.arange(count))


def test_a_split_launch_runs_on_every_device(device: str) -> None:
    values = wp.zeros(50, dtype=wp.int32, device=device)
    split_launch(count_up, 50, [values], wp.get_device(device), 2)
    np.testing.assert_array_equal(values.numpy(), np.arange(50))

"""Launches that a team runs one after the other, step after step."""

import numpy as np
import pytest
import warp as wp

from annelid.core.launch import Team, team_barrier, team_range
from annelid.core.relay import Relay, Task

wp.set_module_options({"enable_backward": False})


@wp.kernel
def add_neighbour(
    rank: int, size: int, counter: wp.array[wp.int32], most: int, values: wp.array[wp.int32], flags: wp.array[wp.int32],
    sums_out: wp.array[wp.int32],
):  # fmt: skip
    """Sums of neighbours, in a launch whose members meet twice."""
    share = team_range(rank, size, values.shape[0], 1)
    for i in range(share[0], share[1]):
        sums_out[i] = values[i] + values[(i + 1) % values.shape[0]]
    team_barrier(counter, size, 1)
    if rank == 0 and sums_out[0] > most:
        flags[1] = 1
    team_barrier(counter, size, 2)


@wp.kernel
def take_over(first: int, sums: wp.array[wp.int32], values_out: wp.array[wp.int32]):
    i = first + wp.tid()
    values_out[i] = sums[i] % 1000


def relayed(threads: int, steps: int, *, most: int = 10_000, batches: int = 1) -> tuple[np.ndarray, int]:
    """Values after so many steps, and the flag that ends them."""
    values = wp.array(np.arange(7), dtype=wp.int32, device="cpu")
    sums, flags = wp.zeros_like(values), wp.zeros(2, dtype=wp.int32, device="cpu")
    relay = Relay(Team(threads))
    for _ in range(batches):
        legs = [[Task(add_neighbour, [most, values, flags, sums])], [Task(take_over, [sums, values], 7)]]
        assert relay.run(legs, steps, (flags, 1))
    return values.numpy(), int(flags.numpy()[1])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_steps_follow_each_other(threads: int) -> None:
    wanted = np.arange(7)
    for _ in range(9):
        wanted = (wanted + np.roll(wanted, -1)) % 1000
    assert (relayed(threads, 9)[0] == wanted).all()
    assert (relayed(threads, 3, batches=3)[0] == wanted).all()


def test_no_leg_follows_a_flag() -> None:
    values, flag = relayed(2, 9, most=3)  # sums of the first are 1, 4: the second step is not taken over
    assert flag == 1
    assert (values == (np.arange(7) + np.roll(np.arange(7), -1))).all()

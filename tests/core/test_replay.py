"""Launches that are repeated: sequences, sequences by array, captured graphs, commands split over threads."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from annelid.core.ready import ready
from annelid.core.replay import Crew, Graphs, Launcher, Replay, Replays, Stage

wp.set_module_options({"enable_backward": False})


@wp.kernel
def add(amount: float, values_out: wp.array(dtype=float)):  # type: ignore[valid-type]
    i = wp.tid()
    values_out[i] = values_out[i] + amount


@wp.kernel
def add_from(offset: int, amount: float, values_out: wp.array(dtype=float)):  # type: ignore[valid-type]
    i = offset + wp.tid()
    values_out[i] = values_out[i] + amount


def zeros(device: str, count: int = 3) -> wp.array:
    return wp.zeros(count, dtype=float, device=device)


def test_a_sequence_runs_as_often_as_it_is_called(device: str) -> None:
    values = zeros(device)
    replay = Replay([Stage(add, 3, [1.0, values]), Stage(add, 3, [10.0, values])], values.device)
    for count in range(1, 5):
        replay()
        np.testing.assert_array_equal(values.numpy(), 11.0 * count)


@wp.struct
class Given:
    values: wp.array(dtype=float)  # type: ignore[valid-type]


@wp.kernel
def add_given(given: Given, amount: float, values_out: wp.array(dtype=float)):  # type: ignore[valid-type]
    i = wp.tid()
    values_out[i] = values_out[i] + amount * given.values[i]


def test_a_launch_that_is_kept_prepared_takes_other_arrays_numbers_and_structures(device: str) -> None:
    launcher, first, second = Launcher(wp.get_device(device), kept=2), zeros(device, 4), zeros(device, 4)
    for amount in (1.0, 2.0, 2.0):
        launcher.launch(add, 4, [amount, first])
    launcher.launch(add, 2, [10.0, first])
    launcher.launch(add, 4, [3.0, second])  # the first is forgotten
    launcher.launch(add, 4, [5.0, first])
    launcher.launch(add, 2, [100.0, first[::2]])  # views of the same memory are others, by their steps
    launcher.launch(add, 2, [1000.0, first[:2]])
    launcher.launch(add, 0, [1.0, first])
    np.testing.assert_array_equal(first.numpy(), [1120.0, 1020.0, 110.0, 10.0])
    np.testing.assert_array_equal(second.numpy(), 3.0)
    given = Given()
    for other in (first, second):  # what a structure holds may change without the structure
        given.values = other
        launcher.launch(add_given, 4, [given, 1.0, second])
    np.testing.assert_array_equal(second.numpy(), [2246.0, 2046.0, 226.0, 26.0])
    other, ones = Given(), wp.ones(4, dtype=float, device=device)
    given.values = other.values = ones
    launcher.launch(add_given, 4, [given, 1.0, second])
    given.values = first
    launcher.launch(add_given, 4, [other, 1.0, second])  # holds what the structure before held once
    np.testing.assert_array_equal(second.numpy(), [2248.0, 2048.0, 228.0, 28.0])


def test_a_launch_whose_arguments_lie_ready_takes_others_from_then_on(device: str) -> None:
    given, other, values = Given(), Given(), zeros(device)
    given.values, other.values = (wp.full(3, value, dtype=float, device=device) for value in (1.0, 100.0))
    command = ready(wp.launch(add_given, 3, [given, 1.0, values], device=device, record_cmd=True))
    command.launch()
    for index, changed, expected in ((1, 2, 3.0), (1, 0.5, 3.5), (1, wp.float32(4.0), 7.5), (0, other, 407.5)):
        command.set_param_at_index(index, changed)
        command.launch()
        np.testing.assert_array_equal(values.numpy(), expected)
    other.values = given.values
    command.launch()
    np.testing.assert_array_equal(values.numpy(), 411.5)
    command.set_param_at_index(2, zeros(device))  # nobody else holds it
    command.launch()
    np.testing.assert_array_equal(values.numpy(), 411.5)
    assert ready(None) is None  # a launch over nothing is not recorded


def test_sequences_are_made_once_for_each_array_and_length(device: str) -> None:
    made: list[int] = []
    replays = Replays(wp.get_device(device), kept=2)

    def run(values: wp.array) -> None:
        def stages() -> list[Stage]:
            made.append(len(values))
            return [Stage(add, len(values), [1.0, values])]

        replays.run(stages, values)

    first, second = zeros(device), zeros(device, 5)
    for values in (first, second, first, first[:2]):
        run(values)
    assert made == [3, 5, 2]
    run(first)  # the oldest of three was forgotten
    assert made == [3, 5, 2, 3]
    np.testing.assert_array_equal(first.numpy(), [4.0, 4.0, 3.0])
    replays.clear()
    run(second)
    assert made[-1] == 5


@pytest.mark.parametrize("loaded", [False, True])
def test_graphs_do_the_same_the_first_time_and_later(loaded: bool, device: str) -> None:
    if device == "cpu":
        pytest.skip("graphs are captured on CUDA")
    values, chosen = zeros(device), wp.get_device(device)
    add.module.load(chosen)
    graphs = Graphs(chosen, kept=2)
    for amount in (1.0, 2.0, 1.0, 1.0, 3.0, 2.0):
        graphs.run(amount, lambda a=amount: wp.launch(add, 3, [a, values], device=chosen), loaded=loaded)  # type: ignore[misc]
    np.testing.assert_array_equal(values.numpy(), 10.0)
    assert len(graphs.identities()) == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_command_is_split_over_threads_and_takes_other_arguments(threads: int, device: str) -> None:
    values = zeros(device, 2000)
    command = Crew(values.device, threads).command(add_from, 2000, [1.0, values])
    command()
    command((0, 5.0))
    np.testing.assert_array_equal(values.numpy(), 6.0)

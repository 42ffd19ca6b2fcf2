"""Launches that a team of CPU threads runs one after the other, step after step, with no Python between them.

What follows each other within a step belongs to different kinds of physics, whose kernels know nothing of each other.
Launched one by one, with threads to be woken for each, they wait for Python for a tenth of the time of a small world.
Here each thread has a table of what to call, and all meet at a barrier after each leg.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.launch import Team, team_barrier, waiting_counters
from annelid.core.ready import ReadyLaunch, ready

wp.set_module_options({"enable_backward": False})

_WORDS = 3  # of a launch: where its code, the number of its threads and its arguments lie
_COUNTER = 4  # numbers that a team counts its arrivals with
_PIECES = 4  # of a launch that members share, by turns: what is heavy lies together


@dataclass(frozen=True, eq=False)
class Task:
    """A launch of a leg.

    Attributes:
        kernel: The kernel.
        arguments: Its arguments; before them come rank, size and counter of a team (`core.launch.Team`), or the number
            to add to `wp.tid()` where members share the threads.
        count: Threads that the members share; None for a kernel of a team.
    """

    kernel: wp.Kernel
    arguments: Sequence[Any]
    count: int | None = None

    def suits(self, other: Task) -> bool:
        """Whether a launch that was prepared for the one does for the other; structures may hold other things."""
        alike = (
            self.kernel is other.kernel and self.count == other.count and len(self.arguments) == len(other.arguments)
        )
        return alike and all(map(_same, self.arguments, other.arguments))


Leg = Sequence[Task]
"""Launches that do not wait for each other."""


class Relay:
    """Runs legs step after step.

    Args:
        team: The threads.
    """

    def __init__(self, team: Team) -> None:
        self._team = team
        self._legs: list[list[Task]] = []
        self._launches: list[ReadyLaunch] = []
        self._counters = self._table = wp.empty(0, dtype=wp.int32, device="cpu")
        self._calls = 0

    def run(self, legs: Sequence[Leg], steps: int, stop: tuple[wp.array[Any], int]) -> bool:
        """Take so many steps, fewer where a flag is 1 after a first leg.

        Args:
            legs: The legs of a step, two or more.
            steps: Steps.
            stop: Flags, and the place of the one that says that no other leg may follow.

        Returns:
            Whether it could be done: with another Warp than the one that this was written for, launches may have no
            place where they can be called.
        """
        if not self._suits(legs) and not self._prepare(legs):
            return False
        for launch in self._launches:
            launch.pack()
        flags, place = stop
        self._team.run(_run_relay, [steps, len(legs), self._calls, place, self._table, flags, self._counters])
        return True

    def _suits(self, legs: Sequence[Leg]) -> bool:
        return [len(leg) for leg in legs] == [len(leg) for leg in self._legs] and all(
            mine.suits(task)
            for own, leg in zip(self._legs, legs, strict=True)
            for mine, task in zip(own, leg, strict=True)
        )

    def _prepare(self, legs: Sequence[Leg]) -> bool:
        size = self._team.size
        calls = max(sum(1 if task.count is None else _PIECES for task in leg) for leg in legs)
        table = np.zeros((len(legs), size, calls, _WORDS), np.uint64)
        counters = waiting_counters(len(legs))
        launches = []
        for number, leg in enumerate(legs):
            counter = counters[_COUNTER * number : _COUNTER * (number + 1)]
            places = [0] * size
            for task in leg:
                for rank, command in _commands(task, size, counter):
                    if command is None:  # a launch over nothing is not recorded
                        continue
                    launch = ready(command)
                    if not isinstance(launch, ReadyLaunch):
                        return False
                    launches.append(launch)
                    table[number, rank, places[rank]] = launch.addresses()
                    places[rank] += 1
        self._legs = []  # suit nobody, should Ctrl-C come before all is there
        self._launches = launches
        self._table, self._counters, self._calls = (
            wp.array(table.ravel(), dtype=wp.uint64, device="cpu"),
            counters,
            calls,
        )
        self._legs = [list(leg) for leg in legs]
        return True


def _commands(task: Task, size: int, counter: wp.array[Any]) -> list[tuple[int, Any]]:
    """Launches, each with the rank of the member that runs it."""
    task.kernel.module.load("cpu", block_dim=1)  # once, before members run
    if task.count is None:
        shares = [(1, [rank, size, counter, *task.arguments]) for rank in range(size)]
    else:
        pieces = _PIECES * size if size > 1 else 1
        edges = [task.count * piece // pieces for piece in range(pieces + 1)]
        shares = [(edges[n + 1] - edges[n], [edges[n], *task.arguments]) for n in range(pieces)]
    return [
        (number % size, wp.launch(task.kernel, count, inputs, device="cpu", record_cmd=True))
        for number, (count, inputs) in enumerate(shares)
    ]


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, int | float) and operator.eq(one, other))


@wp.func_native(
    """
#if !defined(__CUDA_ARCH__)
    typedef void (*Kernel)(void*, void*);
    const wp::uint64* words = table.data + at;
    if (words[0]) ((Kernel)words[0])((void*)words[1], (void*)words[2]);
#endif
"""
)
def _call(table: wp.array[wp.uint64], at: int) -> None:
    """Run a launch."""


@wp.func_native("counters.data[at] = 0;")
def _begin_counting(counters: wp.array[wp.int32], at: int) -> None:
    """Make a counter ready for the next launch of a team."""


@wp.kernel
def _run_relay(
    rank: int,
    size: int,
    counter: wp.array[wp.int32],
    steps: int,
    legs: int,
    calls: int,
    stop: int,
    table: wp.array[wp.uint64],
    flags: wp.array[wp.int32],
    counters: wp.array[wp.int32],
) -> None:
    """Run all legs of each step, as one member of a team."""
    ticket = int(0)
    going = bool(True)
    for _step in range(steps):
        for leg in range(legs):
            if going:
                for place in range(calls):
                    _call(table, ((leg * size + rank) * calls + place) * wp.static(_WORDS))
                ticket += 1
                team_barrier(counter, size, ticket)
                if rank == 0:  # nobody counts with it again before the next barrier
                    _begin_counting(counters, leg * wp.static(_COUNTER))
                if leg == 0 and flags[stop] == 1:
                    going = False

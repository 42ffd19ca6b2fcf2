"""Launches of Warp kernels over several CPU threads.

Warp's CPU backend runs a launch on one thread but releases the interpreter lock while it does. A *team* is a number of
threads that run the same kernel at once, each with its own rank and its own range of the work. Kernels that take many
steps in one launch meet at `team_barrier` between passes, so that Python is not involved in a step at all.

Results are bit-identical for any team size as long as an element's arithmetic does not depend on the rank.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.interrupts import held_back
from annelid.core.pool import Pool

wp.set_module_options({"enable_backward": False})


@wp.func_native(
    """
#if !defined(__CUDA_ARCH__)
    // A counter that only grows: the n-th barrier is open when size * n arrivals were counted.
    int* arrivals = counter.data;
    const int target = size * ticket;
    __atomic_add_fetch(arrivals, 1, __ATOMIC_ACQ_REL);
    typedef void (*System)();
    const System give_way = *(const System*)(arrivals + 2);
    for (int spin = 0; __atomic_load_n(arrivals, __ATOMIC_ACQUIRE) < target; ++spin) {
        if (spin > 2000) give_way();
#if defined(__aarch64__)
        __builtin_arm_yield();
#elif defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
#endif
"""
)
def team_barrier(counter: wp.array[wp.int32], size: int, ticket: int) -> None:
    """Wait until all `size` members of the team have arrived for the `ticket`-th time (counted from 1)."""


class Team:
    """A number of CPU threads that run one kernel together.

    Args:
        size: Number of threads.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._counter = waiting_counters(1)
        self._arrivals = self._counter.numpy()[:1]
        self._pool = Pool(size - 1, "annelid") if size > 1 else None
        self._prepared: dict[wp.Kernel, _Prepared] = {}

    def run(self, kernel: wp.Kernel, arguments: Sequence[Any]) -> None:
        """Launch `kernel(rank, size, counter, *arguments)` once a member and wait for all of them."""
        with held_back():  # members that wait for one which Ctrl-C kept away would wait forever
            self._run(kernel, arguments)

    def _run(self, kernel: wp.Kernel, arguments: Sequence[Any]) -> None:
        self._arrivals[:] = 0
        prepared = self._prepared.get(kernel)
        if prepared is None or not prepared.suits(arguments):
            # Once, here: members must not compile side by side. Another block size would compile another variant.
            kernel.module.load("cpu", block_dim=1)
            self._prepared = dict(list(self._prepared.items())[-1:])  # older arguments need not be kept alive
            prepared = self._prepared[kernel] = _Prepared(kernel, self.size, self._counter, arguments)
        first, *rest = prepared.launches
        others = [self._pool.submit(launch.launch) for launch in rest] if self._pool else []
        first.launch()
        for other in others:
            other.result()


class _Prepared:
    """The launches of a team, which take longer to prepare than small bodies take for a step.

    Args:
        kernel: The kernel, which is loaded.
        size: Number of members.
        counter: What they count their arrivals with.
        arguments: The other arguments.

    Attributes:
        launches: The launch of each member.
    """

    def __init__(self, kernel: wp.Kernel, size: int, counter: wp.array[wp.int32], arguments: Sequence[Any]) -> None:
        self._arguments = list(arguments)
        # Each launch reads structures where they lie, with what they hold by then.
        self.launches = [
            wp.launch(kernel, 1, [rank, size, counter, *arguments], device="cpu", record_cmd=True)
            for rank in range(size)
        ]

    def suits(self, arguments: Sequence[Any]) -> bool:
        """Whether these are the arguments that the launches were prepared for."""
        return all(map(operator.is_, self._arguments, arguments))


def waiting_counters(count: int) -> wp.array[wp.int32]:
    """Numbers with which teams count arrivals at their barriers, four each.

    The arrivals, a gap, and the address of what a member calls while it waits there for long: a name in the kernel
    would be resolved, if at all, in another way on each operating system.
    """
    counters = np.zeros((count, 4), np.int32)
    counters[:, 2:].view(np.int64)[:] = _giving_way()
    return wp.array(counters.ravel(), dtype=wp.int32, device="cpu")


@functools.cache
def _giving_way() -> int:
    """Address of the function of the operating system that lets another thread run."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.SwitchToThread
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@wp.func
def team_range(rank: int, size: int, count: int, grain: int) -> wp.vec2i:
    """First and last + 1 element of a member's share; shares begin at multiples of `grain`."""
    blocks = (count + grain - 1) // grain
    low = (blocks * rank) // size
    high = (blocks * (rank + 1)) // size
    return wp.vec2i(wp.min(low * grain, count), wp.min(high * grain, count))


def split_launch(
    kernel: wp.Kernel,
    count: int,
    arguments: Sequence[Any],
    device: wp.Device,
    threads: int = 1,
    *,
    pieces: int = 1,
) -> None:
    """Launch a kernel whose first argument is an offset to add to `wp.tid()`, over CPU threads or on a CUDA device.

    Args:
        kernel: The kernel.
        count: Elements in all.
        arguments: What it takes after the offset.
        device: Where it runs.
        threads: CPU threads.
        pieces: Launches for each CPU thread; several even out work that is heavier in one part than in another.
    """
    if device.is_cuda or threads == 1 or count < 2 * threads:
        wp.launch(kernel, count, [0, *arguments], device=device)
        return
    kernel.module.load(device, block_dim=1)
    edges = np.linspace(0, count, min(threads * pieces, count) + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        jobs = [
            pool.submit(wp.launch, kernel, int(high - low), [int(low), *arguments], device=device)
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        ]
        for job in jobs:
            job.result()

"""Cost of edits, of asynchronous running and of breakpoints; and a stress of edits from many threads at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid import springs
from annelid.benches.support.floating import floating
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.core.timing import steps_per_second

_SMALL, _LARGE = (8, 8, 24), (50, 50, 50)


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench edits`."""

    stress_seconds: float = 60.0
    """Wall time of the stress [s]."""
    editors: int = 8
    """Threads that edit at once."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Single edits at two sizes, a large edit while running, asynchronous against synchronous rate, and the stress."""
    if options.editors < 1:
        raise InvalidValue(f"--editors must be 1 or more, not {options.editors}.")
    costs = {}
    for shape in (_SMALL, _LARGE):
        simulation = floating(springs.block(shape), device=device, threads=threads)
        name = "x".join(map(str, shape))
        costs[shape] = edit_cost(simulation)
        yield Measurement(
            f"edit-{name}", 1e6 * costs[shape], "us", source=f"{simulation.solver.model.spring_count} springs"
        )
    yield Measurement("edit-cost-ratio", costs[_LARGE] / costs[_SMALL], "", 2.0, bound="at-most")
    pause, kept = large_edit(simulation)
    yield Measurement("edit-10000-pause", 1e3 * pause, "ms", 50.0, bound="at-most", source="removed and added, running")
    yield Measurement("edit-10000-graphs-kept", float(kept), "", 1.0, bound="at-least", source="1: nothing recaptured")
    yield asynchronous_share(floating(springs.block(_LARGE), device=device, threads=threads))
    edits, per_second = stress(device, options.editors, options.stress_seconds)
    yield Measurement("stress-edits", edits, source=f"{options.editors} threads, invariants hold")
    yield Measurement("stress-edits-per-second", per_second, "1/s")


def edit_cost(simulation: Simulation[springs.Solver], repeats: int = 30) -> float:
    """Time [s] of one edit of one spring until the step after it is done, less the time of a step."""
    simulation.step(4)
    plain, edited = [], []
    springs_there = simulation.solver.model.network.live_springs()
    for number in range(repeats):
        edited.append(_timed(simulation, springs_there[7 * number]))
        plain.append(_timed(simulation, None))
    return float(np.median(edited) - np.median(plain))


def large_edit(simulation: Simulation[springs.Solver], count: int = 10_000) -> tuple[float, bool]:
    """Pause [s] of a running simulation that loses and gains many springs at once, and whether its graphs stayed."""
    network = simulation.solver.model.network
    chosen = np.random.default_rng(0).choice(network.live_springs(), count, replace=False)
    ends, lengths = network.ends[chosen].copy(), network.rest_lengths(chosen)
    simulation.start()
    while simulation.step_count < 64:
        time.sleep(0.01)
    graphs = simulation.solver.stepping.graphs.identities()
    with simulation.edit() as edit:
        edit.remove_springs(chosen)
        edit.add_springs(ends[:, 0], ends[:, 1], stiffness=1e4, rest_lengths=lengths)
    simulation.pause()
    network.verify()
    return edit.pause_seconds, graphs <= simulation.solver.stepping.graphs.identities()


def asynchronous_share(simulation: Simulation[springs.Solver], seconds: float = 2.0) -> Measurement:
    """Rate of the simulation in its own thread over the rate of the bare solver."""
    bare = steps_per_second(simulation, seconds)
    simulation.start()
    time.sleep(0.5)
    begin, first = time.perf_counter(), simulation.step_count
    time.sleep(seconds)
    taken, elapsed = simulation.step_count - first, time.perf_counter() - begin
    simulation.pause()
    return Measurement(
        "asynchronous-share", taken / elapsed / bare, "", 0.95, bound="at-least", source="of the bare rate"
    )


def stress(device: wp.Device | str, editors: int, seconds: float) -> tuple[int, float]:
    """Edits from many threads while the simulation runs; returns their number and rate, and raises if one was lost."""
    simulation = floating(springs.block((12, 12, 12)), device=device, velocity_damping=1.0)
    network = simulation.solver.model.network
    before, errors = network.springs.live_count, []
    tallies = [0] * editors
    net_added = [0] * editors
    end = time.perf_counter() + seconds

    def work(rank: int) -> None:
        random = np.random.default_rng(rank)
        own = network.springs.handles(np.zeros(0, np.int64))
        try:
            while time.perf_counter() < end:
                own, grown = _one_edit(simulation, random, own)
                tallies[rank] += 1
                net_added[rank] += grown
        except BaseException as error:
            errors.append(error)

    simulation.start()
    workers = [threading.Thread(target=work, args=(rank,)) for rank in range(editors)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 60.0)
        if worker.is_alive():
            raise RuntimeError("an editing thread hangs.")
    simulation.stop()
    if errors:
        raise errors[0]
    network.verify()
    if network.springs.live_count != before + sum(net_added):
        raise RuntimeError(f"{network.springs.live_count} springs are left, {before + sum(net_added)} should be.")
    return sum(tallies), sum(tallies) / seconds


def _one_edit(
    simulation: Simulation[springs.Solver], random: np.random.Generator, own: springs.Handles
) -> tuple[springs.Handles, int]:
    """Add a few springs between random masses, or remove some of those that this thread has added."""
    if len(own) > 200 or (len(own) and random.random() < 0.4):
        count = int(random.integers(1, min(len(own), 20) + 1))
        with simulation.edit() as edit:
            edit.remove_springs(own[:count])
        return own[count:], -count
    count = int(random.integers(1, 20))
    first = random.integers(0, 1728, count)
    second = (first + random.integers(1, 1728, count)) % 1728
    with simulation.edit() as edit:
        added = edit.add_springs(first, second, stiffness=1.0)
    return own + added, count


def _timed(simulation: Simulation[springs.Solver], spring: int | None) -> float:
    simulation.synchronize()
    begin = time.perf_counter()
    if spring is not None:
        with simulation.edit() as edit:
            edit.remove_springs(np.array([spring]))
    simulation.step(1)
    simulation.synchronize()
    return time.perf_counter() - begin

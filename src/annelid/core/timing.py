"""Speed of a simulation, and of any work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from annelid.core.simulation import Simulation

_FEWEST = 20  # steps of a stretch


def steps_per_second(
    simulation: Simulation[Any],
    seconds: float,
    *,
    statistic: Literal["best", "mean"] = "best",
    warm_up: int | None = None,
) -> float:
    """Steps a second of wall time, over a few stretches after a warm-up.

    Args:
        simulation: The simulation; its state moves on.
        seconds: Wall time to spend [s], compilation not counted.
        statistic: The best stretch, or the mean of all: for a solver whose steps do not all cost the same.
        warm_up: Steps before the measurement; two batches by default, which compile and capture.
    """
    batch = simulation.solver.batch
    fewest = -(-_FEWEST // batch)  # batches
    _stretch(simulation, 2 * batch if warm_up is None else warm_up)
    best, steps, spent, count = 0.0, 0, 0.0, fewest * batch
    while spent < seconds or steps == 0:
        elapsed = _stretch(simulation, count)
        best, steps, spent = max(best, count / elapsed), steps + count, spent + elapsed
        # Longer stretches are measured more exactly, and whoever runs for long takes as many steps at a time.
        count = batch * max(fewest, min(2 * count, int(0.2 * seconds * count / elapsed)) // batch)
    return best if statistic == "best" else steps / spent


def _stretch(simulation: Simulation[Any], steps: int) -> float:
    """Wall time of some steps [s]."""
    begin = time.perf_counter()
    simulation.solver.advance(simulation.state, steps)
    simulation.synchronize()
    return time.perf_counter() - begin


def shortest_time(work: Callable[[], object], repeats: int, *, warm_up: int = 1) -> float:
    """Shortest wall time of some work whose results are on the host when it ends [s].

    Args:
        work: The work.
        repeats: How often it is timed.
        warm_up: How often it is done before: kernels are compiled, and what is repeated is captured.
    """
    times = []
    for _ in range(warm_up + repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times[warm_up:])

"""Speed of a simulation."""

from __future__ import annotations

import time
from typing import Any

from annelid.core.simulation import Simulation


def steps_per_second(simulation: Simulation[Any], seconds: float) -> float:
    """Steps a second of wall time, the best of a few stretches after a warm-up.

    Args:
        simulation: The simulation; it moves on.
        seconds: Wall time to spend [s], compilation not counted.
    """
    solver, state = simulation.solver, simulation.state
    batch = getattr(solver, "batch", 64)
    solver.advance(state, 2 * batch)  # compiles, captures and warms up
    simulation.synchronize()
    best, end = 0.0, time.perf_counter() + seconds
    repeats = 1
    while time.perf_counter() < end or best == 0.0:
        begin = time.perf_counter()
        for _ in range(repeats):
            solver.advance(state, batch)
        simulation.synchronize()
        elapsed = time.perf_counter() - begin
        best = max(best, repeats * batch / elapsed)
        repeats = max(1, min(2 * repeats, int(repeats * 0.2 * seconds / elapsed) or 1))
    return best

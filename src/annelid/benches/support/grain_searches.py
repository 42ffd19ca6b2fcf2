"""The paper's search for contacts beside ours: size of its hash, order of its loops (GranularGym, Fig. 3 and 6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import warp as wp

from annelid import grains
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.grains.linked import ARRANGEMENTS, LinkedHash

_SIZES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # buckets a grain; the paper proposes 2
_SWEEPS = 3  # as the paper
_BUNCH = 10  # searches in a launch on CUDA, where starting one takes as long as a small one


def searches(simulation: Simulation[grains.Solver], seconds: float) -> Iterator[Measurement]:
    """Rates of the linked hash on the bed of a simulation as it lies: table sizes, arrangements, candidates.

    Args:
        simulation: A bed of equal grains.
        seconds: Wall time for each rate [s].
    """
    model, state = simulation.solver.model, simulation.state
    for size in _SIZES:
        table = LinkedHash(model, state, size=max(round(size * model.count), 1))
        yield Measurement(f"hash-{size:g}-buckets-a-grain", model.count * _rate(table, seconds), "grains/s")
    for order in ARRANGEMENTS:
        table = LinkedHash(model, state, order=order)
        yield Measurement(f"arrangement-{order}", model.count * _rate(table, seconds), "grains/s")
    found = table.found()
    yield Measurement("hash-candidates", found.candidates / model.count, "a grain")
    yield Measurement("hash-share-touching", found.share, "", source="of the candidates in 27 cells")


def _rate(table: LinkedHash, seconds: float) -> float:
    """Searches a second of wall time, contacts answered and the table made anew in each."""
    device = table.device
    table.search(_SWEEPS)
    again: Callable[[], None] = lambda: table.search(_SWEEPS)  # noqa: E731
    bunch = 1
    if device.is_cuda:
        with wp.ScopedCapture(device=device) as capture:
            for _ in range(_BUNCH):
                table.search(_SWEEPS)
        again, bunch = lambda: wp.capture_launch(capture.graph), _BUNCH
    wp.synchronize_device(device)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        again()
        wp.synchronize_device(device)
        count += bunch
    return count / (time.perf_counter() - begin)

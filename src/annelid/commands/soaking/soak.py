"""A soak from beginning to end: everything is built, treated for some time, closed, read back and judged."""

from __future__ import annotations

import faulthandler
import gc
import itertools
import sys
import threading
import time as wall
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import warp as wp

from annelid.commands.soaking.browsing import Browsing, PageCounts
from annelid.commands.soaking.companions import Companion, all_companions
from annelid.commands.soaking.growth import Sampler, growth
from annelid.commands.soaking.reading import read_checkpoint, read_recording, read_tower
from annelid.commands.soaking.treatment import Treatment
from annelid.commands.soaking.wanted import NotAsWanted
from annelid.core.measurement import Measurement

MOST_GROWTH = 2.0
"""By how much the memory of the process may grow [%]."""

_HANGING = 600.0  # seconds after which an act is taken to hang
_THREAD_PATIENCE = 20.0  # seconds in which threads end that have nothing left to do


@dataclass(frozen=True)
class Outcome:
    """What a soak has found.

    Attributes:
        measurements: Numbers, judged where they must be something.
        failures: What went wrong, in sentences.
        memory: Memory of the process, second by second [B].
    """

    measurements: list[Measurement]
    failures: list[str]
    memory: np.ndarray


def soak(
    seconds: float,
    folder: Path,
    device: wp.Device,
    *,
    threads: int | None = None,
    browser: str | None = None,
    others: bool = True,
    seed: int = 1,
    told: Callable[[float], None] = lambda elapsed: None,
) -> Outcome:
    """Treat a tower, with its page open in a browser and other physics beside it.

    Args:
        seconds: For how long [s].
        folder: Where its files go.
        device: Where it computes.
        threads: CPU threads.
        browser: Path of a browser; None for no page.
        others: Whether grains and springs among grains run beside the tower.
        seed: Of all choices.
        told: Called between two acts with the time that has passed [s].
    """
    before = set(threading.enumerate())
    measurements, failures, memory = _treat(seconds, folder, device, threads, browser, others, seed, told)
    left = threads_left(before)
    failures += [f"the thread {name!r} was left over." for name in left]
    measurements.append(Measurement("threads-left", len(left), reference=0.0, tolerance=0.0))
    return Outcome(measurements, failures, memory)


def _treat(
    seconds: float,
    folder: Path,
    device: wp.Device,
    threads: int | None,
    browser: str | None,
    others: bool,
    seed: int,
    told: Callable[[float], None],
) -> tuple[list[Measurement], list[str], np.ndarray]:
    treatment = Treatment(folder, device, threads, seed)
    companions = all_companions(folder, device, threads) if others else []
    page: Browsing | None = None
    sampler = Sampler(2.0 * seconds + 60.0)
    with ExitStack() as last:
        for companion in companions:
            last.callback(treatment.attempt, companion.close)
        last.callback(treatment.close)
        if browser is not None:
            page = Browsing(treatment.simulation, browser, seed + 10)
            last.callback(treatment.attempt, page.close)
        last.callback(sampler.end)
        treatment.start()
        sampler.start()
        _act(seconds, treatment, companions, page, told)
    memory = sampler.end()
    unreadable = _read_back(treatment, companions)
    counts = page.counts if page is not None else None
    found = _judged(treatment, companions, counts, memory)
    found.append(Measurement("files-unreadable", unreadable, reference=0.0, tolerance=0.0))
    return found, treatment.failures, memory


def _act(
    seconds: float,
    treatment: Treatment,
    companions: list[Companion],
    page: Browsing | None,
    told: Callable[[float], None],
) -> None:
    """Act after act, until the time is over or something has failed."""
    begin = wall.perf_counter()
    with _ends_if_it_hangs() as goes_on:
        for act in itertools.cycle(_acts(treatment, companions, page)):
            elapsed = wall.perf_counter() - begin
            goes_on()
            told(elapsed)
            if elapsed > seconds or treatment.failures:
                return
            treatment.attempt(act)


def _acts(treatment: Treatment, companions: list[Companion], page: Browsing | None) -> list[Callable[[], None]]:
    def watched_run() -> None:
        """Sliders are moved and pictures looked at while the tower runs in its own thread."""
        if page is None:
            treatment.run_on()
            return
        treatment.simulation.start()
        page.move_sliders()
        page.look()
        treatment.simulation.pause()
        treatment.counts.runs += 1

    acts = [watched_run, treatment.stop_at_a_time, treatment.compare]
    acts += [page.play] if page is not None else []
    acts += [treatment.stop_at_a_condition, treatment.go_back, treatment.run_on]
    return acts + [companion.act for companion in companions]


@contextmanager
def _ends_if_it_hangs() -> Iterator[Callable[[], None]]:
    """End the process, with the stacks of all threads, where it is not told for long that it goes on."""

    def goes_on() -> None:
        faulthandler.dump_traceback_later(_HANGING, exit=True, file=sys.__stderr__ or 2)

    goes_on()
    try:
        yield goes_on
    finally:
        faulthandler.cancel_dump_traceback_later()


def _read_back(treatment: Treatment, companions: list[Companion]) -> int:
    """Read all files; returns how many could not be read as they should be."""
    counts, before = treatment.counts, len(treatment.failures)
    reads = [partial(read_recording, treatment.recorder, segments=counts.loads + 1)]
    reads += [partial(read_tower, kept, treatment.twin) for kept in counts.checkpoints]
    for one in companions:
        reads.append(partial(read_recording, one.recorder, segments=one.loads + 1))
        reads += [partial(read_checkpoint, path, one.twin) for path in one.checkpoints]
    for read in reads:
        treatment.attempt(read)
    return len(treatment.failures) - before


def _judged(
    treatment: Treatment, companions: list[Companion], page: PageCounts | None, memory: np.ndarray
) -> list[Measurement]:
    counts = treatment.counts
    found = [
        Measurement("edits", counts.found, reference=1.0, bound="at-least"),
        Measurement("edits-lost", counts.asked - counts.found, reference=0.0, tolerance=0.0),
        Measurement("springs-broken", treatment.breaker.broken),
        Measurement("steps", treatment.simulation.step_count),
        Measurement("runs", counts.runs),
        Measurement("breakpoints", counts.breakpoints),
        Measurement("checkpoints", len(counts.checkpoints) + sum(len(c.checkpoints) for c in companions)),
        Measurement("loads", counts.loads + sum(c.loads for c in companions)),
        Measurement("frames", treatment.recorder.frame_count + sum(c.recorder.frame_count for c in companions)),
    ]
    if page is not None:
        found += [
            Measurement("page-values", page.values, reference=1.0, bound="at-least"),
            Measurement("page-plays", page.plays),
            Measurement("page-looks", page.looks),
            *(Measurement("page-heap", heap / 1e6, "MB") for heap in page.heaps[-1:]),
        ]
    grown = growth(memory)
    if grown is not None:
        found.append(Measurement("memory", grown.last / 1e6, "MB"))
        found.append(Measurement("memory-growth", grown.percent, "%", MOST_GROWTH, 0.0, bound="at-most"))
        if grown.percent > MOST_GROWTH:
            treatment.fail(NotAsWanted(f"memory has grown by {grown.percent:.2g} %, at most {MOST_GROWTH:g} % may be."))
    return found


def threads_left(before: set[threading.Thread]) -> list[str]:
    """Names of threads that are still there though nobody needs them."""
    end = wall.perf_counter() + _THREAD_PATIENCE
    while True:
        gc.collect()  # threads of teams end with their solvers
        left = [thread.name for thread in threading.enumerate() if thread not in before]
        if not left or wall.perf_counter() > end:
            return left
        wall.sleep(0.1)

"""Speed of a worm of springs in a bed of grains, both ways coupled, and in ground that stands for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import warp as wp

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.scenes.sandworm import Sandworm


@dataclass(frozen=True)
class Case:
    """A worm in a bed, and how many times real time it should reach."""

    scene: Sandworm
    least: float


CASES = {
    "small": Case(Sandworm(spacing=0.57, grain_radius=0.016, run_up=1.1, depth=0.16), 0.5),
    "large": Case(Sandworm(spacing=0.3, grain_radius=0.009, run_up=2.95, depth=0.12), 4.0),
}
"""About 5,000 grains and 3,000 springs, for two cores; 50,000 grains and 20,000 springs, for a GPU."""


_PIECE = 0.05  # simulated at a time [s]
_FASTER = 100.0  # than grains: what ground that stands for them should be in worlds side by side on a GPU


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench coupling`."""

    seconds: float = 5.0
    """Wall time for each number [s]."""
    settle: float = 0.2
    """Simulated time before it is measured [s]."""
    cases: tuple[str, ...] = ()
    """small, large or both; by default the one that suits the device."""
    worlds: int | None = None
    """Worms side by side in ground that stands for grains; by default 256 on CUDA and 8 on CPUs."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """How many times faster than real time a worm crawls in sand."""
    if options.settle < 0.0:
        raise InvalidValue(f"--settle must not be negative, as {options.settle} is.")
    if options.worlds is not None and options.worlds < 1:
        raise InvalidValue(f"--worlds must be 1 or more, not {options.worlds}.")
    for name in options.cases or (("large",) if device.is_cuda else ("small",)):
        if name not in CASES:
            raise InvalidValue(f"--cases must be some of {', '.join(CASES)}, not {name!r}.")
        yield from _measure(name, CASES[name], device, threads, options)


def _measure(name: str, case: Case, device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    scene = case.scene
    simulation = scene.worm.simulation(scene.body(), device=device, threads=threads)
    simulation.run(options.settle)
    model = simulation.solver.model
    yield Measurement(f"{name}-grains", len(model.bed))
    yield Measurement(f"{name}-springs", model.springs.spring_count)
    factor = real_time(simulation, options.seconds)
    source = f"steps of {model.springs.dt:.3g} s and {simulation.dt:.3g} s"
    yield Measurement(f"{name}-real-time", factor, "", case.least, bound="at-least", source=source)
    yield Measurement(f"{name}-grains-inside", len(simulation.solver.readout.grains_inside(simulation.state)), "", 0, 0)
    on_ground = partial(scene.worm.on_resistive_ground, scene.body(), scene.medium, device=device, threads=threads)
    yield from _without_grains(f"{name}-resistive", on_ground, factor, options, many=256 if device.is_cuda else 8)


def _without_grains(
    name: str, built: Callable[..., Simulation[springs.Solver]], factor: float, options: Options, *, many: int
) -> Iterator[Measurement]:
    """The worm in ground that stands for grains, alone and among others, beside how fast it is in grains."""
    alone = built()
    alone.run(options.settle)
    faster = real_time(alone, options.seconds)
    yield Measurement(f"{name}-real-time", faster, source=f"steps of {alone.dt:.3g} s")
    yield Measurement(f"{name}-over-grains", faster / factor)
    worlds = options.worlds or many
    batch = built(worlds=worlds)
    batch.run(options.settle)
    together = worlds * real_time(batch, options.seconds)
    source = f"{worlds} worlds, simulated seconds of all of them in a second"
    yield Measurement(f"{name}-worlds-real-time", together, source=source)
    wanted = _FASTER if batch.solver.device.is_cuda else None
    yield Measurement(f"{name}-worlds-over-grains", together / factor, "", wanted, bound="at-least")


def real_time(simulation: Simulation[Any], seconds: float) -> float:
    """Simulated time over wall time, after a warm-up, as whoever runs it in pieces sees it."""
    simulation.run(_PIECE)
    start, begin = simulation.time, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        simulation.run(_PIECE)
    return (simulation.time - start) / elapsed

"""Throughput of the voxel robots: voxel-steps per second against length, scaffolding and step (Fig. 7 of the paper)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid import control, voxels
from annelid.core.measurement import Measurement
from annelid.core.timing import steps_per_second

_ORIGINAL = {3: 19_500.0, 15: 17_200.0, 45: 12_300.0}  # voxel-steps a second on a Neoverse-N1 core
_SOURCE = "2D-VSR-Sim 1.0.0, one Neoverse-N1 core"
_LANDING = 60  # steps until the robots have come to the ground
_SCAFFOLDINGS = {"ec": "EC", "eic": "EIC", "eix": "EIX"}


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench voxels`."""

    seconds: float = 1.0
    """Wall time for each rate [s]."""
    lengths: tuple[int, ...] = tuple(range(3, 46, 3))
    """Lengths of the w×3 worms."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Rates of worms of many lengths, scaffoldings and steps, and of many small robots at once."""
    copies = 2048 if device.is_cuda else 1
    for length in options.lengths:
        rate = _rate([_worm(length)] * copies, device, threads, options)
        yield Measurement(
            f"voxels-{length}x3", rate, "voxel-steps/s", _ORIGINAL.get(length), bound="at-least", source=_SOURCE
        )
    for name, scaffolding in _SCAFFOLDINGS.items():
        rate = _rate([_worm(15, scaffolding=scaffolding)] * copies, device, threads, options)
        yield Measurement(f"voxels-15x3-{name}", rate, "voxel-steps/s")
    for per_second in (30, 120):
        rate = _rate([_worm(15)] * copies, device, threads, options, dt=1.0 / per_second)
        yield Measurement(f"voxels-15x3-step-{per_second}hz", rate, "voxel-steps/s")
    yield Measurement(
        "voxels-15x3-30hz", _rate([_worm(15, frequency=30.0)] * copies, device, threads, options), "voxel-steps/s"
    )
    yield from _crowds(device, threads, options)
    yield _building(device)


def _crowds(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Many robots at once, without and with sensing networks."""
    count = 4096 if device.is_cuda else 64
    yield Measurement(
        f"voxels-{count}-of-5x5", _rate([_worm(5, height=5)] * count, device, threads, options), "voxel-steps/s"
    )
    thinker = _thinker()
    yield Measurement(f"voxels-{count}-of-4x2-mlp", _rate([thinker] * count, device, threads, options), "voxel-steps/s")


def _worm(length: int, *, height: int = 3, **material: Any) -> voxels.Robot:
    """A worm of voxels as the original makes them, with the wave of sec. 2.8.2 of the paper."""
    body = voxels.worm(length, voxels.Voxel.v1(**material), height=height)
    return body.with_controller(control.PhasedSines(np.pi * body.cells[:, 0] / length, frequency=-1.0))


def _thinker() -> voxels.Robot:
    body = voxels.biped(material=voxels.Voxel.v1(), sensors=voxels.talamini_sensors())
    weights = np.random.default_rng(0).uniform(-1.0, 1.0, 228)
    return body.with_controller(control.MLP(weights))


def _rate(
    robots: Sequence[voxels.Robot], device: wp.Device, threads: int | None, options: Options, **world: Any
) -> float:
    simulation = voxels.simulation(
        robots, obstacles=[voxels.terrain("uneven-5")], device=device, threads=threads, **world
    )
    return steps_per_second(simulation, options.seconds, warm_up=_LANDING) * simulation.solver.model.voxel_count


def _building(device: wp.Device) -> Measurement:
    """Time to prepare a population of a thousand robots."""
    robots = [_worm(5, height=5).with_parameters(row) for row in np.random.default_rng(0).uniform(-3, 3, (1000, 25))]
    begin = time.perf_counter()
    voxels.simulation(robots, obstacles=[voxels.terrain("flat")], device=device).synchronize()
    return Measurement("build-1000-of-5x5", time.perf_counter() - begin, "s")

"""Throughput of the mass-spring solver: springs per second against size, on the devices that the machine has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid import springs
from annelid.benches.support.floating import floating
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.core.timing import steps_per_second
from annelid.shapes import Plane

_CPU_BLOCKS = ((30, 30, 30), (5, 5, 321), (50, 50, 50))
_CUDA_BLOCKS = ((30, 30, 30), (5, 5, 321), (50, 50, 50), (100, 100, 100), (200, 200, 200))


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench springs`."""

    seconds: float = 1.0
    """Wall time for each rate [s]."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Rates of plain blocks, of many robots at once, of a step with all features, and the time of building a block."""
    for shape in _CUDA_BLOCKS if device.is_cuda else _CPU_BLOCKS:
        name = "springs-" + "x".join(map(str, shape))
        simulation = floating(springs.block(shape), device=device, threads=threads)
        yield from _rates(name, simulation, options, detailed=True)
        del simulation
    if not device.is_cuda:
        yield from _thread_scaling(device, options)
    yield from _unshared(device, threads, options)
    yield from _robots(device, threads, options)
    yield from _features(device, threads, options)
    yield _building(device)


def _rates(
    name: str, simulation: Simulation[springs.Solver], options: Options, *, detailed: bool
) -> Iterator[Measurement]:
    model = simulation.solver.model
    rate = steps_per_second(simulation, options.seconds)
    moved = model.bytes_per_spring()
    yield Measurement(name, model.spring_count * rate, "springs/s", source=model.layout_name)
    if detailed:
        yield Measurement(f"{name}-step", 1e6 / rate, "us")
        yield Measurement(f"{name}-bytes", moved, "B/spring")
        bandwidth = _bandwidth(model.device)
        yield Measurement(
            f"{name}-bandwidth-share", moved * model.spring_count * rate / bandwidth, "", source="of a copy"
        )


def _thread_scaling(device: wp.Device, options: Options) -> Iterator[Measurement]:
    body = springs.block((30, 30, 30))
    one, two = (steps_per_second(floating(body, device=device, threads=threads), options.seconds) for threads in (1, 2))
    yield Measurement("springs-30x30x30-1-thread", body.spring_count * one, "springs/s")
    yield Measurement("springs-30x30x30-2-threads", body.spring_count * two, "springs/s")
    yield Measurement("springs-30x30x30-2-threads-gain", two / one)


def _unshared(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """A block in which no two masses have the same springs: nothing to share, the worst case of the rows."""
    shape = (50, 50, 50) if device.is_cuda else (30, 30, 30)
    body = springs.block(shape)
    body.stiffness *= np.random.default_rng(0).uniform(0.9, 1.1, body.spring_count)
    simulation = floating(body, device=device, threads=threads)
    yield from _rates("springs-" + "x".join(map(str, shape)) + "-unshared", simulation, options, detailed=False)


def _robots(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    copies = 1000 if device.is_cuda else 20
    robots = springs.block((8, 8, 8)).replicated(np.arange(copies)[:, None] * np.array([1.0, 0.0, 0.0]))
    simulation = floating(robots, device=device, threads=threads)
    yield from _rates(f"robots-{copies}-of-8x8x8", simulation, options, detailed=False)


def _features(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Damping, a wave and ground contact together, against the plain step."""
    shape = (50, 50, 50) if device.is_cuda else (30, 30, 30)
    name = "x".join(map(str, shape))
    plain = floating(springs.block(shape), device=device, threads=threads)
    body = springs.block(shape, damping=1.0)
    body.actuate(springs.wave(0.1, 1.0, body.distance_along((1.0, 0.0, 0.0))))
    full = springs.simulation(body, device=device, threads=threads, obstacles=[Plane()])
    slow, fast = (steps_per_second(simulation, options.seconds) for simulation in (full, plain))
    yield Measurement(f"springs-{name}-damping-wave-contact", body.spring_count * slow, "springs/s")
    yield Measurement(f"springs-{name}-features-cost", fast / slow, "", 2.0, bound="at-most", source="plain step = 1")


def _building(device: wp.Device) -> Measurement:
    begin = time.perf_counter()
    simulation = floating(springs.block((50, 50, 50)), device=device)
    simulation.synchronize()
    return Measurement("build-50x50x50", time.perf_counter() - begin, "s", 2.0, bound="at-most")


def _bandwidth(device: wp.Device) -> float:
    """Bytes per second that a copy reads and writes on one thread of this device."""
    source = wp.zeros((1 << 30 if device.is_cuda else 1 << 27) // 4, dtype=wp.float32, device=device)
    target = wp.zeros_like(source)
    best = 0.0
    for _ in range(5):
        wp.synchronize_device(device)
        begin = time.perf_counter()
        wp.copy(target, source)
        wp.synchronize_device(device)
        best = max(best, 2 * source.size * 4 / (time.perf_counter() - begin))
    return best

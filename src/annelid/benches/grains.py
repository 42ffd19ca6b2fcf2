"""Throughput of the grains against their number, bodies, sweeps, skins, searches and methods (GranularGym, Fig. 9)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import warp as wp

from annelid import grains
from annelid.benches.support.grain_searches import searches
from annelid.benches.support.grain_solvers import heavy_body
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.options import Auto
from annelid.core.simulation import Simulation
from annelid.core.timing import steps_per_second
from annelid.grains.filling import jittered_lattice
from annelid.grains.world import Method
from annelid.scenes.gears import Gears
from annelid.shapes import Rigid, box_walls

RADIUS = 0.01
LAYERS = 25
_PITCH = 0.021
_CPU_COUNTS = (1_000, 10_000)
_CUDA_COUNTS = (10_000, 50_000, 200_000, 1_000_000)
_TARGETS = {50_000: 12.0}  # times real time on an H200, at rest and while it settles
_TOWER = 20  # gears that its tower has room for: all of the grains fit beside them
_CPU_SECONDS = 9.0  # for 10,000 grains; LAMMPS takes 36 on a core


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench grains`."""

    seconds: float = 1.0
    """Wall time for each rate [s]."""
    settle: float = 1.0
    """Simulated time before overlaps are measured [s]; 0 leaves out what needs a settled bed."""
    counts: tuple[int, ...] = ()
    """Numbers of grains; by default those that suit the device."""
    gears: tuple[int, ...] = (1, 2, 5, 10, 20)
    """Numbers of gears."""
    sweeps: tuple[int, ...] = (1, 2, 4, 8)
    """Sweeps a step, for the residual."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Rates of beds of many sizes, of a tower of gears, and what options of the solver cost."""
    if options.settle < 0.0:
        raise InvalidValue(f"--settle must not be negative, as {options.settle} is.")
    for count in options.counts or (_CUDA_COUNTS if device.is_cuda else _CPU_COUNTS):
        yield from _bed(count, device, threads, options)
    yield from _gears(device, threads, options)
    yield from _sweeps(device, threads, options)
    yield from _skins(device, threads, options)
    yield from _searches(device, threads, options)
    yield from _methods(device, threads, options)


def bed_of(count: int) -> tuple[grains.Bed, list[Rigid]]:
    """A jittered lattice 25 grains deep in a square box as wide as it takes, as other codes were measured on."""
    side = max(round((count / LAYERS) ** 0.5), 3)
    layers = -(-count // side**2)
    spots = jittered_lattice((side, side, layers), _PITCH, jitter=4e-4)
    spots = spots[np.argsort(spots[:, 2], kind="stable")[:count]]
    walls = box_walls((0.0, 0.0, 0.0), (side * _PITCH, side * _PITCH, 1.0))
    return grains.Bed(spots, RADIUS, grains.Grain(friction=0.5)), walls


def _bed(count: int, device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """A poured bed: its rate while it lies, how many times faster than real time, and how it lies."""
    bed, walls = bed_of(count)
    simulation = grains.simulation(bed, obstacles=walls, device=device, threads=threads)
    simulation.step(2 * simulation.solver.batch)  # compiles and captures
    wall, cpu = time.perf_counter(), time.process_time()
    simulation.run(options.settle)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = steps_per_second(simulation, options.seconds, statistic="mean")
    factor = rate * simulation.dt
    name = f"grains-{count}"
    yield Measurement(name, count * rate, "grain-steps/s")
    target = _TARGETS.get(count) if device.is_cuda else None
    yield Measurement(f"{name}-real-time", factor, "", target, bound="at-least")
    yield Measurement(f"{name}-step", 1e6 / rate, "us")
    if options.settle > 0.0:
        faster = options.settle / wall
        yield Measurement(f"{name}-settling-real-time", faster, "", target, bound="at-least")
        if not device.is_cuda:
            most = _CPU_SECONDS if count == 10_000 else None
            yield Measurement(f"{name}-cpu-seconds", cpu / options.settle, "a simulated s", most, bound="at-most")
        readout, state = simulation.solver.readout, simulation.state
        overlap, summary = readout.overlap(state), readout.summary(state)
        weight = float(bed.masses.sum()) * 9.81 * RADIUS
        yield Measurement(f"{name}-overlap-largest", overlap.largest, "diameters", 0.05, bound="at-most")
        yield Measurement(f"{name}-overlap-mean", overlap.mean, "diameters")
        yield Measurement(f"{name}-kinetic-energy", (summary.kinetic - summary.rotational) / weight, "m g R a grain")
        listed = float(simulation.state.counts.numpy()[:, 0].mean())
        pushing = 2.0 * len(readout.contacts(state).pairs) / count
        yield Measurement(f"{name}-neighbours", listed, "a grain", source="in lists")
        yield Measurement(f"{name}-share-touching", pushing / listed, "", source="of the neighbours in lists")


def _gears(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """The same grains in the same tower, with more and more of its gears."""
    most = max(options.gears, default=0)
    if most == 0:
        return
    count = 20_000 if device.is_cuda else 2_000
    scene = Gears(gears=max(most, _TOWER), count=count, cells=48)
    tower = scene.tower()
    bed, obstacles = scene.bed(tower), scene.obstacles(tower)
    first = None
    for number in options.gears:
        simulation = grains.simulation(
            bed,
            obstacles=[*obstacles[:number], obstacles[-1]],
            dt=2.0e-4,
            period=(0.0, 0.0, tower.container.length),
            device=device,
            threads=threads,
        )
        simulation.run(min(options.settle, 0.3))  # until grains are among the gears
        rate = steps_per_second(simulation, options.seconds, statistic="mean")
        first = first or rate
        yield Measurement(f"gears-{number}", count * rate, "grain-steps/s")
        yield Measurement(f"gears-{number}-cost", first / rate, "", 1.3, bound="at-most", source="one gear = 1")


def _sweeps(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Sweeps in a step against what is left to do after it and their cost: a bed at rest, and one that is hit."""
    bed, walls = bed_of(2_000)
    start = _settled(bed, walls, device, threads, options)
    for sweeps in options.sweeps:
        simulation = grains.simulation(start, obstacles=walls, iterations=sweeps, device=device, threads=threads)
        rate = steps_per_second(simulation, 0.3 * options.seconds, statistic="mean")
        yield Measurement(f"sweeps-{sweeps}-residual", simulation.solver.residual(simulation.state), "m/s")
        yield Measurement(f"sweeps-{sweeps}", len(bed) * rate, "grain-steps/s")
    if options.settle > 0.0:
        yield from heavy_body(start, walls, device, threads)


def _skins(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Width of the skin of lists against speed: wide ones last longer and are longer."""
    bed, walls = bed_of(50_000 if device.is_cuda else 2_000)
    for skin in (0.1, 0.25, 0.4, 0.6):
        simulation = grains.simulation(bed, obstacles=walls, skin=skin, device=device, threads=threads)
        rate = steps_per_second(simulation, 0.5 * options.seconds, statistic="mean")
        yield Measurement(f"skin-{skin:g}", len(bed) * rate, "grain-steps/s")


def _searches(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """The paper's hash on a settled bed, and beside it what a whole step with our lists takes on the same bed."""
    bed, walls = bed_of(50_000 if device.is_cuda else 2_000)
    simulation = grains.simulation(bed, obstacles=walls, device=device, threads=threads)
    simulation.run(options.settle)
    yield from searches(simulation, 0.2 * options.seconds)
    rate = steps_per_second(simulation, 0.5 * options.seconds, statistic="mean")
    yield Measurement(
        "arrangement-lists", len(bed) * rate, "grains/s", source="a step of ours, walls and motion included"
    )


def _methods(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """The same bed by each method, at a step of its own: rate, speed against real time, and how it lies at the end."""
    bed, walls = bed_of(2_000)
    steps: dict[Method, float | Auto] = {"nonsmooth": "auto", "paper": 5e-4, "hertz": "auto"}
    for method in get_args(Method):
        simulation = grains.simulation(
            bed, obstacles=walls, method=method, dt=steps[method], device=device, threads=threads
        )
        simulation.run(options.settle)
        rate = steps_per_second(simulation, 0.5 * options.seconds, statistic="mean")
        yield Measurement(f"method-{method}", len(bed) * rate, "grain-steps/s")
        yield Measurement(f"method-{method}-real-time", rate * simulation.dt)
        overlap = simulation.solver.readout.overlap(simulation.state).largest
        yield Measurement(f"method-{method}-overlap-largest", overlap, "diameters")


def _settled(
    bed: grains.Bed, walls: list[Rigid], device: wp.Device, threads: int | None, options: Options
) -> grains.Bed:
    """The bed after it has come to rest."""
    simulation: Simulation[Any] = grains.simulation(bed, obstacles=walls, device=device, threads=threads)
    simulation.run(options.settle)
    readout = simulation.solver.readout
    return bed.copy(positions=readout.positions(simulation.state))

"""Times of the finite elements: assembly, factors, solutions, weights of fluids, inverse control, motion in contact."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import warp as wp

from annelid import fem
from annelid.benches.support.touching import touching
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.fem.fluids.columns import FluidColumns
from annelid.scenes.pendulum import Pendulum
from annelid.shapes import Sphere

_SIZES: dict[str, dict[str, Any]] = {
    "small": {"resolution": 1, "layers": None, "cells": 100},
    "large": {"resolution": 2, "layers": 24, "cells": 200},
}
Weight = Literal["hydrostatic", "columns"]
_WEIGHTS: tuple[Weight, ...] = ("hydrostatic", "columns")
_STEP = 1e-4  # [m]: how far the target moves from frame to frame
_RADIUS = 1.5e-3  # [m]: of the circle on which it moves
_DEPTH = 2.5e-3  # [m]: how far below rest it begins, where no limit is in the way
_APPROACH = 10  # steps to get there
_RATES = {("small", "cpu"): 60.0, ("large", "cpu"): 10.0, ("large", "cuda"): 30.0}


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench fem`."""

    seconds: float = 2.0
    """Wall time for each number [s]."""
    sizes: tuple[str, ...] = ("small", "large")
    """Robots: small (399 nodes, columns 100²) and large (4,997 nodes, columns 200²)."""
    only_touching: bool = False
    """Measure nothing but the motion of a large body in contact."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Times of the parts of a step and of whole steps, for a small and a large robot with four hydraulic cavities."""
    unknown = [size for size in options.sizes if size not in _SIZES]
    if unknown:
        raise InvalidValue(f"--sizes must be some of {', '.join(_SIZES)}, not {unknown[0]!r}.")
    if options.only_touching:
        yield from touching(device, threads, options.seconds)
        return
    yield _fluid(device, options)
    for size in options.sizes:
        few = 1 if size == "small" and threads is None else threads  # one thread is what a small robot needs
        yield from _parts(size, device, few, options)
        for weight in _WEIGHTS:
            yield from _steps(size, weight, device, few, options)
        if size == "large":
            yield from touching(device, threads, options.seconds)


def robot(size: str, weight: Weight, device: Any, threads: int | None) -> fem.Robot:
    """The pendulum of the scene of that name, in a size."""
    shape = _SIZES[size]
    scene = Pendulum(weight=weight, resolution=shape["resolution"])
    return scene.robot(cells=shape["cells"], layers=shape["layers"], device=device, threads=threads)


def _fluid(device: wp.Device, options: Options) -> Measurement:
    ball = Sphere(0.01).surface(64)
    columns = FluidColumns(fem.Cavity(ball.triangles), fem.Fluid(), cells=200, device=device)
    places = wp.array(ball.vertices, dtype=wp.vec3d, device=device)
    duration = _mean(lambda: columns.evaluate(places), device, options.seconds)
    limit = 0.3 if device.is_cuda else 4.0
    return Measurement("fluid-weight-sphere-200x200", 1e3 * duration, "ms", limit, bound="at-most")


def _parts(size: str, device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Assembly, factor and solution of eight right-hand sides."""
    machine = robot(size, "hydrostatic", device, threads)
    fem.Forward(machine).settle()
    model, positions, values = machine.model, machine.positions, machine.model.assembly.values
    right = wp.zeros((model.node_count, 8), dtype=wp.vec3d, device=device)
    right.assign(np.random.default_rng(0).standard_normal((model.node_count, 8, 3)))
    solved = wp.zeros_like(right)
    works: dict[str, Callable[[], Any]] = {
        "assembly": lambda: model.assembly.evaluate(positions),
        "factor": lambda: model.linear.factor(values),
        "solve-8": lambda: model.linear.solve(right, solved),
    }
    for name, work in works.items():
        yield Measurement(f"{name}-{model.node_count}", 1e3 * _mean(work, device, options.seconds), "ms")


def _steps(
    size: str, weight: Weight, device: wp.Device, threads: int | None, options: Options
) -> Iterator[Measurement]:
    """Inverse steps with a target that moves 0.1 mm a frame on a circle."""
    machine = robot(size, weight, device, threads)
    control = fem.Inverse(machine)
    begin, times, misses = machine.places()[0] - [0.0, 0.0, _DEPTH], [], []
    for _ in range(_APPROACH):  # these compile and capture, too
        control.step(begin)
    end, number = time.perf_counter() + 2.0 * options.seconds, 0
    while time.perf_counter() < end or number < 40:
        angle = number * _STEP / _RADIUS
        offset = _RADIUS * np.array([np.sin(angle), 1.0 - np.cos(angle), np.cos(0.5 * angle) - 1.0])
        start = time.perf_counter()
        step = control.step(begin + offset)
        times.append(time.perf_counter() - start)
        misses.append(step.distance)
        number += 1
    spent = np.array(times)
    name = f"{machine.model.node_count}-{weight}"
    aim = _RATES.get((size, "cuda" if device.is_cuda else "cpu"))
    yield Measurement(f"inverse-rate-{name}", 1.0 / float(spent.mean()), "Hz", aim, bound="at-least")
    yield Measurement(f"inverse-median-{name}", 1e3 * float(np.median(spent)), "ms")
    yield Measurement(f"inverse-worst-{name}", 1e3 * float(spent.max()), "ms")
    yield Measurement(f"inverse-miss-{name}", float(np.max(misses)), "m")


def _mean(work: Callable[[], Any], device: wp.Device, seconds: float) -> float:
    """Mean time of a piece of work after it has run twice [s]."""
    for _ in range(2):
        work()
    wp.synchronize_device(device)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        work()
        count += 1
    wp.synchronize_device(device)
    return (time.perf_counter() - begin) / count

"""Many pneumatic fingers that are stepped together, each with a pressure and a stiffness of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.fem.batch.settings import Product
from annelid.fem.contact.state import Touching
from annelid.materials import NeoHooke, material
from annelid.robots.finger import finger_mesh
from annelid.shapes import Cylinder, Plane, Rigid

_CASES = {408: (2, 4096, 400_000.0), 1020: (5, 2048, 150_000.0)}
"""Chambers, worlds and wanted world-steps a second on a large GPU, by the number of nodes."""
_MODULUS, _POISSON = 100e3, 0.45
_PRESSURE = 6e3  # [Pa]
_AHEAD = 24  # steps before the clock starts: kernels are compiled, graphs captured, pressures there


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench fem-batch`."""

    seconds: float = 2.0
    """Wall time for each number [s]."""
    nodes: tuple[int, ...] = (408, 1020)
    """Nodes of a finger: 408 (4,096 worlds) and 1,020 (2,048 worlds)."""
    worlds: int | None = None
    """Number of worlds, instead of these."""
    dt: float = 1.0 / 120.0
    """Time step [s]."""
    newtons: int = 2
    """Iterations of Newton's method in a step."""
    gradients: int = 12
    """Iterations of conjugate gradients in each of them."""
    touching: bool = True
    """Whether fingers that touch are measured, too."""
    touching_newtons: int = 3
    """Iterations of Newton's method in a step of these."""
    touching_gradients: int = 8
    """Iterations of conjugate gradients in each of them."""
    contacts: int = 16
    """Nodes of a world whose contacts lead these, at most."""
    product: Product = "auto"
    """What multiplies with the shared inverse: torch, tiles or auto."""
    parts: bool = False
    """Whether the kernels of a step are timed, too; on CUDA only."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """World-steps a second, and what a step left unsolved."""
    unknown = [nodes for nodes in options.nodes if nodes not in _CASES]
    if unknown:
        raise InvalidValue(f"--nodes must be some of {', '.join(map(str, _CASES))}, not {unknown[0]}.")
    for nodes in options.nodes:
        chambers, worlds, wanted = _CASES[nodes]
        aim = wanted if device.is_cuda else None
        for touching in (False, True) if options.touching else (False,):
            simulation = fingers(chambers, options.worlds or worlds, device, threads, options, touching=touching)
            yield from _rates(simulation, f"{nodes}-{'touching' if touching else 'free'}", aim, options)


def fingers(
    chambers: int, worlds: int, device: wp.Device, threads: int | None, options: Options, *, touching: bool
) -> Simulation[fem.Solver]:
    """Fingers that are held at one end, with pressures up to 6 kPa and stiffnesses that differ by half.

    Those that touch bend down on a table and a rod that lies on it.
    """
    rubber = material("ecoflex-00-30").with_(
        youngs_modulus=_MODULUS, poisson_ratio=_POISSON, law=NeoHooke(_MODULUS / (2.0 + 2.0 * _POISSON)), density=1070.0
    )
    mesh = finger_mesh(length=0.02 * chambers, chambers=chambers)
    solid = fem.Solid(mesh, rubber).fix(lambda p: p[:, 0] < 1e-9)
    counts = options.newtons, options.gradients
    if touching:
        counts = options.touching_newtons, options.touching_gradients
    together = fem.Together(newtons=counts[0], gradients=counts[1], contacts=options.contacts, product=options.product)
    rod = Rigid(Cylinder(0.01, 0.1, axis="y"), position=(0.02 * chambers, 0.0, -0.0135))
    obstacles = [Rigid(Plane(point=(0.0, 0.0, -0.004))), rod] if touching else []
    air = fem.Pneumatic(name="air", pressure=(0.0, 2.0 * _PRESSURE))
    simulation = fem.simulation(
        solid, actuators=[air], dt=options.dt, worlds=worlds, together=together, obstacles=obstacles, device=device,
        threads=threads,
    )  # fmt: skip
    chance = np.random.default_rng(0)
    simulation.parameters["stiffness"] = chance.uniform(0.8, 1.2, worlds)
    simulation.controls.command({"air": chance.uniform(0.2, 1.0, worlds) * _PRESSURE}, ramp=0.05)
    return simulation


def _rates(simulation: Any, name: str, wanted: float | None, options: Options) -> Iterator[Measurement]:
    solver, state, device = simulation.solver, simulation.state, simulation.solver.device
    few = _AHEAD if device.is_cuda else 1
    for _ in range(2):
        solver.advance(state, few)
    if options.parts and device.is_cuda:
        yield from _parts(solver, state, name)
    before = state.unsettled.numpy().copy()
    wp.synchronize_device(device)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < options.seconds:
        solver.advance(state, few)
        count += few
        wp.synchronize_device(device)
    spent = time.perf_counter() - begin
    rate = solver.worlds * count / spent
    yield Measurement(f"world-steps-{name}", rate, "1/s", wanted, bound="at-least")
    yield Measurement(f"step-{name}", 1e3 * spent / count, "ms")
    left = float((state.unsettled.numpy() - before).sum()) / (solver.worlds * count)
    yield Measurement(f"unsettled-{name}", 100.0 * left, "%")
    if isinstance(state.touch, Touching):
        pushed = np.abs(state.touch.forces.numpy()).any(axis=1)
        yield Measurement(f"contacts-{name}", float(pushed.sum()) / solver.worlds, "")


def _parts(solver: Any, state: Any, name: str) -> Iterator[Measurement]:
    """Time of each kernel in one step, out of a graph."""
    wp.synchronize_device(solver.device)
    wp.timing_begin(cuda_filter=wp.TIMING_KERNEL)
    solver.take_step(state)
    found: dict[str, float] = {}
    for each in wp.timing_end():
        kernel = _words(each.name.removeprefix("forward kernel "))
        found[kernel] = found.get(kernel, 0.0) + each.elapsed
    for kernel, elapsed in sorted(found.items(), key=lambda pair: -pair[1]):
        yield Measurement(f"{kernel}-{name}", elapsed, "ms")


def _words(kernel: str) -> str:
    """The name of a kernel as words joined by hyphens, without what distinguishes its variants."""
    own = kernel.rpartition("__locals__")[2].rpartition("_")[0] or kernel
    return "-".join(filter(None, re.split(r"[^a-z0-9]+", own.lower())))

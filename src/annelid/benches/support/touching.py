"""Steps of a large soft body that lies across a post: how many a second, and where their time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.fem.contact.kept_newton import KeptNewton
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.shapes import Capsule, Rigid, Surface, tet_beam

_FALL = 20  # steps until it lies on the post
_WATCHED = 5  # steps in which parts are timed
_RATES = {"cpu": 6.0, "cuda": 60.0}  # steps a second that are wanted


class Stopwatch:
    """Sums the wall time of calls, less that of calls within them.

    Args:
        device: Device that is waited for before and after each call.
    """

    def __init__(self, device: wp.Device) -> None:
        self.seconds: dict[str, float] = {}
        self._device, self._within = device, [0.0]

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Time the calls of a method of one object, from now on."""
        setattr(owner, method, self._timed(getattr(owner, method), name))

    def _timed(self, work: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            begin = self._now()
            self._within.append(0.0)
            try:
                return work(*arguments, **options)
            finally:
                whole = self._now() - begin
                self.seconds[name] = self.seconds.get(name, 0.0) + whole - self._within.pop()
                self._within[-1] += whole

        return timed

    def _now(self) -> float:
        wp.synchronize_device(self._device)
        return time.perf_counter()


def touching(device: wp.Device, threads: int | None, seconds: float) -> Iterator[Measurement]:
    """Steps of 10 ms of a beam of 5,049 nodes that lies across a post and rocks there, with about 50 contacts."""
    simulation = _across_a_post(device, threads)
    simulation.step(_FALL)
    wp.synchronize_device(device)
    begin, began, steps = time.perf_counter(), time.process_time(), 0
    while steps < _WATCHED or time.perf_counter() - begin < 2.0 * seconds:
        simulation.step()
        steps += 1
    wp.synchronize_device(device)
    spent, used = time.perf_counter() - begin, time.process_time() - began
    name = f"touching-{simulation.solver.model.node_count}"
    forces = np.linalg.norm(simulation.solver.readout.contact_forces(simulation.state), axis=2)
    aim = _RATES["cuda" if device.is_cuda else "cpu"]
    yield Measurement(f"{name}-rate", steps / spent, "steps/s", aim, bound="at-least")
    yield Measurement(f"{name}-cpu-time", 1e3 * used / steps, "ms")
    yield Measurement(f"{name}-contacts", float(np.count_nonzero(forces)))
    yield from _parts(simulation, name)


def _parts(simulation: Simulation[fem.Solver], name: str) -> Iterator[Measurement]:
    """Where the time of some more steps goes, with the device waited for between parts."""
    solver, watch = simulation.solver, Stopwatch(simulation.solver.device)
    linear, contacts, newton = solver.model.linear, solver.contacts, solver.newton
    assert contacts is not None
    assert isinstance(linear, KeptFactor)
    assert isinstance(newton, KeptNewton)
    iterations, factorings = 0, linear.factorings
    for each in solver.model.assembly.sets:
        watch.watch(each, "evaluate", "contacts" if each in contacts.sets else "elements")
    halves = ("begin", "solutions"), ("at", "solutions"), ("end", "solutions")
    for method, part in (("factor", "factor"), *halves, ("compliance", "compliance")):
        watch.watch(linear, method, part)
    watch.watch(newton.reduced, "solve", "few-nodes")
    for method in ("follow", "free_part", "advance", "begin", "end"):
        watch.watch(contacts, method, "contacts")
    watch.watch(newton, "settle", "rest")
    for _ in range(_WATCHED):
        simulation.step()
        iterations += linear.iterations
    yield Measurement(f"{name}-iterations", iterations / _WATCHED, "a step")
    yield Measurement(f"{name}-factorings", (linear.factorings - factorings) / _WATCHED, "a step")
    for part, spent in watch.seconds.items():
        yield Measurement(f"{name}-time-in-{part}", 1e3 * spent / _WATCHED, "ms")


def _across_a_post(device: wp.Device, threads: int | None) -> Simulation[fem.Solver]:
    surface = Surface(friction=0.6)
    beam = fem.Solid(tet_beam(0.30, 0.06, 0.05, cells=(50, 10, 8)), "ecoflex-00-30", surface=surface)
    post = Rigid(Capsule(0.03, 0.2, axis="y"), surface, position=(0.15, 0.0, -0.06))
    return fem.simulation(beam, obstacles=[post], dt=0.01, device=device, threads=threads, linear="kept")

"""What a heavy body on a light bed costs in sweeps of each kind, and what they leave to do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.shapes import Obstacle, Rigid, Sphere

WAYS: dict[str, dict[str, Any]] = {
    "plain-1": {"converge": False, "iterations": 1},
    "plain-8": {"converge": False, "iterations": 8},
    "plain-50": {"converge": False, "iterations": 50},
    "converging": {"converge": True},
    "converging-31": {"converge": True, "iterations": 31, "tolerance": 1e-3},
}
"""Options of a step: sweeps a step, sweeps until it is solved, and sweeps that go on beyond what is chosen."""

_HEAVY = 1000.0  # mass of the ball, in grains
_SPEED = 1.0  # at which it meets the bed [m/s]
_BLOW, _LOOKS = 0.02, 8  # simulated time of the blow [s], and how often the residual is looked at


def heavy_body(
    bed: grains.Bed, walls: Sequence[Obstacle], device: wp.Device, threads: int | None
) -> Iterator[Measurement]:
    """A ball of the mass of 1,000 grains falls onto a bed at rest, in the step of the bed: residual, time and depth.

    Args:
        bed: The grains at rest.
        walls: What holds them.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """
    radius, middle = 4.0 * float(bed.radii[0]), bed.positions.mean(axis=0)
    below = np.linalg.norm(bed.positions[:, :2] - middle[:2], axis=1) < radius
    height = float((bed.positions[below, 2] + bed.radii[below]).max()) + radius
    ball = Rigid(
        Sphere(radius),
        position=(float(middle[0]), float(middle[1]), height),
        motion="free",
        mass=_HEAVY * float(bed.masses[0]),
        velocity=(0.0, 0.0, -_SPEED),
    )
    for name, options in WAYS.items():
        simulation = grains.simulation(
            bed, obstacles=[*walls, ball], dt=_step(bed, walls, ball, device), device=device, threads=threads, **options
        )
        worst, spent = _blow(simulation)
        fallen = height - simulation.solver.readout.body_position(simulation.state, ball)[2]
        yield Measurement(f"heavy-{name}-residual", worst, "m/s", source="largest of some steps of the blow")
        yield Measurement(f"heavy-{name}-step", 1e6 * spent, "us")
        yield Measurement(f"heavy-{name}-depth", float(fallen) / float(bed.radii[0]), "radii", source="after 20 ms")


def _step(bed: grains.Bed, walls: Sequence[Obstacle], ball: Rigid, device: wp.Device) -> float:
    """The step that suits bed and ball [s], the same for all ways."""
    return grains.Model(bed, world=grains.World(obstacles=[*walls, ball]), device=device).dt


def _blow(simulation: Simulation[grains.Solver]) -> tuple[float, float]:
    """Largest residual during the blow [m/s], and wall time of a step in it [s]."""
    solver, steps = simulation.solver, max(round(_BLOW / simulation.dt / _LOOKS), 1)
    solver.residual(simulation.state)  # compiles
    found, spent = [], 0.0
    simulation.step()
    for _ in range(_LOOKS):
        begin = time.perf_counter()
        simulation.step(steps)
        wp.synchronize_device(solver.device)
        spent += time.perf_counter() - begin
        found.append(solver.residual(simulation.state))
    return float(np.max(found)), spent / (_LOOKS * steps)

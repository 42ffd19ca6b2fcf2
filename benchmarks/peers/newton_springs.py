"""Springs a second of one lattice, stepped by Annelid and by Newton's semi-implicit solver on the same device.

Both step the same masses, springs and velocities without contacts by symplectic Euler; on CUDA both replay graphs.
Where masses have come to is compared first. It needs Newton beside Annelid: `pip install newton`, then
`python benchmarks/peers/newton_springs.py cuda 30 50`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import newton
import numpy as np
import warp as wp

from annelid import springs
from annelid.core.device import device as find_device
from annelid.core.timing import steps_per_second

_COMPARED = 50  # steps after which places are compared
_PAIRS = 16  # of steps in a graph
_SECONDS = 2.0  # of wall time for each rate


def lattice(size: int) -> springs.Body:
    """A cube of masses with springs to their 26 neighbours, which shakes a little."""
    body = springs.block((size,) * 3, 0.1)
    body.velocities[:] = np.random.default_rng(0).normal(0.0, 0.01, body.velocities.shape)
    return body


def newton_model(body: springs.Body, device: wp.Device) -> Any:
    """The same body as a model of Newton, whose particles do not look for each other."""
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    builder.add_particles(
        pos=[wp.vec3(*place) for place in body.positions.tolist()],
        vel=[wp.vec3(*velocity) for velocity in body.velocities.tolist()],
        mass=body.masses.tolist(),
    )
    builder.spring_indices.extend(body.springs.ravel().tolist())
    builder.spring_rest_length.extend(body.rest_lengths.tolist())
    builder.spring_stiffness.extend(body.stiffness.tolist())
    builder.spring_damping.extend(body.damping.tolist())
    builder.spring_control.extend([0.0] * body.spring_count)
    model = builder.finalize(device=str(device))
    model.particle_grid = None
    return model


def newton_stepper(model: Any, dt: float) -> tuple[Any, Callable[[], None]]:
    """A state, and what takes two steps from it and back into it."""
    state, other = model.state(), model.state()
    solver = newton.solvers.SolverSemiImplicit(model)

    def two_steps() -> None:
        for before, after in ((state, other), (other, state)):
            before.clear_forces()
            solver.step(before, after, None, None, dt)

    return state, two_steps


def newton_rate(model: Any, dt: float, device: wp.Device) -> float:
    """Steps a second, the best of some stretches."""
    _, two_steps = newton_stepper(model, dt)
    two_steps()  # compiles
    go, steps = two_steps, 2
    if device.is_cuda:
        with wp.ScopedCapture(device=device) as capture:
            for _ in range(_PAIRS):
                two_steps()
        go, steps = lambda: wp.capture_launch(capture.graph), 2 * _PAIRS
    go()
    best, end = 0.0, time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        wp.synchronize_device(device)
        begin = time.perf_counter()
        for _ in range(8):
            go()
        wp.synchronize_device(device)
        best = max(best, 8 * steps / (time.perf_counter() - begin))
    return best


def compare(size: int, device: wp.Device) -> str:
    """A line with both rates, and how far places are apart after some steps."""
    body = lattice(size)
    simulation = springs.simulation(body, device=device)
    dt, model = simulation.dt, newton_model(body, device)
    simulation.step(_COMPARED)
    state, two_steps = newton_stepper(model, dt)
    for _ in range(_COMPARED // 2):
        two_steps()
    apart = float(np.abs(simulation.positions() - state.particle_q.numpy()).max())
    ours = body.spring_count * steps_per_second(simulation, _SECONDS)
    theirs = body.spring_count * newton_rate(model, dt, device)
    return (
        f"{size}³, {body.spring_count} springs: Annelid {ours / 1e9:.3g} G, Newton {newton.__version__} "
        f"{theirs / 1e9:.3g} G springs/s, {ours / theirs:.2g} times; places apart by {apart:.1g} m"
    )


if __name__ == "__main__":
    where, *sizes = sys.argv[1:] or ["auto", "30"]
    for given in sizes:
        print(compare(int(given), find_device(where)), flush=True)

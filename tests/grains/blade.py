"""A small bed with a driven blade in it and a free ball on top, which take commands: what several tests look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid import grains
from annelid.grains.filling import jittered_lattice
from annelid.shapes import Box, Rigid, Sphere, box_walls

RADIUS = 0.01
EDGE = 2.1 * RADIUS * 6
BLADE = Rigid(Box((0.01, 0.06, 0.05)), position=(0.03, 0.5 * EDGE, 0.05), motion="driven", name="blade")
BALL = Rigid(Sphere(0.02), position=(0.09, 0.5 * EDGE, 0.09), motion="free", density=2000.0, name="ball")
CONTROLS = (
    grains.velocity_control("ahead", BLADE, "x", low=-0.5, high=0.5),
    grains.spin_control("turn", "blade", "z", low=-5.0, high=5.0),
    grains.force_control("lift", BALL, "z", low=0.0, high=20.0),
    grains.torque_control("roll", "ball", "y", low=-0.1, high=0.1),
)


def simulated(device: str, worlds: int = 1, *, seed: int = 1, **options: Any) -> Any:
    """A small bed with a blade in it and a ball on top."""
    spots = jittered_lattice((6, 6, 3), 2.1 * RADIUS, jitter=0.05 * RADIUS, seed=seed, corner=(1.05 * RADIUS,) * 3)
    bed = grains.Bed(spots, RADIUS, grains.Grain(friction=0.5))
    bodies = [*box_walls((0.0, 0.0, 0.0), (EDGE, EDGE, 1.0)), BLADE, BALL]
    options = {"obstacles": bodies, "controls": CONTROLS, "dt": 2.5e-4, "threads": 1, "overlapping": "push", **options}
    with grains.start.on_purpose():
        return grains.simulation(bed, worlds=worlds, device=device, **options)


def drive(simulation: Any, world: int | slice = slice(None)) -> None:
    """Some commands for each of four worlds; in a simulation of one world those of `world`."""
    simulation.step(30)
    simulation.controls["ahead"] = np.array([0.0, 0.1, 0.2, 0.4])[world]
    simulation.controls.command({"lift": np.array([0.0, 1.0, 2.0, 3.0])[world], "turn": 2.0}, ramp=0.01)
    simulation.step(90)


def motion(simulation: Any) -> np.ndarray:
    """Grains and bodies of each world, shape [worlds, ...]."""
    state, worlds = simulation.state, simulation.solver.worlds
    arrays = simulation.positions(), simulation.velocities(), state.places.numpy(), state.turns.numpy()
    return np.concatenate([array.reshape(worlds, -1) for array in arrays], axis=1)

"""A block on an incline: whichever physics computes it, it sticks and slides as Coulomb says, with one friction.

The incline is the ground under a gravity that leans over. A robot is held, so it is the incline itself: what slides on
it is a free box.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs, voxels3d
from annelid.materials import Material
from annelid.shapes import Box, Obstacle, Rigid, Surface, ground, tet_beam

G = 9.81
RUBBER = Material("rubber", 1000.0, 1e7, 0.3, 1.0, 0.0, "test")
Placed = tuple[Any, Callable[[], np.ndarray]]
"""A simulation, and where what slides is in it [m], shape [3]."""


def spring_block(incline: Obstacle, gravity: Any) -> Placed:
    body = springs.block((4, 4, 2), 0.05, stiffness=1e3, damping=20.0)
    simulation = springs.simulation(body, obstacles=[incline], gravity=gravity, device="cpu", threads=1)
    return simulation, lambda: simulation.positions().mean(axis=0)


def free_box(incline: Obstacle, gravity: Any) -> Placed:
    box = Rigid(Box((0.2, 0.2, 0.05)), motion="free", position=(0.0, 0.0, 0.025))
    bed = grains.Bed([[5.0, 5.0, 0.01]], 0.01)
    simulation = grains.simulation(bed, obstacles=[incline, box], gravity=gravity, device="cpu", threads=1)
    return simulation, lambda: np.array(simulation.state.places.numpy()[1], float)


def solid(incline: Obstacle, gravity: Any) -> Placed:
    mesh = tet_beam(0.2, 0.2, 0.05, cells=(2, 2, 1)).moved((0.0, 0.0, 0.0305))
    simulation = fem.simulation(
        fem.Solid(mesh, RUBBER), obstacles=[incline], gravity=gravity, dt=0.01, device="cpu", threads=1
    )
    return simulation, lambda: simulation.positions().mean(axis=0)


def on_a_robot(incline: Obstacle, gravity: Any) -> Placed:
    """A plate leans on a stop while the robot is brought to rest; then the stop leaves it."""
    mesh = tet_beam(0.1, 0.1, 0.02, cells=(2, 2, 1))
    held = fem.Solid(mesh, RUBBER, surface=incline.surface).fix(lambda p: p[:, 2] < -0.0099)
    plate = Rigid(Box((0.3, 0.3, 0.02)), motion="free", position=(0.05, 0.0, 0.0209))
    stop = Rigid(
        Box((0.02, 0.1, 0.05)), Surface(friction=0.0), motion="driven", position=(0.211, 0.0, 0.0209),
        velocity=(1.0, 0.0, 0.0),
    )  # fmt: skip
    idle = fem.PointForce(name="idle", at=(0.0, 0.0, 0.01), direction=(0.0, 0.0, 1.0))
    robot = fem.Robot(
        held, [idle], obstacles=[plate, stop], contact=fem.Contact(reach=1e-3), gravity=gravity, device="cpu", threads=1
    )
    simulation = fem.forward_simulation(robot, lambda time: {"idle": 0.0}, dt=0.01)
    return simulation, lambda: np.array(robot.touch_state.places.numpy()[0])


def voxels_3d(incline: Obstacle, gravity: Any) -> Placed:
    rubber = voxels3d.Voxel(youngs_modulus=1e5, global_damping=0.0)
    robot = voxels3d.Robot(np.zeros((4, 4, 2), int), (rubber,), 0.05)
    simulation = voxels3d.simulation(robot, obstacles=[incline], gravity=gravity, device="cpu", threads=1)
    return simulation, lambda: simulation.positions().mean(axis=0)


def lattice_in_grains(incline: Obstacle, gravity: Any) -> Placed:
    body = springs.block((4, 4, 2), 0.05, stiffness=1e3, damping=10.0).moved((0.0, 0.0, 0.0006))
    bed = grains.Bed([[5.0, 5.0, 0.03]], 0.03)
    simulation = coupling.simulation(body, bed, obstacles=[incline], gravity=gravity, device="cpu", threads=1)
    return simulation, lambda: simulation.solver.readout.body_positions(simulation.state).mean(axis=0)


PHYSICS = {
    "springs": spring_block,
    "grains": free_box,
    "solid": solid,
    "robot": on_a_robot,
    "voxels3d": voxels_3d,
    "coupling": lattice_in_grains,
}


def run(physics: str, degrees: float, friction: float, settle: float, watch: float) -> tuple[np.ndarray, np.ndarray]:
    """Times [s], and how far it has slid since it began [m]."""
    angle = np.radians(degrees)
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    simulation, place = PHYSICS[physics](ground(friction), gravity)
    simulation.run(settle)
    times, places = [], []
    for _ in range(5):
        simulation.run(watch / 4)
        times.append(simulation.time)
        places.append(place()[0])
    return np.array(times), np.array(places)


def pulled(degrees: float, friction: float) -> float:
    """Acceleration of what slides, by Coulomb [m/s²]."""
    return G * (np.sin(np.radians(degrees)) - friction * np.cos(np.radians(degrees)))


def slid(physics: str, degrees: float, friction: float, settle: float = 0.1) -> tuple[float, float]:
    """Acceleration [m/s²], and speed at the end [m/s], after some time in which it comes to lie [s]."""
    times, places = run(physics, degrees, friction, settle, 0.1)
    fit = np.polynomial.Polynomial.fit(times, places, 2).convert()
    return float(fit.deriv(2)(times[-1])), float(fit.deriv()(times[-1]))


@pytest.mark.parametrize("physics", PHYSICS)
def test_a_block_sticks_below_the_angle_of_friction(physics: str) -> None:
    acceleration, speed = slid(physics, 26.0, 0.5, settle=0.3)
    assert abs(acceleration) < 0.005
    assert abs(speed) < 0.0005


@pytest.mark.parametrize("physics", PHYSICS)
def test_a_block_slides_above_it_as_fast_as_coulomb_says(physics: str) -> None:
    assert slid(physics, 28.0, 0.5)[0] == pytest.approx(pulled(28.0, 0.5), rel=0.01)


@pytest.mark.parametrize("physics", PHYSICS)
def test_any_friction_is_the_same_under_every_physics(physics: str) -> None:
    rng = np.random.default_rng(list(physics.encode()))
    friction = rng.uniform(0.1, 0.7)
    degrees = np.degrees(np.arctan(friction)) + rng.uniform(3.0, 8.0)
    assert slid(physics, degrees, friction)[0] == pytest.approx(pulled(degrees, friction), rel=0.01)

"""Solids in ground that resists: they sink as deep as the law says, and stay there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.materials import material
from annelid.shapes import Obstacle, Plane, ResistiveGround, tet_beam

SIDE, MASS = 0.06, 0.3
SAND = ResistiveGround("poppy-loose")


def cube(lift: float = 1e-6, *, quadratic: bool = False) -> fem.Solid:
    """A cube above the ground."""
    mesh = tet_beam(SIDE, SIDE, SIDE, cells=(2, 2, 2)).moved((0.0, 0.0, 0.5 * SIDE + lift))
    stuff = material("ecoflex-00-30").with_(youngs_modulus=5e6, poisson_ratio=0.3, density=MASS / SIDE**3)
    return fem.Solid(mesh.quadratic() if quadratic else mesh, stuff)


def thrown(solid: fem.Solid, velocity: tuple[float, float, float], *obstacles: Obstacle, dt: float = 1e-3) -> Any:
    """A simulation of a solid that moves at a velocity."""
    simulation = fem.simulation(solid, obstacles=obstacles, dt=dt, device="cpu", threads=1)
    simulation.state.velocities.assign(np.tile(velocity, (solid.node_count, 1)))
    return simulation


def run_back(simulation: Any) -> None:
    simulation.solver.adjoint(simulation.state)


def height_of(simulation: Any) -> float:
    return float(simulation.summary().center_of_mass[2])


@pytest.mark.parametrize(("speed", "quadratic"), [(0.0, False), (0.5, False), (0.5, True)])
def test_a_cube_sinks_until_its_energy_is_spent_and_stays_there(speed: float, quadratic: bool) -> None:
    simulation = thrown(cube(quadratic=quadratic), (0.0, 0.0, -speed), SAND)
    begun = height_of(simulation)
    simulation.run(0.12)
    # m v²/2 + m g z = k z²/2, where a flat face that goes straight down meets 0.254 N/cm³; first order in the step.
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    wanted = (weight + np.sqrt(weight**2 + k * MASS * speed**2)) / k
    sunk = begun - height_of(simulation)
    assert sunk == pytest.approx(wanted, rel=0.03)
    assert simulation.state.sunk.forces.numpy().sum(axis=0)[2] == pytest.approx(weight, rel=1e-3)
    simulation.run(0.02)
    assert begun - height_of(simulation) == pytest.approx(sunk, abs=1e-8), "no creep under its weight"


def test_shorter_steps_lead_to_the_closed_form() -> None:
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    misses = []
    for dt in (2e-3, 1e-3):
        simulation = thrown(cube(), (0.0, 0.0, 0.0), SAND, dt=dt)
        begun = height_of(simulation)
        simulation.run(0.06)
        misses.append(abs(begun - height_of(simulation) - 2.0 * weight / k))
    assert misses[1] == pytest.approx(0.5 * misses[0], rel=0.2)


def test_a_floor_below_the_sand_stops_what_falls_through_it() -> None:
    simulation = thrown(cube(), (0.0, 0.0, -0.5), SAND, Plane(point=(0.0, 0.0, -0.013)))
    simulation.run(0.06)
    assert -0.0115 < simulation.positions()[:, 2].min() < -0.001, "12.8 mm deep without the floor"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fem.simulation(cube(), obstacles=[SAND], dynamic=False, device="cpu"), "dynamic=True"),
        (lambda: fem.simulation(cube(), obstacles=[SAND], integrator="midpoint", device="cpu"), "backward-euler"),
        (lambda: fem.equilibrium(cube(), obstacles=[SAND], device="cpu"), "resists motion"),
        (lambda: fem.World(obstacles=[ResistiveGround("glass", repose=30.0)]), "repose=30"),
        (lambda: fem.World(obstacles=[ResistiveGround("glass", stiffness=1e6)]), "sand that gives below solids"),
        (lambda: fem.World(obstacles=[SAND, SAND]), "obstacles hold 2"),
        (lambda: fem.simulation(cube(-0.01), obstacles=[SAND], device="cpu"), "start below the ResistiveGround"),
        (lambda: run_back(thrown(cube(), (0.0, 0.0, 0.0), SAND)), "run back"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        make()

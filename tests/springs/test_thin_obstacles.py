"""Obstacles thinner than a mass sinks in: nothing leaves them on another side than it came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.shapes import Box, ImplicitSurface, Revolved, Rigid, Sphere, Surface, turned_about

Make = Callable[..., Any]


@wp.func
def implicit_plate(time: Any, x: Any):  # type: ignore[no-untyped-def]
    height = x[2]
    side = wp.where(height < type(height)(0.0), type(height)(-1.0), type(height)(1.0))
    return wp.vector(type(height)(0.0), type(height)(0.0), side, wp.abs(height) - type(height)(0.001))


def cube(speed: float, above: float) -> springs.Body:
    body = springs.block((4, 4, 4), 0.05 / 3, mass=0.002, stiffness=300.0, damping=0.02).moved((0.0, 0.0, 0.0))
    body = body.moved((0.003, 0.002, above - body.bounds()[0][2]))
    body.velocities[:] = (0.0, 0.0, -speed)
    return body


def plate(kind: str, thickness: float) -> Rigid:
    box = Box((0.12, 0.12, thickness))
    if kind == "turned mesh":
        return Rigid(Box((0.12, thickness, 0.12)).surface(), rotation=turned_about("x", 0.5 * np.pi))
    return Rigid(box if kind == "box" else box.surface())


@pytest.mark.parametrize("kind", ["box", "mesh", "turned mesh"])
@pytest.mark.parametrize(("thickness", "speed"), [(0.001, 1.4), (0.001, 10.0), (0.01, 1.4), (0.02, 10.0)])
def test_a_cube_does_not_pass_a_plate(simulate: Make, where: Make, kind: str, thickness: float, speed: float) -> None:
    simulation = simulate(cube(speed, 0.5 * thickness + 0.002), obstacles=[plate(kind, thickness)])
    for _ in range(10):
        simulation.run(0.003)
        assert where(simulation)[:, 2].min() > -0.3 * thickness


@pytest.mark.parametrize("integrator", ["verlet", "rk4"])
@pytest.mark.parametrize("speed", [1.4, 10.0])
def test_other_integrators_stop_it_as_well(simulate: Make, where: Make, integrator: str, speed: float) -> None:
    simulation = simulate(cube(speed, 0.003), obstacles=[plate("box", 0.002)], integrator=integrator)
    simulation.run(0.02)
    assert where(simulation)[:, 2].min() > -0.001


def test_a_bucket_with_thin_walls_holds_it(simulate: Make, where: Make) -> None:
    inner = 0.1 - 0.003
    bucket = Revolved(((0, 0), (0.1, 0), (0.1, 0.2), (inner, 0.2), (inner, 0.003), (0, 0.003)))
    body = cube(3.0, 0.03).rotated("x", 0.4)
    body.velocities[:] = (4.0, 0.5, -3.0)
    simulation = simulate(body, obstacles=[bucket])
    for _ in range(4):
        simulation.run(0.02)
        x = where(simulation)
        assert (np.hypot(x[:, 0], x[:, 1]) < 0.1)[x[:, 2] < 0.2].all()
        assert (x[:, 2] > 0.0).all()


def test_a_surface_of_the_user_and_a_ball_stop_it(simulate: Make, where: Make) -> None:
    simulation = simulate(cube(5.0, 0.003), obstacles=[ImplicitSurface(implicit_plate)])
    simulation.run(0.01)
    assert where(simulation)[:, 2].min() > -0.001
    mass = springs.Body([[0.0005, 0.0, 0.01]], 0.1, [], [], [], velocities=[[0.0, 0.0, -10.0]])
    simulation = simulate(mass, obstacles=[Rigid(Sphere(0.004))])
    simulation.run(0.004)
    assert where(simulation)[0, 2] > 0.0


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_stop_bounces_as_the_surface_says(simulate: Make, restitution: float) -> None:
    mass = springs.Body([[0.0, 0.0, 0.01]], 0.1, [], [], [], velocities=[[0.0, 0.0, -10.0]])
    obstacle = Rigid(Box((0.3, 0.3, 0.002)), Surface(restitution=restitution))
    simulation = simulate(mass, obstacles=[obstacle], gravity=(0.0, 0.0, 0.0))
    simulation.run(0.01)
    up = simulation.solver.readout.velocities(simulation.state)[0, 2]
    assert up == pytest.approx(10.0 * restitution, abs=1.0)


def test_a_fast_mass_rubs_where_it_is_stopped(simulate: Make) -> None:
    mass = springs.Body([[0.0, 0.0, 0.003]], 0.1, [], [], [], velocities=[[9.0, 0.0, -10.0]])
    obstacle = Rigid(Box((0.3, 0.3, 0.0005)), Surface(friction=0.4, restitution=0.0))
    simulation = simulate(mass, obstacles=[obstacle], gravity=(0.0, 0.0, 0.0))
    simulation.run(0.002)
    along, _, _ = simulation.solver.readout.velocities(simulation.state)[0]
    assert along == pytest.approx(9.0 - 0.4 * 10.0, abs=0.2)


def test_what_goes_past_the_rim_of_a_plate_goes_on(simulate: Make, where: Make) -> None:
    mass = springs.Body([[0.0601, 0.0, 0.01]], 0.1, [], [], [], velocities=[[0.0, 0.0, -10.0]])
    simulation = simulate(mass, obstacles=[plate("mesh", 0.02), plate("box", 0.02)], gravity=(0.0, 0.0, 0.0), dt=1e-4)
    simulation.run(0.005)
    assert where(simulation)[0, 2] == pytest.approx(-0.04, abs=1e-4)

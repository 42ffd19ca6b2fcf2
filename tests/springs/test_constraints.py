"""Fixed and guided masses, external forces, and forces and constraints written by the user."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.shapes import Plane

Make = Callable[..., Any]

G = 9.81


@wp.func
def pull_to_axis(time: Any, index: int, position: Any, velocity: Any, mass: Any):
    """A well around the z axis, 40 N/m, whatever the mass."""
    return type(position)(-position[0], -position[1], position[2] * mass * type(mass)(0.0)) * type(mass)(40.0)


@wp.func
def push_the_second(time: Any, index: int, position: Any, velocity: Any, mass: Any):
    """A force along y on mass 1 that grows with time, 3 N/s."""
    force = position * type(mass)(0.0)
    if index == 1:
        force[1] = time * type(time)(3.0)
    return force


@wp.func
def conveyor(time: Any, index: int, position: Any, velocity: Any):
    """Whatever else happens, move along x at 0.2 m/s."""
    return type(position)(type(position[0])(0.2), velocity[1], velocity[2])


@wp.func
def no_sideways(time: Any, index: int, position: Any, velocity: Any):
    """Stay in the plane y = const."""
    return type(position)(velocity[0], velocity[1] * type(velocity[0])(0.0), velocity[2])


def particles(*positions: tuple[float, float, float], mass: Any = 1.0, velocities: Any = None) -> springs.Body:
    return springs.Body(list(positions), mass, [], [], [], velocities=velocities)


def test_fixed_masses_stay_whatever_acts(simulate: Make, where: Make) -> None:
    body = springs.block((4, 3, 3)).fix(lambda x: x[:, 0] < 0.05)
    body.push(None, (0.0, 10.0, 0.0))
    plane = Plane(point=(0.0, 0.0, 0.05))  # above some of the fixed masses
    simulation = simulate(body, gravity=(0.0, 0.0, -G), obstacles=[plane])
    simulation.run(0.3)
    held = body.fixed
    assert held.sum() == 9
    np.testing.assert_array_equal(where(simulation)[held], body.positions[held])
    assert np.abs(where(simulation)[~held] - body.positions[~held]).max() > 1e-3


def test_fixed_masses_keep_their_velocity(simulate: Make, where: Make) -> None:
    """A clamp that is moved draws the rest along."""
    body = springs.block((3, 3, 3), damping=20.0).fix(lambda x: x[:, 0] < 0.05)
    body.velocities[body.fixed] = (0.0, 0.1, 0.0)
    simulation = simulate(body, dt=1e-4)
    simulation.run(2.0)
    expected = body.positions + np.array([0.0, 0.2, 0.0])
    np.testing.assert_allclose(where(simulation)[body.fixed], expected[body.fixed], atol=1e-9)
    np.testing.assert_allclose(where(simulation).mean(axis=0), expected.mean(axis=0), atol=5e-3)


def test_a_bead_on_a_line(simulate: Make, where: Make) -> None:
    """Gravity along a wire at an angle: only its part along the wire acts, and start speeds across it are dropped."""
    axis = np.array([1.0, 2.0, -2.0])
    body = particles((0.1, 0.2, 0.3), velocities=[(2.0, -1.0, 0.0)]).guide(None, "line", axis)
    simulation = simulate(body, gravity=(0.0, 0.0, -G), dt=1e-4)
    simulation.run(0.5)
    moved = where(simulation)[0] - body.positions[0]
    np.testing.assert_allclose(np.cross(moved, axis), 0.0, atol=1e-12)
    assert np.linalg.norm(moved) == pytest.approx(0.5 * G * 2.0 / 3.0 * 0.25, rel=1e-3)


def test_a_bead_on_a_line_starts_with_its_speed_along_it(simulate: Make, where: Make) -> None:
    body = particles((0.0, 0.0, 0.0), velocities=[(1.0, 1.0, 0.0)]).guide(None, "line", (1.0, 0.0, 0.0))
    simulation = simulate(body)
    simulation.run(0.5)
    np.testing.assert_allclose(where(simulation)[0], [0.5, 0.0, 0.0], atol=1e-12)


def test_a_puck_on_a_plane(simulate: Make, where: Make) -> None:
    """In a plane through the vertical it swings on its spring; across the plane nothing moves it."""
    normal = np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)
    body = particles((0.0, 0.0, 0.0), velocities=[(1.0, 0.0, 2.0)]).guide(None, "plane", normal)
    simulation = simulate(body, gravity=(3.0, 0.0, -G), dt=1e-4)
    simulation.run(0.4)
    moved = where(simulation)[0]
    assert abs(moved @ normal) < 1e-12
    free = np.array([1.0, 0.0, 2.0]) * 0.4 + 0.5 * np.array([3.0, 0.0, -G]) * 0.16
    np.testing.assert_allclose(moved, free - (free @ normal) * normal, atol=1e-3)


def test_a_guide_acts_on_its_masses_only(simulate: Make, where: Make) -> None:
    body = particles((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)).guide(np.array([0]), "plane", (0.0, 0.0, 1.0))
    simulation = simulate(body, gravity=(0.0, 0.0, -G), dt=1e-4)
    simulation.run(0.2)
    z = where(simulation)[:, 2]
    assert z[0] == 0.0
    assert z[1] == pytest.approx(-0.5 * G * 0.04, rel=1e-3)


def test_an_external_force_is_shared_and_constant(simulate: Make, where: Make) -> None:
    """A force on a free block accelerates its centre of mass by F/m."""
    body = springs.block((3, 3, 3)).push(lambda x: x[:, 2] > 0.15, (0.0, 0.54, 0.0))
    simulation = simulate(body, dt=1e-4)
    simulation.run(0.5)
    assert body.forces.sum(axis=0)[1] == pytest.approx(0.54)
    moved = body.masses @ (where(simulation) - body.positions) / body.masses.sum()
    np.testing.assert_allclose(moved, [0.0, 0.5 * 0.54 / 2.7 * 0.25, 0.0], rtol=1e-3, atol=1e-12)


def test_a_hanging_mass_stretches_its_spring_by_its_weight(simulate: Make, oscillator: Make, where: Make) -> None:
    body = oscillator(positions=[[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]], damping=8.0)
    simulation = simulate(body, gravity=(0.0, 0.0, -G), dt=1e-3)
    simulation.run(6.0)
    assert where(simulation)[1, 2] == pytest.approx(-1.0 - G / 100.0, abs=1e-9)


def test_a_force_of_the_user(simulate: Make, where: Make) -> None:
    """A well for every mass (two frequencies), and a growing push for one of them."""
    body = particles((0.1, 0.0, 0.0), (0.1, 0.0, 0.0), mass=[1.0, 4.0])
    simulation = simulate(body, forces=[pull_to_axis, push_the_second], integrator="rk4", dt=1e-3)
    simulation.run(1.0)
    x = where(simulation)
    assert x[0, 0] == pytest.approx(0.1 * math.cos(math.sqrt(40.0)), abs=1e-9)
    assert x[1, 0] == pytest.approx(0.1 * math.cos(math.sqrt(10.0)), abs=1e-9)
    omega = math.sqrt(10.0)  # y'' = -10 y + 3/4 t
    assert x[1, 1] == pytest.approx(0.75 / 10.0 * (1.0 - math.sin(omega) / omega), abs=1e-8)
    assert x[0, 1] == 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_constraints_of_the_user(precision: str, simulate: Make, where: Make) -> None:
    body = particles((0.0, 1.0, 0.0), velocities=[(5.0, 3.0, 0.0)])
    simulation = simulate(
        body, precision=precision, constraints=[conveyor, no_sideways], gravity=(1.0, 1.0, -G), dt=1e-3
    )
    simulation.run(0.5)
    np.testing.assert_allclose(where(simulation)[0], [0.1, 1.0, -0.5 * G * 0.25], rtol=5e-3)


def test_a_constraint_leaves_fixed_masses_alone(simulate: Make, where: Make) -> None:
    simulation = simulate(particles((0.0, 0.0, 0.0)).fix(), constraints=[conveyor, no_sideways])
    simulation.run(0.1)
    np.testing.assert_array_equal(where(simulation), 0.0)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (math.nan, 0.0, 1.0), (math.inf, 0.0, 0.0), (1.0, 0.0)])
def test_a_guide_needs_a_direction(axis: tuple[float, ...]) -> None:
    with pytest.raises(InvalidValue, match="axis of a guide"):
        particles((0.0, 0.0, 0.0)).guide(None, "line", axis)


def test_an_unknown_guide_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'line' or a 'plane', not 'circle'"):
        particles((0.0, 0.0, 0.0)).guide(None, "circle", (0.0, 0.0, 1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("force", [(math.nan, 0.0, 0.0), (1.0, 0.0), 3.0])
def test_a_force_must_be_three_numbers(force: Any, simulate: Make) -> None:
    with pytest.raises(InvalidValue, match="force"):
        simulate(particles((0.0, 0.0, 0.0)).push(None, force))


def test_a_force_needs_a_mass() -> None:
    with pytest.raises(InvalidValue, match="no mass is where the force should act"):
        particles((0.0, 0.0, 0.0)).push(np.zeros(1, bool), (1.0, 0.0, 0.0))


def test_functions_must_be_warp_functions(simulate: Make) -> None:
    def plain(time: float, index: int, position: Any, velocity: Any, mass: float) -> Any:
        return position

    with pytest.raises(InvalidValue, match="wp.func"):
        simulate(particles((0.0, 0.0, 0.0)), forces=[plain])


def test_a_function_that_is_copied_takes_another_precision() -> None:
    """Warp copies generic functions for each set of types that they are compiled for."""
    copied = copy.copy(conveyor)
    assert copied is not conveyor
    assert vars(copied) == vars(conveyor)
    assert copy.deepcopy(conveyor) is conveyor

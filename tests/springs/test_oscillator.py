"""One oscillator against closed forms: order of accuracy, damping, drag, a driven spring."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import springs

Make = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore::annelid.core.errors.StepTooLong")  # forward Euler is never stable

TIME = 1.0
ORDERS = {"euler": (1, 2000), "symplectic": (1, 1000), "verlet": (2, 250), "rk4": (4, 100)}


@wp.func
def cosine(time: Any, parameters: Any):
    """1 + c cos(w t), a signal that starts away from 1."""
    return type(time)(1.0) + parameters[0] * wp.cos(parameters[1] * time)


def measured_order(error: Callable[[int], float], steps: int) -> float:
    coarse, fine = error(steps), error(4 * steps)
    return math.log(coarse / fine) / math.log(4)


@pytest.mark.parametrize("integrator", ORDERS)
def test_order_of_accuracy(integrator: str, simulate: Make, oscillator: Make, where: Make, speed: Make) -> None:
    order, steps = ORDERS[integrator]
    omega, amplitude = 10.0, 0.1

    def error(count: int) -> float:
        simulation = simulate(oscillator(), integrator=integrator, dt=TIME / count)
        simulation.step(count)
        position = where(simulation)[1, 0] - 1.0 - amplitude * math.cos(omega * TIME)
        velocity = speed(simulation)[1, 0] + amplitude * omega * math.sin(omega * TIME)
        return math.hypot(position, velocity / omega)  # both: one alone may cross zero

    assert measured_order(error, steps) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("integrator", ORDERS)
def test_order_of_accuracy_when_driven(integrator: str, simulate: Make, oscillator: Make, where: Make) -> None:
    """A rest length that changes with time must be taken at the right moment of a step."""
    order, steps = ORDERS[integrator]
    omega, drive, c = 10.0, 4.0, 0.05
    gain = c * omega**2 / (omega**2 - drive**2)  # x = 1 + gain cos(drive t) + (0.1 - gain) cos(omega t)
    exact = 1.0 + gain * math.cos(drive * TIME) + (0.1 - gain) * math.cos(omega * TIME)

    def error(count: int) -> float:
        body = oscillator().actuate(springs.Signal(cosine, (c, drive)))
        simulation = simulate(body, integrator=integrator, dt=TIME / count)
        simulation.step(count)
        return abs(where(simulation)[1, 0] - exact)

    assert measured_order(error, steps) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("integrator", ORDERS)
def test_order_of_accuracy_when_damped(integrator: str, simulate: Make, oscillator: Make, where: Make) -> None:
    """Dashpot and velocity damping together: x'' = -100 (x - 1) - (2 + 1.5) x'."""
    order, steps = ORDERS[integrator]
    rate = 0.5 * (2.0 + 1.5)
    omega = math.sqrt(100.0 - rate**2)
    exact = 1.0 + 0.1 * math.exp(-rate * TIME) * (math.cos(omega * TIME) + rate / omega * math.sin(omega * TIME))

    def error(count: int) -> float:
        body = oscillator(damping=2.0)
        simulation = simulate(body, integrator=integrator, dt=TIME / count, velocity_damping=1.5)
        simulation.step(count)
        return abs(where(simulation)[1, 0] - exact)

    assert measured_order(error, steps) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
@pytest.mark.parametrize("damping", [0.5, 2.0])
def test_logarithmic_decrement_of_a_dashpot(
    integrator: str, damping: float, simulate: Make, oscillator: Make, where: Make
) -> None:
    simulation = simulate(oscillator(damping=damping), integrator=integrator, dt=1e-4)
    stretch = []
    simulation.observe(lambda s: stretch.append(where(s)[1, 0] - 1.0), every=1e-3)
    simulation.run(3.0)
    values = np.array(stretch)
    peaks = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:])) + 1
    ratio = damping / (2.0 * 10.0)  # c / 2 sqrt(k m)
    decrement = 2.0 * math.pi * ratio / math.sqrt(1.0 - ratio**2)
    assert np.log(values[peaks[0]] / values[peaks[3]]) / 3 == pytest.approx(decrement, rel=5e-3)


def test_a_dashpot_works_along_its_spring_only(simulate: Make, oscillator: Make, speed: Make) -> None:
    body = oscillator(positions=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], stiffness=0.0, damping=2.0)
    body.velocities[1] = (0.3, 0.4, 0.0)
    simulation = simulate(body, dt=1e-3)
    simulation.step()
    np.testing.assert_allclose(speed(simulation)[1], [0.3 * (1.0 - 2.0 * 1e-3), 0.4, 0.0], rtol=1e-12)


@pytest.mark.parametrize("mass", [0.1, 3.0])
def test_velocity_damping_decays_exponentially(mass: float, simulate: Make, speed: Make) -> None:
    body = springs.Body([[0.0, 0.0, 0.0]], mass, [], [], [], velocities=[[1.0, -2.0, 0.5]])
    simulation = simulate(body, dt=1e-4, velocity_damping=3.0)
    simulation.run(0.5)
    np.testing.assert_allclose(speed(simulation)[0], np.exp(-1.5) * np.array([1.0, -2.0, 0.5]), rtol=1e-3)


def test_drag_ends_at_the_terminal_velocity(simulate: Make, where: Make, speed: Make) -> None:
    mass, drag, g = 0.4, 0.05, 9.81
    body = springs.Body([[0.0, 0.0, 0.0]], mass, [], [], [])
    simulation = simulate(body, dt=1e-3, drag=drag, gravity=(0.0, 0.0, -g))
    terminal = math.sqrt(mass * g / drag)
    simulation.run(0.8)  # on the way: v = vt tanh(g t / vt), z = -vt² / g ln cosh(g t / vt)
    assert speed(simulation)[0, 2] == pytest.approx(-terminal * math.tanh(g * 0.8 / terminal), rel=2e-3)
    fallen = terminal**2 / g * math.log(math.cosh(g * 0.8 / terminal))
    assert where(simulation)[0, 2] == pytest.approx(-fallen, rel=5e-3)
    simulation.run(20.0)
    assert speed(simulation)[0, 2] == pytest.approx(-terminal, rel=1e-9)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_free_fall(precision: str, simulate: Make, where: Make) -> None:
    body = springs.Body(
        [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [1.0, 5.0], [], [], [], velocities=[[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
    )
    simulation = simulate(body, precision=precision, gravity=(0.0, -9.81, 0.0), dt=1e-4)
    simulation.run(0.5)
    fallen = 0.5 * 9.81 * 0.5**2
    np.testing.assert_allclose(where(simulation), [[1.5, 2.0 - fallen, 3.0], [0.0, -fallen, 1.0]], atol=5e-4)

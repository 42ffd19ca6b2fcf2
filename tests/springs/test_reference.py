"""The solver against a plain NumPy integrator on random networks, and against itself in the other precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import springs

Make = Callable[..., Any]

DT, GRAVITY, DECAY, DRAG = 2e-3, np.array([0.3, -1.0, 0.5]), 0.4, 0.05


def acceleration(body: springs.Body, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What every mass feels, spring by spring."""
    total = body.forces - DRAG * np.linalg.norm(v, axis=1)[:, None] * v
    i, j = body.springs.T
    away = x[j] - x[i]
    length = np.linalg.norm(away, axis=1)
    unit = away / length[:, None]
    closing = np.einsum("ij,ij->i", v[j] - v[i], unit)
    pull = (body.stiffness * (length - body.rest_lengths) + body.damping * closing)[:, None] * unit
    np.add.at(total, i, pull)
    np.add.at(total, j, -pull)
    a = total / body.masses[:, None] + GRAVITY - DECAY * v
    a[body.fixed] = 0.0
    return a


def euler(body: springs.Body, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x + DT * v, v + DT * acceleration(body, x, v)


def symplectic(body: springs.Body, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    v = v + DT * acceleration(body, x, v)
    return x + DT * v, v


def rk4(body: springs.Body, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classical method on (x, v)' = (v, a)."""

    def slope(y: np.ndarray) -> np.ndarray:
        return np.stack([y[1], acceleration(body, y[0], y[1])])

    y = np.stack([x, v])
    k1 = slope(y)
    k2 = slope(y + DT / 2 * k1)
    k3 = slope(y + DT / 2 * k2)
    k4 = slope(y + DT * k3)
    y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0], y[1]


def verlet(body: springs.Body, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocity Verlet for forces that depend on positions only."""
    a = acceleration(body, x, v)
    x = x + DT * v + DT**2 / 2 * a
    return x, v + DT / 2 * (a + acceleration(body, x, v))


def loaded(body: springs.Body) -> springs.Body:
    rng = np.random.default_rng(9)
    body.forces = rng.normal(0.0, 1.0, body.forces.shape)
    return body.fix(np.array([3, 50, 51]))


@pytest.mark.parametrize("step", [euler, symplectic, rk4], ids=lambda step: step.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_force_on_a_random_network(
    step: Make, seed: int, simulate: Make, network: Make, where: Make, speed: Make
) -> None:
    body = loaded(network(seed=seed, damping=0.3))
    world = {"gravity": tuple(GRAVITY), "velocity_damping": DECAY, "drag": DRAG}
    simulation = simulate(body, integrator=step.__name__, dt=DT, **world)
    x, v = body.positions, body.velocities
    for _ in range(101):
        x, v = step(body, x, v)
    simulation.step(101)
    np.testing.assert_allclose(where(simulation), x, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(speed(simulation), v, rtol=1e-9, atol=1e-10)


def test_verlet_on_a_random_network(
    simulate: Make, network: Make, where: Make, speed: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "DECAY", 0.0)
    monkeypatch.setitem(globals(), "DRAG", 0.0)
    body = loaded(network(seed=2))
    simulation = simulate(body, integrator="verlet", dt=DT, gravity=tuple(GRAVITY))
    x, v = body.positions, body.velocities
    for _ in range(101):
        x, v = verlet(body, x, v)
    simulation.step(101)
    np.testing.assert_allclose(where(simulation), x, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(speed(simulation), v, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("jitter", [0.0, 0.05])
def test_rows_that_are_shared_and_rows_that_are_not(
    jitter: float, simulate: Make, where: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lattice stores equal surroundings once; with springs that all differ there is nothing to share."""
    monkeypatch.setitem(globals(), "DECAY", 0.0)
    monkeypatch.setitem(globals(), "DRAG", 0.0)
    monkeypatch.setitem(globals(), "DT", 2e-4)
    body = springs.block((5, 4, 7))
    body.stiffness *= np.random.default_rng(0).uniform(1.0 - jitter, 1.0 + jitter, body.spring_count)
    body.velocities = np.random.default_rng(1).normal(0.0, 0.5, body.positions.shape)
    simulation = simulate(body, dt=DT, gravity=tuple(GRAVITY))
    rows = len(simulation.solver.model.rows.examples)
    assert rows == (body.mass_count if jitter else 27)
    x, v = body.positions, body.velocities
    for _ in range(50):
        x, v = symplectic(body, x, v)
    simulation.step(50)
    np.testing.assert_allclose(where(simulation), x, rtol=1e-10, atol=1e-12)


def test_single_and_double_precision_agree(simulate: Make, where: Make) -> None:
    results = []
    for precision in ("float32", "float64"):
        body = springs.block((8, 6, 5))
        body.velocities = np.random.default_rng(1).normal(0.0, 0.1, body.positions.shape)
        simulation = simulate(body, precision=precision, gravity=(0.0, 0.0, -9.81))
        simulation.step(200)
        results.append(where(simulation))
    np.testing.assert_allclose(results[0], results[1], atol=1e-5 * np.ptp(results[1]))


def test_many_bodies_behave_as_each_alone(simulate: Make, network: Make, where: Make) -> None:
    one, other = network(seed=3), network(seed=4)
    together = simulate(one + other.moved((0.0, 0.0, 50.0)) + one.moved((9.0, 0.0, 0.0)), dt=DT)
    alone = simulate(one, dt=DT)
    together.step(60)
    alone.step(60)
    count = one.mass_count
    np.testing.assert_allclose(where(together)[:count], where(alone), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(where(together)[2 * count :] - [9.0, 0.0, 0.0], where(alone), rtol=1e-9, atol=1e-11)


def test_copies_of_a_robot_share_their_rows(simulate: Make) -> None:
    robot = springs.block((4, 4, 4))
    swarm = robot.replicated(np.arange(25)[:, None] * np.array([1.0, 0.0, 0.0]))
    alone, many = (simulate(body).solver.model for body in (robot, swarm))
    assert len(many.rows.examples) == len(alone.rows.examples) == 27
    assert many.mass_count == 25 * alone.mass_count


def test_two_masses_in_one_place_do_not_blow_up(simulate: Make, oscillator: Make, where: Make) -> None:
    simulation = simulate(oscillator(positions=[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), dt=1e-3)
    simulation.step(10)
    assert np.isfinite(where(simulation)).all()


def loose_beside_held() -> springs.Body:
    """Three masses that hang on nothing and one on a spring, which a CPU core sums together."""
    positions = np.arange(15.0).reshape(5, 3)
    return springs.Body(positions, 1.0, [[3, 4]], 4.0, 100.0)


@pytest.mark.parametrize("prepare", [(), ("damping",), ("breaking",)], ids=lambda names: "-".join(names) or "plain")
def test_a_mass_without_springs_feels_none_of_those_of_the_next_one(
    prepare: tuple[str, ...], simulate: Make, speed: Make
) -> None:
    simulation = simulate(loose_beside_held(), dt=DT, prepare=prepare)
    simulation.step(1)
    assert not speed(simulation)[:3].any()
    assert speed(simulation)[3:].any(axis=1).all()


def test_masses_all_of_whose_springs_are_fast_feel_no_slow_ones_of_the_next_one(simulate: Make, speed: Make) -> None:
    positions = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 3))
    ends = np.array([[0, 4], [1, 5], [2, 6], [3, 8]])
    lengths = np.linalg.norm(positions[ends[:, 1]] - positions[ends[:, 0]], axis=1)
    lengths[3] *= 1.2
    positions[4:7] = positions[:3] + np.array([0.5, 0.0, 0.0])
    lengths[:3] = 0.5
    body = springs.Body(positions, 1.0, ends, lengths, 100.0)
    body.substeps[[0, 1, 2, 4, 5, 6]] = 4
    simulation = simulate(body, dt=DT)
    simulation.step(1)
    assert np.abs(speed(simulation)[:3]).max() < 1e-12  # at rest, all of them
    assert speed(simulation)[3].any()

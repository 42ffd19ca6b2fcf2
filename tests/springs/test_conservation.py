"""Conservation laws of closed systems, and the energies that a summary reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import springs

Make = Callable[..., Any]


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
def test_momentum_and_angular_momentum_stay(
    integrator: str, damping: float, simulate: Make, network: Make, where: Make, speed: Make
) -> None:
    body = network(damping=damping)
    simulation = simulate(body, integrator=integrator, dt=1e-3)
    before = simulation.summary()
    simulation.step(2000)
    after = simulation.summary()
    moved = np.linalg.norm(where(simulation) - body.positions, axis=1)
    assert moved.max() > 0.1  # something has happened
    # Rounding: one part in 2^53 of what is exchanged in each of the steps.
    linear = float((body.masses * np.linalg.norm(body.velocities, axis=1)).sum())
    angular = float(
        (body.masses * np.linalg.norm(body.velocities, axis=1) * np.linalg.norm(body.positions, axis=1)).sum()
    )
    np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-12 * linear)
    if integrator == "symplectic" or damping == 0.0:
        np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-12 * angular)


def test_a_lattice_keeps_its_momenta(simulate: Make) -> None:
    body = springs.block((6, 5, 4))
    body.velocities = np.cross([0.3, -0.2, 0.5], body.positions) + np.random.default_rng(3).normal(
        0, 0.1, body.positions.shape
    )
    simulation = simulate(body, dt=2e-4)
    before = simulation.summary()
    simulation.step(3000)
    after = simulation.summary()
    np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-12)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-12)


def test_verlet_keeps_the_energy(simulate: Make, network: Make) -> None:
    energies = {}
    for dt in (2e-3, 1e-3):
        simulation = simulate(network(), integrator="verlet", dt=dt, gravity=(0.0, 1.0, 0.0))
        totals = [simulation.summary().total]
        simulation.observe(lambda s, totals=totals: totals.append(s.summary().total), every=0.02)
        simulation.run(4.0)
        energies[dt] = np.array(totals)
    swing = {dt: np.ptp(values) for dt, values in energies.items()}
    kinetic = simulate(network()).solver.readout.summary(simulate(network()).state).kinetic
    assert swing[1e-3] < 1e-3 * kinetic
    assert swing[2e-3] / swing[1e-3] == pytest.approx(
        4.0, rel=0.5
    )  # the error is of the second order, and it does not grow
    half = len(energies[1e-3]) // 2
    assert abs(energies[1e-3][half:].mean() - energies[1e-3][:half].mean()) < 0.1 * swing[1e-3]


def test_energies_of_an_oscillator(simulate: Make, oscillator: Make) -> None:
    simulation = simulate(oscillator(), integrator="verlet", dt=1e-4)
    start = simulation.summary()
    assert (start.elastic, start.kinetic) == (pytest.approx(0.5 * 100.0 * 0.1**2), 0.0)
    simulation.run(np.pi / 20)  # a quarter of a period: all of it is kinetic
    middle = simulation.summary()
    assert middle.kinetic == pytest.approx(0.5, rel=1e-4)
    assert middle.elastic < 1e-6
    assert middle.total == pytest.approx(start.total, rel=1e-6)


def test_gravitational_energy_is_weight_times_height(simulate: Make, oscillator: Make) -> None:
    body = oscillator(positions=[[0.0, 0.0, 2.0], [1.0, 0.0, 3.0]], masses=[2.0, 0.5])
    simulation = simulate(body, gravity=(0.0, 0.0, -9.81))
    summary = simulation.summary()
    assert summary.gravitational == pytest.approx(9.81 * (2.0 * 2.0 + 0.5 * 3.0))


def test_a_summary_against_sums_over_masses_and_springs(simulate: Make, network: Make) -> None:
    body = network(count=3000, hub=700)  # more masses than partial sums
    simulation = simulate(body, gravity=(1.0, -2.0, 3.0))
    summary = simulation.summary()
    x, v, m = body.positions, body.velocities, body.masses
    stretch = np.linalg.norm(x[body.springs[:, 1]] - x[body.springs[:, 0]], axis=1) - body.rest_lengths
    np.testing.assert_allclose(summary.center_of_mass, body.center_of_mass, rtol=1e-12)
    np.testing.assert_allclose(summary.momentum, m @ v, rtol=1e-11)
    np.testing.assert_allclose(summary.angular_momentum, m @ np.cross(x, v), rtol=1e-10)
    assert summary.elastic == pytest.approx(0.5 * (body.stiffness * stretch**2).sum(), rel=1e-12)
    assert summary.kinetic == pytest.approx(0.5 * (m * (v**2).sum(axis=1)).sum(), rel=1e-12)
    assert summary.gravitational == pytest.approx(-(m @ x) @ [1.0, -2.0, 3.0], rel=1e-10)
    assert summary.total == summary.elastic + summary.kinetic + summary.gravitational


def test_an_actuated_spring_stores_energy_about_its_present_length(simulate: Make, oscillator: Make) -> None:
    body = oscillator(positions=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]).actuate(springs.expand_contract(0.2, 0.25))
    body.fix()
    simulation = simulate(body, dt=1e-2)
    simulation.run(1.0)  # a quarter of a cycle: the rest length is 1.2
    assert simulation.summary().elastic == pytest.approx(0.5 * 100.0 * 0.2**2, rel=1e-9)

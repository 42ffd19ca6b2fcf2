"""Dashpots that build up their force over a time: a standard linear solid, in steps that strong ones do not shorten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Rollout, springs
from annelid.core.errors import InvalidValue
from annelid.shapes import ground

Make = Callable[..., Any]
DELAY = 0.02


def rubber(**options: Any) -> springs.Body:
    return springs.box((0.06, 0.04, 0.03), 0.01, "ecoflex-00-30", damping_frequency=1.0, **options)


def test_an_oscillator_moves_as_a_standard_linear_solid(simulate: Make, oscillator: Make, where: Make) -> None:
    """x'' = -k x - q, with q' = (c x' - q) / delay: a sum of three exponentials."""
    simulation = simulate(oscillator(damping=3.0), relaxation=DELAY, dt=1e-5)
    motion = np.array([[0.0, 1.0, 0.0], [-100.0, 0.0, -1.0], [0.0, 3.0 / DELAY, -1.0 / DELAY]])
    values, vectors = np.linalg.eig(motion)
    parts = np.linalg.solve(vectors, np.array([0.1, 0.0, 0.0]))
    for _ in range(6):
        simulation.run(0.1)
        expected = (vectors @ (parts * np.exp(values * simulation.time)))[0].real
        assert where(simulation)[1, 0] - 1.0 == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("damping", [0.3, 30.0, 3000.0])
@pytest.mark.parametrize("delay", [1e-4, 1e-2, 1.0])
def test_the_stable_step_is_stable_and_no_longer_one_is(
    damping: float, delay: float, simulate: Make, oscillator: Make, where: Make
) -> None:
    """A mass of 1 kg on a spring of 100 N/m: the bound is that of two such masses, which is twice as stiff."""
    stable = 0.0
    for share in (0.98, 1.5):
        body = oscillator(damping=damping)
        stable = simulate(body, relaxation=delay).solver.stable_step()
        simulation = simulate(body, relaxation=delay, dt=share * stable)
        if share < 1.0:
            simulation.step(2000)
            assert abs(where(simulation)[1, 0] - 1.0) < 0.11
    exact = 2.0 / np.sqrt(2.0 * (100.0 + damping / delay))
    assert stable == pytest.approx(exact, rel=1e-6)


def test_momentum_is_kept_and_energy_is_lost(simulate: Make, network: Make, speed: Make) -> None:
    body = network(damping=50.0)
    body.velocities[:] = np.random.default_rng(1).standard_normal(body.positions.shape)
    simulation = simulate(body, relaxation=0.01)
    before, energy = body.masses @ body.velocities, simulation.summary()
    simulation.run(0.5)
    after = simulation.summary()
    np.testing.assert_allclose(body.masses @ speed(simulation), before, atol=1e-9)
    assert after.kinetic + after.elastic < 0.9 * (energy.kinetic + energy.elastic)


def test_a_body_that_spins_or_shakes_gains_nothing(simulate: Make) -> None:
    """Within the relaxation it turns by more than half a radian, and its springs by far."""
    body = springs.box((0.05, 0.02, 0.02), 0.01, "tpu", damping_frequency=10.0)
    spin = 1000.0 * np.cross((0.0, 0.0, 1.0), body.positions - body.center_of_mass)
    for shake in (0.0, 3.0):
        body.velocities[:] = spin + shake * np.random.default_rng(0).standard_normal(body.positions.shape)
        simulation = simulate(body)
        assert simulation.solver.model.relaxation > 5e-4
        begun, energies = simulation.summary(), []
        for _ in range(20):
            simulation.step(100)
            energies.append(simulation.summary().total)
        ended = simulation.summary()
        assert max(energies) < 1.0001 * begun.total
        assert shake or ended.kinetic > 0.9 * begun.kinetic
        np.testing.assert_allclose(ended.angular_momentum, begun.angular_momentum, rtol=1e-9, atol=1e-12)


def test_an_edit_lets_dashpots_settle_anew(device: str, where: Make) -> None:
    simulation = springs.simulation(rubber(), gravity=(0.0, 0.0, 0.0), device=device)
    simulation.step(10)
    with simulation.edit() as edit:
        edit.remove_masses([0], with_springs=True)
        new = edit.add_masses([[0.07, 0.0, 0.0]], 1e-3)
        for other in range(30, 70):
            edit.add_springs(new, np.array([other]), stiffness=10.0, damping=0.1)
    simulation.run(0.2)
    assert np.isfinite(where(simulation)).all()
    assert simulation.summary().kinetic < 1e-3
    assert simulation.state.settled.shape[1] > 32


def test_strong_damping_shortens_the_steps_of_auto_by_no_more_than_the_root_of_two() -> None:
    options = {"gravity": (0.0, 0.0, 0.0), "device": "cpu", "threads": 1}
    free = springs.simulation(springs.box((0.06, 0.04, 0.03), 0.01, "ecoflex-00-30"), **options)
    for frequency in (0.1, 1.0, 5.0):
        body = springs.box((0.06, 0.04, 0.03), 0.01, "ecoflex-00-30", damping_frequency=frequency)
        damped, at_once = (springs.simulation(body, **options, **each) for each in ({}, {"relaxation": 0.0}))
        assert damped.dt > 0.7 * free.dt > 3.0 * at_once.dt
        assert damped.solver.model.relaxation == pytest.approx(0.05 / (np.pi * frequency)), "damping over stiffness"
    mild = springs.box((0.06, 0.04, 0.03), 0.01, "ecoflex-00-30", damping_frequency=300.0)
    assert springs.simulation(mild, **options).solver.model.relaxation == 0.0
    short = springs.simulation(body, dt=at_once.dt, **options)
    assert short.solver.model.relaxation == 0.0, "a step in which dashpots may act at once is given"


def test_slow_motion_is_that_of_dashpots_that_act_at_once(simulate: Make, where: Make) -> None:
    """A beam that sags and swings at a few Hz."""
    ends = []
    for options in ({}, {"relaxation": 0.0}):
        beam = springs.beam(0.1, 0.02, 0.02, 0.01, "ecoflex-00-30", damping_frequency=5.0).fix(lambda x: x[:, 0] < 1e-3)
        simulation = simulate(beam, gravity=(0.0, 0.0, -9.81), **options)
        places = []
        for _ in range(10):
            simulation.run(0.03)
            places.append(where(simulation)[:, 2].min())
        ends.append(np.array(places))
    assert np.abs(ends[0] - ends[1]).max() < 0.02 * np.abs(ends[1]).max()


def test_steps_may_be_taken_in_any_portions_and_after_a_checkpoint(device: str, where: Make, tmp_path: Any) -> None:
    body = rubber().moved((0.0, 0.0, 0.001))
    whole, parts = (springs.simulation(body, obstacles=[ground(0.5)], device=device) for _ in range(2))
    whole.step(41)
    for count in (7, 1, 2, 13):
        parts.step(count)
    parts.save(tmp_path / "here.ckpt")
    fresh = springs.simulation(body, obstacles=[ground(0.5)], device=device)
    fresh.load(tmp_path / "here.ckpt")
    for one in (parts, fresh):
        one.step(18)
        assert np.array_equal(where(one), where(whole))


def test_a_world_among_others_is_the_one_alone(device: str, where: Make) -> None:
    body = rubber().moved((0.0, 0.0, 0.001))
    alone, three = (springs.simulation(body, obstacles=[ground(0.5)], worlds=n, device=device) for n in (1, 3))
    for one in (alone, three):
        one.step(31)
    assert np.array_equal(where(three).reshape(3, -1, 3)[1], where(alone))


def test_who_cannot_wait_for_dashpots_says_so(simulate: Make) -> None:
    with pytest.raises(InvalidValue, match="relaxation=0.1 of dashpots needs .*symplectic"):
        simulate(rubber(), relaxation=0.1, integrator="verlet")
    with pytest.raises(InvalidValue, match="relaxation=0.1 of dashpots needs springs with damping"):
        simulate(springs.block((2, 2, 2)), relaxation=0.1)
    for wrong in (-1.0, "slow", float("nan")):
        with pytest.raises(InvalidValue, match="relaxation"):
            simulate(rubber(), relaxation=wrong)
    with pytest.raises(InvalidValue, match="build up their force .*relaxation=0.0"):
        Rollout(simulate(rubber()), 5)
    assert simulate(rubber(), integrator="verlet").solver.model.relaxation == 0.0

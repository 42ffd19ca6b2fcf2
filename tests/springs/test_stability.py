"""The stable step: below it a body stays finite, above it the run warns, stops and keeps the last good state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue, SimulationDiverged, StepTooLong
from annelid.shapes import ground

Make = Callable[..., Any]


def shaken(body: springs.Body, seed: int = 0) -> springs.Body:
    body.velocities = np.random.default_rng(seed).normal(0.0, 1e-3, body.positions.shape)
    return body


BODIES = {
    "block": lambda: springs.block((6, 6, 6)),
    "lattice": lambda: springs.box((0.06, 0.05, 0.05), 0.01, "ecoflex-00-30"),
    "ball": lambda: springs.sphere(0.05, 0.01, "tpu"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_a_step_just_below_the_stable_one_stays_finite(name: str, integrator: str, simulate: Make, where: Make) -> None:
    body = shaken(BODIES[name]())
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepTooLong)
        stable = simulate(body, integrator=integrator, dt=1e-9).solver.stable_step()
        simulation = simulate(body, integrator=integrator, dt=0.95 * stable)
    simulation.step(2000)
    assert np.abs(where(simulation) - body.positions).max() < np.ptp(body.positions)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_a_step_above_the_stable_one_warns_and_diverges(name: str, integrator: str, simulate: Make) -> None:
    body = shaken(BODIES[name]())
    stable = simulate(body, integrator=integrator, dt=1e-9).solver.stable_step()
    with pytest.warns(StepTooLong, match=f"above the stable one of about {stable:.3g} s"):
        simulation = simulate(body, integrator=integrator, dt=1.3 * stable)
    with pytest.raises(SimulationDiverged) as caught:
        simulation.step(4000)
    assert "inf m/s" not in str(caught.value)  # the last good state is finite, and so is the speed that is told


def test_a_damped_lattice_on_the_ground_is_stable_below_its_step(simulate: Make, where: Make) -> None:
    body = springs.block((6, 6, 6), damping=40.0).moved((0.0, 0.0, 0.02))
    world = {"obstacles": [ground(stiffness=1e5)], "gravity": (0.0, 0.0, -9.81), "velocity_damping": 5.0}
    stable = simulate(body, dt=1e-9, **world).solver.stable_step()
    assert stable < simulate(springs.block((6, 6, 6)), dt=1e-9).solver.stable_step()
    simulation = simulate(body, dt=0.95 * stable, **world)
    simulation.step(4000)
    assert np.abs(where(simulation) - body.positions).max() < 0.2


def test_the_stable_step_of_an_oscillator(simulate: Make, oscillator: Make) -> None:
    """2/omega for central differences; the bound for a general network may be lower, by no more than a factor √2."""
    for integrator, limit in (("symplectic", 2.0), ("verlet", 2.0), ("rk4", math.sqrt(8.0))):
        stable = simulate(oscillator(), integrator=integrator, dt=1e-3).solver.stable_step()
        assert limit / 10.0 / math.sqrt(2.0) <= stable * (1.0 + 1e-9)
        assert stable <= limit / 10.0 * (1.0 + 1e-9)


def test_forward_euler_has_no_stable_step_without_damping(simulate: Make, oscillator: Make) -> None:
    """It multiplies the energy of an oscillator by 1 + (omega dt)² in every step, however short."""
    with pytest.warns(StepTooLong):
        simulation = simulate(oscillator(), integrator="euler", dt=0.1)
    assert simulation.solver.stable_step() < 0.1


def test_equal_springs_in_unequal_places(simulate: Make) -> None:
    """A chain that starts with a bend: the straight part behind it, whose masses have the same springs, is stiffer."""
    straight = np.column_stack([np.arange(12.0), np.zeros(12), np.zeros(12)])
    bent = np.concatenate([[[1.0, 1.0, 0.0]], straight[1:]])
    links = np.column_stack([np.arange(11), np.arange(1, 12)])
    steps = []
    for positions in (straight, bent):
        body = springs.Body(positions, 1.0, links, 1.0, 100.0)
        steps.append(simulate(body, dt=1e-6).solver.stable_step())
    assert steps[1] == pytest.approx(steps[0])


def test_a_body_without_springs_takes_any_step(simulate: Make) -> None:
    body = springs.Body([[0.0, 0.0, 0.0]], 1.0, [], [], [])
    assert simulate(body).solver.stable_step() == math.inf
    assert simulate(springs.block((2, 2, 2)).fix()).solver.stable_step() == math.inf


def exploding(simulate: Make) -> Any:
    body = shaken(springs.block((4, 4, 4)))
    stable = simulate(body, dt=1e-9, precision="float32").solver.stable_step()
    with pytest.warns(StepTooLong):
        return simulate(body, dt=1.5 * stable, precision="float32")


def test_divergence_stops_at_the_last_good_step(simulate: Make) -> None:
    simulation = exploding(simulate)
    with pytest.raises(SimulationDiverged) as caught:
        simulation.run(1000.0 * simulation.dt)
    error = caught.value
    assert np.isfinite(simulation.state.positions.numpy()).all()
    assert np.isfinite(simulation.state.velocities.numpy()).all()
    assert 0 < error.step == simulation.step_count == int(simulation.state.clock.numpy()[0]) < 1000
    assert error.time == simulation.time == pytest.approx(error.step * simulation.dt)
    for part in (
        f"at step {error.step + 1} ",
        "mass ",
        "m/s",
        f"{simulation.solver.stable_step():.3g} s",
        "smaller step",
    ):
        assert part in str(error)
    # The state is exactly what that many steps make, and the next step is the one that fails.
    again = exploding(simulate)
    again.step(error.step)
    assert again.state_hash() == simulation.state_hash()
    with pytest.raises(SimulationDiverged) as repeated:
        simulation.step()
    assert repeated.value.step == error.step


def test_divergence_is_found_before_an_observer_sees_it(simulate: Make) -> None:
    simulation = exploding(simulate)
    seen = []
    simulation.observe(lambda s: seen.append(np.isfinite(s.state.velocities.numpy()).all()), every=simulation.dt)
    with pytest.raises(SimulationDiverged) as caught:
        simulation.step(1000)
    assert len(seen) == caught.value.step
    assert all(seen)


def test_a_diverged_simulation_can_be_saved_reset_and_run_on(simulate: Make, tmp_path: Any) -> None:
    simulation = exploding(simulate)
    start = simulation.state_hash()
    with pytest.raises(SimulationDiverged):
        simulation.step(1000)
    simulation.save(tmp_path / "last-good.npz")
    last = simulation.state_hash()
    simulation.reset()
    assert (simulation.step_count, simulation.state_hash()) == (0, start)
    simulation.step(5)
    simulation.load(tmp_path / "last-good.npz")
    assert simulation.state_hash() == last


@pytest.mark.parametrize(
    ("world", "cause"),
    [
        ({}, r"the stiffness of the springs: it may diverge; give dt='auto'"),
        ({"velocity_damping": 1e6}, "velocity_damping: "),
        ({"obstacles": [ground(), ground(stiffness=1e9)]}, "the contact with obstacle 1: "),
        ({"integrator": "euler"}, "it may diverge; give the body damping, or take another integrator"),
    ],
)
def test_the_warning_names_what_limits_the_step(simulate: Make, world: dict[str, Any], cause: str) -> None:
    with pytest.warns(StepTooLong, match=f"limited most by .*{cause}"):
        simulate(springs.block((3, 3, 3)), dt=0.05, **world)


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e8])
@pytest.mark.parametrize("obstacle", [None, 1e9])
def test_the_step_is_chosen_where_none_is_given(simulate: Make, stiffness: float, obstacle: float | None) -> None:
    obstacles = [] if obstacle is None else [ground(stiffness=obstacle)]
    simulation = simulate(springs.block((3, 3, 3), stiffness=stiffness), obstacles=obstacles)
    alone = simulate(springs.Body(np.ones((1, 3)), 0.1, [], [], []), obstacles=obstacles).solver.stable_step()
    assert simulation.dt == pytest.approx(min(1e-3, 0.8 * simulation.solver.stable_step(), 0.5 * alone))
    with pytest.raises(InvalidValue, match="dt of .* must be a finite number above 0 s or 'auto', not 'fast'"):
        simulate(springs.block((3, 3, 3)), dt="fast")


def test_a_divergence_names_what_limits_the_step(simulate: Make) -> None:
    with pytest.warns(StepTooLong):
        simulation = simulate(springs.block((3, 3, 3)), obstacles=[ground(stiffness=1e9)], dt=1e-3)
    with pytest.raises(SimulationDiverged, match="limited most by the contact with obstacle 0, and dt is .*'auto'"):
        simulation.run(1.0)

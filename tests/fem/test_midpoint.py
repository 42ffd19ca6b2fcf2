"""The midpoint rule: its order, frequencies and energies of beams, damping, and steps that are too long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import tet_beam

from .ringing import beam, decrement, first_mode, ringing, shares_of
from .solids import bar


def crossings(values: np.ndarray) -> np.ndarray:
    """When values rise through zero, in steps."""
    at = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
    return np.asarray(at + values[at] / (values[at] - values[at + 1]))


@pytest.mark.parametrize("law", [True, False], ids=["neo-hooke", "co-rotational"])
def test_a_beam_keeps_its_frequency_and_energy(law: bool) -> None:
    """4 of 100 periods at 40 steps a period: a 25th of 1 % of the energy, and the frequency within 0.2 %."""
    solid = beam(law=law)
    period, row = first_mode(solid)
    simulation = ringing(period / 40, solid, tip=1e-4)
    first = simulation.summary().elastic
    times = crossings(shares_of(simulation, row, 160))
    assert 40.0 * (len(times) - 1) / (times[-1] - times[0]) == pytest.approx(1.0, abs=8e-4)
    last = simulation.summary()
    assert last.elastic + last.kinetic == pytest.approx(first, rel=4e-4)


def test_fitted_damping_is_that_of_the_world_and_not_of_the_step() -> None:
    solid = beam()
    period, row = first_mode(solid)
    found = []
    for steps in (20, 40):
        found.append(decrement(ringing(period / steps, solid, damping=0.4 / period), row, steps))
    assert found[0] == pytest.approx(found[1], rel=0.03)
    assert found[1] == pytest.approx(0.2, rel=0.01)


def test_errors_fall_with_the_square_of_the_step() -> None:
    def after(steps: int) -> np.ndarray:
        tip = int(solid_.indices("tip")[0])
        force = fem.PointForce(name="push", at=tip, direction=(0.0, 0.0, 1.0), force=(0.0, 1.0))
        simulation = fem.simulation(
            solid_.copy(), dt=0.08 / steps, integrator="midpoint", ramp=0.08, velocity_damping=3.0, actuators=[force],
            device="cpu", threads=1,
        )  # fmt: skip
        simulation.controls.command({"push": 0.05}, ramp=0.08)
        simulation.run(0.08)
        return simulation.positions()

    solid_ = beam(0.3)
    coarse, middle, fine = (after(steps) for steps in (20, 40, 80))
    order = np.log2(np.linalg.norm(middle - coarse) / np.linalg.norm(fine - middle))
    assert order == pytest.approx(2.0, abs=0.2)


def test_a_flight_is_a_parabola(device: str) -> None:
    solid = bar((2, 1, 1), quadratic=True).release()
    simulation = fem.simulation(solid, dt=0.05, integrator="midpoint", device=device, threads=1)
    simulation.run(0.2)
    moved = simulation.positions() - solid.nodes
    np.testing.assert_allclose(moved, np.broadcast_to([0.0, 0.0, -0.5 * 9.81 * 0.04], moved.shape), atol=1e-9)


def test_held_nodes_are_where_they_belong_after_every_step() -> None:
    solid = bar((2, 1, 1), quadratic=True).displace(lambda p: p[:, 0] < 1e-9, (0.0, 0.0, 0.1))
    held = solid.held[:, 0]
    for ramp in (0.0, 0.03):
        simulation = fem.simulation(solid, dt=0.01, ramp=ramp, integrator="midpoint", device="cpu", threads=1)
        for part in (1.0 / 3.0, 2.0 / 3.0, 1.0, 1.0):
            simulation.step()
            away = (simulation.positions() - solid.nodes)[held, 2]
            np.testing.assert_allclose(away, 0.1 * (part if ramp else 1.0), atol=1e-14)


@pytest.mark.parametrize("law", [True, False], ids=["neo-hooke", "co-rotational"])
def test_steps_that_are_too_long_create_no_energy(law: bool) -> None:
    """A soft beam that falls into a swing of nearly a half turn: the plain midpoint rule blows up."""
    solid = fem.Solid(tet_beam(0.15, 0.02, 0.02, cells=(6, 1, 1)), beam(law=law).materials[0].with_(youngs_modulus=3e4))
    solid.fix(lambda p: p[:, 0] < 1e-9)
    simulation = fem.simulation(solid, dt=0.03, integrator="midpoint", device="cpu", threads=1)
    first, most = simulation.summary().gravitational, 0.0
    for _ in range(40):
        simulation.step()
        now = simulation.summary()
        most = max(most, now.kinetic)
        assert now.kinetic + now.elastic + now.gravitational < first + 0.05 * most


def test_worlds_parameters_and_checkpoints(tmp_path: Path) -> None:
    def made(integrator: fem.Integrator = "midpoint", worlds: int | None = 2) -> Simulation[fem.Solver]:
        return fem.simulation(
            beam(), dt=0.01, integrator=integrator, velocity_damping=1.0, worlds=worlds, device="cpu", threads=1
        )

    both, alone = made(), made(worlds=None)
    both.parameters["stiffness"], alone.parameters["stiffness"] = [1.0, 1.5], 1.5
    for simulation in (both, alone):
        simulation.step(2)
    both.save(tmp_path / "both.npz")
    for simulation in (both, alone):
        simulation.step(2)
    np.testing.assert_array_equal(both.positions().reshape(2, -1, 3)[1], alone.positions())
    again = made()
    again.load(tmp_path / "both.npz")
    again.step(2)
    assert again.state_hash() == both.state_hash()
    with pytest.raises(AnnelidError):
        made("backward-euler").load(tmp_path / "both.npz")


def test_unknown_integrators_and_worlds_of_another_one_are_refused() -> None:
    with pytest.raises(InvalidValue, match="must be one of .*, midpoint,"):
        fem.World(integrator="midpont")
    solid, world = beam(), fem.World(integrator="midpoint")
    inertia = fem.Inertia(solid, world, fem.Model(solid, world, "cpu").device)
    with pytest.raises(InvalidValue, match=r"fem\.simulation"):
        fem.DynamicSolver(fem.Model(solid, world, "cpu", extras=[inertia]), inertia)

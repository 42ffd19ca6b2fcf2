"""Solids in a simulation: motion, equilibria one after the other, checkpoints, snapshots."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Lines, Look, Mesh, Spheres
from annelid.fem.settling import StepsUnsettled
from annelid.shapes import ground

from .solids import bar


@pytest.mark.parametrize("quadratic", [False, True])
def test_free_fall(quadratic: bool, device: str) -> None:
    solid = bar((2, 1, 1), quadratic=quadratic).release()
    simulation = fem.simulation(solid, dt=0.01, device=device, threads=1)
    simulation.run(0.2)
    moved = simulation.state.positions.numpy() - solid.nodes
    backward_euler = -9.81 * 0.01**2 * 20 * 21 / 2
    np.testing.assert_allclose(moved, np.broadcast_to([0.0, 0.0, backward_euler], moved.shape), atol=1e-9)


def test_axial_vibration_has_the_frequency_of_a_rod(device: str) -> None:
    """A clamped rod, stretched and released: c / 4L with c = √(E/ρ)."""
    solid = bar((8, 1, 1), poisson_ratio=0.0)
    solid.pull("tip", (100.0, 0.0, 0.0))
    period = 4.0 / np.sqrt(1e6 / 1000.0)
    simulation = fem.simulation(solid, dt=period / 400, gravity=(0.0, 0.0, 0.0), device=device, threads=1)
    tip, xs = solid.indices("tip"), []
    simulation.observe(lambda s: xs.append(s.state.positions.numpy()[tip, 0].mean()), every=period / 400)
    simulation.run(1.25 * period)
    # Loaded at once, the tip swings about its equilibrium and turns after half a period, and again after a whole one.
    x = np.array(xs) - 1.0
    assert (1 + x.argmax()) / 400 == pytest.approx(0.5, abs=0.03)
    assert (201 + x[200:].argmin()) / 400 == pytest.approx(1.0, abs=0.03)
    static = 100.0 / (1e6 * 0.04)
    assert 1.8 * static < x.max() < 2.0 * static  # backward Euler damps


def test_motion_comes_to_rest_at_the_equilibrium(device: str) -> None:
    solid = bar((4, 1, 1))
    rest = fem.equilibrium(solid, device=device)
    simulation = fem.simulation(solid, dt=0.05, velocity_damping=8.0, device=device, threads=1)
    simulation.run(8.0)
    assert np.abs(simulation.state.positions.numpy() - rest).max() < 1e-5
    assert simulation.state.unsettled.numpy()[0] == 0


def test_steps_of_any_length_are_stable(device: str) -> None:
    simulation = fem.simulation(bar((4, 1, 1)), dt=10.0, device=device, threads=1)
    simulation.step(5)
    still = fem.equilibrium(bar((4, 1, 1)), device=device)
    assert np.abs(simulation.state.positions.numpy() - still).max() < 1e-3


def test_loads_grow_along_the_ramp(device: str) -> None:
    solid = bar((3, 1, 1), poisson_ratio=0.0).pull("tip", (1000.0, 0.0, 0.0))
    simulation = fem.simulation(
        solid, dynamic=False, dt=0.1, ramp=1.0, gravity=(0.0, 0.0, 0.0), device=device, threads=1
    )
    tip, full = solid.indices("tip"), 1000.0 / (1e6 * 0.04)
    for steps, part in ((3, 0.3), (4, 0.7), (10, 1.0)):
        simulation.step(steps)
        moved = simulation.state.positions.numpy()[tip, 0].mean() - 1.0
        assert moved == pytest.approx(part * full, rel=1e-6)


def test_loads_may_jump_between_equilibria(device: str) -> None:
    solid = bar((6, 2, 2), thickness=0.1)
    simulation = fem.simulation(solid, dynamic=False, gravity=(0.0, 0.0, 0.0), device=device, threads=1)
    simulation.step()
    assert np.abs(simulation.state.positions.numpy() - solid.nodes).max() < 1e-12
    simulation.solver.model.set_gravity((0.0, 0.0, -9.81))
    simulation.step()
    down = simulation.state.positions.numpy()[solid.indices("tip"), 2].mean()
    simulation.solver.model.set_gravity((0.0, 0.0, 9.81))
    simulation.step()
    up = simulation.state.positions.numpy()[solid.indices("tip"), 2].mean()
    assert up == pytest.approx(-down, rel=1e-6)
    assert down < -0.1


@pytest.mark.parametrize("quadratic", [False, True])
def test_the_summary_of_a_flight_is_that_of_a_point(quadratic: bool) -> None:
    solid = bar((2, 1, 1), quadratic=quadratic).release()
    simulation = fem.simulation(solid, dt=0.01, device="cpu", threads=1)
    start = simulation.summary()
    simulation.run(0.1)
    end, speed = simulation.summary(), 9.81 * 0.1
    assert end.mass == pytest.approx(solid.mass)
    np.testing.assert_allclose(end.momentum, [0.0, 0.0, -solid.mass * speed], atol=1e-8)
    np.testing.assert_allclose(end.angular_momentum, np.cross(end.center_of_mass, end.momentum), atol=1e-8)
    assert end.kinetic == pytest.approx(0.5 * solid.mass * speed**2, rel=1e-8)
    fallen = start.center_of_mass[2] - end.center_of_mass[2]
    assert start.gravitational - end.gravitational == pytest.approx(solid.mass * 9.81 * fallen)
    assert end.elastic == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(simulation.velocities(), np.tile([0.0, 0.0, -speed], (solid.node_count, 1)), atol=1e-8)
    assert simulation.positions().shape == solid.nodes.shape


def test_the_energy_of_a_stretched_bar_is_the_work_that_stretched_it() -> None:
    solid = bar((4, 1, 1), poisson_ratio=0.0).pull("tip", (400.0, 0.0, 0.0))
    simulation = fem.simulation(solid, dynamic=False, gravity=(0.0, 0.0, 0.0), device="cpu", threads=1)
    simulation.step()
    assert simulation.summary().elastic == pytest.approx(0.5 * 400.0 * 0.01, rel=1e-6)
    assert not simulation.velocities().any()


def test_a_reset_is_the_beginning() -> None:
    simulation = fem.simulation(bar((2, 1, 1)), device="cpu", threads=1)
    before = simulation.state_hash()
    simulation.step(3)
    simulation.reset(worlds=[0])
    np.testing.assert_array_equal(simulation.positions(), simulation.solver.model.solid.nodes)
    assert simulation.state.clock.numpy()[0] == simulation.step_count == 3  # time goes on
    simulation.reset()
    assert simulation.state_hash() == before
    assert "smaller dt" in simulation.solver.describe_divergence(simulation.state)


@pytest.mark.parametrize("dynamic", [True, False])
def test_checkpoint_and_threads_keep_every_bit(dynamic: bool, tmp_path: Path) -> None:
    hashes = []
    for threads in (1, 2):
        solid = bar((10, 3, 3)).push("tip", (0.0, 0.0, 2.0))
        simulation = fem.simulation(solid, dynamic=dynamic, ramp=0.05, device="cpu", threads=threads)
        simulation.step(3)
        simulation.save(tmp_path / "state.npz")
        simulation.step(3)
        hashes.append(simulation.state_hash())
        simulation.load(tmp_path / "state.npz")
        simulation.step(3)
        hashes.append(simulation.state_hash())
    assert len(set(hashes)) == 1


def test_recording(tmp_path: Path) -> None:
    simulation = fem.simulation(bar((2, 1, 1)), device="cpu", threads=1)
    with simulation.record(tmp_path / "bar.rec", every=0.01) as recorder:
        simulation.step(3)
    assert recorder.closed
    assert (tmp_path / "bar.rec").stat().st_size > 0


@pytest.mark.parametrize("quadratic", [False, True])
def test_snapshots(quadratic: bool, device: str) -> None:
    solid = bar((4, 1, 1), quadratic=quadratic, poisson_ratio=0.0).pull("tip", (400.0, 0.0, 0.0))
    simulation = fem.simulation(solid, dynamic=False, gravity=(0.0, 0.0, 0.0), device=device, threads=1)
    simulation.step()
    snapshot = simulation.snapshot(Look(surface=True, spheres=True, lines=True, fields=("von-mises", "strain")))
    mesh, held, loads = snapshot.parts
    assert isinstance(mesh, Mesh)
    assert isinstance(held, Spheres)
    assert isinstance(loads, Lines)
    np.testing.assert_allclose(mesh.fields["von-mises"].values, 400.0 / 0.04, rtol=1e-4)
    np.testing.assert_allclose(mesh.fields["strain"].values, 0.01, rtol=1e-4)
    assert len(held.centers) == solid.held.any(axis=1).sum()
    shown = simulation.snapshot(Look(fields=("displacement",))).parts[0]
    assert shown.fields["displacement"].values.max() == pytest.approx(0.01, rel=1e-4)  # type: ignore[union-attr]
    assert snapshot.numbers["elastic-energy"].value == pytest.approx(0.5 * 400.0 * 0.01, rel=1e-6)
    assert mesh.triangles.max() < len(mesh.vertices)
    assert simulation.snapshot(Look(host=False)).parts[0].vertices.shape == (len(mesh.vertices),)  # type: ignore[union-attr]
    with pytest.raises(UnknownName, match="von-mises"):
        simulation.snapshot(Look(fields=("von-misses",)))


def test_boundary_is_closed_for_ten_nodes(device: str) -> None:
    simulation = fem.simulation(bar((2, 1, 1), quadratic=True), device=device, threads=1)
    mesh = simulation.snapshot().parts[0]
    a, b, c = (mesh.vertices[mesh.triangles[:, i]].astype(float) for i in range(3))  # type: ignore[union-attr]
    assert (np.cross(a, b) * c).sum() / 6 == pytest.approx(0.04, rel=1e-5)


def test_what_a_solid_does_not_do_is_said() -> None:
    """Until solids touch themselves, whoever watches one is told."""
    for dynamic in (True, False):
        assert "does not touch itself" in fem.simulation(bar(), dynamic=dynamic, device="cpu").limitation
    assert fem.simulation(bar(), contact=fem.Contact(itself=False), device="cpu").limitation == ""


def test_many_unsettled_steps_are_warned_of_once() -> None:
    """Newton's method may take one iteration only, which is never enough for a beam that falls."""
    beam = bar().fix(lambda p: p[:, 0] < 1e-9)
    simulation = fem.simulation(beam, dt=0.05, settings=fem.Settings(1e-14, 1), device="cpu", threads=1)
    with pytest.warns(
        StepsUnsettled, match=r"steps were not solved to the last digit: take a smaller dt, such as 0.025 s"
    ):
        simulation.step(25)
    assert [event.kind for event in simulation.events] == ["unsettled"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.step(5)


def test_bad_settings_are_refused() -> None:
    for wrong in ({"dt": 0.0}, {"dt": float("nan")}, {"velocity_damping": -1.0}, {"ramp": -1.0}):
        with pytest.raises(InvalidValue):
            fem.simulation(bar(), device="cpu", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="singular"):
        fem.simulation(bar().release(), dynamic=False, device="cpu")
    with pytest.raises(UnknownName, match="velocity_damping"):
        fem.simulation(bar(), velocity_dampin=1.0, device="cpu")  # type: ignore[call-arg]
    with pytest.raises(InvalidValue, match="integrator='midpoint' cannot step a solid that touches obstacles yet"):
        fem.simulation(bar(), obstacles=[ground(friction=0.6)], integrator="midpoint", device="cpu")
    model = fem.Model(bar(), device="cpu")
    with pytest.raises(InvalidValue, match="inertia"):
        fem.DynamicSolver(model, fem.Inertia(model.solid, model.world, model.device))

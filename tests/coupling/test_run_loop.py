"""It is a solver like any other: breakpoints, conditions, edits, recordings, snapshots and fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annelid import coupling, springs
from annelid.core.errors import UnknownName
from annelid.core.recording import Recording
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Mesh, Spheres

from ..threads import bounded, together
from .conftest import above_a_bed, block, box, dropped, height


def test_steps_and_time(resting: Simulation[coupling.Solver]) -> None:
    resting.step(10)
    assert resting.time == pytest.approx(10 * 2e-4)
    assert int(resting.state.grains.clock.numpy()[0]) == 10
    assert int(resting.state.springs.clock.numpy()[0]) == 20


def test_a_breakpoint_in_time(resting: Simulation[coupling.Solver]) -> None:
    point = resting.breakpoint(at=0.01)
    event = resting.run(0.1)
    assert event is not None
    assert event.detail is point
    assert resting.time == pytest.approx(0.01)


def test_a_breakpoint_on_a_condition(device: str) -> None:
    body = block().moved((0.0, 0.0, 0.12))
    simulation = dropped(body, box(), device=device)
    simulation.breakpoint(when=springs.faster(0.2))
    event = simulation.run(0.1)
    assert event is not None
    assert event.time == pytest.approx(0.2 / 9.81, abs=2e-4 + 1e-9)


def test_an_edit_throws_the_body_up(resting: Simulation[coupling.Solver]) -> None:
    resting.run(0.02)
    before = height(resting)
    count = resting.solver.model.springs.body.mass_count
    with resting.edit() as edit:
        edit.change_masses(np.arange(count), velocities=(0.0, 0.0, 1.0))
    resting.run(0.05)
    assert height(resting) > before + 0.03


def test_a_force_from_outside_adds_to_contacts(resting: Simulation[coupling.Solver]) -> None:
    body = resting.solver.model.springs.body
    with resting.edit() as edit:
        edit.change_masses(np.arange(body.mass_count), forces=(0.0, 0.0, 2.0 * 9.81 * body.masses[0]))
    begin = height(resting)
    resting.run(0.1)
    assert height(resting) - begin == pytest.approx(0.5 * 9.81 * 0.01, rel=0.02)


def test_removed_masses_touch_nothing() -> None:
    simulation = dropped(block().moved((0.0, 0.0, 0.09)), box(), inside="remove")
    simulation.run(0.05)
    with simulation.edit() as edit:
        edit.remove_masses(np.arange(125), with_springs=True)
    simulation.run(0.02)
    assert not simulation.solver.readout.contact_forces(simulation.state).any()
    assert np.isfinite(simulation.solver.readout.grain_positions(simulation.state)).all()


def test_one_removed_mass_takes_along_what_hangs_on_it(resting: Simulation[coupling.Solver]) -> None:
    solver, removed = resting.solver, 12  # in the middle of a face
    guests = solver.model.guests
    with resting.edit() as edit:
        edit.remove_masses([removed], with_springs=True)
    resting.run(0.1)
    forces = solver.readout.contact_forces(resting.state)
    assert forces.shape == (len(guests.members), 3)
    assert np.linalg.norm(forces, axis=1).max() > 0.0
    assert not forces[guests.members == removed].any()
    radii = np.empty(solver.model.grains.count)
    bed = resting.state.grains
    radii[bed.names.numpy()[:, 0]] = bed.velocities.numpy()[: len(radii), 3]
    gone = np.flatnonzero(radii[len(solver.model.bed) :] < 0.0)
    assert np.array_equal(gone, guests.hanging_on(np.array([removed])))
    assert 0 < len(gone) < 20


def test_springs_that_break_are_told() -> None:
    body = block(stiffness=100.0).moved((0.0, 0.0, 0.085))
    body.yield_strains[:] = 0.02
    body.velocities[:, 2] = -2.0
    simulation = dropped(body, box(), inside="remove")
    simulation.run(0.05)
    assert any(event.kind == "broken" for event in simulation.events)


def test_snapshots_show_both_sides(resting: Simulation[coupling.Solver]) -> None:
    resting.step(5)
    parts = {part.name: part for part in resting.snapshot().parts}
    assert isinstance(parts["body"], Mesh)
    assert isinstance(parts["grains"], Spheres)
    assert len(parts["grains"].centers) == len(resting.solver.model.bed)
    assert parts["grains"].radii == pytest.approx(0.01)
    numbers = resting.snapshot_numbers()
    assert {"center-z", "elastic-energy", "contact-force-z", "grains-kinetic-energy"} <= set(numbers)


@pytest.mark.parametrize(("field", "owner"), [("strain", "body"), ("height", "grains"), ("speed", "grains")])
def test_fields_colour_the_side_that_has_them(resting: Simulation[coupling.Solver], field: str, owner: str) -> None:
    assert field in resting.fields
    parts = {part.name: part for part in resting.snapshot(Look(fields=(field,))).parts}
    values = parts[owner].fields[field].values
    assert len(values) == len(parts[owner].centers if owner == "grains" else parts[owner].vertices)


def test_an_unknown_field_is_refused(resting: Simulation[coupling.Solver]) -> None:
    with pytest.raises(UnknownName, match="field"):
        resting.snapshot(Look(fields=("colour",)))


def test_a_recording(resting: Simulation[coupling.Solver], tmp_path: Path) -> None:
    with resting.record(tmp_path / "run", every=0.002):
        resting.run(0.01)
    with Recording(tmp_path / "run") as recording:
        assert len(recording) == 6
        assert recording.frame(3).time == pytest.approx(0.006)


def test_it_runs_in_its_own_thread(resting: Simulation[coupling.Solver]) -> None:
    resting.start()
    with resting.edit() as edit:
        edit.change_masses(np.arange(125), velocities=(0.0, 0.0, 0.5))
    resting.pause()
    resting.stop()
    assert resting.step_count > 0


def test_edits_of_a_breakable_body_among_grains_while_it_runs() -> None:
    """From two threads and from an observer, with somebody who looks."""
    body = block(stiffness=100.0).moved((0.0, 0.0, 0.085))
    body.yield_strains[:] = 0.02
    body.velocities[:, 2] = -2.0
    simulation = dropped(body, box(), inside="remove")

    def throw(simulation: Simulation[coupling.Solver], mass: int = 0) -> None:
        with simulation.edit() as edit:
            edit.change_masses([mass], velocities=(0.0, 0.0, 0.5))

    simulation.observe(throw, every=0.002)
    simulation.start()
    works = [lambda mass=mass: [throw(simulation, mass) for _ in range(10)] for mass in (1, 2)]
    together(*works, lambda: [simulation.snapshot_numbers() for _ in range(10)])
    assert bounded(simulation.stop).kind == "stopped"
    simulation.solver.model.springs.network.verify()


def test_an_edited_body_is_saved_and_goes_back(resting: Simulation[coupling.Solver], tmp_path: Path) -> None:
    """Edits of the body and what they mean to its guests are part of a checkpoint; a reset undoes them."""
    begin = resting.state_hash()
    resting.run(0.02)
    with resting.edit() as edit:
        edit.remove_masses([12, 13], with_springs=True)
        edit.change_masses([0, 1, 2], forces=(0.5, 0.0, 0.0))
    resting.run(0.02)
    resting.save(tmp_path / "edited.npz")
    other = above_a_bed(str(resting.solver.device))
    other.load(tmp_path / "edited.npz")
    for simulation in (resting, other):
        simulation.run(0.02)
    assert other.state_hash() == resting.state_hash()
    resting.reset()
    assert resting.state_hash() == begin

"""Solids of finite elements among grains: what one side loses the other gains, and a bed carries what lies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains
from annelid.core.errors import AnnelidError, InvalidValue, SimulationDiverged, StepTooLong
from annelid.core.snapshot import Look
from annelid.coupling.solids.world import SolidWorld
from annelid.robots.pneumatic_worm import PneumaticWorm
from annelid.shapes import Plane, Rigid, Surface

from .conftest import block, box, dropped, kinetic_per_grain
from .solids import SIDE, laid, shot, soft_block

FAR = [Rigid(Plane(point=(0.0, 0.0, -50.0)), Surface(friction=0.5))]


@pytest.mark.parametrize("quadratic", [False, True])
def test_momentum_of_grains_that_hit_a_solid_is_handed_on(device: str, quadratic: bool) -> None:
    solid = soft_block(0.01, 2, quadratic=quadratic)
    simulation = coupling.simulation(
        solid, shot(1.5), obstacles=FAR, gravity=(0.0, 0.0, 0.0), dt=2e-3, device=device, threads=1
    )
    before = simulation.summary()
    simulation.run(0.06)
    after = simulation.summary()
    gained = after.parts["solid"].momentum - before.parts["solid"].momentum
    assert np.linalg.norm(gained) > 0.3 * np.linalg.norm(before.momentum)
    assert np.linalg.norm(after.momentum - before.momentum) <= 1e-6 * np.linalg.norm(before.momentum)
    assert after.kinetic + after.rotational + after.elastic <= before.kinetic
    assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0


def test_what_a_solid_feels_is_what_moves_it() -> None:
    """The impulse of all contact forces, and gravity, is the momentum that the solid has gained."""
    simulation = laid(soft_block(0.06))
    impulse = np.zeros(3)
    for _ in range(40):
        simulation.step()
        impulse += simulation.solver.readout.contact_force(simulation.state) * simulation.dt
    weight = np.array([0.0, 0.0, -9.81]) * simulation.solver.model.solid.solid.mass
    assert simulation.summary().parts["solid"].momentum == pytest.approx(impulse + weight * simulation.time, abs=2e-6)


def test_a_bed_carries_a_soft_block(device: str) -> None:
    simulation = laid(soft_block(0.06), device=device)
    simulation.run(0.25)
    readout, forces = simulation.solver.readout, []
    for _ in range(10):
        simulation.step()
        forces.append(readout.contact_force(simulation.state)[2])
    weight = simulation.solver.model.solid.solid.mass * 9.81
    assert np.mean(forces) == pytest.approx(weight, rel=0.01)
    assert forces[-1] == pytest.approx(weight, rel=0.01)
    assert kinetic_per_grain(simulation) <= 1e-6
    assert readout.surface_lag(simulation.state) <= 1e-5  # where grains meet it is where it is
    assert len(readout.grains_inside(simulation.state)) == 0


def test_save_and_load_in_the_middle(device: str, tmp_path: Path) -> None:
    first, second = (laid(soft_block(0.055), device=device) for _ in range(2))
    first.step(25)
    first.save(tmp_path / "half")
    first.step(15)
    second.step(8)
    second.load(tmp_path / "half")
    assert second.time == pytest.approx(25 * first.dt)
    second.step(15)
    assert second.state_hash() == first.state_hash()


def test_threads_resets_and_single_steps_give_one_hash(device: str) -> None:
    once, many = laid(soft_block(0.055), device=device), laid(soft_block(0.055), device=device, threads=2)
    beginning, places = once.state_hash(), once.positions()
    once.step(20)
    for _ in range(20):
        many.step()
    later = once.state_hash()
    assert many.state_hash() == later
    once.reset()
    assert once.state_hash() == beginning
    once.step(20)
    assert once.state_hash() == later
    once.reset(worlds=[0])  # which lets the clock go on
    assert np.array_equal(once.positions(), places)
    assert once.solver.fingerprint() == many.solver.fingerprint()  # loads of a moment are no part of the model


def test_pictures_and_sensors_show_both_sides() -> None:
    simulation = laid(soft_block(0.055))
    simulation.sensors.add("push", coupling.contact_force_of())
    simulation.sensors.add("sole", coupling.touch_of(lambda p: p[:, 2] < 0.056))
    simulation.sensors.add("middle", fem.position_of())
    simulation.sensors.add("energy", fem.energy_of())
    simulation.step(20)
    snapshot = simulation.solver.snapshot(simulation.state, Look())
    assert {"solid", "grains"} <= {part.name for part in snapshot.parts}
    assert snapshot.step == 20
    assert snapshot.time == pytest.approx(simulation.time)
    assert simulation.sensors["push"].ravel()[2] == pytest.approx(
        simulation.solver.readout.contact_force(simulation.state)[2], rel=1e-5
    )
    assert 0.0 < float(simulation.sensors["sole"].ravel()[0]) <= 1.0
    assert simulation.sensors["middle"].ravel()[2] < 0.055 + 0.5 * SIDE
    assert simulation.sensors["energy"] == pytest.approx(simulation.summary().parts["solid"].total, rel=1e-5)
    nodes = simulation.solver.model.solid.node_count
    assert simulation.positions().shape == (nodes + len(simulation.solver.model.bed), 3)


def test_held_nodes_stay_and_bear_what_lies_on_them() -> None:
    """A block that is held at its bottom stops grains, and its held nodes do not move."""
    solid = soft_block(0.0).fix(lambda p: p[:, 2] < 1e-9)
    bed = shot(0.2)
    simulation = coupling.simulation(solid, bed, obstacles=FAR, dt=2e-3, device="cpu", threads=1)
    simulation.run(0.15)
    held = solid.held.all(axis=1)
    nodes = simulation.solver.readout.body_positions(simulation.state)
    assert np.array_equal(nodes[held], solid.nodes[held])
    assert nodes[:, 2].max() < SIDE + 1e-3
    on_top = simulation.solver.readout.grain_positions(simulation.state)[:, 2].min()
    assert on_top > 0.9 * SIDE
    assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0


def test_chambers_among_grains_take_commands() -> None:
    """Grains are outside of a worm, not in its chambers, and its pressures swell it."""
    worm = PneumaticWorm(chambers=2, length=0.12, layers=2)
    sand = box(side=0.2, depth=0.05)
    simulation = coupling.simulation(
        worm.solid(height=0.085), sand.bed(), actuators=worm.actuators(), obstacles=sand.walls(), stretch=1.3,
        dt=2e-3, device="cpu", threads=1,
    )  # fmt: skip
    outline = simulation.solver.model.outline
    across = np.hypot(outline.positions[:, 1], outline.positions[:, 2] - 0.085)
    ends = np.abs(outline.positions[:, 0]) > 0.0599
    assert (ends | (across > 0.9 * worm.radius)).all()
    assert simulation.controls.names == ("air-0", "air-1")
    simulation.controls.command({"air-1": 5e3}, ramp=0.02)
    simulation.run(0.08)
    moved = simulation.solver.readout.body_positions(simulation.state)
    wide = [np.ptp(moved[(worm.mesh().nodes[:, 0] * sign) > 0.0, 1]) for sign in (-1.0, 1.0)]
    assert wide[1] > 1.03 * wide[0]
    assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"worlds": 2}, "one world so far"),
        ({"spring_dt": 1e-4}, "spring_dt is an option of spring bodies"),
        ({"springs": {"velocity_damping": 1.0}}, "springs is an option of spring bodies"),
        ({"dt": 1e-3, "grain_dt": 3e-4}, "whole multiple of grain_dt"),
        ({"solid": {"velocity_dampin": 1.0}}, "velocity_damping"),
        ({"solid": {"gravity": 1.0}}, "give gravity= itself, for both sides"),
        ({"skin": 0.5}, "skin of a simulation of bodies and grains must be a shapes.Surface or None"),
    ],
)
def test_options_that_do_not_fit_a_solid_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        laid(soft_block(0.06, 2), **options)


def test_solids_and_bodies_that_do_not_fit_are_refused() -> None:
    bed, air = box(side=0.13, depth=0.05).bed(), {"actuators": [fem.Pneumatic(name="air")]}
    with pytest.raises(InvalidValue, match="actuators is an option of solids"):
        dropped(block().moved((0.0, 0.0, 0.08)), box(), **air)
    fine = grains.Bed(np.array([[0.0, 0.0, 0.02]]), 2e-3, grains.SAND)
    with pytest.raises(InvalidValue, match="finer pitch or mesh"):
        coupling.simulation(soft_block(0.06, 1), fine)
    with pytest.raises(InvalidValue, match="starts inside the bed"):
        coupling.simulation(soft_block(0.0), bed)
    with pytest.warns(StepTooLong, match="it may shiver"):
        laid(soft_block(0.06, 2), dt=2e-2)


def test_a_solid_that_is_lost_leaves_the_last_good_state() -> None:
    simulation = laid(soft_block(0.06, 2))
    simulation.step(5)
    good = simulation.state_hash()
    simulation.state.solid.velocities.fill_(np.nan)
    with pytest.raises(SimulationDiverged):
        simulation.step(3)
    assert simulation.state_hash() == good


def test_steps_of_solid_and_grains_fit_each_other() -> None:
    bed = box(side=0.13, depth=0.05).bed()
    longest = SolidWorld().longest(bed, [])
    for world in (SolidWorld(), SolidWorld(dt=4e-3), SolidWorld(grain_dt=1e-4)):
        dt, count = world.steps(bed, [])
        assert dt <= 4e-3 + 1e-12
        assert dt / count <= longest
    assert SolidWorld(dt=2e-3, grain_dt=1e-4).steps(bed, []) == (2e-3, 20)

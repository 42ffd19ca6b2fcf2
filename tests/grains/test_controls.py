"""Controls of bodies among grains, alone and in several worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import InvalidValue, TooLarge, UnknownName
from annelid.shapes import Rigid, Sphere

from .blade import BALL, BLADE, CONTROLS, drive, motion, simulated


def test_a_velocity_holds_until_the_next_command(device: str) -> None:
    simulation = simulated(device)
    assert simulation.controls.names == ("ahead", "turn", "lift", "roll")
    readout = simulation.solver.readout
    simulation.controls["ahead"] = 0.1
    simulation.step(100)
    assert readout.body_position(simulation.state, "blade")[0] == pytest.approx(0.03 + 0.1 * 0.025, abs=1e-6)
    simulation.controls["ahead"] = -0.2
    simulation.step(100)
    assert readout.body_position(simulation.state, BLADE)[0] == pytest.approx(0.03 - 0.1 * 0.025, abs=1e-6)
    assert readout.body_velocity(simulation.state, BLADE).tolist() == [pytest.approx(-0.2), 0.0, 0.0]


def test_a_ramp_is_followed_step_by_step(device: str) -> None:
    """The sum of a smooth ramp over its steps, whatever batches they are taken in; and contacts reckon with it."""
    whole, pieces = simulated(device), simulated(device)
    for simulation in (whole, pieces):
        simulation.controls.command({"ahead": 0.4}, ramp=0.025)
    whole.step(101)
    for steps in (1, 7, 64, 29):
        pieces.step(steps)
    assert pieces.state_hash() == whole.state_hash()
    part = np.minimum(np.arange(101) / 100.0, 1.0)
    way = 2.5e-4 * (0.4 * part**2 * (3.0 - 2.0 * part)).sum()
    moved = whole.solver.readout.body_position(whole.state, BLADE)[0] - 0.03
    assert moved == pytest.approx(way, rel=1e-4)
    assert whole.state.body_forecast.numpy()[whole.solver.model.number("blade"), 0] == np.float32(0.4)


def test_commands_do_what_the_doors_of_the_solver_do(device: str) -> None:
    told, driven = simulated(device), simulated(device, controls=())
    assert len(driven.controls) == 0
    told.controls.command({"ahead": 0.25, "turn": -3.0, "lift": 2.0, "roll": 0.01})
    driven.solver.drive(driven.state, "blade", velocity=(0.25, 0.0, 0.0), spin=(0.0, 0.0, -3.0))
    driven.solver.load(driven.state, BALL, force=(0.0, 0.0, 2.0), torque=(0.0, 0.01, 0.0))
    for simulation in (told, driven):
        simulation.step(120)
    np.testing.assert_array_equal(motion(told), motion(driven))
    told.solver.drive(told.state, BLADE, velocity=(9.0, 0.0, 0.125))  # along x it is commanded
    told.step(1)
    assert told.solver.readout.body_velocity(told.state, BLADE).tolist() == [0.25, 0.0, 0.125]


def test_a_world_among_others_moves_as_it_would_alone(device: str) -> None:
    many = simulated(device, worlds=4)
    drive(many)
    found = motion(many)
    for world in (0, 3):
        alone = simulated(device)
        drive(alone, world)
        np.testing.assert_array_equal(found[world], motion(alone)[0])
    assert len({row.tobytes() for row in found}) == 4


def test_a_world_that_begins_again_later_moves_alike(device: str) -> None:
    many = simulated(device, worlds=4)
    drive(many)
    first = motion(many)[2]
    many.step(13)
    many.reset(worlds=[2])
    np.testing.assert_array_equal(many.controls.values()[2], 0.0)
    drive(many)
    np.testing.assert_array_equal(motion(many)[2], first)
    many.reset()
    assert many.state_hash() == simulated(device, worlds=4).state_hash()


def test_commands_are_saved_and_hashed(device: str, tmp_path: Path) -> None:
    simulation = simulated(device, worlds=2)
    before = simulation.state_hash()
    simulation.controls.command({"ahead": [0.3, 0.1]}, ramp=0.02)
    assert simulation.state_hash() != before
    simulation.step(30)
    simulation.save(tmp_path / "state.npz")
    simulation.step(80)
    after = simulation.state_hash()
    simulation.load(tmp_path / "state.npz")
    simulation.step(80)
    assert simulation.state_hash() == after


def test_divided_steps_follow_the_ramp(device: str) -> None:
    simulation = simulated(device, too_fast="substep")
    simulation.controls.command({"ahead": 0.4}, ramp=0.01)
    with_fast = simulation.state.velocities.numpy()
    with_fast[3, :3] = 200.0  # a grain so fast that steps are divided
    simulation.state.velocities.assign(with_fast)
    reach = simulation.state.reach.numpy()
    reach[0] = 200.0
    simulation.state.reach.assign(reach)
    simulation.step(20)
    expected = 0.4 * 0.5**2 * (3.0 - 2.0 * 0.5)
    assert simulation.controls["ahead"][0] == pytest.approx(expected, rel=1e-6)
    assert simulation.solver.readout.body_velocity(simulation.state, BLADE)[0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    ("control", "problem"),
    [
        (
            grains.force_control("a", BLADE, "x", low=-1.0, high=1.0),
            "'a' sets the force .* motion='free', .* is driven",
        ),
        (grains.velocity_control("a", BALL, "x", low=-1.0, high=1.0), "motion='driven', .* named 'ball', is free"),
        (grains.velocity_control("a", 0, "x", low=-1.0, high=1.0), "names obstacle 0, a Plane.* cannot move"),
        (grains.velocity_control("a", 99, "x", low=-1.0, high=1.0), "there is no body 99; there are"),
        (grains.velocity_control("ahead", BLADE, "y", low=-1.0, high=1.0), "two controls are named 'ahead'"),
        (grains.velocity_control("a", BLADE, "x", low=-1.0, high=1.0), "'ahead' and 'a' are both of the velocity of"),
        (grains.velocity_control("a", BLADE, "y", low=1.0, high=2.0), "low ≤ rest ≤ high"),
        (3, "must be one of velocity_control"),
    ],
)
def test_bad_controls_are_refused(control: Any, problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        simulated("cpu", controls=[*CONTROLS, control])


def test_bad_names_and_worlds_are_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'blade'"):
        simulated("cpu", controls=[grains.velocity_control("a", "blad", "x", low=-1.0, high=1.0)])
    with pytest.raises(InvalidValue, match="must be 'x', 'y' or 'z', not 'up'"):
        grains.velocity_control("a", "blade", "up", low=-1.0, high=1.0)
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number of 1 or more, not 0"):
        simulated("cpu", worlds=0)
    with pytest.raises(InvalidValue, match="worlds of .* must be a whole number of 1 or more, not array"):
        simulated("cpu", worlds=np.zeros(108, int))
    with pytest.raises(InvalidValue, match="names world 1, and worlds=2 copies"):
        simulated("cpu", worlds=2, obstacles=[Rigid(Sphere(0.01), world=1)], controls=())
    with pytest.raises(InvalidValue, match="world_of names world 2, and there are the worlds 0 to 1"):
        simulated("cpu", worlds=2, world_of=np.full(108, 2))
    with pytest.raises(InvalidValue, match="world_of must be 108 whole numbers"):
        simulated("cpu", world_of=np.zeros(7, int))
    with pytest.raises(InvalidValue, match="as many bodies in each world"):
        simulated("cpu", world_of=np.repeat([0, 1], 54))


def test_worlds_beyond_the_memory_of_the_machine_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooLarge, match="1000000000000 worlds of .* simulate fewer worlds"):
        simulated("cpu", worlds=10**12)

"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import AnnelidError
from annelid.shapes import Rigid, Sphere, tet_beam

NO: Any = "no"
THREE: Any = 3


def beam() -> fem.Solid:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
    return solid.fix(lambda nodes: nodes[:, 0] < 1e-6)


def simulated(**options: Any) -> Any:
    return fem.simulation(beam(), device="cpu", threads=1, **options)


def resting(**options: Any) -> Any:
    return fem.equilibrium(beam(), device="cpu", threads=1, **options)


def robot() -> fem.Robot:
    push = fem.PointForce(name="push", at=11, direction=(0.0, 0.0, 1.0), force=(-1.0, 1.0))
    return fem.Robot(beam(), [push], [fem.Point(name="tip", at=11)], device="cpu", threads=1)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: simulated(dynamic="no"), "dynamic of a simulation of a solid must be True or False, not 'no'"),
        (lambda: simulated(settings=3), "settings of a simulation of a solid must be a fem.Settings or None, not 3"),
        (lambda: simulated(contact=0), "contact must be a fem.Contact, such as .*, not 0"),
        (lambda: simulated(extras=3), "extras of a solid must be a list of element sets, .*, not int: 3"),
        (lambda: simulated(integrator=["midpoint"]), "integrator of a simulation of a solid must be one of"),
        (lambda: resting(relaxed="no"), "relaxed of an equilibrium of a solid must be True or False, not 'no'"),
        (
            lambda: resting(start=np.zeros((2, 3))),
            r"start must be finite positions of shape \[12, 3\], not .* \[2, 3\]",
        ),
        (lambda: resting(start=[np.nan] * 3), r"start must be finite positions of shape \[12, 3\], not .* \[3\]"),
        (lambda: resting(start="here"), "start must be given as numbers, not 'here'"),
        (lambda: resting(settings=3), "settings must be fem.Settings or None, not int: 3"),
        (
            lambda: fem.Settings(tolerance=NO),
            "tolerance of fem.Settings must be .* of 0 or more, not 'no'",
        ),
        (
            lambda: fem.Settings(iterations=NO),
            "iterations of fem.Settings must be a whole number between .*, not 'no'",
        ),
        (lambda: fem.Settings(smallest_part=2.0), "smallest_part of fem.Settings must be above 0 and at most 1"),
        (lambda: fem.Contact(itself=0), "itself of a contact must be True, False or None, not 0"),  # type: ignore[arg-type]
        (lambda: fem.Fluid(level=NO), "level of the fluid = 'no' cannot be used"),
        (lambda: fem.Hydraulic(name="water", closed=NO), "closed of a Hydraulic must be True or False, not 'no'"),
        (lambda: fem.Hydraulic(name="water", fluid=THREE), "the fluid of water must be a fem.Fluid, not int: 3"),
        (lambda: fem.Hydraulic(name="water", cells=NO), "cells of water = 'no' cannot be used"),
        (lambda: fem.Thread([[0, 0, 0], [1, 0, 0]], 1.0, one_sided=NO), "one_sided of a Thread must be True or False"),
        (lambda: fem.winding(0.1, 0.1, turns=1.0, double=NO), "double must be True or False, not 'no'"),
        (lambda: fem.Together(rough=NO), "rough of fem.Together must be between 0 and 0.99, not 'no'"),
        (lambda: fem.InverseSettings(dt=NO), "dt of inverse control must be a finite number above 0 s, not 'no'"),
        (lambda: fem.InverseSettings(corrections=NO), "corrections of inverse control must be .* 0 or more, not 'no'"),
        (lambda: fem.InverseSettings(refresh=NO), "refresh of inverse control must be .* 1 or more or None, not 'no'"),
        (lambda: fem.Point(name="tip", at=0, axes=THREE), "axes of tip must be some of 'x', 'y', 'z', .*, not 3"),
        (lambda: fem.Points(name="tip", at=THREE), "tip needs a list of points .* or of numbers of nodes, not 3"),
        (lambda: fem.Points(name="tip", at="abc"), "tip needs a list of points .*, not 'abc'"),
        (lambda: fem.Path(np.zeros((2, 3)), NO), "the times of a path must be given as numbers, not 'no'"),
        (lambda: fem.Forward(robot(), THREE), "settings must be fem.Settings or None, not int: 3"),
        (lambda: fem.forward_simulation(robot(), dt=NO), "the time step dt must be a positive time .*, not 'no'"),
        (lambda: fem.forward_simulation(robot(), strokes=THREE), "strokes must be a list of names, not 3"),
        (lambda: fem.Path(np.zeros((2, 3)), [0.0, 1.0]).at(NO), "time = 'no' cannot be used; give a finite number"),
        (lambda: beam().property_of(THREE), "no property of a material named 3"),
        (lambda: beam().strains(NO), "positions must be given as numbers, not 'no'"),
        (lambda: simulated(dt=1e-300), "dt .* must be a finite number of 1e-15 s or more or 'auto', not 1e-300"),
        (lambda: fem.Fabric(None, 1e6, 1e-3, name=THREE), "the name of a fabric must be a word, not 3"),
        (lambda: fem.Fabric(None, True, 1e-3), "modulus of fabric must be a number or two .*, not True"),
        (lambda: fem.Limits(0.0, True), r"limits = \(0\.0, True\) cannot be used; give two numbers"),
        (lambda: fem.Cable(name="a", through=[0, 1], tension=True), "tension of a = .*True.* cannot be used"),
        (lambda: fem.Cable(name="a", through=[0, 1], tension=(0.0, 1.0), tension_rate=True), "a rate of True a second"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


def among_things() -> Any:
    things = [Rigid(Sphere(0.1), position=(x, 0.0, 0.2), motion="driven") for x in (0.0, 0.3)]
    return simulated(obstacles=things)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda one: one.solver.place(one.state, "", (0.0, 0.0, 0.3)), "no obstacle named ''"),
        (lambda one: one.solver.place(one.state, True, (0.0, 0.0, 0.3)), "no obstacle named 'True'"),
        (
            lambda one: one.solver.place(one.state, 1, (0.0, 0.0, 0.3), mask=NO),
            "the mask must be true or false .*, not 'no'",
        ),
        (lambda one: one.solver.lead([1], None), r"the name of an obstacle to be led must be a word, not \[1\]"),
        (lambda one: one.sensors.add("push", fem.contact_force_of(True)), "no obstacle named 'True'"),
    ],
)
def test_obstacles_are_told_by_name_or_number(wrong: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong(among_things())


def test_numbers_of_numpy_tell_obstacles() -> None:
    simulation = among_things()
    simulation.solver.place(simulation.state, np.int64(1), (0.0, 0.0, 0.3))
    assert simulation.state.touch.places.numpy()[1] == pytest.approx([0.0, 0.0, 0.3])


def test_a_start_of_an_equilibrium_is_taken() -> None:
    solid = beam()
    assert resting(start=solid.nodes, gravity=(0.0, 0.0, 0.0)) == pytest.approx(solid.nodes, abs=1e-9)


def test_control_follows_targets_only() -> None:
    pytest.importorskip("daqp")
    control = fem.Inverse(robot())
    with pytest.raises(AnnelidError, match="a trajectory must be a list of targets, such as path.steps.*, not 3"):
        control.follow(THREE)
    with pytest.raises(AnnelidError, match="a trajectory must be a list of targets"):
        control.follow(fem.Path(np.eye(3), [0.0, 1.0, 2.0]))  # type: ignore[arg-type]
    with pytest.raises(AnnelidError, match="iterations = 0 cannot be used"):
        control.reach([0.1, 0.02, 0.02], iterations=0)
    with pytest.raises(AnnelidError, match="settings must be fem.InverseSettings or None, not int: 3"):
        fem.Inverse(robot(), THREE)
    with pytest.raises(AnnelidError, match="settle of inverse control must be True or False, not 'no'"):
        fem.Inverse(robot(), settle=NO)
    assert len(list(control.follow([[0.1, 0.02, 0.02]]))) == 1

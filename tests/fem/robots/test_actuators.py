"""Actuators: their forces, directions and strokes agree, and bad ones are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName
from annelid.fem.actuation.limits import Limits

from .robots import LENGTH, hollow, hollow_solid, line, trunk, trunk_mesh


def mixed(weight: str = "hydrostatic") -> fem.Robot:
    """One of each kind in one robot."""
    solid = hollow_solid()
    top = [
        int(n) for n in solid.mesh.nearest(np.column_stack([np.linspace(0, 0.1, 4), np.zeros(4), np.full(4, 0.014)]))
    ]
    cable = fem.Cable(name="cable", through=[(-0.02, 0.0, 0.02), *top])
    push = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 1.0, 0.5))
    water = fem.Hydraulic(name="water", weight=weight, cells=60)
    return fem.Robot(solid, [cable, push, water], [fem.Point(name="tip", at=(0.1, 0.0, 0.0))], device="cpu", threads=1)


def moved(robot: fem.Robot, size: float = 2e-4) -> np.ndarray:
    rng = np.random.default_rng(1)
    return robot.solid.nodes + size * rng.standard_normal(robot.solid.nodes.shape)


@pytest.mark.parametrize("number", range(3))
def test_the_direction_is_the_slope_of_the_stroke_and_the_force_of_a_unit_effort(number: int) -> None:
    robot = mixed()
    here = moved(robot)
    robot.positions.assign(here)
    robot.aim()
    direction = robot.directions.numpy()[:, number].copy()
    step = 1e-6 * np.random.default_rng(2).standard_normal(here.shape)
    strokes = []
    for sign in (1.0, -1.0):
        robot.positions.assign(here + sign * step)
        strokes.append(robot.aim()[number])
    assert (strokes[0] - strokes[1]) / 2.0 == pytest.approx(float((direction * step).sum()), rel=1e-5)
    forces = []
    for effort in (0.0, 1.0):
        efforts = np.zeros(3)
        efforts[number] = effort
        robot.exert(efforts)
        robot.model.assembly.evaluate(wp.array(here, dtype=wp.vec3d, device="cpu"))
        forces.append(robot.model.assembly.forces.numpy().copy())
    np.testing.assert_allclose(forces[1] - forces[0], direction, atol=1e-9 * np.abs(forces[1]).max() + 1e-12)


def test_the_tangent_is_the_slope_of_the_forces() -> None:
    robot = mixed()
    robot.exert([2.0, 0.5, 3000.0])
    here = moved(robot)
    rng = np.random.default_rng(3)
    step = 1e-7 * rng.standard_normal(here.shape)
    robot.model.assembly.evaluate(wp.array(here, dtype=wp.vec3d, device="cpu"))
    slope = (robot.model.assembly.matrix() @ step.ravel()).reshape(-1, 3)
    forces = []
    for sign in (1.0, -1.0):
        robot.model.assembly.evaluate(wp.array(here + sign * step, dtype=wp.vec3d, device="cpu"))
        forces.append(robot.model.assembly.forces.numpy().copy())
    np.testing.assert_allclose((forces[1] - forces[0]) / 2.0, slope, atol=1e-6 * np.abs(slope).max())


def test_efforts_by_name_and_their_checks() -> None:
    robot = mixed()
    robot.exert({"push": 2.0})
    assert robot.efforts.tolist() == [0.0, 2.0, 0.0]
    with pytest.raises(InvalidValue, match="3 finite numbers"):
        robot.exert([1.0, 2.0])
    with pytest.raises(KeyError, match="no actuator named 'pump'"):
        robot.exert({"pump": 1.0})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fem.Cable(name="c", through=[0]), "at least two"),
        (lambda: fem.Cable(name="c", through=[0, 1], tension=(-1.0, 2.0)), "cannot push"),
        (lambda: fem.Cable(name="c", through=[0, 1], tension=(3.0, 2.0)), "tension of c.*exclude every value"),
        (lambda: fem.Pneumatic(name="p", pressure=(0.0, float("nan"))), "pressure of p"),
        (lambda: fem.Pneumatic(name="p", pressure_rate=0.0), "never change"),
        (lambda: fem.Hydraulic(name="h", weight="guessed"), "'hydrostatic' or 'columns'"),
        (lambda: fem.PointForce(name="f", at=0, direction=(0.0, 0.0, 0.0)), "direction of f"),
        (lambda: fem.PointForce(name="f", at=0, direction="up"), "direction of f"),
        (lambda: fem.Pneumatic(name=3), "the name of an actuator must be a word, not 3"),
        (lambda: fem.Point(name="", at=0), "the name of an effector must be a word, not ''"),
        (lambda: fem.Limits(2.0, 1.0), "limits: the limits 2 and 1 exclude every value"),
        (lambda: fem.Limits(float("nan"), 1.0), r"limits = \(nan, 1.0\) cannot be used"),
        (lambda: fem.Limits("low", 1.0), r"limits = \('low', 1.0\) cannot be used"),
        (lambda: fem.Limits(0.0, 1.0, rate=-1.0), "never change"),
    ],
)
def test_bad_actuators_are_refused(make, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        make()


def test_actuators_that_do_not_fit_the_solid_are_refused() -> None:
    mesh = trunk_mesh()
    nodes = line(mesh, "up")
    with pytest.raises(InvalidValue, match="node 99999, but there are nodes 0 to"):
        trunk(others=[fem.Cable(name="more", through=[*nodes, 99999])])
    with pytest.raises(InvalidValue, match="passes no node"):
        trunk(others=[fem.Cable(name="more", through=[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)])])
    with pytest.raises(InvalidValue, match="but the mesh has 0"):
        trunk(others=[fem.Pneumatic(name="air")])
    with pytest.raises(InvalidValue, match="outside of the solid"):
        trunk(others=[fem.PointForce(name="push", at=(1.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))])
    with pytest.raises(InvalidValue, match="two actuators have one name"):
        hollow(fem.Pneumatic(name="air"), fem.Pneumatic(name="air"))
    with pytest.raises(InvalidMesh):
        hollow(fem.Pneumatic(name="air", cavity=fem.Cavity(np.array([[0, 1, 2]]))))


def test_limits_that_are_none_leave_a_robot_with_those_before() -> None:
    robot = trunk()
    name, before = robot.names[0], robot.limits[0]
    with pytest.raises(InvalidValue, match=r"limits of the effort of .* must be a fem.Limits\(low, high\), not tuple"):
        robot.limit(name, effort=(0.0, 1.0))
    assert robot.limits[0] == before


def test_misspelt_options_of_robots_and_controls_are_refused_by_name() -> None:
    robot = trunk()
    with pytest.raises(UnknownName, match="option of a robot named 'obstacle'"):
        fem.Robot(robot.solid, robot.actuators, obstacle=[])
    with pytest.raises(UnknownName, match="option of forward control named 'time'"):
        fem.Forward(robot, time=1.0)
    with pytest.raises(UnknownName, match="It is an option of fem.InverseSettings"):
        fem.Inverse(robot, energy=1e-3)
    with pytest.raises(InvalidValue, match="a sink must be a stream or a function that takes a step, not 3"):
        fem.Inverse(robot, sinks=[3])
    with pytest.raises(InvalidValue, match=r"strokes must be a list of names, not 'up'"):
        fem.forward_simulation(robot, strokes="up")


def test_a_robot_that_nothing_holds_is_refused() -> None:
    solid = fem.Solid(trunk_mesh(), "ecoflex-00-30")
    with pytest.raises(InvalidValue, match="singular"):
        fem.Robot(solid, [], device="cpu")


def test_limits_tell_how_far_a_value_may_go() -> None:
    limits = Limits.of("x", (0.0, 10.0), 2.0)
    assert limits.change(5.0, 1.0) == (-2.0, 2.0)
    assert limits.change(9.0, 1.0) == (-2.0, 1.0)
    assert limits.change(20.0, 1.0) == (-2.0, -2.0)  # back as fast as the rate allows
    assert Limits.of("x", 3.0).held
    assert Limits.of("x", 3.0).change(1.0, 1.0) == (2.0, 2.0)


def test_a_point_of_a_quadratic_solid_moves_with_it() -> None:
    mesh = trunk_mesh().quadratic()
    solid = fem.Solid(mesh, "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-9)
    place = (0.07, 0.002, -0.003)
    robot = fem.Robot(solid, [], [fem.Point(name="p", at=place)], device="cpu", threads=1)
    np.testing.assert_allclose(robot.places()[0], place, atol=1e-12)
    bent = solid.nodes + np.column_stack(
        [np.zeros(len(solid.nodes)), solid.nodes[:, 0] ** 2, np.zeros(len(solid.nodes))]
    )
    robot.positions.assign(bent)
    assert robot.places()[0, 1] == pytest.approx(0.002 + 0.07**2, abs=1e-12)
    assert LENGTH > 0.07


def test_robots_of_other_things_are_refused_in_a_sentence() -> None:
    solid: Any = hollow_solid()
    tip: Any = fem.Point(name="tip", at=(0.1, 0.0, 0.0))
    air: Any = fem.Pneumatic(name="air", pressure=(0.0, 1e3))
    for made, sentence in (
        ((solid.mesh, [air], [tip]), "the solid of a robot must be a fem.Solid, not TetMesh"),
        ((solid, air, [tip]), "the actuators of a robot must be a list of actuators, not Pneumatic"),
        ((solid, [air], tip), "the effectors of a robot must be a list of effectors, not Point"),
        ((solid, [tip], [tip]), "each actuator of a robot must be one of annelid.fem, such as a Pneumatic"),
    ):
        with pytest.raises(InvalidValue, match=sentence):
            fem.Robot(*made, device="cpu")
    with pytest.raises(InvalidValue, match="has no actuator, so there is nothing to move it with"):
        fem.Inverse(fem.Robot(solid, [], [tip], device="cpu", threads=1))
    robot = fem.Robot(solid, [air], [tip], device="cpu", threads=1)
    for efforts in (["much"], {"air": "much"}, {"air": [1.0, 2.0]}, "much"):
        with pytest.raises(InvalidValue, match="efforts must be 1 finite numbers"):
            robot.exert(efforts)  # type: ignore[arg-type]
    script: Any = {"tip": [0.1, 0.0, 0.0]}
    with pytest.raises(InvalidValue, match="script must be a function of the time"):
        fem.inverse_simulation(robot, script=script)
    for simulation, what in (
        (fem.inverse_simulation(robot, script=lambda time: None, dt=0.1), "targets"),  # type: ignore[arg-type, return-value]
        (fem.forward_simulation(robot, lambda time: [1e3], dt=0.1), "efforts"),  # type: ignore[arg-type, return-value]
    ):
        with pytest.raises(InvalidValue, match=rf"a script must give {what} by name, .* at 0\.1 s it gave"):
            simulation.step(1)


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        (fem.Pneumatic, {"closed": True, "sealed_at": np.nan}, "sealed_at of a = nan"),
        (fem.Pneumatic, {"closed": True, "sealed_at": -2e5}, r"sealed_at of a = -200000\.0 .* more than -101325"),
        (fem.Cable, {"through": None}, "cable 'a' passes through None; give a list"),
        (fem.Point, {"at": 0, "weight": "much"}, "weight of a = 'much'"),
    ],
)
def test_values_of_another_kind_are_refused(kind: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        kind(name="a", **options)
    with pytest.raises(UnknownName, match=f"no parameter of a {kind.__name__} named 'presure'"):
        kind(name="a", presure=3.0)


def test_a_cavity_or_a_point_of_another_kind_is_refused() -> None:
    cavity: Any = "left"
    with pytest.raises(InvalidValue, match="is in cavity 'left', counted from 0"):
        hollow(fem.Pneumatic(name="air", cavity=cavity))
    with pytest.raises(InvalidValue, match=r"a point of tip must be three finite numbers \[m\], not \['end'\]"):
        fem.Robot(hollow_solid(), [], [fem.Point(name="tip", at="end")], device="cpu")

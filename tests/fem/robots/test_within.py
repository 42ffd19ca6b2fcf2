"""Limits of flow, rate, stroke and effort hold where efforts are given, for every actuator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue, Unsupported
from annelid.shapes import ground, tet_hollow_cylinder

DT = 0.05
MESH = tet_hollow_cylinder(0.02, 0.05, wall=0.008, layers=3)
TOP = int(MESH.nodes[:, 2].argmax())


def robot(*actuators: fem.Actuator, **options: Any) -> fem.Robot:
    """A short tube with a closed bore, held at one end."""
    solid = fem.Solid(MESH, "ecoflex-00-30")
    solid.fix(lambda p: p[:, 2] < p[:, 2].min() + 1e-9)
    return fem.Robot(solid, list(actuators), gravity=(0.0, 0.0, 0.0), device="cpu", threads=1, **options)


ACTUATORS: dict[str, tuple[Any, dict[str, Any], float, float]] = {
    # what it is, its options, an effort that goes beyond its limits, about how far that goes alone
    "air": (fem.Pneumatic, {"pressure": (-1e4, 1e4)}, 6e3, 2e-6),
    "water": (fem.Hydraulic, {"pressure": (-1e4, 1e4)}, 6e3, 2e-6),
    "cable": (fem.Cable, {"through": [TOP, (0.06, 0.0, 0.08)], "tension": (0.0, 5.0)}, 1.0, 5e-3),
    "push": (fem.PointForce, {"at": TOP, "direction": (1, 0, 0), "force": (-5.0, 5.0)}, 0.5, 5e-3),
}


def made(kind: str, **options: Any) -> tuple[fem.Actuator, float, float]:
    what, own, effort, stroke = ACTUATORS[kind]
    return what(name="it", **{**own, **options}), effort, stroke


def stroke_name(kind: str) -> str:
    return ACTUATORS[kind][0].stroke_name


def strokes_and_efforts(simulation: Any, count: int) -> np.ndarray:
    found = []
    for _ in range(count):
        simulation.step(1)
        found.append([float(simulation.state.strokes.numpy()[0]), float(simulation.state.efforts.numpy()[0])])
    return np.array(found)


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize("kind", ACTUATORS)
def test_a_stroke_grows_at_its_rate_to_its_limit_and_no_farther(kind: str, scripted: bool) -> None:
    _, effort, alone = made(kind)
    name, rate = stroke_name(kind), 0.15 * alone / DT
    actuator, *_ = made(kind, **{name: (-0.2 * alone, 0.25 * alone), f"{name}_rate": rate})
    simulation = fem.forward_simulation(robot(actuator), (lambda time: {"it": effort}) if scripted else None, dt=DT)
    if not scripted:
        simulation.controls["it"] = effort
    found = strokes_and_efforts(simulation, 3)
    np.testing.assert_allclose(found[:, 0], np.minimum([0.15, 0.3, 0.45], 0.25) * alone, rtol=1e-4)
    assert (found[:, 1] < effort).all()
    assert (found[:, 1] > 0.0).all()


@pytest.mark.parametrize("kind", ACTUATORS)
def test_an_effort_from_a_script_changes_at_its_rate(kind: str) -> None:
    _, effort, _ = made(kind)
    effort_name = ACTUATORS[kind][0].effort_name
    actuator, *_ = made(kind, **{f"{effort_name}_rate": 0.25 * effort / DT})
    found = strokes_and_efforts(fem.forward_simulation(robot(actuator), lambda time: {"it": 0.6 * effort}, dt=DT), 3)
    np.testing.assert_allclose(found[:, 1], [0.25 * effort, 0.5 * effort, 0.6 * effort])


def test_a_held_stroke_gives_way_where_it_takes_too_much() -> None:
    growth = (0.0, 4e-6)
    strong, *_ = made("air", pressure=(-1e5, 1e5), growth=growth)
    weak, *_ = made("air", pressure=(-2e3, 2e3), growth=growth)
    found = []
    for actuator in (strong, weak):
        simulation = fem.forward_simulation(robot(actuator), dt=DT, strokes=["it"])
        simulation.controls["it"] = 1.5e-6
        found.append(strokes_and_efforts(simulation, 2)[-1])
    assert found[0][0] == pytest.approx(1.5e-6, rel=1e-4)
    assert found[0][1] > 2.1e3
    assert found[1][1] == pytest.approx(2e3, rel=1e-4)
    assert found[1][0] < 1.4e-6


def test_an_actuator_lets_go_of_a_limit_when_less_is_asked_for() -> None:
    actuator, *_ = made("air", growth=(-1e-6, 5e-7))
    simulation = fem.forward_simulation(robot(actuator), lambda time: {"it": 6e3 if time < 0.12 else 500.0}, dt=DT)
    found = strokes_and_efforts(simulation, 3)
    np.testing.assert_allclose(found[:2, 0], 5e-7, rtol=1e-4)
    assert found[2, 1] == pytest.approx(500.0)
    assert found[2, 0] < 5e-7


@pytest.mark.parametrize("kind", ACTUATORS)
def test_equilibria_keep_limits_of_strokes(kind: str) -> None:
    _, effort, alone = made(kind)
    actuator, *_ = made(kind, **{stroke_name(kind): (-alone, 0.2 * alone)})
    machine = robot(actuator)
    fem.Forward(machine).settle({"it": effort})
    assert float(machine.aim()[0]) == pytest.approx(0.2 * alone, rel=1e-4)
    assert machine.limits[0][1].high == pytest.approx(0.2 * alone)


def test_worlds_keep_limits_each_by_itself() -> None:
    actuator, *_ = made("air", growth_rate=2e-6)
    simulation = fem.forward_simulation(robot(actuator), dt=DT, worlds=2)
    simulation.controls["it"] = [6e3, 100.0]
    simulation.step(1)
    strokes = simulation.state.strokes.numpy()
    assert strokes[0] == pytest.approx(1e-7, rel=1e-4)
    assert strokes[1] < 0.9e-7


def test_what_cannot_keep_limits_is_refused() -> None:
    closed = fem.Pneumatic(name="it", closed=True, growth=(-1e-6, 1e-6))
    with pytest.raises(InvalidValue, match="it is closed: .* limits of pressure and growth"):
        fem.Forward(robot(closed)).settle({})
    actuator, *_ = made("air", growth_rate=2e-6)
    machine = robot(actuator, obstacles=[ground(0.5, height=-0.1)], contact=fem.Contact())
    with pytest.raises(Unsupported, match="stop actuators at limits"):
        fem.forward_simulation(machine, lambda time: {"it": 6e3}, dt=DT).step(1)
    with pytest.raises(InvalidValue, match="only exerts a pressure"):
        fem.simulation(machine.solid, actuators=[made("air", growth_rate=1e-6)[0]])

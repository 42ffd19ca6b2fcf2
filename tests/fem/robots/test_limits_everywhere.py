"""Every limit of every actuator under every simulation: it holds, or is refused there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Rollout, fem
from annelid.core.errors import AnnelidError
from annelid.materials import Material, NeoHooke
from annelid.shapes import tet_hollow_cylinder

DT = 0.05
MESH = tet_hollow_cylinder(0.02, 0.05, wall=0.008, layers=2)
TOP = int(MESH.nodes[:, 2].argmax())
RUBBER = Material.hyperelastic("rubber", NeoHooke(23e3))
Path = tuple[list[float], list[float]]
"""Efforts and strokes, before the first step and after each; no strokes where they are refused."""

ACTUATORS: dict[str, tuple[Any, dict[str, Any], float, float]] = {  # options, an effort, about its stroke
    "air": (fem.Pneumatic, {}, 6e3, 2e-6),
    "water": (fem.Hydraulic, {}, 6e3, 2e-6),
    "cable": (fem.Cable, {"through": [TOP, (0.06, 0.0, 0.08)]}, 1.0, 5e-3),
    "push": (fem.PointForce, {"at": TOP, "direction": (1, 0, 0)}, 0.5, 5e-3),
    "slide": (fem.Slide, {"where": lambda p: p[:, 2] < p[:, 2].min() + 1e-9, "direction": (1, 0, 0)}, 5e-3, np.inf),
}
LIMITS = ("effort high", "effort low", "effort rate", "stroke high", "stroke low", "stroke rate")


def case(kind: str, limit: str) -> tuple[fem.Actuator, float, Callable[[Path, float], bool]]:
    """An actuator with a limit, an effort that goes beyond it, and whether a path keeps it, within a part."""
    what, own, effort, stroke = ACTUATORS[kind]
    of, end = limit.split()
    scale, name = (effort, what.effort_name) if of == "effort" else (stroke, what.stroke_name)
    least = 0.0 if kind == "cable" else -10.0 * effort
    options: dict[str, Any] = {what.effort_name: (least, 10.0 * effort)}
    goal = effort
    if end == "rate":
        options[f"{name}_rate"] = 0.05 * scale / DT
    elif end == "high":
        options[name] = (least if of == "effort" else -scale, 0.2 * scale)
    else:
        goal = 0.0 if kind == "cable" else -effort
        options[name] = (0.2 * scale if of == "effort" else -0.05 * scale, 10.0 * scale)

    def kept(path: Path, loose: float) -> bool:
        values = np.array(path[of == "stroke"])
        if end == "rate":
            return bool(np.abs(np.diff(values)).max() <= 0.05 * scale * (1.0 + loose))
        if end == "high":
            return bool(values.max() <= 0.2 * scale * (1.0 + loose))
        return bool(values[1:].min() >= options[name][0] - loose * abs(options[name][0]))

    return what(name="it", **own, **options), goal, kept


def solid() -> fem.Solid:
    return fem.Solid(MESH, RUBBER).fix(lambda p: p[:, 2] < p[:, 2].min() + 1e-9)


def robot(actuator: fem.Actuator) -> fem.Robot:
    tip = fem.Point(name="tip", at=TOP)
    return fem.Robot(solid(), [actuator], [tip], gravity=(0.0, 0.0, 0.0), device="cpu", threads=1)


def stepped(simulation: Any, command: float | None, *, strokes: bool = True) -> Path:
    """Three steps; of several worlds the last is looked at."""
    efforts, found = [], []
    for number in range(4):
        if number:
            if command is not None:
                simulation.controls["it"] = np.full(simulation.solver.worlds, command)
            simulation.step(1)
        efforts.append(float(simulation.state.efforts.numpy().ravel()[-1]))
        found.append(float(simulation.state.strokes.numpy().ravel()[-1]) if strokes else 0.0)
    return efforts, found


def forward(actuator: fem.Actuator, goal: float, **options: Any) -> Path:
    return stepped(fem.forward_simulation(robot(actuator), dt=DT, **options), goal)


def scripted(actuator: fem.Actuator, goal: float) -> Path:
    return stepped(fem.forward_simulation(robot(actuator), lambda time: {"it": goal}, dt=DT), None)


def at_stroke(actuator: fem.Actuator, goal: float) -> Path:
    return forward(actuator, np.sign(goal) * 5e-3, strokes=["it"])


def settled(actuator: fem.Actuator, goal: float) -> Path:
    machine = robot(actuator)
    before = float(machine.efforts[0]), float(machine.aim()[0])
    fem.Forward(machine, dt=DT).settle({"it": goal})
    return [before[0], float(machine.efforts[0])], [before[1], float(machine.aim()[0])]


def inverse(actuator: fem.Actuator, goal: float) -> Path:
    """A target beyond all limits, which is approached in small steps, as a path is."""
    simulation = fem.inverse_simulation(robot(actuator), dt=DT)
    place = simulation.solver.targets(simulation.state)["tip"]
    simulation.solver.aim(simulation.state, {"tip": place + np.sign(goal or -1.0) * np.array([0.02, 0.0, 0.02])})
    return stepped(simulation, None)


def plain(actuator: fem.Actuator, goal: float, **options: Any) -> Path:
    every = {"gravity": (0.0, 0.0, 0.0), "dt": DT, "device": "cpu", "threads": 1, **options}
    return stepped(fem.simulation(solid(), actuators=[actuator], **every), goal, strokes=False)


def rolled_out(actuator: fem.Actuator, goal: float, **options: Any) -> Path:
    """Where a rollout is, the simulation is, whose efforts are looked at."""
    every = {"gravity": (0.0, 0.0, 0.0), "dt": DT, "device": "cpu", "threads": 1, **options}
    simulation = fem.simulation(solid(), actuators=[actuator], **every)
    track = Rollout(simulation, 3).forward({"controls": [[goal]]})
    path = stepped(simulation, goal, strokes=False)
    np.testing.assert_allclose(track.positions[-1, 0], simulation.positions(), atol=1e-9)
    return path


SIMULATIONS: dict[str, Callable[[fem.Actuator, float], Path]] = {
    "forward": forward,
    "forward by a script": scripted,
    "forward at a stroke": at_stroke,
    "forward in worlds": lambda one, goal: forward(one, goal, worlds=2),
    "an equilibrium": settled,
    "inverse": inverse,
    "backward Euler": plain,
    "midpoint": lambda one, goal: plain(one, goal, integrator="midpoint"),
    "linearly implicit": lambda one, goal: plain(one, goal, integrator="linearly-implicit"),
    "equilibria": lambda one, goal: plain(one, goal, dynamic=False),
    "worlds together": lambda one, goal: plain(one, goal, worlds=2, together=True),
    "worlds one by one": lambda one, goal: plain(one, goal, worlds=2, together=False),
    "a rollout": rolled_out,
    "a rollout of equilibria": lambda one, goal: rolled_out(one, goal, dynamic=False),
}
REFUSED = re.compile(
    "its limits are|only exerts a|moves a hold|a Slide moves|between limits of|is outside|moves held nodes"
)
LINEARISED = {"inverse": 0.03}
"""How far a step of inverse control, which is linearised, goes beyond a limit of a stroke."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_limits_hold_or_are_refused(simulation: str) -> None:
    held = 0
    for kind, limit in itertools.product(ACTUATORS, LIMITS):
        if kind == "slide" and limit.startswith("stroke"):
            continue  # its effort is its stroke
        actuator, goal, kept = case(kind, limit)
        try:
            path = SIMULATIONS[simulation](actuator, goal)
        except AnnelidError as error:
            if not REFUSED.search(str(error)):
                raise
            continue
        assert kept(path, LINEARISED.get(simulation, 1e-3)), (kind, limit, path)
        held += 1
    assert held > 0

"""Controlled robots in simulations: scripts, targets that people move, checkpoints, pictures."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import UnknownName
from annelid.core.snapshot import Look
from annelid.shapes import Plane

from .robots import hollow, trunk

BEGIN = np.array([0.148, 0.0, -0.018])


def script(time: float) -> dict[str, np.ndarray]:
    return {"tip": BEGIN + np.array([0.0, 0.05 * time, 0.0])}


def test_the_script_leads_until_someone_aims() -> None:
    simulation = fem.inverse_simulation(trunk(), dt=0.05, script=script)
    simulation.step(2)
    np.testing.assert_allclose(simulation.solver.targets(simulation.state)["tip"], script(0.1)["tip"])
    simulation.solver.aim(simulation.state, {"tip": BEGIN})
    simulation.step(3)
    np.testing.assert_allclose(simulation.solver.targets(simulation.state)["tip"], BEGIN)
    assert simulation.solver.readout.distances(simulation.state)["tip"] < 0.02
    with pytest.raises(UnknownName):
        simulation.solver.aim(simulation.state, {"nose": BEGIN})


def test_pictures_show_targets_cables_and_obstacles() -> None:
    floor = Plane(point=(0.0, 0.0, -0.1))
    simulation = fem.inverse_simulation(trunk(obstacles=[floor]), script=script)
    simulation.step()
    shot = simulation.snapshot(Look(fields=("von-mises",)))
    assert {"solid", "target", "effector", "up", "down", "left", "right", "plane"} == {part.name for part in shot.parts}
    assert shot.numbers["tension-left"].unit == "N"
    assert shot.numbers["pull-left"].unit == "m"
    tip = [shot.numbers[f"tip-{axis}"].value for axis in "xyz"]
    assert tip == simulation.solver.readout.places(simulation.state)["tip"][0].tolist()
    assert "distance-tip" in shot.numbers
    assert "active-limits" in shot.numbers


def test_a_posed_robot_takes_strokes_and_efforts() -> None:
    push = fem.PointForce(name="push", at=(0.1, 0.0, 0.0), direction=(0.0, 0.0, -1.0))
    robot = hollow(fem.Hydraulic(name="water", growth=0.0), push)
    simulation = fem.forward_simulation(robot, lambda time: {"water": 4e-5 * time, "push": time}, dt=0.05)
    simulation.step(2)
    assert simulation.state.strokes.numpy()[0] == pytest.approx(4e-6, rel=1e-6)
    assert robot.efforts[1] == pytest.approx(0.1)


def test_a_step_into_a_collapse_keeps_the_last_equilibrium() -> None:
    robot = hollow(fem.Pneumatic(name="air"))
    simulation = fem.forward_simulation(robot, lambda time: {"air": 1e3 if time < 0.07 else 5e6}, dt=0.05)
    simulation.step()
    with pytest.raises(fem.NoEquilibrium, match="last equilibrium"):
        simulation.step()
    assert simulation.step_count == 1
    robot.positions.assign(simulation.state.positions)
    robot.exert(simulation.state.efforts.numpy())
    assert 1e3 <= robot.efforts[0] < 5e6
    assert simulation.solver.forward.newton.settle(robot.positions).iterations <= 1  # it is one

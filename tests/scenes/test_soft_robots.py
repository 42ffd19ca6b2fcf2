"""The soft robots of finite elements: they sag, reach and bend as they should, and follow targets that are dragged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.robots.pendulum import SIDES, pendulum_solid
from annelid.scenes.finger import Finger
from annelid.scenes.pendulum import Pendulum
from annelid.scenes.silicone_cylinder import SiliconeCylinder, tip_angle
from annelid.scenes.trunk import Trunk


def values(scene: Any, simulation: Any) -> dict[str, float]:
    return {m.name: m.value for m in scene.measure(simulation)}


def test_water_bends_the_cylinder_more_than_air_and_inflation_less() -> None:
    scene = SiliconeCylinder()
    simulation = scene.build(device="cpu", threads=1)
    simulation.run(1.0)
    assert simulation.state.strokes.numpy()[0] == pytest.approx(15e-6, rel=1e-6)
    angles = values(scene, simulation)
    assert angles["tip-angle-water"] < angles["tip-angle-air"] - 5.0
    assert 0.0 > angles["tip-angle-air-15ml"] > angles["tip-angle-air"]
    air = abs(angles["tip-angle-air-15ml"] - angles["tip-angle-air"])
    assert abs(angles["tip-angle-water-15ml"] - angles["tip-angle-water"]) < air
    assert angles["pressure-water-15ml"] > 0.0
    assert list(SiliconeCylinder(extra=5e-6).cases()) == ["air", "air-5ml", "water", "water-5ml"]


def test_a_robot_is_read_by_its_tip() -> None:
    robot = SiliconeCylinder().robot(device="cpu", threads=1)
    assert tip_angle(robot) == pytest.approx(0.0, abs=1e-9)


def test_the_hydraulic_finger_reaches_lower_and_less_high() -> None:
    """Fig. 5: water lets the tip reach lower targets and keeps it from the highest."""
    reach = {filling: Finger(filling=filling).reachable(2, device="cpu") for filling in ("pneumatic", "hydraulic")}
    air, water = reach["pneumatic"][:, 2], reach["hydraulic"][:, 2]
    assert water.min() < air.min() - 0.01
    assert water.max() < air.max() - 0.02
    assert reach["hydraulic"][:, 0].max() > reach["pneumatic"][:, 0].max()  # and farther out
    control = fem.Inverse(Finger(filling="hydraulic").robot(device="cpu"))
    assert control.reach((0.0886, 0.0, -0.0485)).reached
    high = control.reach((0.1019, 0.0, 0.0319))
    assert not high.reached
    assert high.active == ("pressure of bellows at most",)


def test_the_pendulum_extends_contracts_and_bends_four_ways() -> None:
    robot = Pendulum().robot(device="cpu", threads=1)
    control = fem.Inverse(robot)
    rest = robot.places()[0]
    for offset, loudest in (
        ((0.0, 0.0, -0.003), None),
        ((0.0, 0.0, 0.0005), None),
        ((0.003, 0.0, -0.002), "left"),
        ((-0.003, 0.0, -0.002), "right"),
        ((0.0, 0.003, -0.002), "front"),
        ((0.0, -0.003, -0.002), "back"),
    ):
        step = control.reach(rest + np.array(offset))
        assert step.reached, (offset, step.in_words())
        if loudest is not None:
            assert max(step.efforts, key=step.efforts.__getitem__) == loudest  # it grows on the far side
        elif offset[2] > 0.0:
            assert max(step.efforts.values()) < 0.0  # suction


def test_the_pendulum_has_about_400_or_5000_nodes() -> None:
    assert pendulum_solid().node_count == 399
    assert 4800 <= pendulum_solid(resolution=2, layers=24).node_count <= 5200


def test_a_pendulum_in_a_simulation_writes_its_actuation(tmp_path: Path) -> None:
    scene = Pendulum()
    simulation = scene.build(device="cpu", threads=1)
    simulation.step(2)
    found = values(scene, simulation)
    assert found["largest-miss"] < 1e-3
    assert found["optimality"] < 1e-6
    written = scene.outputs(simulation, tmp_path)
    assert all(path.stat().st_size > 100 for path in written)
    assert len((tmp_path / "actuation.csv").read_text().splitlines()) == 3


def test_limits_can_be_moved_while_it_runs() -> None:
    scene = Pendulum()
    simulation = scene.build(device="cpu", threads=1)
    simulation.step(2)
    for name, value in (("highest", 100.0), ("lowest", -50.0), ("growth", 2e-6)):
        scene.adjust(simulation, name, value)
    effort, stroke = simulation.solver.limits(simulation.state)[SIDES[0]]
    assert (effort.low, effort.high, stroke.high) == (-50.0, 100.0, pytest.approx(2e-6))
    simulation.step(2)
    assert max(simulation.solver.readout.efforts(simulation.state).values()) <= 100.0 * (1 + 1e-6)


@pytest.mark.parametrize("scene", [Pendulum(), Trunk()], ids=lambda s: s.name)
def test_targets_can_be_dragged(scene: Any) -> None:
    simulation = scene.build(device="cpu", threads=1)
    assert scene.status(simulation) == "drag the target"
    place = scene.targets(simulation)["tip"] + np.array([0.001, 0.0, -0.0005 if scene.name == "pendulum" else 0.0005])
    scene.move_target(simulation, "tip", tuple(place))
    simulation.step(3)
    np.testing.assert_allclose(scene.targets(simulation)["tip"], place)
    assert np.linalg.norm(simulation.solver.robot.places()[0] - place) < 1e-4
    assert "reached" in scene.status(simulation)


def test_the_trunk_follows_a_circle_with_eight_cables() -> None:
    scene = Trunk(radius=0.01)
    simulation = scene.build(device="cpu", threads=1)
    simulation.step(60)
    found = values(scene, simulation)
    assert found["cables"] == 8
    assert found["largest-miss"] < 1e-4
    assert 0.0 < found["largest-tension"] <= 8.0

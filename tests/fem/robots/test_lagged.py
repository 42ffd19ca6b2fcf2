"""Control with an old stiffness: as good as with a new one, renewed at fixed steps, and never later for being slow."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.robots import sensitivities
from annelid.fem.robots.condense import Condenser
from annelid.robots import pendulum_mesh
from annelid.scenes.pendulum import Pendulum

_DEPTH, _RADIUS = 2.5e-3, 1.5e-3


def circle(begin: np.ndarray, step: float, count: int) -> list[np.ndarray]:
    """Targets on a circle, so many metres apart."""
    angles = np.arange(count) * step / _RADIUS
    offsets = _RADIUS * np.column_stack([np.sin(angles), 1.0 - np.cos(angles), np.cos(0.5 * angles) - 1.0])
    return list(begin - [0.0, 0.0, _DEPTH] + offsets)


def followed(robot: fem.Robot, refresh: int, step: float, count: int) -> tuple[list[fem.Step], fem.Inverse]:
    control = fem.Inverse(robot, fem.InverseSettings(refresh=refresh))
    targets = circle(robot.places()[0], step, count)
    for _ in range(8):
        control.step(targets[0])
    return list(control.follow(targets)), control


@pytest.mark.parametrize("weight", ["hydrostatic", "columns"])
def test_the_effector_is_where_it_is_said_to_be(weight: str) -> None:
    """Apply the efforts in an independent forward solve: within 0.1 mm for targets that move 0.3 mm a step."""
    scene = Pendulum(weight=weight)  # type: ignore[arg-type]
    robot, other = (scene.robot(device="cpu", threads=1, cells=60) for _ in range(2))
    forward, targets = fem.Forward(other), circle(robot.places()[0], 3e-4, 12)
    control = fem.Inverse(robot, fem.InverseSettings(refresh=6))
    for number, target in enumerate([targets[0]] * 5 + targets):
        step = control.step(target)
        if number > 5 and number % 3 == 0:
            forward.settle(robot.efforts)
            assert np.linalg.norm(other.places()[0] - step.places["tip"][0]) < 1e-4
    assert step.distance < 2e-4


def test_it_finds_nearly_the_same_as_with_a_new_stiffness_every_step() -> None:
    scene = Pendulum()
    steps = {}
    for refresh in (1, 6):
        steps[refresh], control = followed(scene.robot(device="cpu", threads=1), refresh, 1e-4, 15)
        assert control.condenser.lagged == (refresh > 1)
    for new, old in zip(steps[1], steps[6], strict=True):
        np.testing.assert_allclose(old.places["tip"], new.places["tip"], atol=5e-5)


def test_timing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A background that is slow gives the same bits as one that is fast."""
    found = []
    prepared = sensitivities._prepared
    for pause in (0.0, 0.15):

        def slow(*given: Any, pause: float = pause) -> bool:
            time.sleep(pause)
            return prepared(*given)

        monkeypatch.setattr(sensitivities, "_prepared", slow)
        steps, _ = followed(Pendulum().robot(device="cpu", threads=1), 3, 2e-4, 8)
        found.append(b"".join(step.places["tip"].tobytes() for step in steps))
    assert found[0] == found[1]


def test_a_stiffness_is_renewed_sooner_where_responses_had_to_be_refined() -> None:
    robot = Pendulum().robot(device="cpu", threads=1)
    condenser = Condenser(robot, refresh=4, sooner=2)
    memory, ages = condenser.memory(), []
    for number in range(12):
        condenser.assemble()
        if number == 6:
            condenser.look_again()
        condenser.remember(memory)
        ages.append(int(memory.age.numpy()[0]))
    # the first one was made out of turn; the one at hand in step 6 serves for two
    assert ages == [0, 1, 0, 1, 2, 3, 0, 1, 0, 1, 2, 3]


def test_the_first_step_finds_its_factor_made() -> None:
    """What is made beforehand is what the step would make, and the robot stays where it is."""
    robot = Pendulum().robot(device="cpu", threads=1)
    fem.Forward(robot).settle()
    before = robot.positions.numpy().copy()
    control = fem.Inverse(robot, fem.InverseSettings(refresh=3), settle=False)
    np.testing.assert_array_equal(robot.positions.numpy(), before)
    lagged = control.condenser._lagged
    assert lagged is not None
    assert (lagged.factorings, lagged.age) == (1, -1)  # as if no step had been taken, to states as well
    control.step(robot.places()[0] - [0.0, 0.0, 2e-4])
    assert (lagged.factorings, lagged.age) == (1, 0)


def test_a_move_that_cannot_be_foreseen_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of it, without another stiffness; from there the rest is foreseen better."""
    robot = Pendulum().robot(device="cpu", threads=1)
    control = fem.Inverse(robot, fem.InverseSettings(refresh=3))
    shares: list[float] = []
    apply, correct = Condenser.apply, Condenser.correct

    def noted(self: Condenser, change: np.ndarray, share: float = 1.0) -> float:
        shares.append(share)
        return apply(self, change, share)

    monkeypatch.setattr(Condenser, "apply", noted)
    monkeypatch.setattr(Condenser, "correct", lambda self: correct(self) if len(shares) > 1 else float("inf"))
    step = control.step(robot.places()[0] - [0.0, 0.0, 2.5e-3])
    assert shares[:3] == [1.0, 0.25, 1.0]
    assert step.passes > 1
    assert step.distance < 3e-5
    lagged = control.condenser._lagged
    assert lagged is not None
    assert lagged.factorings == 1


def test_newton_balances_where_corrections_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a soft robot may snap, such as elements that a cable crushes; an old stiffness knows nothing of it."""
    robot = Pendulum().robot(device="cpu", threads=1)
    control = fem.Inverse(robot, fem.InverseSettings(refresh=3))
    monkeypatch.setattr(Condenser, "correct", lambda self: float("inf"))
    target = robot.places()[0] - [0.0, 0.0, 2e-4]
    assert control.step(target).distance < 3e-5
    there = robot.places()[0].copy()
    fem.Forward(robot).settle()
    np.testing.assert_allclose(robot.places()[0], there, atol=1e-6)


def test_a_jump_of_the_target_does_not_lead_astray() -> None:
    mesh = pendulum_mesh(resolution=2, layers=8)
    low = float(mesh.bounds()[0][2])
    solid = fem.Solid(mesh, "ecoflex-00-30").fix(lambda p: p[:, 2] > -1e-9)
    water = [fem.Hydraulic(name=f"c{i}", cavity=i, pressure=(-1e3, 2e4)) for i in range(4)]
    robot = fem.Robot(solid, water, [fem.Point(name="tip", at=(0.0, 0.0, low))], device="cpu", threads=1)
    control = fem.Inverse(robot)
    assert control.condenser.lagged
    start, aside = robot.places()[0].copy(), np.array([4e-3, 0.0, 0.0])
    steps = [control.step(start + aside) for _ in range(2)]
    assert steps[-1].distance < 4e-3
    assert np.diff([step.distance for step in steps]).max() < 1e-4
    after = control.step(start + 0.97 * aside)
    assert after.distance < 4e-3


def test_a_stiffness_of_now_is_solved_with_by_an_old_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that Newton's method needs no factor of its own; a matrix that is not positive definite is noticed."""
    robot = Pendulum().robot(device="cpu", threads=1)
    condenser, model = Condenser(robot, refresh=3), robot.model
    condenser.assemble()
    condenser.condense()
    led, forces = condenser.led(), model.vectors()
    condenser.apply(np.full(4, 4e3))  # elsewhere
    robot.exert(np.full(4, 4e3))
    forces.assign(np.random.default_rng(0).normal(size=(model.node_count, 3)))
    model.assembly.evaluate(robot.positions)
    values = model.assembly.values
    led.factor(values)
    found = led.solve(forces).numpy()
    model.linear.factor(values)
    exact = model.linear.solve(forces).numpy()
    power, error = np.sum(exact * forces.numpy()), np.sum((exact - found) * forces.numpy())
    assert 0.0 < abs(error) < 0.01 * power
    monkeypatch.setattr("annelid.fem.robots.led.LaggedLeader.old", 1)
    lagged = condenser._lagged
    assert lagged is not None
    made = lagged.factorings
    led.solve(forces)
    condenser.assemble()  # a step does not depend on how the one before solved
    model.assembly.evaluate(robot.positions)
    led.factor(values)
    assert lagged.factorings == made
    led.solve(forces)
    led.factor(values)
    assert lagged.factorings == made + 1
    assert lagged.base is not None
    np.testing.assert_array_equal(lagged.base.positions, robot.positions.numpy())
    negative = wp.array(-values.numpy(), dtype=wp.mat33d, device=model.device)
    assert not lagged.renew(negative, lagged.base)  # and the one at hand serves on
    lagged.solve(forces, found := wp.zeros_like(forces))
    np.testing.assert_allclose(found.numpy(), exact, atol=1e-2 * np.abs(exact).max())
    led.factor(negative)
    with pytest.raises(NotPositiveDefinite):
        led.solve(forces)
    led.factor(negative, shift=1.0)  # what descends is enough
    assert np.sum(led.solve(forces).numpy() * forces.numpy()) > 0.0


def test_efforts_rest_where_no_change_leads_nearer() -> None:
    """Old stiffnesses promise what does not come true; of nearly equal efforts none is left for another."""
    robot = Pendulum().robot(device="cpu", threads=1)
    control = fem.Inverse(robot, fem.InverseSettings(refresh=5))
    target = robot.places()[0] + [0.01, 0.004, 0.01]
    found = [(control.step(target), robot.efforts.copy()) for _ in range(12)]
    assert np.diff([step.distance for step, _ in found]).max() < 1e-6
    assert np.ptp([efforts for _, efforts in found[-4:]], axis=0).max() < 1.0  # [Pa]
    assert found[-1][0].active
    assert found[-1][0].moved == 0.0
    # limits that were moved are heeded, though staying would be nearer
    most = 0.5 * robot.efforts.max()
    for name in robot.names:
        robot.limit(name, effort=fem.Limits(-1e3, most))
    assert max(control.step(target).efforts.values()) <= most


def test_efforts_that_reach_the_same_change_slowly() -> None:
    """Opposite cavities against the other two: nothing moves, so that nothing hurries either."""
    robot = Pendulum().robot(device="cpu", threads=1)
    begin = np.array([3e3, 0.0, 0.0, 3e3])
    fem.Forward(robot).settle(begin)
    control, target = fem.Inverse(robot), robot.places()[0].copy()
    steps = [control.step(target) for _ in range(40)]
    assert np.abs(list(steps[0].efforts.values()) - begin).max() < 300.0
    assert max(step.distance for step in steps) < 3e-5
    assert np.ptp(robot.efforts) < 300.0

"""Balance in control: as Newton's method finds it, also from steps that stretch elements too far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from annelid import fem
from annelid.fem.newton import Newton, Settings
from annelid.fem.robots.balancer import Balancer
from annelid.scenes.pendulum import Pendulum


@pytest.fixture(scope="module")
def robot() -> fem.Robot:
    return Pendulum().robot(device="cpu", threads=1)


def pressed(robot: fem.Robot) -> Balancer:
    """What balances a robot whose pressures have changed."""
    robot.positions.assign(robot.model.rest.numpy())
    robot.exert(np.full(len(robot.drives), 3e3))
    robot.weigh()
    return Balancer(robot.model, Settings(tolerance=1e-7, iterations=20))


def test_it_finds_what_newton_finds(robot: fem.Robot) -> None:
    balancer = pressed(robot)
    assert balancer.settle(robot.positions).done
    found = robot.positions.numpy().copy()
    pressed(robot)
    assert Newton(robot.model).settle(robot.positions).done
    np.testing.assert_allclose(found, robot.positions.numpy(), atol=1e-8)


def test_a_step_that_goes_too_far_is_shortened(robot: fem.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty times too long, it would leave a force from which whole steps come back only slowly."""
    balancer, lengths = pressed(robot), []
    attempt, direction = balancer._try, balancer._direction

    def too_long() -> float:
        slope = direction()
        if lengths:
            return slope
        balancer._step.assign(50.0 * balancer._step.numpy())
        return 50.0 * slope

    def noted(wherefrom: object, length: float, attempt: Callable[..., None] = attempt) -> None:
        lengths.append(length)
        attempt(wherefrom, length)

    monkeypatch.setattr(balancer, "_direction", too_long)
    monkeypatch.setattr(balancer, "_try", noted)
    assert balancer.settle(robot.positions).done
    assert lengths[0] == 1.0
    assert lengths[1] < 1.0
    assert len(lengths) < 12
    found = robot.positions.numpy().copy()
    assert Newton(robot.model).settle(robot.positions).done
    np.testing.assert_allclose(found, robot.positions.numpy(), atol=1e-8)

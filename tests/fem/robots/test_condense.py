"""Condensation: strokes and effectors move as the small matrices say."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.fem.robots.condense import Condenser

from .test_actuators import mixed


def settled(robot: fem.Robot, efforts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strokes and places in the equilibrium under some efforts."""
    fem.Forward(robot, fem.Settings(tolerance=1e-11)).settle(efforts)
    return robot.aim(), robot.places()[0]


@pytest.mark.parametrize("number", range(3))
def test_responses_are_those_of_the_nonlinear_robot(number: int) -> None:
    robot, efforts = mixed(), np.array([1.0, 0.1, 2000.0])
    settled(robot, efforts)
    condenser = Condenser(robot)
    condenser.assemble()
    condensed = condenser.condense()
    size = np.array([1e-3, 1e-3, 5.0])[number]
    step = size * np.eye(3)[number]
    ahead, behind = (settled(robot, efforts + sign * step) for sign in (1.0, -1.0))
    strokes, places = (np.asarray(a - b) / (2.0 * size) for a, b in zip(ahead, behind, strict=True))
    np.testing.assert_allclose(condensed.response[:, number], strokes, rtol=1e-4, atol=1e-6 * np.abs(strokes).max())
    np.testing.assert_allclose(condensed.effect[0, :, number], places, atol=1e-4 * np.abs(places).max())
    assert np.abs(condensed.place_drift).max() < 1e-9


def test_a_state_out_of_balance_drifts_towards_its_equilibrium() -> None:
    robot = mixed()
    settled(robot, np.array([1.0, 0.1, 2000.0]))
    here = robot.positions.numpy().copy()
    _, goal = settled(robot, np.array([1.0, 0.1, 2005.0]))
    robot.positions.assign(here)
    condenser = Condenser(robot)
    condenser.assemble()
    drift = condenser.condense().place_drift[0]
    assert np.linalg.norm(robot.places()[0] + drift - goal) < 0.01 * np.linalg.norm(drift)


def test_columns_couple_pressure_and_weight() -> None:
    """J_a = J_p + J_w (J_p K⁻¹ J_pᵀ), as the paper has it; near the exact sensitivities."""
    effects = []
    for weight in ("hydrostatic", "columns"):
        robot = mixed(weight)
        fem.Forward(robot).settle([0.5, 0.0, 2000.0])
        condenser = Condenser(robot)
        condenser.assemble()
        effects.append(condenser.condense().effect[0, :, 2])
    assert np.linalg.norm(effects[1] - effects[0]) < 0.15 * np.linalg.norm(effects[0])

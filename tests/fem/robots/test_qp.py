"""Small quadratic programs: optimal, checked, explained."""

from __future__ import annotations

import importlib
import re
import sys

import numpy as np
import pytest

from annelid.core.errors import MissingPackage
from annelid.core.packages import installation
from annelid.fem.robots.qp import NoSolution, Program, solve


def program(seed: int, *, scale: float = 1.0) -> Program:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 4)) * np.array([1.0, 1e-4, 1e3, 1.0]) * scale  # pressures and tensions together
    rows = rng.standard_normal((3, 4)) * np.array([1.0, 1e-4, 1e3, 1.0])
    low = np.concatenate([np.full(4, -0.3) * np.array([1.0, 1e4, 1e-3, 1.0]), np.full(3, -0.2)])
    return Program(root.T @ root, root.T @ rng.standard_normal(6), rows, low, -low, tuple("abcdefg"))


@pytest.mark.parametrize("seed", range(8))
def test_the_optimality_conditions_hold(seed: int) -> None:
    problem = program(seed)
    solution = solve(problem)
    assert solution.optimality < 1e-9
    z, count = solution.z, 4
    values = np.concatenate([z, problem.rows @ z])
    size = np.abs(problem.high).max()
    assert (values <= problem.high + 1e-9 * size).all()
    assert (values >= problem.low - 1e-9 * size).all()
    slope = problem.hessian @ z + problem.gradient + solution.duals[:count] + problem.rows.T @ solution.duals[count:]
    assert np.abs(slope / np.sqrt(np.diag(problem.hessian))).max() < 1e-8
    rng = np.random.default_rng(100 + seed)
    for _ in range(200):  # nothing near it that keeps the limits is better
        other = np.clip(z + 0.1 * rng.standard_normal(4) * problem.high[:4], problem.low[:4], problem.high[:4])
        if (np.abs(problem.rows @ other) <= problem.high[4:]).all():
            assert problem.value(other) >= solution.value - 1e-12


def test_a_start_does_not_change_the_solution() -> None:
    first = solve(program(3))
    np.testing.assert_allclose(solve(program(3), first.duals).z, first.z, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solve(program(4), first.duals).z, solve(program(4)).z, rtol=1e-9, atol=1e-12)


def test_limits_that_hold_are_named() -> None:
    problem = Program(
        np.eye(2), np.array([-10.0, 0.0]), np.zeros((0, 2)), np.array([-1.0, -1.0]), np.array([1.0, 1.0]), ("p", "q")
    )
    assert solve(problem).active == (("p", "most"),)


def test_limits_that_exclude_every_solution_are_named() -> None:
    rows = np.array([[1.0, 1.0], [1.0, -1.0]])
    low = np.array([0.0, 0.0, -np.inf, -5.0])
    high = np.array([1.0, 1.0, -3.0, 5.0])
    problem = Program(np.eye(2), np.zeros(2), rows, low, high, ("p", "q", "sum", "difference"))
    with pytest.raises(NoSolution, match="exclude every solution") as caught:
        solve(problem)
    assert set(caught.value.limits) == {"p (at least)", "q (at least)", "sum (at most)"}


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "daqp", None)
    with pytest.raises(MissingPackage, match=f"needs daqp.*{re.escape(installation('fem'))}"):
        solve(program(0))
    monkeypatch.undo()
    importlib.import_module("daqp")

"""Linear solvers against a general one: held components, many right-hand sides, indefinite and turning matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp as wp
from scipy.sparse.linalg import spsolve

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.linalg.asked import Asked, AskedAnswers, AskedRoots
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.tile_solver import TileSolver
from annelid.fem.linalg.unknowns import NotPositiveDefinite

from ..solids import bar

SOLVERS: dict[str, Callable[[fem.Model], Any]] = {
    "fronts": lambda model: FrontSolver(model.unknowns),
    "tiles": lambda model: TileSolver(model.unknowns, tile=16),
}


def hanging() -> fem.Solid:
    """A bar with clamped nodes and two that are held along some axes only."""
    solid = bar((5, 2, 2))
    return solid.fix([len(solid.nodes) - 1], axes="xz").fix([len(solid.nodes) - 4], axes="y")


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("many", [0, 1, 11])
def test_solutions(name: str, many: int, device: str) -> None:
    if name == "fronts" and device != "cpu":
        pytest.skip("LAPACK works on the CPU")
    model = fem.Model(hanging(), device=device, threads=1)
    model.assembly.evaluate(model.rest)
    solver = SOLVERS[name](model)
    solver.factor(model.assembly.values)
    shape = (model.node_count, many, 3) if many else (model.node_count, 3)
    right = np.random.default_rng(0).standard_normal(shape)
    found = solver.solve(wp.array(right, dtype=wp.vec3d, device=model.device)).numpy()
    matrix, free = model.assembly.matrix(), ~model.solid.held.ravel()
    columns = right.reshape(model.node_count, -1, 3).transpose(0, 2, 1).reshape(3 * model.node_count, -1)
    expected = np.zeros_like(columns)
    expected[free] = spsolve(matrix[free][:, free].tocsc(), columns[free]).reshape(free.sum(), -1)
    result = found.reshape(model.node_count, -1, 3).transpose(0, 2, 1).reshape(3 * model.node_count, -1)
    np.testing.assert_allclose(result, expected, atol=1e-8 * np.abs(expected).max())
    assert not result[~free].any()


@pytest.mark.parametrize("name", ["fronts", "tiles"])
def test_nodes_that_are_asked_answer_by_the_inverse(name: str, device: str) -> None:
    if name == "fronts" and device != "cpu":
        pytest.skip("LAPACK works on the CPU")
    model = fem.Model(hanging(), device=device, threads=1)
    model.assembly.evaluate(model.rest)
    solver = SOLVERS[name](model)
    solver.factor(model.assembly.values)
    asked: Asked = AskedRoots(solver) if isinstance(solver, FrontSolver) else AskedAnswers(solver)
    nodes = model.node_count - np.array([4, 1, 9, 12])
    free = ~model.solid.held.ravel()
    inverse = np.zeros((len(free), len(free)))
    inverse[np.ix_(free, free)] = np.linalg.inv(model.assembly.matrix().toarray()[free][:, free])
    places = (3 * nodes[:, None] + np.arange(3)).ravel()
    expected, close = inverse[np.ix_(places, places)], 1e-9 * np.abs(inverse).max()
    np.testing.assert_allclose(asked.ask(nodes[:1]), expected[:3, :3], atol=close)
    np.testing.assert_allclose(asked.ask(nodes[1:]), expected[:, 3:], atol=close)
    right, forces = np.random.default_rng(3).standard_normal((model.node_count, 1, 3)), np.ones((2, 3))
    found = wp.zeros((model.node_count, 1), dtype=wp.vec3d, device=device)
    asked.begin(wp.array(right, dtype=wp.vec3d, device=device), found)
    np.testing.assert_allclose(
        asked.at(np.array([2, 0])).ravel(), inverse[places[[6, 7, 8, 0, 1, 2]]] @ right.ravel(), atol=close * 10
    )
    asked.end(np.array([1, 3]), forces)
    right[nodes[[1, 3]], 0] += forces
    np.testing.assert_allclose(found.numpy().ravel(), inverse @ right.ravel(), atol=close * 10)


@pytest.mark.parametrize("name", ["fronts", "tiles"])
def test_vectors_that_are_not_numbers_leave_no_trace(name: str, device: str) -> None:
    if name == "fronts" and device != "cpu":
        pytest.skip("LAPACK works on the CPU")
    model = fem.Model(hanging(), device=device, threads=1)
    model.assembly.evaluate(model.rest)
    solver = SOLVERS[name](model)
    solver.factor(model.assembly.values)
    right, lost = (model.vectors(np.full((model.node_count, 3), value)) for value in (1.0, np.nan))
    before = solver.solve(right).numpy()
    assert not np.isfinite(solver.solve(lost).numpy()).all()
    np.testing.assert_array_equal(solver.solve(right).numpy(), before)


@pytest.mark.parametrize("name", SOLVERS)
def test_indefinite_matrices_are_noticed(name: str, device: str) -> None:
    if name == "fronts" and device != "cpu":
        pytest.skip("LAPACK works on the CPU")
    model = fem.Model(hanging(), device=device, threads=1)
    model.assembly.evaluate(model.rest)
    solver = SOLVERS[name](model)
    with pytest.raises(NotPositiveDefinite):
        solver.factor(model.assembly.values, shift=-1e6)
    solver.factor(model.assembly.values)


def test_unknown_kind_of_solver() -> None:
    with pytest.raises(InvalidValue, match="'direct'"):
        fem.Model(bar(), device="cpu", linear="magic")  # type: ignore[arg-type]

"""Nested dissection: every vertex once, separators that separate, and less work than a band."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from annelid.core.linalg.dissection import Front, dissect, operations, sweep


def grid(counts: tuple[int, int, int]) -> tuple[sparse.csr_array, np.ndarray]:
    """Points of a grid, coupled to all neighbours."""
    points = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    apart = np.abs(points[:, None] - points[None]).max(axis=2)
    return sparse.csr_array(apart <= 1), points.astype(float)


def eliminated(matrix: np.ndarray, fronts: list[Front]) -> None:
    """Eliminate front by front and check that nothing outside the fronts is coupled."""
    left = matrix.copy()
    done = np.zeros(len(matrix), bool)
    for front in fronts:
        done[front.own] = True
        inside = np.concatenate([front.own, front.edge])
        outside = np.setdiff1d(np.flatnonzero(~done), inside)
        assert not left[np.ix_(front.own, outside)].any()
        pivot = np.linalg.inv(left[np.ix_(front.own, front.own)])
        across = left[np.ix_(front.own, front.edge)]
        left[np.ix_(front.edge, front.edge)] -= across.T @ pivot @ across


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 2, 1), (12, 3, 3), (6, 6, 4)])
@pytest.mark.parametrize("leaf", [4, 40])
@pytest.mark.parametrize("way", [dissect, sweep])
def test_fronts_hold_all_that_elimination_couples(counts: tuple[int, int, int], leaf: int, way: Any) -> None:
    graph, points = grid(counts)
    fronts = way(graph, points, leaf=leaf)
    assert np.array_equal(np.sort(np.concatenate([front.own for front in fronts])), np.arange(len(points)))
    eliminated(graph.toarray() + 30.0 * np.eye(len(points)), fronts)
    for number, front in enumerate(fronts):
        assert front.parent == -1 or front.parent > number
        if front.parent >= 0:
            parent = fronts[front.parent]
            assert np.isin(front.edge, np.concatenate([parent.own, parent.edge])).all()


@given(st.integers(1, 60), st.floats(0.02, 0.3), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_any_graph(count: int, density: float, seed: int) -> None:
    """Random couplings, parts that hang together with nothing, and points that lie anywhere."""
    generator = np.random.default_rng(seed)
    some = np.triu(generator.random((count, count)) < density, 1)
    graph = some | some.T | np.eye(count, dtype=bool)
    fronts = dissect(sparse.csr_array(graph), generator.standard_normal((count, 3)), leaf=5)
    assert sorted(np.concatenate([front.own for front in fronts]).tolist()) == list(range(count))
    eliminated(graph + 2.0 * count * np.eye(count), fronts)


def test_each_way_has_its_solids() -> None:
    """A flat one is better cut, a long one better swept."""
    flat, long = grid((30, 30, 1)), grid((40, 5, 5))
    assert operations(dissect(*flat)) < 0.7 * operations(sweep(*flat))
    assert operations(sweep(*long)) < operations(dissect(*long))

"""Rows: they hold every spring of every mass, whatever the network, and equal surroundings once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid import springs
from annelid.springs.rows import Rows, compile_rows

networks = st.integers(1, 40).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(
            st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda p: p[0] != p[1]), max_size=120
        ),
        st.integers(1, 3),
    )
)


def spread(rows: Rows, mass_count: int, values: np.ndarray) -> list[list[tuple[int, float]]]:
    """For each mass its (other mass, value) pairs, in the order of its row."""
    laid = rows.entries(values, float)
    found = []
    for mass in range(mass_count):
        start, count = rows.extents[rows.row_of[mass]]
        entries = start + rows.stride * np.arange(count)
        found.append([(int(mass + rows.offsets[e]), float(laid[e])) for e in entries])
    return found


@given(networks, st.booleans())
def test_every_mass_finds_its_springs(network: tuple[int, list[tuple[int, int]], int], interleaved: bool) -> None:
    count, links, kinds = network
    pairs = np.array(links, np.int32).reshape(-1, 2)
    values = np.arange(len(pairs)) % kinds + 0.5
    rows = compile_rows(count, pairs, [values], interleaved=interleaved)
    expected: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (a, b), value in zip(pairs.tolist(), values, strict=True):
        expected[a].append((b, value))
        expected[b].append((a, value))
    found = spread(rows, count, values)
    assert [sorted(row) for row in found] == [sorted(row) for row in expected]
    # Rows in the order of the other mass: sums are the same whatever the order in which springs were given.
    assert all([other for other, _ in row] == sorted(other for other, _ in row) for row in found)


@pytest.mark.parametrize(
    ("shape", "distinct"), [((2, 2, 2), 8), ((3, 3, 3), 27), ((4, 9, 5), 27), ((2, 6, 6), 18), ((2, 2, 5), 12)]
)
def test_equal_surroundings_are_stored_once(shape: tuple[int, int, int], distinct: int) -> None:
    body = springs.block(shape)
    rows = compile_rows(body.mass_count, body.springs, [body.stiffness], interleaved=False)
    assert len(rows.examples) == distinct
    assert rows.extents[:, 1].max() <= 26


def test_constants_that_differ_keep_rows_apart() -> None:
    body = springs.block((5, 5, 5))
    other = np.where(np.arange(body.spring_count) == 500, 2.0, 1.0)
    rows = compile_rows(body.mass_count, body.springs, [body.stiffness, other], interleaved=False)
    assert len(rows.examples) == 27 + 2


def test_padding_belongs_to_no_spring() -> None:
    body = springs.block((4, 4, 4))
    rows = compile_rows(body.mass_count, body.springs, [body.stiffness], interleaved=True)
    assert rows.stride == 32
    values = rows.entries(body.stiffness, float)
    assert (values[rows.springs < 0] == 0.0).all()
    assert (rows.springs >= 0).sum() == rows.extents[:, 1].sum()

"""Lattices: exact counts, the links of every cell and no others, shares of surface links, closed surfaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Sphere, TriangleMesh
from annelid.shapes.lattice import Lattice

small_cells = hnp.arrays(bool, st.tuples(*[st.integers(1, 4)] * 3)).filter(lambda cells: cells.any())


def cell_by_cell(cells: np.ndarray) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
    """Links of every filled cell, one cell after the other, and by how many cells each is held."""
    links: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    for cell in np.argwhere(cells):
        ends = [tuple(int(i) for i in cell + np.array(corner)) for corner in corners]
        for i, a in enumerate(ends):
            for b in ends[i + 1 :]:
                links[a, b] = links.get((a, b), 0) + 1
    return links


def grid_links(lattice: Lattice) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The lattice's own links as pairs of grid positions, lower end first."""
    grid = np.round((lattice.nodes - lattice.origin) / lattice.pitch).astype(int)
    pairs, _ = lattice.links
    return [tuple(sorted((tuple(map(int, grid[a])), tuple(map(int, grid[b]))))) for a, b in pairs]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("nodes", "masses", "springs"),
    [
        ((5, 5, 5), 125, 1_036),
        ((5, 5, 321), 8_025, 77_192),
        ((28, 28, 28), 21_952, 264_708),
        ((50, 50, 50), 125_000, 1_558_396),
    ],
)
def test_published_counts(nodes: tuple[int, int, int], masses: int, springs: int) -> None:
    lattice = Lattice.block(nodes, 0.1)
    assert lattice.node_count == len(lattice.nodes) == masses
    assert len(lattice.links[0]) == len(lattice.links[1]) == springs


@given(st.tuples(*[st.integers(2, 7)] * 3))
def test_counts_of_any_block(nodes: tuple[int, int, int]) -> None:
    x, y, z = nodes
    p, q, r = x - 1, y - 1, z - 1
    edges = p * y * z + x * q * z + x * y * r
    faces = 2 * (p * q * z + p * y * r + x * q * r)
    lattice = Lattice.block(nodes, 0.1)
    kinds = lattice.links[1]
    assert lattice.node_count == x * y * z
    assert [int((kinds == kind).sum()) for kind in (1, 2, 3)] == [edges, faces, 4 * p * q * r]


@given(small_cells)
def test_links_are_those_of_the_filled_cells(cells: np.ndarray) -> None:
    lattice = Lattice(cells, 0.5, np.array([1.0, -2.0, 3.0]))
    expected = cell_by_cell(cells)
    found = grid_links(lattice)
    assert len(found) == len(set(found))
    assert set(found) == set(expected)
    pairs, kinds = lattice.links
    lengths = np.linalg.norm(lattice.nodes[pairs[:, 1]] - lattice.nodes[pairs[:, 0]], axis=1)
    np.testing.assert_allclose(lengths, 0.5 * np.sqrt(kinds.astype(float)), rtol=1e-12)


@given(small_cells)
def test_links_share_what_their_cells_hold(cells: np.ndarray) -> None:
    lattice = Lattice(cells, 1.0, np.zeros(3))
    expected = cell_by_cell(cells)
    full = {1: 4, 2: 2, 3: 1}
    kinds = lattice.links[1]
    shares = lattice.link_means(np.full(cells.shape, 8.0))
    held = [expected[link] for link in grid_links(lattice)]
    np.testing.assert_allclose(shares, [8.0 * n / full[int(kind)] for n, kind in zip(held, kinds, strict=True)])


@given(small_cells, st.integers(0, 1000))
def test_nodes_share_what_their_cells_hold(cells: np.ndarray, seed: int) -> None:
    values = np.random.default_rng(seed).random(cells.shape)
    lattice = Lattice(cells, 0.1, np.zeros(3))
    sums = lattice.node_sums(values)
    assert sums.shape == (lattice.node_count,)
    assert sums.sum() == pytest.approx(values[cells].sum())
    # The first moment agrees too: each cell's value is spread evenly over its corners.
    moment = (values[cells][:, None] * lattice.cell_centers[cells]).sum(axis=0)
    np.testing.assert_allclose(sums @ lattice.nodes, moment, atol=1e-12)


@given(small_cells)
def test_the_surface_encloses_the_cells(cells: np.ndarray) -> None:
    lattice = Lattice(cells, 0.1, np.array([0.3, 0.0, -0.2]))
    corners = lattice.nodes[lattice.surface]
    # Volume and area by the divergence theorem; outward triangles make the volume positive.
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(cells.sum() * 0.1**3)
    edges = np.concatenate([lattice.surface[:, [i, (i + 1) % 3]] for i in range(3)])
    forward, count = np.unique(edges, axis=0, return_counts=True)
    backward, back = np.unique(edges[:, ::-1], axis=0, return_counts=True)
    np.testing.assert_array_equal(forward, backward)
    np.testing.assert_array_equal(count, back)


def test_bulk_links_have_a_whole_share() -> None:
    lattice = Lattice.block((5, 5, 5), 0.1)
    shares = lattice.link_means(np.ones(lattice.cells.shape))
    pairs, kinds = lattice.links
    inside = ((lattice.nodes[pairs] > 0.05) & (lattice.nodes[pairs] < 0.35)).all(axis=(1, 2))
    assert (shares[inside] == 1.0).all()
    assert set(np.unique(shares[kinds == 1])) == {0.25, 0.5, 1.0}
    assert set(np.unique(shares[kinds == 2])) == {0.5, 1.0}
    assert set(np.unique(shares[kinds == 3])) == {1.0}


def test_a_box_of_whole_cells_is_filled_exactly() -> None:
    box = Box((0.3, 0.2, 0.7), center=(1.0, 2.0, 3.0))
    lattice = Lattice.fill(box, 0.1)
    assert lattice.cells.shape == (3, 2, 7)
    assert lattice.cells.all()
    np.testing.assert_allclose(lattice.nodes.min(axis=0), box.bounds()[0], atol=1e-12)
    np.testing.assert_allclose(lattice.nodes.max(axis=0), box.bounds()[1], atol=1e-12)


def test_a_ball_is_filled_to_its_volume() -> None:
    ball = Sphere(0.5, center=(0.1, 0.0, -1.0))
    lattice = Lattice.fill(ball, 0.04)
    assert lattice.cells.sum() * 0.04**3 == pytest.approx(4 / 3 * math.pi * 0.5**3, rel=0.02)
    assert (np.linalg.norm(lattice.cell_centers[lattice.cells] - ball.center, axis=1) <= 0.5).all()


def test_a_mesh_is_filled_as_the_shape_that_it_stands_for() -> None:
    box = Box((0.4, 0.3, 0.2))
    np.testing.assert_array_equal(Lattice.fill(box.surface(), 0.05).cells, Lattice.fill(box, 0.05).cells)


def test_nodes_are_numbered_along_the_longest_axis() -> None:
    nodes = Lattice.block((2, 9, 3), 0.1).nodes
    np.testing.assert_allclose(nodes[:9, 1], 0.1 * np.arange(9))
    assert (nodes[:9, [0, 2]] == nodes[0, [0, 2]]).all()


@pytest.mark.parametrize("pitch", [0.0, -0.1, math.nan, math.inf])
def test_pitch_must_be_a_length(pitch: float) -> None:
    with pytest.raises(InvalidValue, match="pitch"):
        Lattice.block((3, 3, 3), pitch)
    with pytest.raises(InvalidValue, match="pitch"):
        Lattice.fill(Box((1.0, 1.0, 1.0)), pitch)


@pytest.mark.parametrize("pitch", [0.11, 0.15, 0.19, 0.5, 100.0])
def test_a_pitch_larger_than_the_body_is_refused(pitch: float) -> None:
    with pytest.raises(InvalidValue, match=f"pitch {pitch:g} m is larger than the body.*0.1 m"):
        Lattice.fill(Box((1.0, 1.0, 0.1)), pitch)


def test_a_pitch_as_large_as_the_body_makes_one_cell() -> None:
    assert Lattice.fill(Box((0.1, 0.1, 0.1)), 0.1).cells.shape == (1, 1, 1)


def test_a_body_thinner_than_its_cells_is_refused() -> None:
    ends = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    needle = TriangleMesh(ends * 0.1, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    with pytest.raises(InvalidValue, match="smaller pitch"):
        Lattice.fill(needle, 0.1)


def test_more_cells_than_memory_are_refused() -> None:
    with pytest.raises(InvalidValue, match="larger pitch"):
        Lattice.fill(Box((1.0, 1.0, 1.0)), 1e-5)


@pytest.mark.parametrize("nodes", [(1, 5, 5), (0, 2, 2), (-3, 4, 4)])
def test_a_block_needs_two_masses_along_each_axis(nodes: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidValue, match="at least 2 masses"):
        Lattice.block(nodes, 0.1)


def test_an_empty_lattice_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no filled cell"):
        Lattice(np.zeros((2, 2, 2), bool), 0.1, np.zeros(3))

"""Quasi-uniform points: least distance, evenness, repeatability, links, shares of the volume, surface."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Cylinder, Shape, Sphere, TriangleMesh
from annelid.shapes.interior import Interior
from annelid.shapes.quasi import QuasiLattice, quasi_points


def nearest(points: np.ndarray) -> np.ndarray:
    """Distance of each point to the nearest other one."""
    return cKDTree(points).query(points, 2)[0][:, 1]


class Horseshoe(Shape):
    """A box with a slot from above: two legs that only the bottom joins."""

    outer, slot = Box((1.0, 0.4, 1.0)), Box((0.1, 1.0, 1.0), center=(0.0, 0.0, 0.3))

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.outer.bounds()

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        return np.maximum(self.outer.signed_distance(points), -self.slot.signed_distance(points))

    @property
    def volume(self) -> float:
        return 0.4 - 0.1 * 0.4 * 0.7

    def surface(self, resolution: int = 32) -> TriangleMesh:
        raise NotImplementedError


@settings(max_examples=12)
@given(
    size=st.tuples(*[st.floats(0.2, 2.0)] * 3),
    part=st.floats(0.15, 0.6),
    seed=st.integers(0, 2**31),
)
def test_points_are_inside_and_apart(size: tuple[float, float, float], part: float, seed: int) -> None:
    shape = Box(size)
    spacing = part * min(size)
    points = quasi_points(shape, spacing=spacing, seed=seed)
    assert shape.contains(points).all()
    if len(points) > 1:
        assert nearest(points).min() >= spacing


def test_no_room_is_left() -> None:
    shape, spacing = Sphere(1.0), 0.2
    points = quasi_points(shape, spacing=spacing)
    probes = Interior(shape, 0.2).draw(np.random.default_rng(1), 20_000)
    gaps = cKDTree(points).query(probes)[0]
    assert np.mean(gaps > spacing) < 0.01


def test_count_is_met_and_even() -> None:
    points = quasi_points(Box((1.0, 1.0, 1.0)), count=2000)
    scaled = nearest(points) * 2000 ** (1 / 3)
    random = nearest(np.random.default_rng(0).random((2000, 3))) * 2000 ** (1 / 3)
    assert len(points) == 2000
    assert scaled.min() > 0.6
    assert scaled.std() / scaled.mean() < 0.15 < random.std() / random.mean()


def test_seed_decides() -> None:
    shape = Cylinder(0.5, 2.0)
    first, again, other = (quasi_points(shape, spacing=0.15, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_more_neighbours_still_keep_the_distance() -> None:
    points = quasi_points(Sphere(1.0), spacing=0.25, neighbours=4)
    assert nearest(points).min() >= 0.25


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "spacing of the points, their count"),
        ({"spacing": -1.0}, "spacing"),
        ({"count": 0}, "count"),
        ({"spacing": 0.5, "count": 1000}, "only"),
        ({"count": 10, "candidates": 0}, "candidates"),
        ({"count": 10, "neighbours": 99}, "neighbours"),
        ({"spacing": 1e-5}, "use a larger one"),
    ],
)
def test_bad_options_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        quasi_points(Box((1.0, 1.0, 1.0)), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spacing", "words"), [(1e300, "larger than the shape"), (10.0, "larger than the shape"), (1e-300, "needs about")]
)
def test_spacings_beyond_reason(spacing: float, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        quasi_points(Box((1.0, 1.0, 1.0)), spacing=spacing)


def test_shape_too_small_for_the_spacing() -> None:
    with pytest.raises(InvalidValue, match="smaller spacing"):
        QuasiLattice.fill(Box((1.0, 1.0, 1.0)), 3.0)


def test_links_join_neighbours_within_the_radius() -> None:
    lattice = QuasiLattice.fill(Sphere(1.0), 0.2)
    lengths = np.linalg.norm(lattice.nodes[lattice.links[:, 1]] - lattice.nodes[lattice.links[:, 0]], axis=1)
    assert lengths.min() >= 0.2
    assert lengths.max() <= lattice.radius
    assert len(np.unique(lattice.links, axis=0)) == len(lattice.links)
    assert (lattice.links[:, 0] < lattice.links[:, 1]).all()
    count = len(lattice.nodes)
    graph = coo_array((np.ones(len(lattice.links)), tuple(lattice.links.T)), shape=(count, count))
    assert connected_components(graph, directed=False)[0] == 1
    assert np.bincount(lattice.links.ravel(), minlength=count).min() >= 4


def test_links_do_not_cross_a_gap() -> None:
    lattice = QuasiLattice.fill(Horseshoe(), 0.09)
    ends = lattice.nodes[lattice.links]
    above = (ends[:, :, 2] > 0.0).all(axis=1)
    across = np.sign(ends[:, 0, 0]) != np.sign(ends[:, 1, 0])
    assert not (above & across).any()


@pytest.mark.parametrize("shape", [Box((1.0, 0.7, 0.5)), Cylinder(0.4, 1.2), Sphere(0.6)])
def test_shares_of_nodes_and_links_add_up(shape: Shape) -> None:
    lattice = QuasiLattice.fill(shape, 0.1)
    volumes = lattice.node_sums(1.0)
    assert volumes.sum() == pytest.approx(shape.volume)
    assert volumes.min() > 0.0
    assert lattice.link_sums(1.0).sum() == pytest.approx(shape.volume)
    centroid = volumes @ lattice.nodes / volumes.sum()
    np.testing.assert_allclose(centroid, 0.0, atol=0.01)
    along = lattice.samples[:, 0]
    second = lattice.node_sums(along**2).sum()
    assert second == pytest.approx(lattice.link_sums(along**2).sum())
    low, high = shape.bounds()
    if isinstance(shape, Box):
        assert second == pytest.approx(shape.volume * (high[0] - low[0]) ** 2 / 12, rel=0.01)


def test_surface_is_closed_and_close_to_the_shape() -> None:
    shape = Sphere(1.0)
    lattice = QuasiLattice.fill(shape, 0.15)
    mesh = TriangleMesh(lattice.nodes, lattice.surface).require_closed()
    assert 0.85 * shape.volume < mesh.volume < shape.volume
    outer = np.unique(lattice.surface)
    assert np.linalg.norm(lattice.nodes[outer], axis=1).min() > 0.7


def test_mesh_as_a_shape() -> None:
    ball = Sphere(1.0).surface(24)
    lattice = QuasiLattice.fill(ball, 0.25)
    assert ball.contains(lattice.nodes).all()
    assert lattice.node_sums(1.0).sum() == pytest.approx(ball.volume)

"""Quasi-uniform lattices: points spread evenly but without order, joined to their neighbours (Cronos, sec. Method).

Points are chosen by Mitchell's best candidate: of a number of random candidates the one furthest from its nearest
neighbours.

A lattice knows geometry only: masses and stiffness are put on it by the packages that use it, through
`node_sums` and `link_sums`, which share the volume of the shape among nodes and links.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import warp as wp
from scipy.spatial import Delaunay, QhullError, cKDTree

from annelid.core.distinct import distinct_rows
from annelid.core.errors import InvalidValue
from annelid.shapes.interior import Interior
from annelid.shapes.kernels.quasi import MAX_NEIGHBOURS, Cells, choose_points
from annelid.shapes.mesh import Shape
from annelid.shapes.values import Floats, Indices, require_count, require_positive, seeded

_POOL = 24  # places for each point from which candidates are drawn: asking a shape is what takes time
_SMALLEST_POOL = 4096
_MOST = 2_000_000  # points
_PATIENCE = 10  # rounds in a row without a point before a shape counts as full
_SAMPLES = 3  # along the edge of a cell of one mean distance
_NEAR_LINKS = 16  # that share a sample: enough to even out chance, few enough to keep the thickness of thin bodies


def quasi_points(
    shape: Shape,
    *,
    spacing: float | None = None,
    count: int | None = None,
    seed: int = 0,
    candidates: int = 100,
    neighbours: int = 1,
) -> Floats:
    """Points inside a shape [m], shape [n, 3], spread evenly but without order; the same seed gives the same points.

    Args:
        shape: Any solid.
        spacing: Least distance of two points [m]; None for no limit.
        count: Number of points; None places them until no room of `spacing` is left.
        seed: Seed of the random candidates.
        candidates: Candidates for each point.
        neighbours: Nearest points whose mean distance a candidate is judged by.
    """
    if spacing is None and count is None:
        raise InvalidValue("give the spacing of the points, their count, or both.")
    least = 0.0 if spacing is None else require_positive("spacing", spacing)
    most = _MOST if count is None else require_count("count", count, least=1, most=_MOST)
    choice = require_count("candidates", candidates, least=1, most=10_000)
    wanted = require_count("neighbours", neighbours, least=1, most=MAX_NEIGHBOURS)
    _require_smaller(shape, least)
    expected = most if least == 0.0 else min(most, 0.75 * shape.volume / least / least / least)
    if count is None and expected >= _MOST:
        needed = 0.5 * shape.volume / least / least / least
        raise InvalidValue(f"a spacing of {least:g} m needs about {needed:.2g} points: use a larger one.")
    interior = Interior(shape, max((shape.volume / expected) ** (1 / 3), (shape.volume / 1e5) ** (1 / 3)))
    generator = seeded(seed)
    pool = interior.draw(generator, max(_SMALLEST_POOL, int(_POOL * expected)))
    points, misses = pool[:1], 0
    while len(points) < most and misses < _PATIENCE:
        goal = min(2 * len(points) + 16, len(points) + 20_000, most)
        drawn = generator.integers(len(pool), size=choice * (goal - len(points)), dtype=np.int32)
        points, misses = _chosen(points, pool, drawn, misses, goal, choice, wanted, least, shape)
    if count is not None and len(points) < count:
        raise InvalidValue(
            f"only {len(points)} points fit with a spacing of {spacing:g} m, not {count}: use a smaller spacing."
        )
    return points


@dataclass(frozen=True, eq=False)
class QuasiLattice:
    """Quasi-uniform points in a shape, joined to neighbours.

    Attributes:
        shape: The shape.
        nodes: Positions [m], shape [n, 3].
        radius: Distance up to which nodes are joined [m].
    """

    shape: Shape
    nodes: Floats
    radius: float

    @classmethod
    def fill(
        cls,
        shape: Shape,
        spacing: float,
        *,
        reach: float = 2.1,
        seed: int = 0,
        candidates: int = 100,
        neighbours: int = 1,
    ) -> QuasiLattice:
        """Fill a shape.

        Args:
            shape: Any solid.
            spacing: Least distance of two nodes [m].
            reach: Nodes are joined up to this many spacings.
            seed: Seed of the random candidates.
            candidates: Candidates for each node.
            neighbours: Nearest nodes whose mean distance a candidate is judged by.
        """
        reach = require_positive("reach", reach)
        nodes = quasi_points(shape, spacing=spacing, seed=seed, candidates=candidates, neighbours=neighbours)
        if len(nodes) < 4:
            raise InvalidValue(
                f"only {len(nodes)} points with a spacing of {spacing:g} m fit into the shape: use a smaller spacing."
            )
        return cls(shape, nodes, reach * spacing)

    @cached_property
    def links(self) -> Indices:
        """Pairs of nodes within the radius, shape [m, 2]; those whose middle is outside the shape are left out."""
        pairs = cKDTree(self.nodes).query_pairs(self.radius, output_type="ndarray")
        middle = self.nodes[pairs].mean(axis=1)
        pairs = pairs[self.shape.contains(middle)]
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int32)

    @cached_property
    def samples(self) -> Floats:
        """Points spread over the shape [m], 27 a node, shape [k, 3]: each stands for an equal volume."""
        mean = (self.shape.volume / len(self.nodes)) ** (1 / 3)
        return Interior(self.shape, mean).samples(np.random.default_rng(0), _SAMPLES)

    def node_sums(self, sample_values: float | Floats) -> Floats:
        """Integral of a value over the part of the shape that is nearest to each node, shape [n].

        Args:
            sample_values: The value per volume at each of the `samples`, or one for all.
        """
        return self._sums(self._nearest_nodes, sample_values, len(self.nodes))

    def link_sums(self, sample_values: float | Floats) -> Floats:
        """Integral of a value over the shape, shared by the links in whose middle, or near it, it is found, shape [m].

        Args:
            sample_values: The value per volume at each of the `samples`, or one for all.
        """
        return self._sums(self._nearest_links, sample_values, len(self.links))

    def _sums(self, nearest: Indices, sample_values: float | Floats, count: int) -> Floats:
        values = np.broadcast_to(np.asarray(sample_values, float), len(self.samples))
        sums = np.bincount(nearest.ravel(), np.repeat(values, nearest.shape[1]), minlength=count)
        return np.asarray(sums * (self.shape.volume / nearest.size), np.float64)

    @cached_property
    def _nearest_nodes(self) -> Indices:
        return np.asarray(cKDTree(self.nodes).query(self.samples, [1])[1], np.int32)

    @cached_property
    def _nearest_links(self) -> Indices:
        middles = self.nodes[self.links].mean(axis=1)
        near = list(range(1, min(_NEAR_LINKS, len(middles)) + 1))
        return np.asarray(cKDTree(middles).query(self.samples, near)[1], np.int32)

    @cached_property
    def surface(self) -> Indices:
        """Triangles between outer nodes, counter-clockwise from outside, shape [t, 3], for pictures.

        The boundary of those Delaunay tetrahedra of the nodes that lie in the shape and are not larger than the radius.
        It runs through nodes, thus up to a spacing below the surface of the shape, and may have notches.
        """
        try:
            solids = Delaunay(self.nodes).simplices
        except QhullError:  # all nodes in one plane
            return np.zeros((0, 3), np.int32)
        corners = self.nodes[solids]
        longest = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=3).max(axis=(1, 2))
        solids = solids[(longest <= 1.25 * self.radius) & self.shape.contains(corners.mean(axis=1))]
        return _outer_faces(self.nodes, solids)


def _require_smaller(shape: Shape, spacing: float) -> None:
    low, high = shape.bounds()
    across = float(np.linalg.norm(high - low))
    if spacing > across:
        raise InvalidValue(
            f"a spacing of {spacing:g} m is larger than the shape ({across:.4g} m): use a smaller spacing."
        )


def _chosen(
    points: Floats,
    pool: Floats,
    candidates: Indices,
    misses: int,
    goal: int,
    choice: int,
    wanted: int,
    spacing: float,
    shape: Shape,
) -> tuple[Floats, int]:
    """Add points up to a goal; also how many rounds in a row found none."""
    room = wp.empty(goal, dtype=wp.vec3d, device="cpu")
    room.numpy()[: len(points)] = points
    counts = wp.array([len(points), misses], dtype=wp.int32, device="cpu")
    cells = _cells(shape, goal)
    offered = [wp.array(pool, dtype=wp.vec3d, device="cpu"), wp.array(candidates, dtype=wp.int32, device="cpu")]
    settings = [choice, wanted, spacing, _PATIENCE, len(points), goal]
    wp.launch(choose_points, 1, [cells, *offered, *settings], [room, counts], device="cpu")
    count, misses = counts.numpy().tolist()
    return room.numpy()[:count].copy(), misses


def _cells(shape: Shape, count: int) -> Cells:
    """Empty cells with about two points in each."""
    low, high = shape.bounds()
    size = (2.0 * shape.volume / count) ** (1 / 3)
    counts = np.clip(np.ceil((high - low) / size), 1, 512).astype(int)
    size = max(size, float(((high - low) / counts).max()))
    cells = Cells()
    cells.low, cells.size, cells.counts = wp.vec3d(*low), size, wp.vec3i(*counts.tolist())
    cells.heads = wp.full(int(np.prod(counts)), -1, dtype=wp.int32, device="cpu")
    cells.links = wp.full(count, -1, dtype=wp.int32, device="cpu")
    return cells


def _outer_faces(nodes: Floats, solids: Indices) -> Indices:
    """Faces that belong to one tetrahedron only, turned outwards."""
    faces = np.concatenate([solids[:, sides] for sides in ([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])])
    opposite = np.concatenate([solids[:, corner] for corner in range(4)])
    _, first, times = distinct_rows(np.sort(faces, axis=1), return_index=True, return_counts=True)
    outer = first[times == 1]
    faces, opposite = faces[outer], opposite[outer]
    a, b, c = (nodes[faces[:, corner]] for corner in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), nodes[opposite] - a) > 0.0
    faces[inward] = faces[inward][:, ::-1]
    return faces.astype(np.int32)

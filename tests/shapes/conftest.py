"""Meshes whose inside is known exactly: unions of boxes, and a torus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from annelid.shapes import TriangleMesh

SIDES = {  # corners of the low and of the high side of a cell along each axis, counter-clockwise from outside
    0: ([(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)], [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)]),
    1: ([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)], [(0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)]),
    2: ([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)], [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]),
}


@dataclass(frozen=True)
class Blocks:
    """A union of the filled cells of a rectilinear grid, with exact distances."""

    axes: tuple[np.ndarray, np.ndarray, np.ndarray]
    filled: np.ndarray

    def mesh(self) -> TriangleMesh:
        counts = np.array([len(axis) for axis in self.axes])
        around = np.pad(self.filled, 1)
        quads = []
        for axis, sides in SIDES.items():
            for step, corners in zip((-1, 1), sides, strict=True):
                beside = np.roll(around, -step, axis)[1:-1, 1:-1, 1:-1]
                cells = np.argwhere(self.filled & ~beside)
                nodes = cells[:, None] + np.array(corners)
                quads.append(np.ravel_multi_index(tuple(np.moveaxis(nodes, 2, 0)), tuple(counts)))
        quad = np.concatenate(quads)
        triangles = np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])
        used, triangles = np.unique(triangles, return_inverse=True)
        vertices = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, 3)
        return TriangleMesh(vertices[used], triangles.reshape(-1, 3))

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        """To the nearest filled cell from outside, to the nearest empty one from inside; both are exact."""
        outside = _distance_to_boxes(points, *self._boxes(self.filled, self.axes))
        padded = tuple(np.concatenate([[axis[0] - 10.0], axis, [axis[-1] + 10.0]]) for axis in self.axes)
        inside = _distance_to_boxes(points, *self._boxes(~np.pad(self.filled, 1), padded))
        return outside - inside

    @staticmethod
    def _boxes(cells: np.ndarray, axes: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        index = np.argwhere(cells)
        low = np.stack([axes[k][index[:, k]] for k in range(3)], axis=1)
        high = np.stack([axes[k][index[:, k] + 1] for k in range(3)], axis=1)
        return low, high


def _distance_to_boxes(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    beyond = np.maximum(np.maximum(low - points[:, None], points[:, None] - high), 0.0)
    return np.linalg.norm(beyond, axis=2).min(axis=1)


@pytest.fixture
def notched() -> Blocks:
    """A cube with a narrow slot cut into it from above: re-entrant edges, walls that face each other."""
    filled = np.ones((3, 2, 2), dtype=bool)
    filled[1, 1, 1] = False
    return Blocks((np.array([0.0, 0.45, 0.55, 1.0]), np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.5, 1.0])), filled)


@pytest.fixture
def plate() -> Blocks:
    """A plate a thousand times wider than thick."""
    return Blocks((np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 0.001])), np.ones((1, 1, 1), dtype=bool))


@pytest.fixture
def hollow() -> Blocks:
    """A cube with a cubic cavity."""
    filled = np.ones((3, 3, 3), dtype=bool)
    filled[1, 1, 1] = False
    axis = np.array([0.0, 0.25, 0.75, 1.0])
    return Blocks((axis, axis, axis), filled)


@pytest.fixture
def hinged() -> Blocks:
    """Two cubes that share one edge, at which four triangles meet."""
    filled = np.zeros((2, 2, 1), dtype=bool)
    filled[0, 0] = filled[1, 1] = True
    axis = np.array([0.0, 0.5, 1.0])
    return Blocks((axis, axis, np.array([0.0, 0.5])), filled)


@dataclass(frozen=True)
class Torus:
    """A torus about z."""

    major: float = 0.7
    minor: float = 0.2
    rings: int = 96
    segments: int = 48

    def mesh(self) -> TriangleMesh:
        turn, lap = np.meshgrid(
            2.0 * np.pi * np.arange(self.rings) / self.rings,
            2.0 * np.pi * np.arange(self.segments) / self.segments,
            indexing="ij",
        )
        radius = self.major + self.minor * np.cos(lap)
        vertices = np.stack([radius * np.cos(turn), radius * np.sin(turn), self.minor * np.sin(lap)], axis=-1)
        here = np.arange(turn.size).reshape(turn.shape)
        on, up = np.roll(here, -1, axis=0), np.roll(here, -1, axis=1)
        both = np.roll(on, -1, axis=1)
        triangles = np.concatenate([np.stack([here, on, both], -1), np.stack([here, both, up], -1)]).reshape(-1, 3)
        return TriangleMesh(vertices.reshape(-1, 3), triangles)

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        across = np.hypot(points[:, 0], points[:, 1]) - self.major
        return np.hypot(across, points[:, 2]) - self.minor


@pytest.fixture
def torus() -> Torus:
    return Torus()

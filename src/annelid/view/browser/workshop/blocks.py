"""The body that is painted, as blocks on a lattice."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.view.browser.drawers import linear

_LATTICE = (150, 155, 165)
_GAP = 0.05  # between blocks, in cells: each can be told from its neighbours
_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32) - 0.5
_QUADS = np.array([[4, 6, 7, 5], [0, 1, 3, 2], [2, 3, 7, 6], [0, 4, 5, 1], [1, 5, 7, 3], [0, 2, 6, 4]])


class Blocks:
    """A block for each voxel that can be seen, and the grid of the layer that is painted on.

    Args:
        server: The viser server.
    """

    def __init__(self, server: Any) -> None:
        self._scene = server.scene
        self._root = self._scene.add_frame("/blocks", show_axes=False)
        self._blocks: Any = None
        self._grid: Any = None

    def show(self, there: bool) -> None:
        """Show it, or hide it."""
        self._root.visible = there

    def draw(self, cells: np.ndarray, colors: np.ndarray, corner: np.ndarray, side: float) -> None:
        """Draw voxels.

        Args:
            cells: Their cells, shape [n, 3].
            colors: Their colours in [0, 1], shape [n, 3].
            corner: Where the lattice begins [m], shape [3].
            side: Side of a cell [m].
        """
        if self._blocks is not None:
            self._blocks.remove()
            self._blocks = None
        seen = outer(cells)
        if not len(seen):
            return
        centers = (corner + (cells[seen] + 0.5) * side).astype(np.float32)
        turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (len(seen), 1))
        triangles = np.concatenate([_QUADS[:, [0, 1, 2]], _QUADS[:, [0, 2, 3]]]).astype(np.uint32)
        self._blocks = self._scene.add_batched_meshes_simple(
            "/blocks/voxels", (1.0 - _GAP) * side * _CORNERS, triangles, turns, centers,
            batched_colors=linear(np.rint(255.0 * colors[seen])), lod="off", flat_shading=True,
        )  # fmt: skip

    def draw_lattice(self, shape: tuple[int, int, int], layer: int, corner: np.ndarray, side: float) -> None:
        """Draw the grid of a layer and the edges of the lattice."""
        if self._grid is not None:
            self._grid.remove()
        points = (corner + side * _lines(shape, layer)).astype(np.float32)
        self._grid = self._scene.add_line_segments(
            "/blocks/lattice", points, _LATTICE, thickness=1.0, thickness_units="screen"
        )

    def remove(self) -> None:
        """Take everything out of the scene."""
        self._root.remove()


def outer(cells: np.ndarray) -> np.ndarray:
    """Numbers of the cells, shape [n, 3], that not all six neighbours hide."""
    if not len(cells):
        return np.empty(0, int)
    low = cells.min(axis=0) - 1
    there = np.zeros(cells.max(axis=0) - low + 2, bool)
    at = cells - low
    there[tuple(at.T)] = True
    steps = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
    hidden = np.all([there[tuple((at + step).T)] for step in steps], axis=0)
    return np.flatnonzero(~hidden)


def _lines(shape: tuple[int, int, int], layer: int) -> np.ndarray:
    """Lines of the grid of a layer, and upright edges and top of the lattice, in cells, shape [n, 2, 3]."""
    x, y, z = shape
    rows = [[(0, j, layer), (x, j, layer)] for j in range(y + 1)]
    columns = [[(i, 0, layer), (i, y, layer)] for i in range(x + 1)]
    upright = [[(i, j, 0), (i, j, z)] for i in (0, x) for j in (0, y)]
    around = [(0, 0), (x, 0), (x, y), (0, y), (0, 0)]
    ends = [[(*a, level), (*b, level)] for level in (0, z) for a, b in zip(around[:-1], around[1:], strict=True)]
    return np.array(rows + columns + upright + ends, float)

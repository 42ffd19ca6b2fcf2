"""Device memory of the columns of one cavity, and the launches that find sections, by spans or by pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Stage
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.kernels.columns import Box, Face, Grid
from annelid.fem.kernels.columns_pairs import gather_sections, hit_by_column, hit_by_triangle, match_sections
from annelid.fem.kernels.columns_spans import add_by_span, hit_by_span

_LAYERS = 8  # of fluid in a column, to begin with
_MOST_LANES = 256  # partial sums a triangle; more would only be added up by one thread again


class Memory:
    """Arrays of the columns of one cavity.

    Args:
        cavity: The cavity.
        columns: Columns along u.
        rows: Columns along v.
        device: Warp device.
    """

    def __init__(self, cavity: Cavity, columns: int, rows: int, device: wp.Device) -> None:
        self.device, self.columns, self.rows = device, columns, rows
        nodes, count = len(cavity.nodes), len(cavity.triangles)
        self.nodes = self._array(cavity.nodes, wp.int32)
        self.triangles = self._array(cavity.local, wp.int32)
        self.first, self.corner = (self._array(part, wp.int32) for part in cavity.corners)
        self.points = self.zeros(nodes, wp.vec3d)
        self.grid = self.zeros(1, Grid)
        self.faces, self.boxes = self.zeros(count, Face), self.zeros(count, Box)
        self.exact, self.found = self.zeros(count, wp.vec4d), self.zeros(count, wp.vec4d)
        self.corners = self.zeros(count, wp.vec3d)
        self.shares = wp.array(ptr=self.corners.ptr, dtype=wp.float64, shape=3 * count, device=device)
        self.volumes, self.weights = self.zeros(nodes, wp.float64), self.zeros(nodes, wp.float64)
        self.forces = self.zeros(nodes, wp.vec3d)
        self.sums, self.law = self.zeros(2, wp.vec4d), self.zeros(1, wp.vec3d)
        self.problems = self.zeros(2, wp.int32)
        self.layers, self.lanes = 0, 1

    def reserve(self, threads: int) -> None:
        """Make room for the sections, with a number of threads a triangle."""
        self.lanes = min(threads, _MOST_LANES)
        self.parts = self.zeros(len(self.triangles) * self.lanes, wp.vec4d)
        self._reserve_layers(_LAYERS)

    def grow(self) -> None:
        """Make room for twice as many layers."""
        self._reserve_layers(2 * self.layers)

    def mean_box(self) -> float:
        """Mean number of columns in the boxes of triangles, as they lie now."""
        boxes = self.boxes.numpy()
        sides = [boxes[f"{name}_end"].astype(np.int64) - boxes[name] for name in ("row", "column")]
        return float((sides[0] * sides[1]).mean())

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> wp.array[Any]:
        """An array of zeros on the device."""
        return wp.zeros(shape, dtype=dtype, device=self.device)

    def _reserve_layers(self, layers: int) -> None:
        self.layers = layers
        cells = self.columns * self.rows
        self.counts = self.zeros((2, cells), wp.int32)
        self.tops, self.bottoms = (self.zeros((layers, cells), wp.float64) for _ in range(2))
        self.owners = self.zeros((layers, cells), wp.int32)

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(values, dtype=dtype, device=self.device)


def span_stages(m: Memory, clip: int) -> list[Stage]:
    """One thread walks the spans of all triangles, twice."""
    size, faces = [m.columns, m.rows, m.layers], [m.faces, m.boxes]
    counts, lists = [m.counts[0], m.counts[1]], [m.tops.flatten(), m.bottoms.flatten(), m.owners.flatten()]
    return [
        Stage(hit_by_span, 1, [*size, *faces, *counts, *lists, m.problems]),
        Stage(add_by_span, 1, [*size, clip, m.grid, *faces, *lists, *counts, m.parts, m.problems]),
    ]


def pair_stages(m: Memory, clip: int, method: str, threads: int) -> list[Stage]:
    """Pairs of triangles and columns: find hits, sort them, gather them."""
    count, cells = len(m.triangles), m.columns * m.rows
    lists = [m.counts, m.tops, m.bottoms, m.owners]
    if method == "columns":
        hits = Stage(hit_by_column, cells, [m.columns, m.layers, m.faces, m.boxes, *lists])
    else:
        hits = Stage(hit_by_triangle, count * threads, [m.columns, m.layers, threads, m.faces, m.boxes, *lists])
    return [
        hits,
        Stage(match_sections, cells, [m.layers, clip, m.grid, *lists, m.problems]),
        Stage(
            gather_sections,
            count * m.lanes,
            [m.columns, m.layers, m.lanes, m.faces, m.boxes, m.tops, m.bottoms, m.owners, m.parts],
        ),
    ]

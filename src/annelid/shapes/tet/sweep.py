"""Solids of hexahedra, swept from a section along layers, of which any may be left out; cut into tetrahedra.

Each hexahedron gives six tetrahedra along the paths from its node labelled 0 to its node labelled 3, where a node's
label is that of the section plus 1 in every second layer. Cells are mirror images of their neighbours in all three
directions (the triangulation J1 of Todd, 1976): cut all the same way, a bending cylinder would swerve to one side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annelid.core.errors import InvalidValue
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import Section
from annelid.shapes.values import Floats, Indices, Vector, as_axis, frame

# Corners of a hexahedron: 0..3 in the even layer, counter-clockwise from the section's label 0; 4..7 in the odd one.
_PATHS = np.array([(0, 1, 2, 6), (0, 5, 1, 6), (0, 4, 5, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6)])
"""The six tetrahedra of a hexahedron, of positive volume if the odd layer is the upper one."""


def swept(
    section: Section,
    heights: ArrayLike,
    *,
    keep: NDArray[np.bool_] | None = None,
    regions: ArrayLike = 0,
    place: Callable[[Floats], Floats] | None = None,
) -> TetMesh:
    """Sweep a section along z. Cells that are left out inside the solid are its cavities.

    Args:
        section: Quadrilaterals in the plane of x and y.
        heights: Coordinates of the layers' borders along z, rising [m], shape [l + 1].
        keep: Which cells are filled, shape [l, q]; all of them by default.
        regions: Number of each cell's material, shape [l, q], or one for all.
        place: Where the nodes go: takes and gives positions [m] of shape [n, 3].
    """
    z = np.asarray(heights, dtype=np.float64)
    if z.ndim != 1 or len(z) < 2 or not np.isfinite(z).all() or (np.diff(z) <= 0.0).any():
        raise InvalidValue("heights must be two or more finite numbers that rise [m].")
    shape = (len(z) - 1, len(section.quads))
    filled = np.ones(shape, dtype=bool) if keep is None else np.asarray(keep)
    if filled.shape != shape or filled.dtype != bool or not filled.any():
        raise InvalidValue(
            f"keep must be booleans of shape {list(shape)}, layers and quadrilaterals, at least one of them true."
        )
    layer, quad = np.nonzero(filled)
    tetrahedra = _tetrahedra(section, layer, quad)
    used, number = np.unique(tetrahedra, return_inverse=True)
    level, node = np.divmod(used, len(section.nodes))
    positions = np.column_stack([section.nodes[node], z[level]])
    return TetMesh(
        positions if place is None else place(positions),
        number.reshape(-1, 4).astype(np.int32),
        regions=np.repeat(np.broadcast_to(np.asarray(regions), shape)[filled], len(_PATHS)),
        cells=np.repeat(np.arange(len(layer), dtype=np.int32), len(_PATHS)),
    )


def along_axis(axis: str | Vector) -> Callable[[Floats], Floats]:
    """A `place` for `swept` that turns z into the axis: 'x', 'y', 'z' or a vector."""
    turn = frame(as_axis(axis)).T
    return lambda positions: positions @ turn


def _tetrahedra(section: Section, layer: NDArray[np.int64], quad: NDArray[np.int64]) -> Indices:
    """Six tetrahedra for each cell; nodes are numbered layer by layer, shape [6 cells, 4]."""
    first = (section.labels[section.quads] == 0).argmax(axis=1)
    turned = section.quads[np.arange(len(first))[:, None], (first[:, None] + np.arange(4)) % 4]
    size = len(section.nodes)
    even, odd = layer + layer % 2, layer + (layer + 1) % 2
    corners = np.concatenate([turned[quad] + size * even[:, None], turned[quad] + size * odd[:, None]], axis=1)
    tetrahedra = corners[:, _PATHS]
    below = odd < even
    tetrahedra[below] = tetrahedra[below][:, :, [0, 2, 1, 3]]
    return tetrahedra.reshape(-1, 4)

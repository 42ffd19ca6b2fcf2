"""How far tetrahedra are strained: the largest principal strain, which the range of a law is compared with."""

from __future__ import annotations

import numpy as np

from annelid.fem.shape_functions import point_gradients


def largest_strains(rest: np.ndarray, elements: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Largest principal strain in each tetrahedron, its stretch less 1, over its integration points; shape [t].

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        positions: Positions now [m], shape [n, 3].
    """
    deformations = np.einsum("tsi,tqsj->tqij", positions[elements], point_gradients(rest, elements)[0])
    squares = np.linalg.eigvalsh(np.swapaxes(deformations, -1, -2) @ deformations)
    return np.asarray(np.sqrt(squares[..., -1]).max(axis=1) - 1.0)


def most_stretched(rest: np.ndarray, elements: np.ndarray, positions: np.ndarray) -> str:
    """Where a solid is stretched most and how far, in words; arguments as of `largest_strains`."""
    strains = largest_strains(rest, elements, positions)
    worst = int(strains.argmax())
    x, y, z = rest[elements[worst, :4]].mean(axis=0)
    return f"stretched most near ({x:.4g}, {y:.4g}, {z:.4g}) m at rest, to {1.0 + strains[worst]:.3g} times its length"

"""How thin the walls of a solid are, and the grid on which they have an inside."""

from __future__ import annotations

import math

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.spread import spread_over
from annelid.shapes.values import Floats

MOST_NODES = 1 << 25
"""Largest grid that is baked because walls are thin (128 MiB)."""
CELLS_OF_A_WALL = 2.0
"""Cells that a wall must be thick: a cell with its surface then holds nothing of its other side."""

_SAMPLES = 16384
_LEAST_SHARE = 0.002  # of the surface, in walls that count
_STEEP = 8  # times the area that is thinner than half: more than where an edge or a tip tapers off, 2 and 4
_SEGMENTS = 128  # of a full turn of a shape that is no mesh


def thinnest_wall(shape: Shape) -> tuple[float, Floats]:
    """Thickness of the thinnest wall of a solid [m], inf where there is none, and a point of its surface [m].

    A wall is a part of the surface that is as thin as its neighbourhood. Where the solid tapers off to an edge or a
    tip, which have no thickness, half as thin has at least an eighth of the area, and that is no wall.
    """
    mesh = shape if isinstance(shape, TriangleMesh) else shape.surface(_SEGMENTS)
    points, faces = spread_over(mesh.vertices, mesh.triangles, _SAMPLES)
    found = mesh.query().thicknesses(points, faces)
    order = np.argsort(found)
    found, points = found[order], points[order]
    rank = np.arange(1, len(found) + 1)
    is_wall = (rank >= _LEAST_SHARE * len(found)) & (rank >= _STEEP * np.searchsorted(found, 0.5 * found))
    first = int(is_wall.argmax())
    return (float(found[first]), points[first]) if is_wall.any() else (math.inf, points[0])


def cells_for_walls(shape: Shape, least: int, thickness: float) -> int:
    """Cells along the longest side of a solid on which its walls have an inside, not fewer than `least`.

    Args:
        shape: The solid.
        least: Cells that are wanted anyway.
        thickness: Thickness of its thinnest wall [m].
    """
    low, high = shape.bounds()
    longest = float((high - low).max())
    if thickness * least >= CELLS_OF_A_WALL * longest:
        return least
    cells = math.ceil(CELLS_OF_A_WALL * longest / thickness)
    nodes = float(np.prod((high - low) * (cells / longest) + 5.0))
    if nodes > MOST_NODES:
        raise InvalidValue(
            f"walls of {thickness:.3g} m in a solid of {longest:.3g} m need a grid of {cells} cells along its longest "
            f"side, {nodes:.2g} distances, and {MOST_NODES:.2g} is the most: make the walls thicker, or build the "
            "solid of several parts, such as a Box for each wall."
        )
    return cells

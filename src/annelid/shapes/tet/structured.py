"""Ready solids of tetrahedra from simple dimensions: beam, cylinder, hollow cylinder and trunk. All begin at 0.

Their first end, the one to hold, lies in the plane through the origin; the body extends along the axis from there.
Robots with several chambers are next door.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidValue
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import MOST_CELLS, disk, rectangle, steps
from annelid.shapes.tet.sweep import along_axis, swept
from annelid.shapes.values import Floats, Vector, require_count, require_positive

_CORE = 0.45
"""Radius of the square core of a full disk, as a fraction of the disk's: cells of core and rings are then alike."""


def tet_beam(
    length: float, width: float, height: float, *, cells: tuple[int, int, int], axis: str | Vector = "x"
) -> TetMesh:
    """A box from 0 to `length` along the axis, centred across it [m].

    Args:
        length: Along the axis [m].
        width: Across: along y, for the axis x [m].
        height: Across: along z, for the axis x [m].
        cells: Hexahedra along length, width and height; six tetrahedra each.
        axis: 'x', 'y', 'z' or a vector.
    """
    if not isinstance(cells, Sequence | np.ndarray) or array_or_none(cells).shape != (3,):
        raise InvalidValue(f"cells = {cells!r} cannot be used; give three numbers: along length, width and height.")
    along, across, up = (require_count("cells", count, least=1, most=MOST_CELLS) for count in cells)
    half_width, half_height = 0.5 * require_positive("width", width), 0.5 * require_positive("height", height)
    section = rectangle(
        np.linspace(-half_width, half_width, across + 1), np.linspace(-half_height, half_height, up + 1)
    )
    return swept(section, steps([length], [along]), place=along_axis(axis))


def tet_cylinder(
    radius: float,
    length: float,
    *,
    cells: int = 4,
    rings: int = 2,
    layers: int = 12,
    equal_area: bool = False,
    axis: str | Vector = "z",
) -> TetMesh:
    """A full cylinder from 0 to `length` along the axis.

    Args:
        radius: Radius [m].
        length: Along the axis [m].
        cells: Cells along a side of the square core, an even number; the circle is a polygon of 4 cells.
        rings: Rings around the core.
        layers: Cells along the axis.
        equal_area: Give the polygon the area of the circle; else its corners lie on the circle.
        axis: 'x', 'y', 'z' or a vector.
    """
    return tet_trunk(radius, radius, length, cells=cells, rings=rings, layers=layers, equal_area=equal_area, axis=axis)


def tet_trunk(
    base_radius: float,
    tip_radius: float,
    length: float,
    *,
    cells: int = 4,
    rings: int = 1,
    layers: int = 16,
    equal_area: bool = False,
    axis: str | Vector = "z",
) -> TetMesh:
    """A full cylinder that tapers from its base at 0 to its tip at `length` along the axis.

    Args:
        base_radius: Radius at 0 [m].
        tip_radius: Radius at the other end [m].
        length: Along the axis [m].
        cells: Cells along a side of the square core, an even number; the circle is a polygon of 4 cells.
        rings: Rings around the core.
        layers: Cells along the axis.
        equal_area: Give the polygon the area of the circle; else its corners lie on the circle.
        axis: 'x', 'y', 'z' or a vector.
    """
    base, tip = require_positive("base_radius", base_radius), require_positive("tip_radius", tip_radius)
    rings = require_count("rings", rings, least=1, most=MOST_CELLS)
    section = disk((base * np.linspace(_CORE, 1.0, rings + 1)).tolist(), cells=cells, equal_area=equal_area)
    heights = steps([length], [layers])
    onto = along_axis(axis)

    def place(positions: Floats) -> Floats:
        narrowing = 1.0 + (tip / base - 1.0) * positions[:, 2:] / heights[-1]
        return onto(np.column_stack([positions[:, :2] * narrowing, positions[:, 2]]))

    return swept(section, heights, place=place)


def tet_hollow_cylinder(
    radius: float,
    length: float,
    *,
    wall: float,
    cap: float | None = None,
    cells: int = 4,
    rings: int = 1,
    layers: int = 12,
    caps: int = 1,
    equal_area: bool = False,
    axis: str | Vector = "z",
) -> TetMesh:
    """A cylinder from 0 to `length` along the axis with one closed cylindrical cavity.

    Args:
        radius: Outer radius [m].
        length: Along the axis, with both caps [m].
        wall: Thickness of the wall around the cavity [m].
        cap: Thickness of the two ends [m]; that of the wall by default.
        cells: Cells along a side of the square core of the caps, an even number; circles are polygons of 4 cells.
        rings: Cells through the wall.
        layers: Cells along the cavity.
        caps: Cells through each cap.
        equal_area: Give the polygons the area of the circles; else their corners lie on the circles.
        axis: 'x', 'y', 'z' or a vector.
    """
    radius, wall = require_positive("radius", radius), require_positive("wall", wall)
    end = require_positive("cap", wall if cap is None else cap)
    inside = require_positive("length", length) - 2.0 * end
    if wall >= radius or inside <= 0.0:
        raise InvalidValue(
            f"wall = {wall:g} m and cap = {end:g} m leave no cavity in a cylinder of radius {radius:g} m and length "
            f"{length:g} m; make them thinner."
        )
    rings = require_count("rings", rings, least=1, most=MOST_CELLS)
    bore = radius - wall
    section = disk([0.6 * bore, *np.linspace(bore, radius, rings + 1)], cells=cells, equal_area=equal_area)
    heights = steps([end, inside, end], [caps, layers, caps])
    middle = (np.arange(len(heights) - 1) >= caps) & (np.arange(len(heights) - 1) < caps + layers)
    keep = ~(middle[:, None] & (section.patches[:, 0] <= 1))
    return swept(section, heights, keep=keep, place=along_axis(axis))

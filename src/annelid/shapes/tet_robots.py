"""Ready solids of tetrahedra with several chambers: a finger with bellows and a pendulum with four cavities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import InvalidValue
from annelid.shapes.shape import Floats, Indices, Vector, require_count, require_positive
from annelid.shapes.tet_sections import MOST_CELLS, Section, disk, rectangle, steps
from annelid.shapes.tet_sweep import along_axis, swept
from annelid.shapes.tetmesh import TetMesh

_MOST_CHAMBERS = 1000
_MOST_RESOLUTION = 50

_END, _CHAMBER, _PARTITION, _GROOVE = range(4)


def tet_finger(
    *,
    length: float = 0.1,
    width: float = 0.02,
    height: float = 0.02,
    chambers: int = 5,
    wall: float = 2e-3,
    floor: float = 3e-3,
    groove: float = 2e-3,
    channel: tuple[float, float] = (6e-3, 4e-3),
    arch: float = 0.6,
    resolution: int = 1,
) -> TetMesh:
    """A finger along x with one closed cavity: wide chambers in a row, joined by a narrow channel over the floor.

    Between two chambers the roof comes down to the channel in a groove, so that the finger is a bellows inside and
    outside; inflated, it bends towards its floor (-z). The floor's underside is z = 0, the end to hold is x = 0.

    Args:
        length: Along x [m].
        width: Along y, centred [m].
        height: Along z [m].
        chambers: Number of chambers.
        wall: Thickness of all walls but the floor [m].
        floor: Thickness of the floor [m].
        groove: Width of the groove between the walls of two chambers [m]; 0 leaves the outside straight.
        channel: Width and height of the channel [m].
        arch: How round the roof is, from 0, a box, to below 1, a half-round.
        resolution: Cells through a wall.
    """
    fine = require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    if not 0.0 <= arch < 1.0:
        raise InvalidValue(f"arch = {arch!r} cannot be used; give a number from 0 (box) to below 1 (half-round).")
    kinds, borders = _stations(length, chambers, wall, groove, fine)
    section = _finger_section(width, height, wall, floor, channel, fine)
    keep = ~_finger_hollows(kinds[:, None], *section.patches.T // fine)

    def place(positions: Floats) -> Floats:
        across, up, along = positions.T
        profile = np.sqrt(1.0 - (2.0 * arch * across / width) ** 2)
        return np.column_stack([along, across, np.minimum(up, floor) + np.maximum(up - floor, 0.0) * profile])

    return swept(section, borders, keep=keep, place=place)


def _stations(length: float, chambers: int, wall: float, groove: float, fine: int) -> tuple[NDArray[np.int64], Floats]:
    """What lies in each layer along the finger, shape [l], and the borders of the layers [m], shape [l + 1]."""
    count = require_count("chambers", chambers, least=1, most=_MOST_CHAMBERS)
    wall, length = require_positive("wall", wall), require_positive("length", length)
    if not (np.isfinite(groove) and groove >= 0.0):
        raise InvalidValue(f"groove = {groove!r} cannot be used; give a width of 0 or more [m].")
    between = [(_PARTITION, wall), (_GROOVE, groove), (_PARTITION, wall)] if groove > 0.0 else [(_PARTITION, wall)]
    chamber = (length - 2.0 * wall - (count - 1) * sum(size for _, size in between)) / count
    if chamber <= 0.0:
        raise InvalidValue(
            f"{count} chambers with walls of {wall:g} m and grooves of {groove:g} m do not fit in {length:g} m; "
            "make them fewer or thinner."
        )
    row = [(_END, wall), *([(_CHAMBER, chamber), *between] * count)[: -len(between)], (_END, wall)]
    cells = [2 * fine if kind == _CHAMBER else fine for kind, _ in row]
    return np.repeat([kind for kind, _ in row], cells), steps([size for _, size in row], cells)


def _finger_section(
    width: float, height: float, wall: float, floor: float, channel: tuple[float, float], fine: int
) -> Section:
    """Columns: wall, side, two for the channel, side, wall. Rows: floor, channel, its roof, chamber above it, roof."""
    wide, high = (require_positive("channel", size) for size in channel)
    side = 0.5 * (require_positive("width", width) - wide) - wall
    above = require_positive("height", height) - require_positive("floor", floor) - high - 2.0 * wall
    if side <= 0.0 or above <= 0.0:
        raise InvalidValue(
            f"a channel of {wide:g} x {high:g} m with walls of {wall:g} m and a floor of {floor:g} m leaves no room "
            f"for wider chambers in a section of {width:g} x {height:g} m; make it smaller or thinner."
        )
    across = steps([wall, side, 0.5 * wide, 0.5 * wide, side, wall], [fine] * 6) - 0.5 * width
    return rectangle(across, steps([floor, high, wall, above, wall], [fine] * 5))


def _finger_hollows(kind: NDArray[np.int64], column: Indices, row: Indices) -> NDArray[np.bool_]:
    """Cells that are empty: of kinds [l, 1], columns and rows [q], as `_finger_section` counts them."""
    chamber = (column >= 1) & (column <= 4) & (row >= 1) & (row <= 3)
    channel = (column >= 2) & (column <= 3) & (row == 1)
    hollow = (kind == _CHAMBER) & chamber | ((kind == _PARTITION) | (kind == _GROOVE)) & channel
    return np.asarray(hollow | (kind == _GROOVE) & (row >= 3))


def tet_pendulum(
    *,
    radius: float = 0.025,
    length: float = 0.08,
    core: float = 0.012,
    wall: float = 4e-3,
    cap: float = 8e-3,
    share: float = 0.7,
    resolution: int = 1,
    layers: int | None = None,
    axis: str | Vector = (0.0, 0.0, -1.0),
) -> TetMesh:
    """A round pendulum that hangs from z = 0 and has four closed cavities around its axis.

    `cavities()` gives them in the order -x, +y, -y, +x.

    Args:
        radius: Outer radius [m].
        length: Along the axis, with both caps [m].
        core: Radius of the full middle [m].
        wall: Thickness of the wall around the cavities [m].
        cap: Thickness of the upper and lower end [m].
        share: How much of each quarter turn its cavity takes, between 0 and 1.
        resolution: Cells through a wall: 1 gives 399 nodes; 2 with 24 layers about 5,000.
        layers: Cells along the axis, both caps included; 6 times the resolution unless told.
        axis: Where the body extends from the origin: 'x', 'y', 'z' or a vector.
    """
    fine = require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    count = require_count("layers", 6 * fine if layers is None else layers, least=2 * fine + 1, most=MOST_CELLS)
    inner, outer = _cavity_radii(radius, length, core, wall, cap)
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"share = {share!r} cannot be used; give a number between 0 and 1.")
    section = disk(_spaced([inner, outer, radius], fine), cells=4 * fine)
    borders = steps([cap, length - 2.0 * cap, cap], [fine, count - 2 * fine, fine])
    ring, place = section.patches.T
    beside = (ring >= 1) & (ring <= fine) & (place // fine % 4 >= 1) & (place // fine % 4 <= 2)
    layer = np.arange(count)[:, None]
    keep = ~(beside & (layer >= fine) & (layer < count - fine))
    onto = along_axis(axis)
    return swept(section, borders, keep=keep, place=lambda positions: onto(_widened(positions, inner, share)))


def _cavity_radii(radius: float, length: float, core: float, wall: float, cap: float) -> tuple[float, float]:
    inner, outer = require_positive("core", core), require_positive("radius", radius) - require_positive("wall", wall)
    if inner >= outer or 2.0 * require_positive("cap", cap) >= require_positive("length", length):
        raise InvalidValue(
            f"core = {core:g} m, wall = {wall:g} m and cap = {cap:g} m leave no room for cavities in a radius of "
            f"{radius:g} m and a length of {length:g} m; make them thinner."
        )
    return inner, outer


def _spaced(radii: list[float], count: int) -> list[float]:
    """The radii with `count` equal steps between each and the next."""
    gaps = np.diff(radii)
    return [radii[0], *(radii[0] + np.cumsum(np.repeat(gaps / count, count))).tolist()]


def _widened(positions: Floats, inner: float, share: float) -> Floats:
    """Turn the nodes around the axis so that the middle half of each quarter is its `share`, less so in the core."""
    distance = np.hypot(positions[:, 0], positions[:, 1])
    angle = np.arctan2(positions[:, 1], positions[:, 0])
    middle = np.round(angle / (0.5 * math.pi)) * 0.5 * math.pi
    beside = (angle - middle) / (0.25 * math.pi)
    spread = np.interp(beside, [-1.0, -0.5, 0.5, 1.0], [-1.0, -share, share, 1.0])
    turned = middle + 0.25 * math.pi * (beside + (spread - beside) * np.minimum(distance / inner, 1.0))
    return np.column_stack([distance * np.cos(turned), distance * np.sin(turned), positions[:, 2]])

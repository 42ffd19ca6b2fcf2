"""A soft finger with one bellows, of wide chambers in a row, that air or water fills (Rodríguez et al., Fig. 5)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import spelled_out
from annelid.materials import material
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.sections import Section, rectangle, steps
from annelid.shapes.tet.sweep import swept
from annelid.shapes.values import Floats, Indices, require_count, require_positive

_MOST_CHAMBERS = 1000
_MOST_RESOLUTION = 50

_END, _CHAMBER, _PARTITION, _GROOVE, _DEAD_GROOVE = range(5)
_TIP = -0.01  # height of its middle [m]


@spelled_out("a finger")
def finger(
    *,
    filling: Literal["pneumatic", "hydraulic"] = "hydraulic",
    pressure: float = 40e3,
    modulus: float = 400e3,
    length: float = 0.1,
    chambers: int = 5,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """The finger along x, its stiff floor on top so that pressure lifts the tip; actuator "bellows", effector "tip".

    Args:
        filling: What fills the bellows.
        pressure: Highest pressure [Pa].
        modulus: Young's modulus of the silicone [Pa].
        length: Length of the finger [m].
        chambers: Number of chambers in a row.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    mesh = finger_mesh(length=length, chambers=chambers)
    turned = TetMesh(mesh.nodes * [1.0, -1.0, -1.0], mesh.tetrahedra, cells=mesh.cells)
    silicone = material("ecoflex-00-30").with_(youngs_modulus=modulus, poisson_ratio=0.45)
    solid = fem.Solid(turned, silicone).fix(lambda p: p[:, 0] < 1e-9)
    kind = fem.Hydraulic if filling == "hydraulic" else fem.Pneumatic
    chamber = kind(name="bellows", pressure=(0.0, pressure))
    return fem.Robot(solid, [chamber], [fem.Point(name="tip", at=(length, 0.0, _TIP))], device=device, threads=threads)


@spelled_out("a mesh of a finger")
def finger_mesh(
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
    segments: int = 1,
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
        segments: Cavities in a row, each of as many chambers; the channel ends between two of them.
        resolution: Cells through a wall.
    """
    fine = require_count("resolution", resolution, least=1, most=_MOST_RESOLUTION)
    if not (is_number(arch) and 0.0 <= arch < 1.0):
        raise InvalidValue(f"arch = {arch!r} cannot be used; give a number from 0 (box) to below 1 (half-round).")
    kinds, borders = _stations(length, chambers, segments, wall, groove, fine)
    section = _finger_section(width, height, wall, floor, channel, fine)
    keep = ~_finger_hollows(kinds[:, None], *section.patches.T // fine)

    def place(positions: Floats) -> Floats:
        across, up, along = positions.T
        profile = np.sqrt(1.0 - (2.0 * arch * across / width) ** 2)
        return np.column_stack([along, across, np.minimum(up, floor) + np.maximum(up - floor, 0.0) * profile])

    return swept(section, borders, keep=keep, place=place)


def _stations(
    length: float, chambers: int, segments: int, wall: float, groove: float, fine: int
) -> tuple[NDArray[np.int64], Floats]:
    """What lies in each layer along the finger, shape [l], and the borders of the layers [m], shape [l + 1]."""
    count = require_count("chambers", chambers, least=1, most=_MOST_CHAMBERS)
    if count % require_count("segments", segments, least=1, most=count):
        raise InvalidValue(f"{count} chambers cannot be shared by {segments} segments; give a multiple.")
    wall, length = require_positive("wall", wall), require_positive("length", length)
    if not (is_number(groove) and groove >= 0.0):
        raise InvalidValue(f"groove = {groove!r} cannot be used; give a width of 0 or more [m].")
    between = [(_PARTITION, wall), (_GROOVE, groove), (_PARTITION, wall)] if groove > 0.0 else [(_PARTITION, wall)]
    chamber = (length - 2.0 * wall - (count - 1) * sum(size for _, size in between)) / count
    if chamber <= 0.0:
        raise InvalidValue(
            f"{count} chambers with walls of {wall:g} m and grooves of {groove:g} m do not fit in {length:g} m; "
            "make them fewer or thinner."
        )
    dead = [(_DEAD_GROOVE if kind == _GROOVE else _END, size) for kind, size in between]
    row = [(_END, wall)]
    for number in range(1, count + 1):
        row += [(_CHAMBER, chamber), *(dead if number % (count // segments) == 0 else between)]
    row = [*row[: -len(between)], (_END, wall)]
    cells = [2 * fine if kind == _CHAMBER else fine for kind, _ in row]
    return np.repeat([kind for kind, _ in row], cells), steps([size for _, size in row], cells)


def _finger_section(
    width: float, height: float, wall: float, floor: float, channel: tuple[float, float], fine: int
) -> Section:
    """Columns: wall, side, two for the channel, side, wall. Rows: floor, channel, its roof, chamber above it, roof."""
    if not isinstance(channel, tuple | list) or len(channel) != 2:
        raise InvalidValue(f"channel = {channel!r} cannot be used; give its width and its height [m].")
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
    return np.asarray(hollow | ((kind == _GROOVE) | (kind == _DEAD_GROOVE)) & (row >= 3))

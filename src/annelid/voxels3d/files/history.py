"""Histories of voxcraft-sim: settings and frames of voxels and links as lines of text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import FileFormatError
from annelid.core.files import as_path, read_text
from annelid.voxels3d.readout import Readout

MOST_BYTES = 512 << 20
"""Largest file that is read."""

RESCALE = 0.001
"""Unit of lengths in frames [m]."""

_COLUMNS = 15
_SETTING = re.compile(r"\{\{\{setting\}\}\}<(\w+)>(.*)</\1>")
_FRAME = re.compile(r"<<<Step(\d{1,18}) Time:([-+.\deE]{1,30})>>>([^<]*)<<<>>>")
_LINKS = re.compile(r"\|\[\[\[\d+\]\]\]([^\[]*)\[\[\[\]\]\]")
_COLOR = re.compile(r"<id>(\d{1,9})</id><r>([\d.]+)</r><g>([\d.]+)</g><b>([\d.]+)</b>")


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment of a history.

    Attributes:
        step: Its step.
        time: Its time [s].
        positions: Centres of surface voxels [m], shape [n, 3].
        rotations: How they have turned; read to about 0.1 degrees.
        corners: Lowest and highest corner from the centre, in the frame of the voxel [m], shape [n, 2, 3].
        materials: Numbers of their materials, shape [n].
        signals: Their signals, shape [n].
        links: Ends of links [m], shape [k, 2, 3].
    """

    step: int
    time: float
    positions: np.ndarray
    rotations: Rotation
    corners: np.ndarray
    materials: np.ndarray
    signals: np.ndarray
    links: np.ndarray


@dataclass(frozen=True, eq=False)
class History:
    """A history as it was read.

    Attributes:
        frames: The frames.
        colors: Colours of materials by their number.
        voxel_size: Side of voxels [m].
    """

    frames: list[Frame]
    colors: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    voxel_size: float = 0.0


class HistoryWriter:
    """Writes a history while a simulation runs.

    Args:
        file: Where to.
        readout: Reads the states; places are those of the simulation.
        world: World of the robot.
        numbers: Number in the palette, from 1, of each voxel of the robot.
        colors: Colours (red, green, blue, alpha) of the palette.
        voxels: Whether frames have voxels.
        links: Whether frames have links.
    """

    def __init__(
        self, file: TextIO, readout: Readout, world: int, numbers: np.ndarray,
        colors: list[tuple[float, float, float, float]], *, voxels: bool = True, links: bool = False,
    ) -> None:  # fmt: skip
        self._file, self._readout, self._numbers = file, readout, numbers
        self._voxels, self._links = voxels, links
        first, last = readout.model.first_voxel[world : world + 2]
        self._part = slice(int(first), int(last))
        ends = readout.links
        self._own = ends[(ends[:, 0] >= first) & (ends[:, 0] < last)]
        degree = np.bincount(self._own.ravel() - first, minlength=int(last - first))
        self._surface = np.flatnonzero(degree < 6)
        self._side = float(readout.model.robots[world].side_length)
        file.write(f"{{{{{{setting}}}}}}<rescale>{RESCALE}</rescale>\n")
        for number, (red, green, blue, alpha) in enumerate(colors, 1):
            rgba = f"<r>{red:.2f}</r><g>{green:.2f}</g><b>{blue:.2f}</b><a>{alpha:.2f}</a>"
            file.write(f"{{{{{{setting}}}}}}<matcolor><id>{number}</id>{rgba}</matcolor>\n")
        file.write(f"{{{{{{setting}}}}}}<voxel_size>{self._side:f}</voxel_size>\n")

    def write(self, state: Any, step: int, time: float) -> None:
        """Add a frame."""
        places = self._readout.positions(state)
        line = self._frame(state, places, step, time) if self._voxels else ""
        if self._links:
            line += f"|[[[{step}]]]" + "".join(
                ",".join(f"{value:.4f}" for value in (*places[two], *places[one])) + ",;" for one, two in self._own
            ) + "[[[]]]"  # fmt: skip
        self._file.write(line + "\n")

    def _frame(self, state: Any, places: np.ndarray, step: int, time: float) -> str:
        here = np.arange(self._part.start, self._part.stop)[self._surface]
        quaternions = state.rotations.numpy().astype(float)[here]
        angles = np.degrees(2.0 * np.arccos(np.clip(quaternions[:, 3], -1.0, 1.0)))
        halves = 0.5 * self._side * self._readout.sizes(state)[here] / RESCALE
        rows = np.column_stack([places[here] / RESCALE, angles, quaternions[:, :3], halves])
        parts = [f"<<<Step{step} Time:{time:f}>>>"]
        for (x, y, z, angle, a, b, c, half), number in zip(rows, self._numbers[self._surface], strict=True):
            corner = f"{-half:.1f},{-half:.1f},{-half:.1f},{half:.1f},{half:.1f},{half:.1f}"
            parts.append(f"{x:.1f},{y:.1f},{z:.1f},{angle:.1f},{a:.2f},{b:.2f},{c:.2f},{corner},{number},0.0,;")
        return "".join(parts) + "<<<>>>"


def read_history(path: str | os.PathLike[str]) -> History:
    """A history from a file; lines that are none of its own, which voxcraft-sim prints between, are passed over."""
    path = as_path(path)
    try:
        lines = read_text(path, most=MOST_BYTES, errors="replace").splitlines()
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    frames, colors, voxel_size, unit = [], {}, 0.0, RESCALE
    for number, line in enumerate(lines, 1):
        where = f"line {number} of {path}"
        if setting := _SETTING.search(line):
            if setting[1] == "matcolor" and (color := _COLOR.search(setting[2])):
                red, green, blue = (_number(word, where) for word in color.groups()[1:])
                colors[int(color[1])] = (red, green, blue)
            elif setting[1] in ("voxel_size", "rescale"):
                value = _number(setting[2], where)
                voxel_size, unit = (value, unit) if setting[1] == "voxel_size" else (voxel_size, value)
        elif found := _FRAME.search(line):
            frames.append(_frame_of(found, _LINKS.search(line), unit, where))
    if not frames:
        raise FileFormatError(
            f"{path} is no history of voxcraft-sim: it has no line such as <<<Step0 Time:0>>>…<<<>>>."
        )
    return History(frames, colors, voxel_size)


def _frame_of(found: re.Match[str], links: re.Match[str] | None, unit: float, where: str) -> Frame:
    rows = _rows(found[3], _COLUMNS, where)
    axes, angles = rows[:, 4:7], np.radians(rows[:, 3])
    # Vector parts have two digits only, the angle tells more: they give the direction.
    lengths = np.linalg.norm(axes, axis=1)
    unit_axes = np.divide(axes, lengths[:, None], out=np.zeros_like(axes), where=lengths[:, None] > 0.0)
    turns = Rotation.from_rotvec(unit_axes * angles[:, None]) if len(rows) else Rotation.from_rotvec(np.zeros((0, 3)))
    ends = _rows(links[1], 6, where) if links else np.zeros((0, 6))
    return Frame(
        int(found[1]), _number(found[2], where), rows[:, :3] * unit, turns, rows[:, 7:13].reshape(-1, 2, 3) * unit,
        np.clip(rows[:, 13], -1, 2**31 - 1).astype(int), rows[:, 14], ends.reshape(-1, 2, 3),
    )  # fmt: skip


def _rows(text: str, columns: int, where: str) -> np.ndarray:
    """Numbers of things that end in a semicolon."""
    rows = [part.rstrip(",").split(",") for part in text.split(";")[:-1]]
    if any(len(row) != columns for row in rows):
        raise FileFormatError(f"{where} has an entry that is not {columns} numbers.")
    try:
        values = np.array([[float(word) for word in row] for row in rows], float).reshape(-1, columns)
    except ValueError:
        raise FileFormatError(f"{where} has something between its commas that is not a number.") from None
    if not np.isfinite(values).all():
        raise FileFormatError(f"{where} has a number that is not finite.")
    return values


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise FileFormatError(f"{where} has {text[:40]!r} where a number should be.")
    return value

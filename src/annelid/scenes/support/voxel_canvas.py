"""What lies on the bench of the workshop for voxels: a .vxa file that is painted on, with all that it said before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from scipy import ndimage

from annelid import voxels3d
from annelid.core.errors import InvalidValue, PartlyUsed
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Color
from annelid.scenes.support.voxel_brush import Brush, Tool, amplitudes, painted, phases, resized
from annelid.scenes.support.voxel_picking import first_hit
from annelid.voxels3d.files.palette import GREY
from annelid.voxels3d.files.writing import xml_text
from annelid.voxels3d.pictures import COLORS
from annelid.voxels3d.world import Links

MOST_CELLS = 250_000
"""Of a lattice that is painted on."""

_MOST_UNDONE = 50


class VoxelCanvas:
    """A robot that is painted, cell by cell.

    Args:
        vxa: What a file says of it.
        links: Kind of links when it plays.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.

    Attributes:
        vxa: What a file would say now.
        brush: What is painted with.
    """

    tools: tuple[str, ...] = get_args(Tool)

    def __init__(
        self, vxa: voxels3d.Vxa, *, links: Links = "compatible", device: Any = "auto", threads: int | None = None
    ) -> None:
        require_room(vxa.structure.cells.shape)
        self.vxa, self.brush = vxa, Brush()
        self._machine = {"links": links, "device": device, "threads": threads}
        self._before: list[voxels3d.Vxa] = []
        self._after: list[voxels3d.Vxa] = []

    # --- what there is ---

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells of the lattice along x, y and z."""
        x, y, z = self.vxa.structure.cells.shape
        return x, y, z

    @property
    def side(self) -> float:
        """Side of a cell [m]."""
        return self.vxa.lattice.side_length

    @property
    def corner(self) -> np.ndarray:
        """Where the lattice begins [m], shape [3]: the centre of cell (0, 0, 0) is at the origin, as in all files."""
        return np.full(3, -0.5 * self.side)

    @property
    def palette(self) -> list[tuple[str, Color]]:
        """Name and colour of each material; names differ."""
        found = []
        for number, paint in enumerate(self.vxa.palette, 1):
            color = (paint.colors.red, paint.colors.green, paint.colors.blue)
            own = color if color != GREY else COLORS[(number - 1) % len(COLORS)]
            found.append((f"{number} {paint.colors.name or 'material'}", own))
        return found

    @property
    def frequency(self) -> float:
        """Waves a second [Hz]."""
        period = self.vxa.environment.period
        return 1.0 / period if period > 0.0 else 0.0

    def voxels(self) -> dict[str, np.ndarray]:
        """Cells of the voxels, shape [n, 3], and the material (from 1), phase and amplitude of each, shape [n]."""
        there = self.vxa.structure.cells > 0
        values = {"material": self.vxa.structure.cells, "phase": phases(self.vxa) % 1.0,
                  "amplitude": amplitudes(self.vxa)}  # fmt: skip
        return {"cells": np.argwhere(there), **{name: numbers[there] for name, numbers in values.items()}}

    def about(self) -> str:
        """How many voxels there are, of which size, in how many parts, in a few words."""
        there = self.vxa.structure.cells > 0
        count, parts = int(there.sum()), int(ndimage.label(there)[1])
        apart = f", in {parts} parts that share no face" if parts > 1 else ""
        lattice = " × ".join(map(str, self.shape))
        if count == 0:
            return f"The lattice of {lattice} cells is empty."
        return f"{count} voxel{'s' if count > 1 else ''} of {1e3 * self.side:.4g} mm on {lattice} cells{apart}."

    # --- tools ---

    def take_brush(self, *, material: int, phase: float, amplitude: float) -> None:
        """Paint with a material (number in the palette, from 1) and a wave from now on; see `Brush`."""
        self.brush = Brush(material, phase, amplitude)

    def apply(self, tool: Tool, where: np.ndarray) -> int:
        """Use a tool on cells, truth values of shape [x, y, z]; returns how many were changed."""
        changed, count = painted(self.vxa, tool, where, self.brush)
        if count:
            self._take(changed)
        return count

    def click(self, tool: Tool, origin: Any, direction: Any, layer: int) -> int:
        """Use a tool where a ray meets the body: on the voxel that it meets, or to add one on the face that it meets.

        Beside the body voxels are added in a layer of cells.

        Args:
            tool: What is done.
            origin: Where the ray begins [m].
            direction: Where it goes.
            layer: The layer beside the body, from 0.
        """
        start, ahead = (np.asarray(origin, float) - self.corner) / self.side, np.asarray(direction, float)
        cell = first_hit(self.vxa.structure.cells > 0, start, ahead, layer=layer, before=tool == "add")
        if cell is None:
            return 0
        where = np.zeros(self.shape, bool)
        where[cell] = True
        return self.apply(tool, where)

    def box(self, first: Sequence[float], last: Sequence[float]) -> np.ndarray:
        """Truth values of the cells from one to another, both included, in whichever order, shape [x, y, z]."""
        ends = np.rint([first, last]).astype(int)
        low, high = ends.min(axis=0), ends.max(axis=0)
        where = np.zeros(self.shape, bool)
        if (high >= 0).all():
            where[tuple(slice(max(a, 0), b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True))] = True
        return where

    def resize(self, shape: Sequence[float]) -> int:
        """Make the lattice larger or smaller; returns how many voxels have no room on it any more."""
        x, y, z = (round(float(n)) for n in shape)
        require_room((x, y, z))
        changed, lost = resized(self.vxa, (x, y, z))
        self._take(changed)
        return lost

    def clear(self) -> int:
        """Remove all voxels; returns how many."""
        return self.apply("erase", np.ones(self.shape, bool))

    def wave(self, frequency: float) -> None:
        """Let the robot have so many waves a second [Hz]."""
        if not 0.0 < frequency < np.inf:
            raise InvalidValue(f"the frequency of a robot must be above 0 Hz, not {frequency}.")
        if abs(frequency - self.frequency) > 1e-9 * frequency:
            self._take(replace(self.vxa, environment=replace(self.vxa.environment, period=1.0 / frequency)))

    def undo(self) -> bool:
        """Take the last change back; whether there was one."""
        return self._step(self._before, self._after)

    def redo(self) -> bool:
        """Make the change again that was taken back last; whether there was one."""
        return self._step(self._after, self._before)

    def load(self, path: Any) -> list[str]:
        """Paint on another file; returns what of it is not used, in sentences. It can be undone."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PartlyUsed)
            vxa = voxels3d.Vxa.read(path)
        require_room(vxa.structure.cells.shape)
        if not vxa.palette:
            raise InvalidValue(f"{vxa.name} has no materials to paint with: add one to its palette.")
        if vxa.structure.cells.max(initial=0) > len(vxa.palette):
            raise InvalidValue(
                f"{vxa.name} refers to material {vxa.structure.cells.max()}, but its palette has {len(vxa.palette)}."
            )
        self._take(vxa)
        self.brush = Brush()
        return [str(warning.message) for warning in told]

    def text(self) -> str:
        """The .vxa file."""
        return xml_text(self.vxa.to_vxa())

    # --- playing ---

    def simulation(self, *, largest: bool = False) -> tuple[Simulation[voxels3d.Solver], list[str]]:
        """The robot at its beginning, as `annelid run` would have it, and what of the file is not simulated.

        Args:
            largest: Take the largest of several parts, which are refused otherwise.
        """
        self._require_playable(largest)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PartlyUsed)
            setup = voxels3d.setup_of(self.vxa, parts="largest" if largest else "refuse")
        colors = [self.palette[number][1] for number in setup.paints]
        materials = tuple(replace(m, color=c) for m, c in zip(setup.robot.materials, colors, strict=True))
        robot = replace(setup.robot, materials=materials)
        simulation = voxels3d.simulation(robot, **setup.options(), **self._machine)
        simulation.attachments["canvas"] = self
        return simulation, [str(warning.message) for warning in told]

    def _require_playable(self, largest: bool) -> None:
        labels, parts = ndimage.label(self.vxa.structure.cells > 0)
        if parts == 0:
            raise InvalidValue("there is nothing to play: the lattice is empty; add a voxel first.")
        if parts > 1 and not largest:
            sizes = np.bincount(labels.ravel())[1:]
            x, y, z = np.argwhere(labels == 1 + int(np.argmin(sizes)))[0].tolist()
            raise InvalidValue(
                f"the body has {parts} parts that share no face, the smallest of {sizes.min()} at cell "
                f"({x}, {y}, {z}): join them, or play the largest part only."
            )

    def _take(self, vxa: voxels3d.Vxa) -> None:
        self._before = [*self._before, self.vxa][-_MOST_UNDONE:]
        self._after = []
        self.vxa = vxa

    def _step(self, source: list[voxels3d.Vxa], other: list[voxels3d.Vxa]) -> bool:
        if not source:
            return False
        other.append(self.vxa)
        self.vxa = source.pop()
        return True


def require_room(shape: tuple[int, ...]) -> None:
    """Refuse a lattice that is too large to be painted on."""
    if min(shape) < 1 or int(np.prod(shape)) > MOST_CELLS:
        told = " × ".join(map(str, shape))
        raise InvalidValue(f"a lattice that is painted on has 1 to {MOST_CELLS:,} cells, not {told}.")

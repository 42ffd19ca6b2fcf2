"""Painting voxels into what a .vxa file says: each tool gives a new structure, and the old one stays as it was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels3d.files.structure import Structure
from annelid.voxels3d.files.vxa import Vxa

Tool = Literal["add", "paint", "wave", "erase"]
"""Adds voxels with all that the brush has; gives voxels its material, or its wave; removes voxels."""

SWING = 14.0
"""Amplitude of the temperature of voxels [K] where a file has none."""

_OF_NEW_VOXELS = {"Frequency": 1.0}  # other numbers of a cell are 0: nothing of its own


@dataclass(frozen=True)
class Brush:
    """What is painted with.

    Attributes:
        material: Number in the palette, from 1.
        phase: Where the wave of a voxel begins [cycles].
        amplitude: Amplitude of its wave over that of the robot.
    """

    material: int = 1
    phase: float = 0.0
    amplitude: float = 1.0


def painted(vxa: Vxa, tool: Tool, where: np.ndarray, brush: Brush) -> tuple[Vxa, int]:
    """The file with some cells changed, and how many.

    Args:
        vxa: What is painted on.
        tool: What is done.
        where: Which cells, shape [x, y, z]; cells that are filled or empty already are left out as the tool needs it.
        brush: What it is done with.
    """
    if not 1 <= brush.material <= len(vxa.palette):
        raise InvalidValue(f"the palette has materials 1 to {len(vxa.palette)}, not {brush.material}.")
    there = vxa.structure.cells > 0
    where = where & (~there if tool == "add" else there)
    cells, layers = vxa.structure.cells.copy(), {name: n.copy() for name, n in vxa.structure.layers.items()}
    if tool in ("add", "erase"):
        cells[where] = brush.material if tool == "add" else 0
        for name, numbers in layers.items():
            numbers[where] = _OF_NEW_VOXELS.get(name, 0.0) if tool == "add" else 0.0
    if tool == "paint":
        cells[where] = brush.material
        if "Stiffness" in layers:
            layers["Stiffness"][where] = 0.0  # that of the material
    if tool in ("add", "wave"):
        waves = {"PhaseOffset": (phases(vxa), brush.phase), "Amplitude": (amplitudes(vxa), brush.amplitude)}
        for name, (before, value) in waves.items():
            after = np.where(where, value, before)
            if name in layers or (after != before)[cells > 0].any():
                layers[name] = np.where(cells > 0, after, 0.0)[..., None]
        vxa = _swinging(vxa)
    return replace(vxa, structure=Structure(cells, vxa.structure.compression, layers)), int(where.sum())


def resized(vxa: Vxa, shape: tuple[int, int, int]) -> tuple[Vxa, int]:
    """The file on a larger or smaller lattice, and how many voxels have no room on it."""
    kept = tuple(slice(0, min(old, new)) for old, new in zip(vxa.structure.cells.shape, shape, strict=True))
    cells = np.zeros(shape, np.uint8)
    cells[kept] = vxa.structure.cells[kept]
    layers = {}
    for name, numbers in vxa.structure.layers.items():
        layers[name] = np.zeros((*shape, numbers.shape[-1]))
        layers[name][kept] = numbers[kept]
    lost = int((vxa.structure.cells > 0).sum() - (cells > 0).sum())
    return replace(vxa, structure=Structure(cells, vxa.structure.compression, layers)), lost


def phases(vxa: Vxa) -> np.ndarray:
    """Where the waves of cells begin [cycles], shape [x, y, z]."""
    layers = vxa.structure.layers
    if "PhaseOffset" in layers:
        return np.asarray(layers["PhaseOffset"][..., 0])
    of_materials = np.array([0.0, *(paint.mechanics.phase for paint in vxa.palette)])
    return np.asarray(of_materials[vxa.structure.cells])


def amplitudes(vxa: Vxa) -> np.ndarray:
    """Amplitudes of the waves of cells over that of the robot, shape [x, y, z]."""
    layers = vxa.structure.layers
    return np.asarray(layers["Amplitude"][..., 0]) if "Amplitude" in layers else np.ones(vxa.structure.cells.shape)


def _swinging(vxa: Vxa) -> Vxa:
    """The file with waves switched on: what is painted with one should move."""
    its = vxa.environment
    if its.thermal and its.varying and its.swing != 0.0:
        return vxa
    swing = its.swing or SWING
    return replace(vxa, environment=replace(its, thermal=True, varying=True, amplitude=swing, summit=None))

"""Many bodies of one material in one go: their tables are made by NumPy for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.core.options import Precision
from annelid.shapes import Plane
from annelid.voxels3d.adjoint.motion import Bodies
from annelid.voxels3d.model import Model
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.voxel import Voxel
from annelid.voxels3d.world import World

MUSCLE = Voxel(
    youngs_modulus=6e4, density=1000.0, expansion=0.01, internal_damping=0.2, global_damping=0.05,
    kinetic_friction=0.9, static_friction=0.9,
)  # fmt: skip
"""What all voxels are made of: cells of 0.1 m that weigh 1 kg and ring at 12 Hz, so that steps of 4 ms are stable."""

SIDE = 0.1
"""Side of a cell [m]."""

STEP = 0.004
"""Time step [s]."""

CHANGE = 0.2
"""Largest change of the length of a voxel by a command."""


class Ground:
    """A floor, and the constants that all bodies share.

    Args:
        device: Warp device.
        precision: "float32" or "float64".
    """

    def __init__(self, device: wp.Device, precision: Precision = "float32") -> None:
        world = World(dt=STEP, precision=precision, obstacles=[Plane()])
        self.model = Model([Robot(np.zeros((2, 1, 1), int), (MUSCLE,), SIDE)], world, device)
        self.device, self.real = device, self.model.real

    def place(self, grids: np.ndarray) -> Placed:
        """Bodies that stand on the floor, each in a world of its own, with its middle above the origin.

        Args:
            grids: Cells that are filled, shape [bodies, x, y, z]; no body may be empty.
        """
        there = np.argwhere(grids)
        world, cells = there[:, 0], there[:, 1:].astype(float)
        count = len(there)
        first = np.searchsorted(world, np.arange(len(grids) + 1))
        low, sums = np.full(len(grids), np.inf), np.zeros((len(grids), 3))
        np.minimum.at(low, world, cells[:, 2])
        np.add.at(sums, world, cells)
        middle = (sums / np.diff(first)[:, None])[world]
        places = SIDE * (cells - middle)
        places[:, 2] = SIDE * (cells[:, 2] - low[world] + 0.5)
        after, before = _neighbours(grids, there)
        tables, types = self.model.types.Tables(), self.model.types
        for name in ("links", "voxels", "obstacles", "gravity", "dt", "balanced", "special"):
            setattr(tables, name, getattr(self.model.tables, name))
        arrays = {
            "row_of_link": (_closed(np.where(after >= 0, 0, -1)), wp.int32),
            "next": (_closed(after), wp.int32),
            "before": (_closed(np.where(before >= 0, before, count)), wp.int32),
            "row_of_voxel": (np.zeros(count), wp.int32), "world_of": (world, wp.int32), "begins": (first, wp.int32),
            "places": (places, wp.vec3d), "sides": (np.full(count, SIDE), wp.float64),
            "bases": (np.ones(count), types.real), "crests": (np.ones(count), types.real),
        }  # fmt: skip
        for name, (values, dtype) in arrays.items():
            setattr(tables, name, wp.array(values, dtype=dtype, device=self.device))
        return Placed(Bodies(tables, self.real, self.device, first), cells - middle)


@dataclass(frozen=True, eq=False)
class Placed:
    """Bodies on the floor.

    Attributes:
        bodies: As kernels see them.
        cells: Cells of voxels from the middle of their body, shape [voxels, 3].
    """

    bodies: Bodies
    cells: np.ndarray

    @property
    def spreads(self) -> np.ndarray:
        """One over the sum of squares of cells along each axis of a body, 0 where it is one cell wide, [worlds, 3]."""
        sums = np.add.reduceat(self.cells**2, self.bodies.first[:-1], axis=0)
        return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 1e-9)


def _neighbours(grids: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Voxels beyond and before each along the three axes, -1: none, two arrays of shape [voxels, 3]."""
    number = np.full((len(grids), *(np.array(grids.shape[1:]) + 2)), -1)
    inner = there + np.array([0, 1, 1, 1])
    number[tuple(inner.T)] = np.arange(len(there))
    steps = np.eye(4, dtype=int)[1:]
    after, before = (np.stack([number[tuple((inner + sign * step).T)] for step in steps], axis=1) for sign in (1, -1))
    return after, before


def _closed(numbers: np.ndarray) -> np.ndarray:
    """Numbers of links with one voxel more, which has none: see `voxels3d.model`."""
    return np.concatenate([numbers, np.full((1, 3), -1)]).ravel()

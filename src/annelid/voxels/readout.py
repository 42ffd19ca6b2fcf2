"""Quantities of a state on the host: places of masses and voxels, areas, centres, momenta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.voxels.kernels import totals as columns
from annelid.voxels.kernels.layout import M_MASS_SIDE, M_SIDE
from annelid.voxels.model import Model
from annelid.voxels.tables import CORNERS, Shape


@dataclass(frozen=True)
class Momentum:
    """Momentum [kg m/s], angular momentum about the origin [kg m²/s] and kinetic energy [J] of a world."""

    linear: np.ndarray
    angular: float
    kinetic: float


class Readout:
    """Reads states of one model.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        shapes = [model.shapes[s] for s in model.shape_of]
        first = model.first_body[:-1]
        self._body = np.concatenate([s.mass_body + f for s, f in zip(shapes, first, strict=True)])
        self._arm = np.concatenate([s.mass_arm for s in shapes])
        corners = [_voxel_corners(s) for s in model.shapes]
        areas = [s.materials[s.material_of, M_SIDE] ** 2 for s in model.shapes]
        self._outer = np.concatenate([corners[s] for s in model.shape_of])
        self._rest_area = np.concatenate([areas[s] for s in model.shape_of])
        self._constants = np.concatenate([s.body_constants for s in shapes])
        self.robot_of_voxel = model.robot_of_voxel
        self.largest_dimensions = np.array([max(robot.size) for robot in model.robots])
        """Width or height of each robot at rest, whichever is larger [m]."""
        self._robots = self._robot_rows()
        self._totals: wp.array | None = None

    def masses(self, state: Any) -> np.ndarray:
        """Centres of the masses [m], shape [voxels, 4, 2]; NW, NE, SE, SW."""
        return self._points(state, self._arm).reshape(-1, 4, 2)

    def corners(self, state: Any) -> np.ndarray:
        """Corners of the voxels [m], shape [voxels, 4, 2]; NW, NE, SE, SW."""
        return self._points(state, self._outer).reshape(-1, 4, 2)

    def area_ratios(self, state: Any) -> np.ndarray:
        """Areas of the voxels over their areas at rest, shape [voxels]."""
        x, y = np.moveaxis(self.corners(state), 2, 0)
        after = np.roll(np.arange(4), -1)
        return -0.5 * (x * y[:, after] - y * x[:, after]).sum(axis=1) / self._rest_area

    def centers(self, state: Any) -> np.ndarray:
        """Centres of the robots, the means of the centres of their voxels [m], shape [robots, 2]."""
        return self.totals(state)[:, [columns.CENTER_X, columns.CENTER_Y]]

    def mean_heights(self, state: Any) -> np.ndarray:
        """Mean height of the centre of each robot over all steps [m], shape [robots].

        Bodies count by the masses that they hold, so that a body's turning, which moves its masses about its centre, is
        left out; over a robot that is nothing to speak of.
        """
        return self.totals(state)[:, columns.HEIGHT] / max(int(state.clock.numpy()[0]), 1)

    def totals(self, state: Any) -> np.ndarray:
        """Sums over the voxels of each robot in the columns of `kernels.totals`, shape [robots, 5]."""
        return np.array(self.device_totals(state).numpy())

    def device_totals(self, state: Any) -> wp.array:
        """The same on the device; the array is used again by the next call."""
        model = self.model
        if self._totals is None:
            self._totals = wp.zeros((len(model.robots), columns.COLUMNS), dtype=wp.float64, device=model.device)
        arguments = [self._robots, model.tables, state.positions, state.heights, state.efforts, self._totals]
        wp.launch(columns.totals_kernel(model.real), len(model.robots), arguments, device=model.device)
        return self._totals

    def object_positions(self, state: Any) -> np.ndarray:
        """Centre [m] and angle [rad] of each object, shape [worlds, objects, 3]."""
        count = len(self.model.world.objects)
        rows = self.model.first_body[1:, None] - count + np.arange(count)
        p = state.positions.numpy()[rows].astype(float)
        return np.concatenate([p[..., :2], np.arctan2(p[..., 3], p[..., 2])[..., None]], axis=2)

    def momentum(self, state: Any, world: int = 0) -> Momentum:
        """Momenta of all free bodies of a world."""
        rows = slice(*self.model.first_body[world : world + 2])
        p, v = state.positions.numpy()[rows].astype(float), state.velocities.numpy()[rows].astype(float)
        inverse = self._constants[rows]
        mass = np.divide(1.0, inverse[:, 0], out=np.zeros(len(p)), where=inverse[:, 0] > 0)
        inertia = np.divide(1.0, inverse[:, 1], out=np.zeros(len(p)), where=inverse[:, 1] > 0)
        spin = (mass * (p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0]) + inertia * v[:, 2]).sum()
        kinetic = 0.5 * (mass * (v[:, :2] ** 2).sum(axis=1) + inertia * v[:, 2] ** 2).sum()
        return Momentum((mass[:, None] * v[:, :2]).sum(axis=0), float(spin), float(kinetic))

    def _robot_rows(self) -> wp.array:
        """World, first voxel in it and number of voxels of each robot."""
        model = self.model
        world = np.repeat(np.arange(len(model.worlds)), np.diff(model.first_robot))
        counts = np.bincount(self.robot_of_voxel, minlength=len(model.robots))
        first = np.cumsum(counts) - counts - model.first_voxel[world]
        rows = np.stack([world, first, counts], axis=1).astype(np.int32)
        return wp.array(rows, dtype=wp.vec3i, device=model.device)

    def _points(self, state: Any, arms: np.ndarray) -> np.ndarray:
        p = state.positions.numpy().astype(float)[self._body]
        x, y = arms.T
        return np.stack([p[:, 0] + p[:, 2] * x - p[:, 3] * y, p[:, 1] + p[:, 3] * x + p[:, 2] * y], axis=1)


def _voxel_corners(shape: Shape) -> np.ndarray:
    """Corner of the voxel at each mass, about the centre of its body [m]."""
    half = 0.5 * np.repeat(shape.materials[shape.material_of, M_MASS_SIDE], 4)
    return shape.mass_arm + np.tile(CORNERS, (shape.voxel_count, 1)) * half[:, None]

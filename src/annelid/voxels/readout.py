"""Reading a state on the host: voxels, masses, areas, centres, momenta and energies.

Kernels work in the plane of x and z with two coordinates; what is common to all physics has three, with y = 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.summary import Summary
from annelid.voxels.kernels import totals as columns
from annelid.voxels.kernels.elastic import elastic_kernel
from annelid.voxels.kernels.layout import M_MASS_SIDE, M_SIDE
from annelid.voxels.model import Model
from annelid.voxels.parameters import parameters_of
from annelid.voxels.tables import CORNERS, Shape


class Readout:
    """Reads states of one model.

    Args:
        model: The model.

    Attributes:
        corner_bodies: The body that each corner of a voxel hangs on, shape [4 voxels]; NW, NE, SE, SW.
        corner_arms: Where, in the frame of the body [m], shape [4 voxels, 2].
        mass_arms: Where the mass at the corner is in that frame [m], shape [4 voxels, 2].
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        shapes = [model.shapes[s] for s in model.shape_of]
        first = model.first_body[:-1]
        self.corner_bodies = np.concatenate([s.mass_body + f for s, f in zip(shapes, first, strict=True)])
        self.mass_arms = np.concatenate([s.mass_arm for s in shapes])
        corners = [_voxel_corners(s) for s in model.shapes]
        areas = [s.materials[s.material_of, M_SIDE] ** 2 for s in model.shapes]
        self.corner_arms = np.concatenate([corners[s] for s in model.shape_of])
        self._rest_area = np.concatenate([areas[s] for s in model.shape_of])
        self._constants = np.concatenate([s.body_constants for s in shapes])
        self._world_of_body = np.repeat(np.arange(len(model.worlds)), np.diff(model.first_body))
        self.robot_of_voxel = model.robot_of_voxel
        self.largest_dimensions = np.array([max(robot.size) for robot in model.robots])
        """Width or height of each robot at rest, whichever is larger [m]."""
        self._robots = self._robot_rows()
        self._totals: wp.array[Any] | None = None

    def positions(self, state: Any) -> np.ndarray:
        """Centres of the voxels [m], robot by robot, shape [voxels, 3]."""
        return _in_space(self.mass_positions(state).mean(axis=1))

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the centres of the voxels [m/s], shape [voxels, 3]."""
        return _in_space(self.mass_velocities(state).mean(axis=1))

    def mass_positions(self, state: Any) -> np.ndarray:
        """Centres of the masses [m], shape [voxels, 4, 2]; NW, NE, SE, SW."""
        return self._points(state, self.mass_arms).reshape(-1, 4, 2)

    def mass_velocities(self, state: Any) -> np.ndarray:
        """Velocities of the masses [m/s], shape [voxels, 4, 2]."""
        p, v = (rows.numpy().astype(float)[self.corner_bodies] for rows in (state.positions, state.velocities))
        x, y = self.mass_arms.T
        turned = np.stack([-(p[:, 3] * x + p[:, 2] * y), p[:, 2] * x - p[:, 3] * y], axis=1)
        return (v[:, :2] + v[:, 2:3] * turned).reshape(-1, 4, 2)

    def corners(self, state: Any) -> np.ndarray:
        """Corners of the voxels [m], shape [voxels, 4, 2]; NW, NE, SE, SW."""
        return self._points(state, self.corner_arms).reshape(-1, 4, 2)

    def area_ratios(self, state: Any) -> np.ndarray:
        """Areas of the voxels over their areas at rest, shape [voxels]."""
        x, y = np.moveaxis(self.corners(state), 2, 0)
        after = np.roll(np.arange(4), -1)
        return -0.5 * (x * y[:, after] - y * x[:, after]).sum(axis=1) / self._rest_area

    def centers(self, state: Any) -> np.ndarray:
        """Centres of the robots, the means of the centres of their voxels [m], shape [robots, 2]."""
        return self.totals(state)[:, [columns.CENTER_X, columns.CENTER_Y]]

    def totals(self, state: Any) -> np.ndarray:
        """Sums over the voxels of each robot in the columns of `kernels.totals`, shape [robots, 5]."""
        return np.array(self.device_totals(state).numpy())

    def device_totals(self, state: Any) -> wp.array[Any]:
        """The same on the device; the array is used again by the next call."""
        model = self.model
        if self._totals is None:
            self._totals = wp.zeros((len(model.robots), columns.COLUMNS), dtype=wp.float64, device=model.device)
        arguments = [self._robots, model.tables, state.positions, state.heights, state.efforts, self._totals]
        wp.launch(columns.totals_kernel(model.real), len(model.robots), arguments, device=model.device)
        return self._totals

    def box_positions(self, state: Any) -> np.ndarray:
        """Centre [m] and angle [rad] of each box, shape [worlds, boxes, 3]."""
        count = len(self.model.world.boxes)
        rows = self.model.first_body[1:, None] - count + np.arange(count)
        p = state.positions.numpy()[rows].astype(float)
        return np.concatenate([p[..., :2], np.arctan2(p[..., 3], p[..., 2])[..., None]], axis=2)

    def summary(self, state: Any, world: int | None = None) -> Summary:
        """Totals of the free bodies of a world, or of all of them.

        Args:
            state: The state.
            world: Number of the world; None for all.
        """
        rows = slice(None) if world is None else slice(*self.model.first_body[world : world + 2])
        p, v = state.positions.numpy()[rows].astype(float), state.velocities.numpy()[rows].astype(float)
        varied = self._varied(state)
        heavier = varied["mass"][self._world_of_body][rows]
        mass, inertia = (_reciprocals(self._constants[rows][:, column]) * heavier for column in (0, 1))
        pulls = self._pulls(varied)[self._world_of_body][rows]
        spin = (mass * (p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0]) + inertia * v[:, 2]).sum()
        rotational = 0.5 * float((inertia * v[:, 2] ** 2).sum())
        weights = mass @ p[:, :2]
        return Summary(
            mass=float(mass.sum()),
            center_of_mass=_in_space(weights / mass.sum()),
            momentum=_in_space((mass[:, None] * v[:, :2]).sum(axis=0)),
            angular_momentum=np.array([0.0, -spin, 0.0]),  # x to z turns against y
            kinetic=0.5 * float((mass * (v[:, :2] ** 2).sum(axis=1)).sum()) + rotational,
            rotational=rotational,
            elastic=self._elastic(state, world),
            gravitational=-float((mass[:, None] * p[:, :2] * pulls).sum()),
        )

    def _varied(self, state: Any) -> dict[str, np.ndarray]:
        """Parameters of worlds by name, shape [worlds]."""
        count, parameters = len(self.model.worlds), parameters_of(self.model)
        values = state.variation.values.numpy().reshape(-1, len(parameters)).T
        if not values.size:
            values = np.repeat([[parameter.rest] for parameter in parameters], count, axis=1)
        return dict(zip((parameter.name for parameter in parameters), values, strict=True))

    def grounds(self, state: Any) -> np.ndarray:
        """Factor on the heights of each world, and how far its ground is shifted [m], shape [worlds, 2]."""
        varied, count = self._varied(state), len(self.model.worlds)
        if "terrain" not in varied:
            return np.tile([1.0, 0.0], (count, 1))
        return np.column_stack([varied["terrain"], varied["terrain_x"]])

    def _pulls(self, varied: dict[str, np.ndarray]) -> np.ndarray:
        """Gravity of worlds [m/s²], shape [worlds, 2]; see `kernels.parameters.vary_world`."""
        down, slope = self.model.world.gravity[2] * varied["gravity"], varied["slope_x"]
        return np.stack([np.sin(slope) * down + varied["push_x"], np.cos(slope) * down + varied["push_z"]], axis=1)

    def _elastic(self, state: Any, world: int | None) -> float:
        """Energy of the springs of a world, or of all [J]."""
        rows = slice(None) if world is None else slice(*self.model.first_voxel[world : world + 2])
        stiffer = self._varied(state)["stiffness"][self._elastic_arrays[0].numpy()]
        return float((self.elastic_energies(state).numpy() * stiffer)[rows].sum())

    def elastic_energies(self, state: Any) -> wp.array[Any]:
        """Energy of the springs of each voxel [J], before the factor of its world, on the device; used again later."""
        model, (world_of, energies) = self.model, self._elastic_arrays
        inputs = [model.tables, world_of, state.positions, state.controls]
        wp.launch(elastic_kernel(model.real), model.voxel_count, inputs, [energies], device=model.device)
        return energies

    @cached_property
    def _elastic_arrays(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """World of each voxel, and room for its energy."""
        model = self.model
        world_of = np.repeat(np.arange(len(model.worlds)), np.diff(model.first_voxel)).astype(np.int32)
        energies = wp.zeros(model.voxel_count, dtype=wp.float64, device=model.device)
        return wp.array(world_of, dtype=wp.int32, device=model.device), energies

    def _robot_rows(self) -> wp.array[Any]:
        """World, first voxel in it and number of voxels of each robot."""
        model = self.model
        world = np.repeat(np.arange(len(model.worlds)), np.diff(model.first_robot))
        counts = np.bincount(self.robot_of_voxel, minlength=len(model.robots))
        first = np.cumsum(counts) - counts - model.first_voxel[world]
        rows = np.stack([world, first, counts], axis=1).astype(np.int32)
        return wp.array(rows, dtype=wp.vec3i, device=model.device)

    def _points(self, state: Any, arms: np.ndarray) -> np.ndarray:
        p = state.positions.numpy().astype(float)[self.corner_bodies]
        x, y = arms.T
        return np.stack([p[:, 0] + p[:, 2] * x - p[:, 3] * y, p[:, 1] + p[:, 3] * x + p[:, 2] * y], axis=1)


def _in_space(points: np.ndarray) -> np.ndarray:
    """Points (x, z) of the plane, shape [..., 2], as (x, 0, z)."""
    return np.insert(points, 1, 0.0, axis=-1)


def _reciprocals(values: np.ndarray) -> np.ndarray:
    """1/x, and 0 where x is 0: bodies that are held have no mass to move."""
    return np.divide(1.0, values, out=np.zeros(len(values)), where=values > 0)


def _voxel_corners(shape: Shape) -> np.ndarray:
    """Corner of the voxel at each mass, about the centre of its body [m]."""
    half = 0.5 * np.repeat(shape.materials[shape.material_of, M_MASS_SIDE], 4)
    return shape.mass_arm + np.tile(CORNERS, (shape.voxel_count, 1)) * half[:, None]

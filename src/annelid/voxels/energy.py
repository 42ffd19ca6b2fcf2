"""Energies of a voxel robot, or of all that moves in a world."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import AddEnergies, EnergyKind, EnergySensor
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Sensor
from annelid.core.state_view import Members
from annelid.voxels.kernels.energy import energy_kernel
from annelid.voxels.model import Model
from annelid.voxels.solver import Solver


def _energies(solver: Solver, robot: int | None) -> AddEnergies:
    """Sums over bodies and voxels; see `EnergySensor`."""
    model, kernel = solver.model, energy_kernel(solver.model.real)
    lists = [model.world.gravity[2], *_bodies(model, robot), *_voxels(model, robot)]

    def add(state: Any, sums: wp.array[Any]) -> None:
        elastic, values = solver.readout.elastic_energies(state), state.variation.values
        inputs = [*lists, elastic, values, state.positions, state.velocities]
        wp.launch(kernel, solver.worlds, inputs, [sums], device=solver.device)

    return add


def _bodies(model: Model, robot: int | None) -> list[wp.array[Any]]:
    """Where those of each world begin, the bodies, their masses and inertias."""
    shapes = [model.shapes[number] for number in model.shape_of]
    chosen = [_chosen(shape.robot_of_body, robot) for shape in shapes]
    numbers = [first + which for first, which in zip(model.first_body[:-1], chosen, strict=True)]
    inverse = np.concatenate([s.body_constants[which, :2] for s, which in zip(shapes, chosen, strict=True)])
    weights = np.divide(1.0, inverse, out=np.zeros(inverse.shape), where=inverse > 0.0)
    selected = Members(model.device, numbers).selected
    return [selected.begins, selected.rows, wp.array(weights, dtype=wp.vec2d, device=model.device)]


def _voxels(model: Model, robot: int | None) -> list[wp.array[Any]]:
    """Where those of each world begin, and the voxels."""
    chosen = [_chosen(model.shapes[number].robot_of_voxel, robot) for number in model.shape_of]
    numbers = [first + which for first, which in zip(model.first_voxel[:-1], chosen, strict=True)]
    selected = Members(model.device, numbers).selected
    return [selected.begins, selected.rows]


def _chosen(robots: np.ndarray, robot: int | None) -> np.ndarray:
    """What belongs to the robot."""
    found = np.arange(len(robots)) if robot is None else np.flatnonzero(robots == robot)
    if len(found) == 0:
        raise InvalidValue(f"a world has the robots 0 to {int(robots.max())}, not {robot}.")
    return found


def energy_of(robot: int | None = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of a robot, or of all robots and boxes of a world [J].

    Args:
        robot: Number of the robot in its world; None for all that moves there.
        kind: "kinetic", "rotational" (a part of it), "elastic", "gravitational" (0 at the origin) or "total".
    """
    if robot is not None and (isinstance(robot, bool) or not isinstance(robot, int | np.integer)):
        raise InvalidValue(f"a robot is named by its number in its world, or None for all, not by {robot!r:.60}.")
    return EnergySensor(kind, (Solver,), "robots", partial(_energies, robot=robot))

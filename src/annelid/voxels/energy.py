"""A sensor of the energy of a voxel robot, or of all that moves in a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import EnergyKind, energy_reading, require_energy
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.voxels.kernels.energy import energy_kernel
from annelid.voxels.model import Model
from annelid.voxels.solver import Solver


@dataclass(frozen=True, eq=False)
class EnergySensor(Sensor):
    """Reads an energy of a robot or of a whole world; made by `energy_of`."""

    kind: EnergyKind
    robot: int | None = None

    def __post_init__(self) -> None:
        require_energy(self.kind)

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of voxels."""
        own, _ = side_of(solver, Solver, "energy of robots")
        model, device, kernel = own.model, own.device, energy_kernel(own.model.real)
        lists = [model.world.gravity[2], *self._bodies(model), *self._voxels(model)]

        def add(state: Any, sums: wp.array[Any]) -> None:
            elastic, values = own.readout.elastic_energies(state), state.variation.values
            inputs = [*lists, elastic, values, state.positions, state.velocities]
            wp.launch(kernel, own.worlds, inputs, [sums], device=device)

        return energy_reading(self.kind, own, add)

    def _bodies(self, model: Model) -> list[wp.array[Any]]:
        """Where those of each world begin, the bodies, their masses and inertias."""
        shapes = [model.shapes[number] for number in model.shape_of]
        chosen = [self._chosen(shape.robot_of_body) for shape in shapes]
        numbers = [first + which for first, which in zip(model.first_body[:-1], chosen, strict=True)]
        inverse = np.concatenate([s.body_constants[which, :2] for s, which in zip(shapes, chosen, strict=True)])
        weights = np.divide(1.0, inverse, out=np.zeros(inverse.shape), where=inverse > 0.0)
        return [*_listed(numbers, model.device), wp.array(weights, dtype=wp.vec2d, device=model.device)]

    def _voxels(self, model: Model) -> list[wp.array[Any]]:
        """Where those of each world begin, and the voxels."""
        chosen = [self._chosen(model.shapes[number].robot_of_voxel) for number in model.shape_of]
        numbers = [first + which for first, which in zip(model.first_voxel[:-1], chosen, strict=True)]
        return _listed(numbers, model.device)

    def _chosen(self, robots: np.ndarray) -> np.ndarray:
        """What belongs to the robot."""
        found = np.arange(len(robots)) if self.robot is None else np.flatnonzero(robots == self.robot)
        if len(found) == 0:
            raise InvalidValue(f"a world has the robots 0 to {int(robots.max())}, not {self.robot}.")
        return found


def energy_of(robot: int | None = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of a robot, or of all robots and boxes of a world [J].

    Args:
        robot: Number of the robot in its world; None for all that moves there.
        kind: "kinetic", "rotational" (a part of it), "elastic", "gravitational" (0 at the origin) or "total".
    """
    if robot is not None and (isinstance(robot, bool) or not isinstance(robot, int | np.integer)):
        raise InvalidValue(f"a robot is named by its number in its world, or None for all, not by {robot!r:.60}.")
    return EnergySensor(kind, robot)


def _listed(numbers: list[np.ndarray], device: wp.Device) -> list[wp.array[Any]]:
    begins = np.concatenate([[0], np.cumsum([len(some) for some in numbers])])
    return [
        wp.array(values.astype(np.int32), dtype=wp.int32, device=device) for values in (begins, np.concatenate(numbers))
    ]

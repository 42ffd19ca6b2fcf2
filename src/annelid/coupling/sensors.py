"""Sensors of the surface of soft bodies among grains; those of either side are `springs.position_of` and its like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_sum
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Solver as AnySolver
from annelid.coupling.kernels.sensing import sum_contacts
from annelid.coupling.solids.solver import SolidSolver
from annelid.coupling.solver import Solver
from annelid.springs.body import Where


@dataclass(frozen=True, eq=False)
class SurfaceSensor(Sensor):
    """Reads what touches masses or nodes of a surface; made by `contact_force_of` and `touch_of`.

    Attributes:
        quantity: "force" or "touch".
        where: Which masses or nodes of the body; those inside it touch nothing.
    """

    quantity: str
    where: Where = None

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of coupled bodies."""
        if not isinstance(solver, (Solver, SolidSolver)):
            raise InvalidValue(
                f"{self.quantity} of a surface among grains cannot be read from a simulation of {solver.physics}."
            )
        places, surface = self._places(solver)
        device, worlds, count = solver.device, solver.worlds, len(places)
        members = wp.array(places.astype(np.int32), dtype=wp.int32, device=device)
        sums = wp.zeros((worlds, PARTS), dtype=Sums, device=device)
        start, size, scale = (0, 3, 1.0) if self.quantity == "force" else (3, 1, 1.0 / count)
        scales = wp.array([scale], dtype=wp.float64, device=device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            wp.launch(sum_contacts, sums.shape, [members, surface, state.contact_forces], [sums], device=device)
            wp.launch(finish_sum, worlds, [sums, scales, start, size, first], [out], device=device)

        force = self.quantity == "force"
        return Reading(read, (size,), "N" if force else "", ("x", "y", "z") if force else ())

    def _places(self, solver: Solver | SolidSolver) -> tuple[np.ndarray, int]:
        """Places of the chosen masses or nodes among those of the surface of a world, and how many these are."""
        own, chosen = self._of_solid(solver) if isinstance(solver, SolidSolver) else self._of_springs(solver)
        places = np.flatnonzero(np.isin(own, chosen))
        if len(places) == 0:
            raise InvalidValue(
                "none of the masses of this sensor is on the surface of the body, where grains touch it."
            )
        return places, len(own)

    def _of_solid(self, solver: SolidSolver) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of the surface, and those that were chosen."""
        return solver.model.nodes, solver.model.solid.solid.indices(self.where)

    def _of_springs(self, solver: Solver) -> tuple[np.ndarray, np.ndarray]:
        """Masses of the surface of a world, and those that were chosen."""
        model = solver.model
        if model.springs.worlds != model.worlds:
            raise InvalidValue("surfaces cannot be read where worlds were made one by one: give one and worlds=n.")
        own = model.guests.members[: len(model.guests.members) // model.worlds]
        return own, model.springs.one.indices(self.where)


def contact_force_of(where: Where = None) -> Sensor:
    """Force of grains and rigid bodies on the surface of a body during the last step, in all [N], x, y, z."""
    return SurfaceSensor("force", where)


def touch_of(where: Where = None) -> Sensor:
    """The share of the surface masses that grains or rigid bodies touched during the last step, from 0 to 1."""
    return SurfaceSensor("touch", where)

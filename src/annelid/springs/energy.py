"""A sensor of the energy of a spring body, or of some of its masses and the springs around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import EnergyKind, energy_reading, require_energy
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.springs.body import Where
from annelid.springs.followed import Followed
from annelid.springs.kernels.energy import energy_kernel
from annelid.springs.solver import Solver


@dataclass(frozen=True, eq=False)
class EnergySensor(Sensor):
    """Reads an energy of masses; made by `energy_of`."""

    kind: EnergyKind
    where: Where = None

    def __post_init__(self) -> None:
        require_energy(self.kind)

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of springs."""
        own, side = side_of(solver, Solver, "energy of masses")
        model, device = own.model, own.device
        chosen = model.one.indices(self.where)
        if len(chosen) == 0:
            raise InvalidValue("a sensor needs at least one mass.")

        def prepare(left: np.ndarray) -> tuple[wp.array[Any], wp.array[Any]]:
            members = wp.array(left.astype(np.int32), dtype=wp.int32, device=device)
            return members, wp.array(model.masses[left], dtype=wp.float64, device=device)

        followed = Followed(model, lambda network: network.masses, chosen, prepare)

        def add(state: Any, sums: wp.array[Any]) -> None:
            mine, (members, masses) = side(state), followed.now()
            inputs = [members, masses, model.arrays, own.readout.prepared(mine), mine.positions, mine.velocities]
            wp.launch(energy_kernel(model.features), sums.shape, inputs, [sums], device=device)

        return energy_reading(self.kind, own, add)


def energy_of(where: Where = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of masses [J], and of the springs around them, which count half where one end is not among the masses.

    Args:
        where: Which masses: all of them, a group, a mask, indices or those that a function chooses.
        kind: "kinetic", "elastic", "gravitational" (0 at the origin) or "total".
    """
    return EnergySensor(kind, where)

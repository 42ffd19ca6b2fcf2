"""A sensor of the energy of a solid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.energy import EnergyKind, energy_reading, require_energy
from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Solver as AnySolver
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.dynamics import masses
from annelid.fem.kernels.energy import solid_energies
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.solver import Solver


@dataclass(frozen=True, eq=False)
class SolidEnergy(Sensor):
    """Reads an energy of a solid; made by `energy_of`."""

    kind: EnergyKind

    def __post_init__(self) -> None:
        require_energy(self.kind)

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solid or a soft robot."""
        if not isinstance(solver, Solver | RobotSolver):
            raise InvalidValue(f"energy of a solid cannot be read from a simulation of {solver.physics}.")
        model, device = solver.model, solver.device
        nodes, shares = masses(model.solid)
        fixed = [
            wp.array(nodes, dtype=wp.int32, device=device),
            wp.array(shares, dtype=wp.float64, device=device),
            wp.array(model.solid.weights(), dtype=wp.float64, device=device),
            wp.vec3d(*model.gravity),
            len(solver.parameters),
        ]
        still, moves = wp.zeros(0, dtype=wp.vec3d, device=device), isinstance(solver, DynamicSolver)

        def add(state: Any, sums: wp.array[Any]) -> None:
            for world in range(solver.worlds):  # one after the other, as they are stepped
                own = slice(world * model.node_count, (world + 1) * model.node_count)
                positions, velocities = state.positions[own], state.velocities[own] if moves else still
                elastic = model.elastic_energies(positions)
                inputs = [world, *fixed, state.variation.values, elastic, positions, velocities]
                wp.launch(solid_energies, PARTS, inputs, [sums], device=device)

        return energy_reading(self.kind, solver, add)


def energy_of(*, kind: EnergyKind = "total") -> Sensor:
    """Energy of a solid or a soft robot [J], without the work of pressures and other loads.

    Args:
        kind: "kinetic", "elastic", "gravitational" (0 at the origin) or "total".
    """
    return SolidEnergy(kind)

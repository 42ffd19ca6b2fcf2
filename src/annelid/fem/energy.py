"""Energies of a solid or a soft robot."""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid.core.energy import AddEnergies, EnergyKind, EnergySensor
from annelid.core.kernels.sums import PARTS
from annelid.core.sensors import Sensor
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.dynamics import masses
from annelid.fem.kernels.energy import solid_energies
from annelid.fem.robots.solver import RobotSolver
from annelid.fem.solver import Solver


def _energies(solver: Solver | RobotSolver) -> AddEnergies:
    """Sums over elements and nodes; see `EnergySensor`."""
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

    return add


def energy_of(*, kind: EnergyKind = "total") -> Sensor:
    """Energy of a solid or a soft robot [J], without the work of pressures and other loads.

    Args:
        kind: "kinetic", "elastic", "gravitational" (0 at the origin) or "total".
    """
    return EnergySensor(kind, (Solver, RobotSolver), "a solid", _energies)


def strain_energy() -> Sensor:
    """Energy stored in the tetrahedra and reinforcements [J]."""
    return energy_of(kind="elastic")

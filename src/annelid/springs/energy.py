"""Energies of a spring body, or of some of its masses and the springs around them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import AddEnergies, EnergyKind, EnergySensor
from annelid.core.sensors import Sensor
from annelid.springs.body import Where
from annelid.springs.followed import Followed
from annelid.springs.kernels.energy import energy_kernel
from annelid.springs.sensors import chosen_masses
from annelid.springs.solver import Solver


def _energies(solver: Solver, where: Where) -> AddEnergies:
    """Sums over masses; see `EnergySensor`."""
    model, device = solver.model, solver.device

    def prepare(left: np.ndarray) -> tuple[wp.array[Any], wp.array[Any]]:
        members = wp.array(left.astype(np.int32), dtype=wp.int32, device=device)
        return members, wp.array(model.masses[left], dtype=wp.float64, device=device)

    followed = Followed(model, lambda network: network.masses, chosen_masses(model, where), prepare)

    def add(state: Any, sums: wp.array[Any]) -> None:
        members, masses = followed.now()
        inputs = [members, masses, model.arrays, solver.readout.prepared(state), state.positions, state.velocities]
        wp.launch(energy_kernel(model.features), sums.shape, inputs, [sums], device=device)

    return add


def energy_of(where: Where = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of masses [J], and of the springs around them, which count half where one end is not among the masses.

    Args:
        where: Which masses: all of them, a group, a mask, indices or those that a function chooses.
        kind: "kinetic", "elastic", "gravitational" (0 at the origin) or "total".
    """
    return EnergySensor(kind, (Solver,), "masses", partial(_energies, where=where))

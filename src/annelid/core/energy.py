"""Sensors of energy: what they offer in every physics, under the names of `Summary`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import warp as wp

from annelid.core.errors import UnknownName
from annelid.core.kernels.energy import finish_energy
from annelid.core.kernels.sums import PARTS, Sums
from annelid.core.sensors import Reading
from annelid.core.solver import Solver

EnergyKind = Literal["kinetic", "rotational", "elastic", "gravitational", "total"]
"""Energies, as `Summary` has them: the kinetic one includes the rotational one."""

_WEIGHTS: dict[str, tuple[float, float, float, float]] = {
    "kinetic": (1.0, 0.0, 0.0, 0.0),
    "rotational": (0.0, 1.0, 0.0, 0.0),
    "elastic": (0.0, 0.0, 1.0, 0.0),
    "gravitational": (0.0, 0.0, 0.0, 1.0),
    "total": (1.0, 0.0, 1.0, 1.0),
}


def require_energy(kind: str) -> None:
    """Refuse an energy that there is not."""
    if not isinstance(kind, str) or kind not in _WEIGHTS:
        raise UnknownName("energy", kind, _WEIGHTS)


def energy_reading(kind: EnergyKind, solver: Solver, add: Callable[[Any, wp.array[Any]], None]) -> Reading:
    """A sensor of energy [J].

    Args:
        kind: Which energy.
        solver: The solver whose state is read.
        add: Writes the sums of a state, shape [worlds, PARTS]; see `kernels.energy` for their places.
    """
    sums = wp.zeros((solver.worlds, PARTS), dtype=Sums, device=solver.device)
    weights = wp.vec4d(*_WEIGHTS[kind])

    def read(state: Any, out: wp.array[Any], first: int) -> None:
        add(state, sums)
        wp.launch(finish_energy, solver.worlds, [sums, weights, first], [out], device=solver.device)

    return Reading(read, (1,), "J")

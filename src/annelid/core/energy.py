"""The sensor of energy, of any physics, under the names of `Summary`; what has which energy each physics says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import warp as wp

from annelid.core.errors import UnknownName
from annelid.core.kernels.energy import finish_energy
from annelid.core.kernels.sums import PARTS, Sums
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver

EnergyKind = Literal["kinetic", "rotational", "elastic", "gravitational", "total"]
"""Energies, as `Summary` has them: the kinetic one includes the rotational one."""

AddEnergies = Callable[[Any, wp.array[Any]], None]
"""Writes the sums of energies of a state."""

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


@dataclass(frozen=True, eq=False)
class EnergySensor(Sensor):
    """Reads an energy [J] of a part of each world; made by `energy_of` of each physics.

    Attributes:
        kind: Which energy.
        solvers: Classes of the solvers that it reads.
        what: What has the energy, for the sentence that refuses another solver.
        energies: Gives, for a solver, what writes the sums of a state, shape [worlds, PARTS]; see `kernels.energy` for
            their places.
    """

    kind: EnergyKind
    solvers: tuple[type[Any], ...]
    what: str
    energies: Callable[[Any], AddEnergies]

    def __post_init__(self) -> None:
        require_energy(self.kind)

    def attach(self, solver: Solver) -> Reading:
        """The sensor of a solver, or of a side of it."""
        own, side = side_of(solver, self.solvers, f"energy of {self.what}")
        add, weights = self.energies(own), wp.vec4d(*_WEIGHTS[self.kind])
        sums = wp.zeros((own.worlds, PARTS), dtype=Sums, device=own.device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            add(side(state), sums)
            wp.launch(finish_energy, own.worlds, [sums, weights, first], [out], device=own.device)

        return Reading(read, (1,), "J")

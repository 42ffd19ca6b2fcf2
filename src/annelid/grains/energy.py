"""A sensor of the energy of a free body, or of all grains and free bodies of a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import EnergyKind, energy_reading, require_energy
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.grains.kernels.energy import body_energies, grain_energies
from annelid.grains.model import Model, is_free
from annelid.grains.sensors import numbers_in_worlds
from annelid.grains.solver import Solver
from annelid.shapes import Obstacle


@dataclass(frozen=True, eq=False)
class EnergySensor(Sensor):
    """Reads an energy of a body or of a whole world; made by `energy_of`."""

    kind: EnergyKind
    body: Obstacle | int | str | None = None

    def __post_init__(self) -> None:
        require_energy(self.kind)

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solver of grains."""
        own, side = side_of(solver, Solver, "energy of grains and bodies")
        model, device = own.model, own.device
        gravity = wp.vec3d(*model.world.gravity)
        lists = _uploaded(model, self._numbers(own))
        counts = np.bincount(model.worlds, minlength=model.world_count)
        rows = wp.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), dtype=wp.int32, device=device)
        guest = int(model.parameters.first_guest)

        def add(state: Any, sums: wp.array[Any]) -> None:
            mine = side(state)
            pull = [gravity, mine.variation.values]
            if self.body is None:
                inputs = [rows, guest, *pull, mine.names, mine.positions, mine.velocities, mine.spins]
                wp.launch(grain_energies, sums.shape, inputs, [sums], device=device)
            else:
                sums.zero_()
            motion = [mine.places, mine.turns, mine.body_velocities, mine.body_spins]
            wp.launch(body_energies, own.worlds, [*lists, *pull, *motion, sums], device=device)

        return energy_reading(self.kind, own, add)

    def _numbers(self, solver: Solver) -> np.ndarray:
        """Free bodies whose energy is read."""
        model = solver.model
        if self.body is None:
            return np.array([n for n, body in enumerate(model.bodies) if is_free(body)], int)
        numbers = numbers_in_worlds(solver, self.body)
        if not is_free(model.bodies[numbers[0]]):
            raise InvalidValue(
                f"{model.bodies[numbers[0]].rigid.called(int(numbers[0]))}, is moved whatever it weighs and has no "
                "energy to read: make it free, or read its velocity."
            )
        return numbers


def energy_of(body: Obstacle | int | str | None = None, *, kind: EnergyKind = "total") -> Sensor:
    """Energy of a free body, or of all grains and free bodies of a world [J].

    Args:
        body: The body: an obstacle as it was given, its name, or its number among the bodies of a world; None for all.
        kind: "kinetic", "rotational" (a part of it), "gravitational" (0 at the origin) or "total".
    """
    return EnergySensor(kind, body)


def _uploaded(model: Model, numbers: np.ndarray) -> list[wp.array[Any]]:
    """Where the bodies of each world begin, the bodies, their masses and inertias."""
    worlds = np.array([model.bodies[n].world for n in numbers], int)
    order = np.argsort(worlds, kind="stable")
    weights = [body.weight for n in numbers[order] if is_free(body := model.bodies[n])]
    begins = np.searchsorted(worlds[order], np.arange(model.world_count + 1))
    inertias = np.array([inertia for _, inertia in weights]).reshape(-1, 3, 3)
    device = model.device
    return [
        wp.array(begins.astype(np.int32), dtype=wp.int32, device=device),
        wp.array(numbers[order].astype(np.int32), dtype=wp.int32, device=device),
        wp.array(np.array([mass for mass, _ in weights], float), dtype=wp.float64, device=device),
        wp.array(inertias, dtype=wp.mat33d, device=device),
    ]

"""Energies of a free body, or of all grains and free bodies of a world."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.energy import AddEnergies, EnergyKind, EnergySensor
from annelid.core.errors import InvalidValue
from annelid.core.sensors import Sensor
from annelid.grains.kernels.energy import body_energies, grain_energies
from annelid.grains.model import Model, is_free
from annelid.grains.sensors import numbers_in_worlds
from annelid.grains.solver import Solver
from annelid.shapes import Obstacle


def _energies(solver: Solver, body: Obstacle | int | str | None) -> AddEnergies:
    """Sums over grains and bodies; see `EnergySensor`."""
    model, device = solver.model, solver.device
    gravity = wp.vec3d(*model.world.gravity)
    lists = _uploaded(model, _numbers(solver, body))
    guest = int(model.parameters.first_guest)

    def add(state: Any, sums: wp.array[Any]) -> None:
        pull = [gravity, state.variation.values]
        if body is None:
            inputs = [model.first_of_world, guest, *pull, state.names, state.positions, state.velocities, state.spins]
            wp.launch(grain_energies, sums.shape, inputs, [sums], device=device)
        else:
            sums.zero_()
        motion = [state.places, state.turns, state.body_velocities, state.body_spins]
        wp.launch(body_energies, solver.worlds, [*lists, *pull, *motion, sums], device=device)

    return add


def _numbers(solver: Solver, body: Obstacle | int | str | None) -> np.ndarray:
    """Free bodies whose energy is read."""
    model = solver.model
    if body is None:
        return np.array([n for n, each in enumerate(model.bodies) if is_free(each)], int)
    numbers = numbers_in_worlds(solver, body)
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
    return EnergySensor(kind, (Solver,), "grains and bodies", partial(_energies, body=body))


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

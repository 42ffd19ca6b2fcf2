"""Parameters in which worlds of spring bodies among grains may differ, and how each side is given its own.

What pulls acts on both sides. Parameters of the spring bodies have the names that they have alone; those of grains
begin with `grain_`, and `skin_friction` is that of the surface where both meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.variation import FOLLOWING, Parameter, Variation, begin_varying, declared_parameters, factor
from annelid.coupling.kernels.parameters import hand_on_values, scale_guests
from annelid.grains import Solver as GrainsSolver
from annelid.grains import State as GrainsState
from annelid.grains.parameters import require_physical
from annelid.springs import Solver as SpringsSolver

GRAIN = "grain_"
"""What names of parameters of grains begin with."""

PARAMETERS: tuple[Parameter, ...] = declared_parameters(
    factor("stiffness", "the stiffness of springs", 0.0),
    factor("damping", "the damping of springs", 0.0),
    factor("mass", "masses of spring bodies"),
    factor("skin_friction", "the friction of the surface of spring bodies", 0.0),
    factor(f"{GRAIN}friction", "the friction of grains", 0.0),
    factor(f"{GRAIN}restitution", "the restitution of grains", 0.0),
    factor(f"{GRAIN}cohesion", "the cohesion of grains", 0.0),
    factor(f"{GRAIN}density", "the density of grains"),
)

_NAMES = [parameter.name for parameter in PARAMETERS]
_READY = {one.name for one in FOLLOWING}  # commands come ready, and sensors read the whole
_ELSEWHERE = {"friction", *_READY}  # of a side: springs touch nothing by themselves


class SideParameters:
    """Gives one side its parameters.

    Args:
        side: Solver of the side.
    """

    def __init__(self, side: SpringsSolver | GrainsSolver) -> None:
        self._side, self._device = side, side.device
        self.names = _names_of(side)
        own = [parameter.name for parameter in side.parameters]
        self._columns = [
            wp.array(np.array(places, np.int32), dtype=wp.int32, device=self._device)
            for places in ([_NAMES.index(name) for name in self.names.values()], [own.index(n) for n in self.names])
        ]

    def fill(self, whole: Variation, own: Variation) -> wp.array[Any]:
        """Give the side what the whole has; returns what it had before, everything at rest if nothing."""
        side, worlds = self._side, self._side.worlds
        if not own.there:
            begin_varying(own, side.parameters, worlds, self._device)
        before = wp.clone(own.values)
        inputs = [*self._columns, len(PARAMETERS), len(side.parameters), whole.values]
        wp.launch(hand_on_values, (worlds, len(self.names)), inputs, [own.values], device=self._device)
        return before

    def ranges(self, whole: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        """Least and largest values of all parameters of the side."""
        rests = {parameter.name: (parameter.rest, parameter.rest) for parameter in self._side.parameters}
        return {**rests, **{own: whole[name] for own, name in self.names.items()}}


def _names_of(side: SpringsSolver | GrainsSolver) -> dict[str, str]:
    """From the names of parameters of a side to those of the whole."""
    own = [parameter.name for parameter in side.parameters]
    if isinstance(side, SpringsSolver):
        return {name: name for name in own if name not in _ELSEWHERE}
    return {name: name if name in _NAMES else f"{GRAIN}{name}" for name in own if name not in _READY}


def require_both(
    springs: SpringsSolver, bed: GrainsSolver, sides: Mapping[str, SideParameters],
    ranges: Mapping[str, tuple[float, float]],
) -> None:  # fmt: skip
    """Refuse ranges that one of the sides cannot have.

    Args:
        springs: The solver of the spring bodies.
        bed: The solver of the grains.
        sides: What gives each side its parameters.
        ranges: Least and largest value of each parameter of the whole.
    """
    if springs.worlds != bed.worlds:
        raise InvalidValue("worlds that were made one by one (world_of) cannot differ in parameters: give worlds=n.")
    springs.require_parameters(sides["springs"].ranges(ranges))
    require_physical(bed.model, sides["grains"].ranges(ranges), of_grains=GRAIN)


def scale_guest_masses(
    bed: GrainsSolver, state: GrainsState, whole: Variation, before: wp.array[Any], mask: wp.array[Any]
) -> None:
    """Let the masses that contacts reckon with at guests of some worlds follow those of their bodies."""
    inputs = [mask, bed.model.parameters.first_guest, _NAMES.index("mass"), len(PARAMETERS), before, whole.values]
    outputs = [state.names, state.spins, state.turning]
    wp.launch(scale_guests, bed.model.count, [*inputs, *outputs], device=bed.device)

"""Parameters in which worlds of solids may differ, and what they make of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.variation import Parameter, Variation, declared_parameters, factor
from annelid.fem.kernels.parameters import DERIVED, derive_worlds

_FACTORS = (factor("stiffness", "Young's moduli"), factor("mass", "the density of the solid"))

AT_REST: tuple[Parameter, ...] = declared_parameters(*_FACTORS)
"""Parameters of solids that go from equilibrium to equilibrium; contacts keep their friction."""

_MOVING = (*_FACTORS, factor("damping", "velocity_damping", 0.0))
_TOUCHING = (*_MOVING, factor("friction", "the friction of contacts", 0.0))
_BODIES = (*_TOUCHING, factor("body_mass", "masses of free bodies"))
_SIZES = factor("body_size", "sizes of free bodies, about their centres of mass", 0.1, 10.0)

IN_MOTION: tuple[Parameter, ...] = declared_parameters(*_MOVING)
"""Parameters of solids in motion."""

TOUCHING: tuple[Parameter, ...] = declared_parameters(*_TOUCHING)
"""The same among obstacles."""

AMONG_BODIES: tuple[Parameter, ...] = declared_parameters(*_BODIES)
"""The same where some of the obstacles are free bodies."""

AMONG_SIZED_BODIES: tuple[Parameter, ...] = declared_parameters(*_BODIES, _SIZES)
"""The same of worlds that are stepped together, which may have bodies of other sizes."""


@dataclass(frozen=True)
class Varied:
    """What the parameters of a world make of it.

    Attributes:
        pull: What pulls at all masses [m/s²]: gravity of the world and its push.
        stiffness: Factor on Young's moduli.
        mass: Factor on densities.
        damping: Factor on the damping of velocities.
        friction: Factor on the friction of contacts.
        body_mass: Factor on masses of free bodies.
    """

    pull: tuple[float, float, float]
    stiffness: float = 1.0
    mass: float = 1.0
    damping: float = 1.0
    friction: float = 1.0
    body_mass: float = 1.0


def alike(gravity: np.ndarray) -> Varied:
    """What a world without parameters of its own is, under the gravity of its model [m/s²], shape [3]."""
    return Varied(_triple(gravity))


def varied_worlds(variation: Variation, worlds: int, gravity: np.ndarray) -> list[Varied]:
    """What each world is made, on the host.

    Args:
        variation: Parameters of the worlds; they are alike where there are none.
        worlds: Number of worlds.
        gravity: Gravity of the model [m/s²], shape [3].
    """
    if not variation.there:
        return [alike(gravity)] * worlds
    device = variation.values.device
    derived = wp.empty((worlds, DERIVED), dtype=wp.float64, device=device)
    inputs: list[Any] = [wp.vec3d(*_triple(gravity)), len(variation.values) // worlds, variation.values]
    wp.launch(derive_worlds, worlds, inputs, [derived], device=device)
    return [Varied(_triple(row[:3]), *row[3:].tolist()) for row in derived.numpy()]


def require_effect(
    ranges: Mapping[str, tuple[float, float]], *, velocity_damping: float, weightless: tuple[str, ...]
) -> None:
    """Refuse values that would change nothing where something is expected to.

    Args:
        ranges: Least and largest value of each parameter.
        velocity_damping: Rate at which velocities decay in the model [1/s].
        weightless: Names of liquids that weigh nothing because there is no gravity.
    """
    if velocity_damping == 0.0 and ranges.get("damping", (1.0, 1.0)) != (1.0, 1.0):
        raise InvalidValue(
            f"parameter 'damping' cannot be {max(ranges['damping'], key=lambda x: abs(x - 1.0)):g} where there is no "
            "damping to multiply: build the simulation with velocity_damping=...."
        )
    for name in ("push_x", "push_y", "push_z"):
        if weightless and ranges[name] != (0.0, 0.0):
            raise InvalidValue(
                f"parameter {name!r} cannot be {max(ranges[name], key=abs):g} where a liquid is without gravity, "
                f"{weightless[0]}, and would feel no push: give the simulation a small gravity."
            )


def _triple(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z

"""Parameters in which worlds of spring bodies may differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.parameters import scale_rows
from annelid.core.variation import TERRAIN, Parameter, Variation, declared_parameters, factor
from annelid.shapes.kernels.gaps import HEIGHTS
from annelid.springs.kernels.parameters import MASS, derive_kernel
from annelid.springs.model import Model
from annelid.springs.stability import Scales

_OWN = (
    factor("stiffness", "the stiffness of springs", 0.0),
    factor("damping", "the damping of springs", 0.0),
    factor("friction", "the friction of obstacles", 0.0),
    factor("mass", "masses"),
)
_LEVEL, _UNEVEN = declared_parameters(*_OWN), declared_parameters(*_OWN, *TERRAIN)


def parameters_of(model: Model) -> tuple[Parameter, ...]:
    """What can differ from world to world; ground that has heights has a shape of its own."""
    return _UNEVEN if HEIGHTS in model.features.touching else _LEVEL


def heed(model: Model, variation: Variation) -> None:
    """Choose kernels that heed parameters where there are some."""
    if model.features.varied != variation.there:
        model.features = replace(model.features, varied=variation.there)


def derive(model: Model, work: Any, variation: Variation) -> None:
    """Choose kernels that heed parameters where there are some, and make what they need in a workspace."""
    heed(model, variation)
    if not variation.there:
        return
    work.parameters = variation.values
    if work.pulls is None or len(work.pulls) != model.worlds:
        work.pulls = wp.zeros(model.worlds, dtype=model.types.vec3, device=model.device)
        work.scales = wp.zeros(model.worlds, dtype=model.types.vec4, device=model.device)
    shaped = model.features.shaped
    if shaped and (work.grounds is None or len(work.grounds) != model.worlds):
        work.grounds = wp.zeros(model.worlds, dtype=model.types.vec3, device=model.device)
    wp.launch(derive_kernel(model.types, shaped), model.worlds, [model.arrays, work], device=model.device)


def scale_masses(
    model: Model, positions: wp.array[Any], variation: Variation, before: wp.array[Any], mask: wp.array[Any]
) -> None:
    """Change the inverse masses of some worlds by how much their factors on masses have changed."""
    rows = model.one.mass_count if model.worlds > 1 else model.mass_count
    inputs = [mask, rows, MASS, len(parameters_of(model)), before, variation.values]
    wp.launch(scale_rows, len(positions), inputs, [positions], device=model.device)


def require_stable(model: Model, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Refuse ranges in which the time step would be too long for some world, where it is not for the model itself."""
    worst = Scales(ranges["stiffness"][1], ranges["damping"][1], ranges["mass"][0])
    stable = model.stable_step(worst)
    if stable < model.dt <= model.stable_step():
        raise InvalidValue(
            f"with stiffness up to {worst.stiffness:g}, damping up to {worst.damping:g} and mass down to "
            f"{worst.mass:g} times those of the model, the longest stable step is {stable:.3g} s, and dt is "
            f"{model.dt:.3g} s: use a smaller dt or narrower ranges."
        )

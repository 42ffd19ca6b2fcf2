"""Parameters in which worlds of voxel robots may differ."""

from __future__ import annotations

from collections.abc import Mapping

from annelid.core.errors import InvalidValue
from annelid.core.variation import FOLLOWING, TERRAIN, Parameter, declared_parameters, factor
from annelid.voxels.kernels.parameters import COLUMNS
from annelid.voxels.model import Model

_ALL = {
    parameter.name: parameter
    for parameter in declared_parameters(
        factor("stiffness", "the stiffness of voxels"),
        factor("damping", "the damping of voxels", 0.0),
        factor("friction", "the friction with the ground", 0.0),
        factor("mass", "masses"),
    )
}

_LEVEL = tuple(_ALL[name] for name in (*COLUMNS, *(one.name for one in FOLLOWING)))
_UNEVEN = (*_LEVEL[: len(COLUMNS)], *TERRAIN[:2], *FOLLOWING)


def parameters_of(model: Model) -> tuple[Parameter, ...]:
    """What can differ; nothing moves along y."""
    return _UNEVEN if model.features.uneven else _LEVEL


def require_substeps(model: Model, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Refuse ranges in which some world would need more substeps than a step has."""
    stiffest, lightest = ranges["stiffness"][1], ranges["mass"][0]
    slower = ranges["damping"][1] / ranges["stiffness"][0]
    dt, given = model.world.step, model.world.substeps
    for shape in model.shapes:
        wanted = shape.substeps(dt, quicker=(stiffest / lightest) ** 0.5, slower=slower)
        if wanted > (given or shape.substeps(dt)):
            raise InvalidValue(
                f"with stiffness up to {stiffest:g}, damping up to {ranges['damping'][1]:g} and mass down to "
                f"{lightest:g} times those of the model, a step needs {wanted} substeps, and it has "
                f"{given or shape.substeps(dt)}: build it with substeps={wanted}, or use narrower ranges."
            )

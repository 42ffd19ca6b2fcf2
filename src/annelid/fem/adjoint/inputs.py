"""What a motion of a solid can be differentiated by, and the solid and the world that values of it make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annelid.core.adjoint import Input
from annelid.core.controls import Control
from annelid.core.errors import InvalidValue
from annelid.fem.adjoint.law_slopes import changed_law, law_constants
from annelid.fem.dynamics import Inertia
from annelid.fem.model import Model
from annelid.fem.solid import Solid
from annelid.fem.world import World
from annelid.materials import Material

ELASTIC = ("youngs_modulus", "poisson_ratio")
BUILT = (*ELASTIC, "density", "prony", "nodes", "offsets", "forces", "gravity", "velocity_damping")
"""What a model is built of, constants of laws aside."""
_AXES = ("term", "constant")


@dataclass(frozen=True, eq=False)
class Numbers:
    """Values of a simulation that a motion begins with: those of its worlds.

    Attributes:
        positions: Positions of the nodes [m], shape [worlds, n, 3].
        velocities: Velocities of the nodes [m/s], shape [worlds, n, 3].
        controls: Channels that take commands.
        missing: What there is no gradient by, and why, in words.
    """

    positions: np.ndarray
    velocities: np.ndarray
    controls: Sequence[Control]
    missing: Mapping[str, str]


def inputs_of(model: Model, numbers: Numbers) -> dict[str, Input]:
    """The parameters that gradients can be taken by."""
    worlds = len(numbers.positions)

    def every(values: Any) -> np.ndarray:
        array = np.asarray(values, float)
        return np.broadcast_to(array, (worlds, *array.shape))

    solid, node = model.solid, ("world", "node", "axis")
    of_material = [
        ("youngs_modulus", "Pa", "Young's moduli"),
        ("poisson_ratio", "", "Poisson's ratios"),
        ("density", "kg/m³", "densities"),
    ]
    found = [
        Input(
            name, ("world", "material"), every([vars(material)[name] for material in solid.materials]), unit=unit,
            does=does, positive=name != "poisson_ratio", low=-0.999 if name == "poisson_ratio" else 0.0,
            high=0.4999 if name == "poisson_ratio" else np.inf,
        )
        for name, unit, does in of_material
    ]  # fmt: skip
    for name, values in common_constants(solid.materials).items():
        axes = ("world", "material", *_AXES[: values.ndim - 1])
        found.append(Input(name, axes, every(values), does=f"{name} of the laws of materials"))
    terms = {len(material.prony) for material in solid.materials}
    if terms != {0} and len(terms) == 1:
        series = every([material.prony for material in solid.materials])
        found.append(
            Input("prony", ("world", "material", "term", "number"), series, positive=True,
                  does="share of the stress that relaxes and the time it takes [s], of each term")
        )  # fmt: skip
    channels = [control.rest for control in numbers.controls]
    uncommanded = "" if channels else "no actuator takes commands; give the simulation actuators=[...]"
    found += [
        Input("positions", node, numbers.positions, unit="m", does="positions at the beginning"),
        Input("velocities", node, numbers.velocities, unit="m/s", does="velocities at the beginning"),
        Input("nodes", node, every(solid.nodes), unit="m", does="positions at rest"),
        Input("offsets", node, every(model.offsets.numpy()), unit="m", does="displacements of held components",
              idle="" if solid.held.any() else "no component of a node is held"),
        Input("forces", node, every(model.dead_loads), unit="N", does="constant forces on nodes"),
        Input("gravity", ("world", "axis"), every(model.gravity), unit="m/s²", does="acceleration of gravity"),
        Input("velocity_damping", ("world",), every(model.world.velocity_damping), unit="1/s", low=0.0,
              does="decay of velocities", idle="" if moves(model) else "a solid without inertia does not move"),
        Input("controls", ("world", "interval", "control"),
              np.broadcast_to(np.array(channels, float), (worlds, 1, len(channels))), free=1,
              does="commands, each interval as long as the others", idle=uncommanded),
    ]  # fmt: skip
    return {one.name: replace(one, missing=numbers.missing.get(one.name, "")) for one in found}


def moves(model: Model) -> bool:
    """Whether a solid has inertia."""
    return any(isinstance(each, Inertia) for each in model.extras)


def common_constants(materials: Sequence[Material]) -> dict[str, np.ndarray]:
    """Constants of laws that all materials have, shape [m, ...] each."""
    every = [law_constants(material.law) if material.law is not None else {} for material in materials]
    first = every[0]
    shared = [name for name in first if all(each.get(name, np.zeros(0)).shape == first[name].shape for each in every)]
    alike = len({type(material.law) for material in materials}) == 1
    return {name: np.array([each[name] for each in every]) for name in shared} if alike else {}


def built_of(values: Mapping[str, np.ndarray], world: int) -> dict[str, np.ndarray]:
    """Values of one world that a model has to be built of."""
    return {name: each[world] for name, each in values.items() if name not in ("positions", "velocities", "controls")}


def changed(model: Model, values: Mapping[str, np.ndarray]) -> tuple[Solid, World]:
    """The solid and the world of a model, as they are now, with values of one world in their place."""
    old, shape = model.solid, model.solid.nodes.shape
    solid = old.copy()
    for cached in ("element_volumes", "element_shares", "boundary"):  # of the nodes that it had
        vars(solid).pop(cached, None)
    solid.volume = "plain" if old.shared_volumes() is None else "mean"
    solid.materials = _materials(old.materials, values)
    solid.nodes = np.broadcast_to(values.get("nodes", old.nodes), shape).copy()
    solid.offsets = np.broadcast_to(values.get("offsets", model.offsets.numpy()), shape).copy()
    solid.forces = np.broadcast_to(values.get("forces", model.dead_loads), shape).copy()
    gravity = np.asarray(values.get("gravity", model.gravity), float).tolist()
    damping = float(values.get("velocity_damping", model.world.velocity_damping))
    return solid, replace(model.world, gravity=tuple(gravity), velocity_damping=damping)


def require_consistent(values: Mapping[str, np.ndarray]) -> None:
    """Refuse two parameters that say the same of a material."""
    laws = [name for name in values if by_law(name)]
    if laws and "youngs_modulus" in values:
        raise InvalidValue(
            f"parameter 'youngs_modulus' follows from {laws[0]!r}, a constant of the law: give one of the two."
        )


def by_law(name: str) -> bool:
    """Whether a parameter is a constant of a law."""
    return name not in (*BUILT, "positions", "velocities", "controls")


def _materials(old: Sequence[Material], values: Mapping[str, np.ndarray]) -> tuple[Material, ...]:
    named = {name: each for name, each in values.items() if name in (*ELASTIC, "density", "prony") or by_law(name)}
    rows = [{name: each[number] for name, each in named.items()} for number in range(len(old))]
    return tuple(_material(material, row) for material, row in zip(old, rows, strict=True))


def _material(material: Material, values: Mapping[str, np.ndarray]) -> Material:
    """A material with the values that are given for it."""
    changes: dict[str, Any] = {name: float(values[name]) for name in (*ELASTIC, "density") if name in values}
    if "prony" in values:
        changes["prony"] = tuple((float(share), float(time)) for share, time in values["prony"])
    constants = {name: value for name, value in values.items() if by_law(name)}
    if constants:
        assert material.law is not None
        changes["law"] = changed_law(material.law, constants)
    return material.with_(**changes, source=material.source) if changes else material

"""The numbers of a model that a rollout may change, and rates by what the kernels read made rates by these.

All have a leading axis of worlds and are in double precision; those that are the same everywhere are broadcast views.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.adjoint import Input, summed
from annelid.shapes import ResistiveGround
from annelid.springs.actuation import sine_signal
from annelid.springs.model import Model

SPRING, MATERIAL = ("stiffness", "rest_lengths", "damping"), ("stiffness", "rest_length", "damping")
GROUND = (
    "ground_resistance", "ground_friction", "ground_height", "ground_inertia", "ground_parts", "ground_coefficients",
)  # fmt: skip
"""Numbers of ground that resists, see `shapes.resistive`."""
_UNITS = {"stiffness": "N/m", "rest_lengths": "m", "damping": "N s/m"}


@dataclass(eq=False)
class Constants:
    """Numbers of a motion.

    Attributes:
        stiffness: Of springs [N/m], shape [worlds, s].
        rest_lengths: Of springs [m], shape [worlds, s].
        damping: Of springs [N s/m], shape [worlds, s].
        masses: [kg], shape [worlds, n].
        positions: At the beginning [m], shape [worlds, n, 3].
        velocities: At the beginning [m/s], shape [worlds, n, 3].
        forces: External ones [N], shape [worlds, n, 3].
        gravity: [m/s²], shape [worlds, 3].
        velocity_damping: [1/s], shape [worlds].
        drag: [kg/m], shape [worlds].
        friction: Of obstacles, shape [worlds, o].
        sliding_friction: Of obstacles, shape [worlds, o].
        contact_stiffness: Of obstacles [N/m], shape [worlds, o].
        signals: Parameters of signals, shape [worlds, g, 4].
        ground_resistance: Of ground that resists, for the law in space [N/m³], shape [worlds].
        ground_friction: Coulomb coefficient of that law, shape [worlds].
        ground_height: Height of its surface [m], shape [worlds].
        ground_inertia: Stress per squared normal speed [kg/m³], shape [worlds].
        ground_parts: Factors on the three terms of that law, shape [worlds, 3].
        ground_coefficients: Of the law in a vertical plane [N/m³], shape [worlds, 9].
        controls: Table of commands, shape [worlds, intervals, channels]; None where those of the state are held.
    """

    stiffness: np.ndarray
    rest_lengths: np.ndarray
    damping: np.ndarray
    masses: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    forces: np.ndarray
    gravity: np.ndarray
    velocity_damping: np.ndarray
    drag: np.ndarray
    friction: np.ndarray
    sliding_friction: np.ndarray
    contact_stiffness: np.ndarray
    signals: np.ndarray
    ground_resistance: np.ndarray
    ground_friction: np.ndarray
    ground_height: np.ndarray
    ground_inertia: np.ndarray
    ground_parts: np.ndarray
    ground_coefficients: np.ndarray
    controls: np.ndarray | None = None


def constants_of(model: Model, state: Any) -> Constants:
    """The numbers of a model and of the state that a motion begins in."""
    body, world, worlds = model.one, model.world, model.worlds

    def every(values: Any) -> np.ndarray:
        array = np.asarray(values, float)
        return np.broadcast_to(array, (worlds, *array.shape))

    contacts = world.contacts
    return Constants(
        **{name: every(vars(body)[name]) for name in (*SPRING, "masses", "forces")},
        positions=state.positions.numpy()[:, :3].astype(float).reshape(worlds, -1, 3),
        velocities=state.velocities.numpy().astype(float).reshape(worlds, -1, 3),
        gravity=every(world.gravity),
        velocity_damping=every(world.velocity_damping),
        drag=every(world.drag),
        friction=every([contact.friction for contact in contacts]),
        sliding_friction=every([contact.sliding_friction for contact in contacts]),
        contact_stiffness=every([contact.stiffness for contact in contacts]),
        signals=every(np.asarray(model.arrays.signal_parameters.numpy()).reshape(-1, 4)),
        **{name: every(value) for name, value in _ground_of(world.sand).items()},
    )


def _ground_of(sand: ResistiveGround | None) -> dict[str, Any]:
    """Numbers of ground that resists; none of them is used where there is none."""
    if sand is None:
        return {"ground_parts": np.ones(3), "ground_coefficients": np.zeros(9)} | dict.fromkeys(GROUND[:4], 0.0)
    medium = sand.of
    return {
        "ground_resistance": medium.resistance or 0.0,
        "ground_friction": sand.friction,
        "ground_height": sand.height,
        "ground_inertia": sand.inertia * (medium.density or 0.0),
        "ground_parts": np.array(medium.parts),
        "ground_coefficients": np.array(medium.coefficients or np.zeros(9)),
    }


def _ground_inputs(model: Model, base: Constants) -> list[Input]:
    """What of ground that resists gradients can be taken by; each law has its own."""
    sand = model.world.sand
    level = "" if sand is not None else "the simulation has no ResistiveGround"
    space, plane = (level or ("" if sand and sand.law == law else f"the ResistiveGround has another law than {law!r}")
                    for law in ("3d", "2d"))  # fmt: skip
    return [
        Input("ground_resistance", ("world",), base.ground_resistance, unit="N/m³", positive=True,
              does="resistance of ground that resists, for the law '3d'", idle=space),
        Input("ground_friction", ("world",), base.ground_friction, low=0.0,
              does="Coulomb coefficient between body and ground that resists", idle=space),
        Input("ground_parts", ("world", "term"), base.ground_parts, does="factors on the terms of the law '3d'",
              idle=space),
        Input("ground_coefficients", ("world", "coefficient"), base.ground_coefficients, unit="N/m³",
              does="coefficients of the law '2d'", idle=plane),
        Input("ground_height", ("world",), base.ground_height, unit="m", does="height of ground that resists",
              idle=level),
        Input("ground_inertia", ("world",), base.ground_inertia, unit="kg/m³", low=0.0,
              does="stress of ground that resists per squared normal speed", idle=level),
    ]  # fmt: skip


def waves_of(model: Model) -> np.ndarray:
    """Signals that are waves, in the order of the first springs that follow them."""
    functions = model.features.signals
    if sine_signal not in functions:
        return np.zeros(0, np.int64)
    kinds = model.arrays.signal_kinds.numpy()
    signals, first = np.unique(model.signal_of[: model.one.spring_count], return_index=True)
    ordered = signals[np.argsort(first)]
    return np.asarray(ordered[kinds[ordered] == 1 + functions.index(sine_signal)])


def inputs_of(model: Model, base: Constants) -> dict[str, Input]:
    """The parameters that gradients can be taken by."""
    body, worlds = model.one, model.worlds
    waves, channels, obstacles = waves_of(model), model.controls, base.friction.shape[1]
    nothing = "" if body.spring_count else "the body has no springs"
    untouched = "" if obstacles else "the simulation has no obstacles"
    unsaid = (
        "stiffness of a surface is not given, and contacts suit the body"
        if any(contact.per_mass for contact in model.world.contacts)
        else ""
    )
    waveless = "" if len(waves) else "no spring follows wave, expand_contract or contract_expand"
    uncommanded = "" if channels else "no spring follows commands; give some a channel with body.control"
    ones = np.ones((worlds, len(body.materials)))
    found = [
        Input(name, ("world", "spring"), vars(base)[name], unit=_UNITS[name], does=f"{name} of springs",
              low=0.0, positive=name == "rest_lengths", idle=nothing)
        for name in SPRING
    ]  # fmt: skip
    found += [
        Input(f"{name}_factor", ("world", "material"), ones, does=f"factor on the {name} of springs of a material",
              low=0.0, idle=nothing)
        for name in MATERIAL
    ]  # fmt: skip
    found += [
        Input("masses", ("world", "mass"), base.masses, unit="kg", does="masses", positive=True),
        Input("mass_factor", ("world",), np.ones(worlds), does="factor on all masses", positive=True),
        Input("positions", ("world", "mass", "axis"), base.positions, unit="m", does="positions at the beginning"),
        Input("velocities", ("world", "mass", "axis"), base.velocities, unit="m/s", does="velocities at the beginning"),
        Input("forces", ("world", "mass", "axis"), base.forces, unit="N", does="constant external forces"),
        Input("gravity", ("world", "axis"), base.gravity, unit="m/s²", does="acceleration of gravity"),
        Input("velocity_damping", ("world",), base.velocity_damping, unit="1/s", low=0.0, does="decay of velocities"),
        Input("drag", ("world",), base.drag, unit="kg/m", low=0.0, does="force per squared speed"),
        Input("friction", ("world", "obstacle"), base.friction, low=0.0, does="Coulomb coefficients", idle=untouched),
        Input("sliding_friction", ("world", "obstacle"), base.sliding_friction, low=0.0,
              does="Coulomb coefficients on sliding masses", idle=untouched),
        Input("contact_stiffness", ("world", "obstacle"), base.contact_stiffness, unit="N/m", positive=True,
              does="force per depth of one mass", idle=untouched or unsaid),
        Input("amplitude", ("world", "signal"), base.signals[:, waves, 0], low=-0.999, high=0.999,
              does="amplitude of waves, as a fraction of the rest length", idle=waveless),
        Input("frequency", ("world", "signal"), base.signals[:, waves, 1], unit="Hz", does="frequency of waves",
              low=0.0, idle=waveless),
        Input("delay", ("world", "signal"), base.signals[:, waves, 2], unit="s", does="when waves begin",
              idle=waveless),
        Input("controls", ("world", "interval", "control"),
              np.broadcast_to([channel.rest for channel in channels], (worlds, 1, len(channels))).astype(float),
              free=1, does="commands, each interval as long as the others", idle=uncommanded),
    ]  # fmt: skip
    found += _ground_inputs(model, base)
    return {one.name: one for one in found}


def changed(base: Constants, values: Mapping[str, np.ndarray], materials: np.ndarray, waves: np.ndarray) -> Constants:
    """The numbers with parameters in their place; `materials` are those of the springs of one world."""
    found = Constants(**vars(base))
    for name, given in values.items():
        if name in vars(found):
            setattr(found, name, given)
    if "friction" in values and "sliding_friction" not in values:
        same = base.friction == base.sliding_friction
        found.sliding_friction = np.where(same, found.friction, np.minimum(base.sliding_friction, found.friction))
    for spring, material in zip(SPRING, MATERIAL, strict=True):
        factor = values.get(f"{material}_factor")
        if factor is not None:
            setattr(found, spring, vars(found)[spring] * factor[:, materials])
    if "mass_factor" in values:
        found.masses = found.masses * values["mass_factor"][:, None]
    for column, name in enumerate(("amplitude", "frequency", "delay")):
        if name in values:
            found.signals = found.signals.copy()
            found.signals[:, waves, column] = values[name]
    return found


def rates_by_inputs(
    by: Mapping[str, np.ndarray],
    values: Mapping[str, np.ndarray],
    base: Constants,
    materials: np.ndarray,
    waves: np.ndarray,
) -> dict[str, np.ndarray]:
    """Rates by the parameters that were given, from those by the numbers that they make.

    Args:
        by: Rates by numbers of `Constants`, under their names; only those that some parameter feeds.
        values: The parameters.
        base: Numbers of the simulation.
        materials: Materials of the springs of one world.
        waves: Signals that are waves.
    """
    found: dict[str, np.ndarray] = {}
    for spring, material in zip(SPRING, MATERIAL, strict=True):
        factor, given = values.get(f"{material}_factor"), values.get(spring, vars(base)[spring])
        if spring in values:
            found[spring] = by[spring] if factor is None else by[spring] * factor[:, materials]
        if factor is not None:
            found[f"{material}_factor"] = _summed(by[spring] * given, materials, factor.shape[1])
    mass_factor, masses = values.get("mass_factor"), values.get("masses", base.masses)
    if "masses" in values:
        found["masses"] = by["masses"] if mass_factor is None else by["masses"] * mass_factor[:, None]
    if mass_factor is not None:
        found["mass_factor"] = summed(by["masses"] * masses, 1)
    for column, name in enumerate(("amplitude", "frequency", "delay")):
        if name in values:
            found[name] = by["signals"][:, waves, column]
    if "friction" in values:
        follows = base.friction == base.sliding_friction
        found["friction"] = np.where(follows & ("sliding_friction" not in values), by["sliding_friction"], 0.0)
    for name in values:
        if name not in found:
            found[name] = by[name]
    return found


def _summed(rates: np.ndarray, materials: np.ndarray, count: int) -> np.ndarray:
    """Sums over the springs of each material, world by world, shape [worlds, count]."""
    return np.stack([np.bincount(materials, row, minlength=count) for row in rates])

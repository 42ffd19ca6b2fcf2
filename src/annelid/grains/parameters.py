"""Parameters in which worlds of grains may differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.variation import FOLLOWING, Parameter, Variation, declared_parameters, factor
from annelid.grains.kernels.layout import Varied
from annelid.grains.kernels.parameters import FACTORS, derive_worlds, follow_bodies, follow_grains
from annelid.grains.model import Model
from annelid.grains.state import State
from annelid.grains.steps import default_step

_OWN = (
    factor("friction", "the friction of grains", 0.0),
    factor("restitution", "the restitution of grains", 0.0),
    factor("cohesion", "the cohesion of grains", 0.0),
    factor("density", "the density of grains"),
    factor("skin_friction", "the friction of the surface of spring bodies", 0.0),
)
assert tuple(parameter.name for parameter in _OWN) == FACTORS

_ALONE, _WITH_GUESTS = declared_parameters(*_OWN[:-1]), declared_parameters(*_OWN)


def parameters_of(model: Model) -> tuple[Parameter, ...]:
    """What can differ from world to world; guests have a surface of their own."""
    return _WITH_GUESTS if model.guests else _ALONE


def derive(model: Model, variation: Variation) -> bool:
    """Choose kernels that heed parameters where there are some, and make what they read; whether others were chosen.

    In worlds of the paper's method, which heeds none, commands alone are followed in another way.
    """
    varied = variation.there and model.features.method != "paper"
    switched = model.features.varied != varied
    if switched:
        model.features = replace(model.features, varied=varied)
    if varied:
        if model.parameters.varied is None or len(model.parameters.varied) != model.world_count:
            model.parameters.varied = wp.zeros(model.world_count, dtype=Varied, device=model.device)
        _derive(model, variation, model.parameters.varied)
    return switched


def _derive(model: Model, variation: Variation, out: wp.array[Any]) -> None:
    inputs = [model.parameters.gravity, len(parameters_of(model)), variation.values]
    wp.launch(derive_worlds, model.world_count, inputs, [out], device=model.device)


def pulls_and_densities(model: Model, variation: Variation) -> tuple[np.ndarray, np.ndarray]:
    """What pulls in each world [m/s²], shape [worlds, 3], and the factor on the density of its grains."""
    worlds = model.world_count
    if not variation.there:
        return np.tile(np.asarray(model.world.gravity, float), (worlds, 1)), np.ones(worlds)
    out = wp.zeros(worlds, dtype=Varied, device=model.device)
    _derive(model, variation, out)
    rows = variation.values.numpy().reshape(worlds, -1)
    names = [parameter.name for parameter in parameters_of(model)]
    return np.asarray(out.numpy()["pull"], float), rows[:, names.index("density")]


def follow(model: Model, forms: wp.array[Any], state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
    """Let masses of grains and what the next step would bring follow a change of the parameters of some worlds.

    Args:
        model: The model.
        forms: Forms of the bodies.
        state: The state.
        before: What the parameters were.
        mask: Which worlds.
    """
    ahead = model.dt if model.features.method == "nonsmooth" else 0.0
    width, values = len(parameters_of(model)), state.variation.values
    gravity, first_guest = model.parameters.gravity, model.parameters.first_guest
    inputs = [mask, gravity, ahead, first_guest, width, before, values, state.names]
    outputs = [state.spins, state.forecast, state.turning]
    wp.launch(follow_grains, model.count, inputs, outputs, device=model.device)
    if model.features.free:
        inputs = [mask, gravity, ahead, width, before, values, forms]
        wp.launch(follow_bodies, len(model.bodies), inputs, [state.body_forecast], device=model.device)


def require_physical(model: Model, ranges: Mapping[str, tuple[float, float]], *, of_grains: str = "") -> None:
    """Refuse ranges that this method or these grains cannot have.

    Args:
        model: The model.
        ranges: Least and largest value of each parameter.
        of_grains: What names of parameters of grains begin with where these are told to users.
    """
    method = model.features.method
    heard = {one.name for one in FOLLOWING}
    deaf = {"paper": set(ranges) - heard, "hertz": {"restitution", "cohesion"}}.get(method, set())
    rests = {parameter.name: (parameter.rest, parameter.rest) for parameter in parameters_of(model)}
    changed = [name for name, held in ranges.items() if held != rests[name]]
    told = {name: f"{of_grains}{name}" if name in FACTORS[:-1] else name for name in ranges}
    for name in changed:
        if name in deaf:
            raise InvalidValue(
                f"worlds of method={method!r} cannot differ in {told[name]!r}: use method='nonsmooth', or leave it out."
            )
    kinds = np.unique(model.bed.kinds[: model.parameters.first_guest])
    largest = np.array([np.abs(model.bed.materials[kind].numbers) for kind in kinds]).max(axis=0)
    for name, most in zip(("friction", "restitution", "cohesion"), largest[[0, 1, 3]], strict=True):
        if name in changed and most == 0.0:
            raise InvalidValue(
                f"parameter {told[name]!r} is a factor on the {name} of grains, which is 0: give them another, "
                f"Grain({name}=...)."
            )
    bounce = ranges["restitution"][1] * largest[1]
    if bounce > 1.0:
        raise InvalidValue(
            f"with {told['restitution']!r} up to {ranges['restitution'][1]:g}, grains would have a restitution of "
            f"{bounce:.3g}, and 1 is the most: use a narrower range."
        )
    lightest = ranges["density"][0]
    if method == "hertz" and lightest < 1.0:
        suits = default_step(model.one, model.world)
        if suits * math.sqrt(lightest) < model.dt <= suits:
            raise InvalidValue(
                f"with {told['density']!r} down to {lightest:g}, collisions need steps of "
                f"{suits * math.sqrt(lightest):.3g} s, and dt is {model.dt:.3g} s: use that dt, or a narrower range."
            )

"""What is told of a simulation of grains as it begins: steps that are too long, bodies that begin inside others."""

from __future__ import annotations

import warnings

import numpy as np

from annelid.core.errors import StepTooLong
from annelid.core.unlikely import warn_of_falling, warn_of_far, warn_of_size
from annelid.grains.model import Model, is_free
from annelid.grains.rigid import Solid, Touched
from annelid.grains.start import distance
from annelid.shapes.beginning import warn_inside

_LONGEST = 2.0  # times the step that suits the bed: grains then overlap four times as much
_FINENESS = 16  # of the surface of a body that is looked at


def warn_of_beginnings(model: Model, *, stacklevel: int) -> None:
    """Tell of what will not go as it is meant.

    Args:
        model: The model.
        stacklevel: That of the caller's caller, as of `warnings.warn`.
    """
    _warn_of_step(model, stacklevel=stacklevel + 1)
    touched = list(enumerate(model.world.touched))
    held = any(model.world.period) or not all(is_free(body) for _, body in touched)
    if len(model.bed):
        warn_of_size("the bed", float(np.ptp(model.bed.positions, axis=0).max()), stacklevel=stacklevel + 1)
        warn_of_falling("the bed", model.world.gravity, held=held, stacklevel=stacklevel + 1)
        own = model.bed.radii[: model.count - model.guests]  # points of soft bodies are listed after the grains
        pitch, remedy = 2.0 * float(own.min()), "move it, and what it touches, to the origin"
        warn_of_far("the bed", model.bed.positions, pitch, remedy, stacklevel=stacklevel + 1)
    for number, body in touched:
        if is_free(body) and body.rigid.points > 0:
            for place, other in touched:
                if other is not body and other.world == body.world:
                    _warn_inside(number, body, place, other, model, stacklevel=stacklevel + 1)


def _warn_of_step(model: Model, *, stacklevel: int) -> None:
    world, suits = model.world, model.suits
    lies = any(world.gravity) and not model.bed.velocities.any()
    chosen = world.method != "nonsmooth" or world.contact_step is not None
    if lies and not chosen and model.dt > _LONGEST * suits:
        warnings.warn(
            f"the time step {model.dt:.3g} s is {model.dt / suits:.2g} times as long as the {suits:.3g} s that suit "
            "this bed: its grains sink into each other; give dt='auto', or a shorter one.",
            StepTooLong,
            stacklevel=stacklevel + 1,
        )


def _warn_inside(
    number: int, body: Solid, place: int, other: Touched, model: Model, *, stacklevel: int
) -> None:  # fmt: skip
    rigid, radius = body.rigid, float(model.parameters.smallest)  # of a grain, not of a guest
    points = rigid.turn.apply(np.array(body.shape.surface(_FINENESS).vertices)) + rigid.position
    depths = -distance(other, points)
    depths[depths < radius] = 0.0  # what is less deep is pushed out gently
    what, where = f"points of {rigid.called(number)}", other.rigid.called(place)
    warn_inside(what, where, depths, "set it apart by its position", stacklevel=stacklevel + 1)

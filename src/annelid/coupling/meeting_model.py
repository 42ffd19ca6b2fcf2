"""What models of soft bodies among grains have in common: a bed that makes room, guests in it, and longest steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import InvalidValue, StepTooLong
from annelid.core.options import require_kind
from annelid.coupling.guests import Guests
from annelid.coupling.meeting import MeetingWorld
from annelid.coupling.outline import Outline
from annelid.coupling.start import make_room, require_outside
from annelid.grains.steps import Load, meeting_step, meeting_sweeps
from annelid.shapes import Surface

_WARNED = 2.0  # longest step of the grains that nothing is said about, in those that suit the bed
_FAST = 4.0  # the same, in those that stop a body in time: more sweeps make up for it, but not for all


@dataclass(frozen=True)
class StepLimit:
    """A time step, and the longest that nothing is said about [s].

    Attributes:
        name: The option that it is set by.
        step: The step [s].
        longest: The longest [s].
        reason: For what it is the longest, and what happens in longer ones.
    """

    name: str
    step: float
    longest: float
    reason: str


class Among(Protocol):
    """A model of a soft body among grains."""

    device: wp.Device
    skin: Surface
    bed: grains.Bed
    loads: list[Load]
    guests: Guests
    grains: grains.Model

    @property
    def world(self) -> MeetingWorld:
        """What surrounds both."""
        ...

    def surface_of(self, state: Any) -> tuple[Outline, np.ndarray]:
        """What has the surface that grains meet, and positions of its masses in a state [m]."""
        ...

    def worlds_of_guests(self) -> np.ndarray:
        """World of each guest, shape [g]."""
        ...

    def step_limits(self) -> list[StepLimit]:
        """The longest steps about which nothing is said."""
        ...


def require_bodies(what: str, body: object, kind: type, bed: grains.Bed) -> None:
    """Refuse what is no body or no bed, and a bed without grains."""
    home = kind.__module__.split(".")[1]
    require_kind(f"the {what}", body, kind, f"a {home}.{kind.__name__}")
    require_kind("the bed", bed, grains.Bed, "a grains.Bed")
    if len(bed) == 0:
        raise InvalidValue(f"a bed needs at least one grain; without grains use {home}.simulation.")


def bed_beside(
    bed: grains.Bed, body: Outline, guests: Guests, worlds: np.ndarray, of_guests: np.ndarray, world: MeetingWorld
) -> grains.Bed:
    """The bed as it starts, without grains inside a body, which starts in no wall and no rigid body.

    Args:
        bed: The grains.
        body: The body.
        guests: The points of its surface.
        worlds: World of each grain, shape [n].
        of_guests: World of each of the points, shape [g].
        world: What surrounds both.
    """
    bodies = world.grains_world().touched
    left = grains.start.begin(bed, bodies, worlds, world.overlapping)
    left = make_room(left, body, float(np.median(guests.radii)), bodies, how=world.inside)
    if len(left) == 0:
        raise InvalidValue("no grain is left beside the body: give a bed that it does not fill.")
    require_outside(guests.division.mixed(body.positions), of_guests, left, bodies)
    return left


def grains_model(
    model: Among, bed: grains.Bed, dt: float, worlds: int = 1, world_of: np.ndarray | None = None
) -> grains.Model:
    """The model of grains, guests and rigid bodies.

    Args:
        model: What they belong to.
        bed: The grains of one world, as they were given.
        dt: Their time step [s].
        worlds: Copies of rigid bodies.
        world_of: World of each grain and each guest; None where there is one.
    """
    return grains.Model(
        model.guests.among(model.bed, model.skin),
        world=model.world.grains_world(dt),
        worlds=worlds,
        world_of=world_of,
        overlapping="allow",
        guests=len(model.guests),
        least_sweeps=meeting_sweeps(dt, bed, model.loads),
        device=model.device,
    )


def limits_among_grains(name: str, step: float, model: Among) -> list[StepLimit]:
    """The longest steps of grains for a bed, and for a body that hits it."""
    speed = max(load.speed for load in model.loads)
    fast = f"a body that meets the grains at {speed:.2g} m/s: it may sink too deep or not deep enough"
    stopping = meeting_step(model.bed, model.loads, solved=model.world.converges)
    return [
        StepLimit(name, step, _WARNED * model.grains.contact_step, "a bed as deep: grains may overlap"),
        StepLimit(name, step, _FAST * stopping, fast),
    ]


def warn_of_steps(limits: Sequence[StepLimit]) -> None:
    """Warn of steps that are too long, once for each reason."""
    given: set[str] = set()
    for limit in limits:
        if limit.step > limit.longest * (1.0 + 1e-9) and limit.reason not in given:
            given.add(limit.reason)
            warnings.warn(
                f"{limit.name} = {limit.step:.3g} s is above {limit.longest:.3g} s, the longest for {limit.reason}.",
                StepTooLong,
                stacklevel=4,
            )

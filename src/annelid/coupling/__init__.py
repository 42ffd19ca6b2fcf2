"""Two kinds of physics in one world: spring bodies in grains, with rigid bodies among them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import warp as wp

from annelid import grains, springs
from annelid.core.errors import StepTooLong
from annelid.core.options import Auto, spelled_out
from annelid.core.simulation import Simulation
from annelid.coupling.model import Model
from annelid.coupling.readout import Readout
from annelid.coupling.sensors import contact_force_of, touch_of
from annelid.coupling.solver import Solver
from annelid.coupling.state import State
from annelid.coupling.steps import LONGEST
from annelid.coupling.surface import STRETCH, closed_surface, closing_radii, standoff
from annelid.coupling.world import World
from annelid.grains.controls import BodyControl
from annelid.grains.steps import meeting_step
from annelid.shapes import Obstacle, Surface

__all__ = [
    "Model",
    "Readout",
    "Solver",
    "State",
    "World",
    "closed_surface",
    "closing_radii",
    "contact_force_of",
    "simulation",
    "standoff",
    "touch_of",
]


_WARNED = 2.0  # longest step that nothing is said about, in those that suit the bed
_FAST = 4.0  # the same, in those that stop a body in time: more sweeps make up for it, but not for all


@spelled_out("a simulation of bodies and grains")
def simulation(
    body: springs.Body,
    bed: grains.Bed,
    *,
    dt: float | Auto = World.dt,
    spring_dt: float | Auto = World.spring_dt,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    controls: Sequence[BodyControl] = (),
    springs: Mapping[str, Any] | None = None,
    grains: Mapping[str, Any] | None = None,
    skin: Surface | None = None,
    stretch: float = STRETCH,
    inside: str = "refuse",
    overlapping: str = "refuse",
    worlds: int | None = None,
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> Simulation[Solver]:
    """A simulation of a spring body among grains.

    Args:
        body: The spring body; join several to simulate them together.
        bed: The grains.
        dt: Time step [s], at whose ends body and grains meet; "auto" takes one that suits bed and body.
        spring_dt: Time step of the springs [s], of which `dt` is a whole multiple; "auto" takes a part of `dt`, 1e-4 at
            most.
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        controls: Channels of rigid bodies, see `grains.velocity_control`; spring bodies bring theirs (`body.control`).
        springs: Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors...
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
        skin: How the surface of the body responds to contact.
        stretch: How much longer the surface of the body may become before grains fit through it, as a factor.
        inside: What to do with grains that start inside the body: "refuse", "push", "remove" or "allow".
        overlapping: The same for grains inside each other or a rigid body: "refuse", "push" or "allow".
        worlds: Copies of body, bed and obstacles side by side that do not touch, each with commands of its own; None
            for one by itself, which on CUDA differs from a batch of one in how springs are summed.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    world = World(
        dt=dt,
        spring_dt=spring_dt,
        gravity=gravity,
        obstacles=obstacles,
        controls=controls,
        springs=springs or {},
        grains=grains or {},
    )
    model = Model(
        body,
        bed,
        world=world,
        skin=skin,
        stretch=stretch,
        inside=inside,
        overlapping=overlapping,
        worlds=worlds,
        device=device,
    )
    _warn_of_steps(model)
    return Simulation(Solver(model, threads=threads))


def _warn_of_steps(model: Model) -> None:
    """Warn of steps that are too long for the springs, or for a body that hits the grains."""
    stable, speed = model.springs.stable_step(), max(load.speed for load in model.loads)
    springy = "springs as stiff as these: the body may shiver or diverge"
    fast = f"a body that meets the grains at {speed:.2g} m/s: it may sink too deep"
    limits = (
        ("spring_dt", model.springs.dt, stable, springy),
        ("dt", model.dt, LONGEST * stable, springy),
        ("dt", model.dt, _WARNED * model.grains.contact_step, "a bed as deep: grains may overlap"),
        ("dt", model.dt, _FAST * meeting_step(model.bed, model.loads), fast),
    )
    given: set[str] = set()
    for name, step, longest, reason in limits:
        if step > longest * (1.0 + 1e-9) and reason not in given:
            given.add(reason)
            warnings.warn(
                f"{name} = {step:.3g} s is above {longest:.3g} s, the longest for {reason}.", StepTooLong, stacklevel=4
            )

"""Two kinds of physics in one world: soft bodies, of springs or of finite elements, in grains with rigid bodies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, overload

import warp as wp

from annelid import fem, grains, springs
from annelid.core.errors import InvalidValue, StepTooLong
from annelid.core.lazy import public
from annelid.core.options import Auto, require_kind, spelled_out
from annelid.core.simulation import Simulation
from annelid.coupling.model import Model
from annelid.coupling.readout import Readout
from annelid.coupling.sensors import contact_force_of, touch_of
from annelid.coupling.solids.build import solid_simulation
from annelid.coupling.solids.solver import SolidSolver
from annelid.coupling.solids.world import SolidWorld
from annelid.coupling.solver import Solver
from annelid.coupling.state import State
from annelid.coupling.surface import STRETCH, closing_radii, standoff
from annelid.coupling.world import World
from annelid.fem.actuation.actuator import Actuator
from annelid.grains.beginning import warn_of_beginnings
from annelid.grains.controls import AnyControl
from annelid.grains.joints import lead_joints
from annelid.grains.steps import meeting_step
from annelid.shapes import Obstacle, Surface

__all__ = [
    "Model",
    "Readout",
    "SolidSolver",
    "Solver",
    "State",
    "World",
    "closing_radii",
    "contact_force_of",
    "simulation",
    "standoff",
    "touch_of",
]

__dir__ = public(__name__)


_WARNED = 2.0  # longest step that nothing is said about, in those that suit the bed
_FAST = 4.0  # the same, in those that stop a body in time: more sweeps make up for it, but not for all


@overload
def simulation(
    body: springs.Body,
    bed: grains.Bed,
    *,
    dt: float | Auto = ...,
    spring_dt: float | Auto = ...,
    gravity: tuple[float, float, float] = ...,
    obstacles: Sequence[Obstacle] = ...,
    controls: Sequence[AnyControl] = ...,
    springs: Mapping[str, Any] | None = ...,
    grains: Mapping[str, Any] | None = ...,
    skin: Surface | None = ...,
    stretch: float = ...,
    inside: str = ...,
    overlapping: str = ...,
    worlds: int | None = ...,
    device: str | wp.Device = ...,
    threads: int | None = ...,
) -> Simulation[Solver]: ...


@overload
def simulation(
    body: fem.Solid,
    bed: grains.Bed,
    *,
    dt: float | Auto = ...,
    grain_dt: float | Auto = ...,
    gravity: tuple[float, float, float] = ...,
    obstacles: Sequence[Obstacle] = ...,
    actuators: Sequence[Actuator] = ...,
    controls: Sequence[AnyControl] = ...,
    solid: Mapping[str, Any] | None = ...,
    grains: Mapping[str, Any] | None = ...,
    skin: Surface | None = ...,
    stretch: float = ...,
    inside: str = ...,
    overlapping: str = ...,
    worlds: int | None = ...,
    device: str | wp.Device = ...,
    threads: int | None = ...,
) -> Simulation[SolidSolver]: ...


@spelled_out("a simulation of bodies and grains")
def simulation(
    body: springs.Body | fem.Solid,
    bed: grains.Bed,
    *,
    dt: float | Auto = World.dt,
    spring_dt: float | Auto = World.spring_dt,
    grain_dt: float | Auto = SolidWorld.grain_dt,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    actuators: Sequence[Actuator] = (),
    controls: Sequence[AnyControl] = (),
    springs: Mapping[str, Any] | None = None,
    solid: Mapping[str, Any] | None = None,
    grains: Mapping[str, Any] | None = None,
    skin: Surface | None = None,
    stretch: float = STRETCH,
    inside: str = "refuse",
    overlapping: str = "refuse",
    worlds: int | None = None,
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> Simulation[Solver] | Simulation[SolidSolver]:
    """A simulation of a spring body or a solid of finite elements among grains.

    Args:
        body: The spring body, of which several are joined to simulate them together, or the solid.
        bed: The grains.
        dt: Time step [s], at whose ends body and grains meet; "auto" takes one that suits bed and body.
        spring_dt: Time step of the springs [s], of which `dt` is a whole multiple; "auto" takes a part of `dt`, 2e-4 at
            most.
        grain_dt: Time step of the grains beside a solid [s], of which `dt` is a whole multiple; beside springs it is
            `dt`.
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        actuators: Cables, chambers and forces that act on a solid; each is a channel of `simulation.controls`.
        controls: Channels of rigid bodies, see `grains.velocity_control`; spring bodies bring theirs (`body.control`).
        springs: Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors...
        solid: Other attributes of `fem.World`: velocity_damping, ramp.
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
        skin: How the surface of the body responds to contact; by default that of the solid, `solid.surface`, or a
            plain `Surface()`.
        stretch: How much longer the surface of the body may become before grains fit through it, as a factor.
        inside: What to do with grains that start inside the body: "refuse", "push", "remove" or "allow".
        overlapping: The same for grains inside each other or a rigid body: "refuse", "push" or "allow".
        worlds: Copies of body, bed and obstacles side by side that do not touch, each with commands of its own; None
            for one by itself, which on CUDA differs from a batch of one in how springs are summed. Of spring bodies
            only.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    for name, options in {"springs": springs, "solid": solid, "grains": grains}.items():
        require_kind(f"options of {name}", options, (Mapping, NoneType), "values by name, {name: value}, or None")
    require_kind("actuators", actuators, Sequence, "a list of actuators")
    if isinstance(body, fem.Solid):
        _require_left_out("a fem.Solid", "spring bodies", spring_dt=_given(spring_dt), springs=bool(springs))
        if worlds is not None:
            raise InvalidValue(
                f"a solid among grains is simulated in one world so far, not in worlds={worlds!r}: leave worlds out, "
                "and make a simulation for each."
            )
        surroundings = SolidWorld(
            dt=dt,
            grain_dt=grain_dt,
            gravity=gravity,
            obstacles=obstacles,
            controls=controls,
            solid=solid or {},
            grains=grains or {},
        )
        among = solid_simulation(
            body,
            bed,
            surroundings,
            actuators=actuators,
            skin=skin,
            stretch=stretch,
            inside=inside,
            overlapping=overlapping,
            device=device,
            threads=threads,
        )
        lead_joints(among, controls)
        return among
    given = {"grain_dt": _given(grain_dt), "actuators": len(actuators) > 0, "solid": bool(solid)}
    _require_left_out("a springs.Body", "solids", **given)
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
    warn_of_beginnings(model.grains, stacklevel=3)
    made = Simulation(Solver(model, threads=threads))
    lead_joints(made, controls)
    return made


def _given(step: float | Auto) -> bool:
    """Whether a step was given, whatever it is: an array must not be compared with a word."""
    return not (isinstance(step, str) and step == "auto")


def _require_left_out(body: str, others: str, **given: bool) -> None:
    """Refuse options that are for another kind of body."""
    for name, there in given.items():
        if there:
            raise InvalidValue(f"{name} is an option of {others} among grains, and the body is {body}: leave it out.")


def _warn_of_steps(model: Model) -> None:
    """Warn of steps that are too long for the springs, or for a body that hits the grains."""
    stable, speed = model.springs.stable_step(), max(load.speed for load in model.loads)
    springy = "springs as stiff as these: the body may shiver or diverge"
    fast = f"a body that meets the grains at {speed:.2g} m/s: it may sink too deep or not deep enough"
    limits = (
        ("spring_dt", model.springs.dt, stable, springy),
        ("dt", model.dt, model.longest_for_springs, springy),
        ("dt", model.dt, _WARNED * model.grains.contact_step, "a bed as deep: grains may overlap"),
        ("dt", model.dt, _FAST * meeting_step(model.bed, model.loads, solved=model.world.converges), fast),
    )
    given: set[str] = set()
    for name, step, longest, reason in limits:
        if step > longest * (1.0 + 1e-9) and reason not in given:
            given.add(reason)
            warnings.warn(
                f"{name} = {step:.3g} s is above {longest:.3g} s, the longest for {reason}.", StepTooLong, stacklevel=4
            )

"""Deformable solids of finite elements, with fluid-filled cavities (Rodríguez, Coevoet and Duriez, Hydraulic)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.device import OnDevice
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.lazy import public
from annelid.core.options import require_kind, spelled_out
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.core.unlikely import warn_of_falling, warn_of_step
from annelid.fem.actuation.actuator import Actuator, drive_of
from annelid.fem.actuation.cable import Cable
from annelid.fem.actuation.chamber import Hydraulic, Pneumatic
from annelid.fem.actuation.limits import Limits
from annelid.fem.actuation.magnetic_field import MagneticField
from annelid.fem.actuation.point_force import PointForce
from annelid.fem.actuation.slide import Slide, SlideDrive
from annelid.fem.adjoint.sensitivity import Sensitivity
from annelid.fem.batch.choice import Choice, how_together
from annelid.fem.batch.settings import Together
from annelid.fem.batch.solver import BatchedSolver
from annelid.fem.contact.contacts import Contacts, touched_by
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.sensors import (
    contact_force_between,
    contact_force_of,
    contact_force_on,
    obstacle_position,
    obstacle_velocity,
    self_contact_force_on,
)
from annelid.fem.contact.settings import Contact
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.dynamics import Inertia
from annelid.fem.elements import ElementSet
from annelid.fem.energy import energy_of, strain_energy
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.fem.integrators import Integrator
from annelid.fem.linear_choice import Linear, linear_in_motion
from annelid.fem.linearly_implicit import LinearlyImplicitSolver
from annelid.fem.midpoint import MidpointSolver
from annelid.fem.model import Model
from annelid.fem.newton import Newton, NoEquilibrium, Outcome, Settings
from annelid.fem.readout import Readout
from annelid.fem.refinement import MeshError, compared, refined, refined_actuators
from annelid.fem.reinforcing.fabrics import Fabric
from annelid.fem.reinforcing.threads import Thread
from annelid.fem.reinforcing.windings import helix, hoops, winding
from annelid.fem.robots.effectors import Orientation, Point, Points
from annelid.fem.robots.forward import Forward
from annelid.fem.robots.inverse import Inverse, InverseSettings
from annelid.fem.robots.qp import NoSolution
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.simulations import ForwardSolver, InverseSolver, forward_simulation, inverse_simulation
from annelid.fem.robots.steps import Step, outcome_in_words
from annelid.fem.robots.stream import CsvStream, JsonStream
from annelid.fem.robots.trajectory import Path
from annelid.fem.sand.elements import Sand, require_motion
from annelid.fem.sensors import effort_of, orientation_of, position_of, stroke_of, velocity_of, volume_of
from annelid.fem.solid import Solid, Volume, require_solid
from annelid.fem.solver import Solver
from annelid.fem.state import State
from annelid.fem.volume import VtuSeries, write_vtu
from annelid.fem.world import World
from annelid.shapes import Obstacle

__all__ = [
    "Cable",
    "Cavity",
    "CavityPressure",
    "Contact",
    "CsvStream",
    "DynamicSolver",
    "ElementSet",
    "Fabric",
    "Fluid",
    "FluidColumns",
    "Forward",
    "ForwardSolver",
    "Hydraulic",
    "Inertia",
    "Integrator",
    "Inverse",
    "InverseSettings",
    "InverseSolver",
    "JsonStream",
    "Limits",
    "MagneticField",
    "MeshError",
    "Model",
    "Newton",
    "NoEquilibrium",
    "NoSolution",
    "Orientation",
    "Outcome",
    "Path",
    "Pneumatic",
    "Point",
    "PointForce",
    "Points",
    "Readout",
    "Robot",
    "Sensitivity",
    "Settings",
    "Slide",
    "Solid",
    "Solver",
    "State",
    "Step",
    "Thread",
    "Together",
    "Volume",
    "VtuSeries",
    "World",
    "contact_force_between",
    "contact_force_of",
    "contact_force_on",
    "effort_of",
    "energy_of",
    "equilibrium",
    "forward_simulation",
    "helix",
    "hoops",
    "inverse_simulation",
    "obstacle_position",
    "obstacle_velocity",
    "orientation_of",
    "outcome_in_words",
    "position_of",
    "self_contact_force_on",
    "simulation",
    "strain_energy",
    "stroke_of",
    "velocity_of",
    "volume_of",
    "winding",
    "write_vtu",
]

__dir__ = public(__name__)


_MOVING: dict[str, type[DynamicSolver]] = {
    "backward-euler": DynamicSolver,
    "midpoint": MidpointSolver,
    "linearly-implicit": LinearlyImplicitSolver,
}


@spelled_out("an equilibrium of a solid")
def equilibrium(
    solid: Solid,
    *,
    gravity: tuple[float, float, float] = World.gravity,
    start: np.ndarray | None = None,
    relaxed: bool = True,
    obstacles: Sequence[Obstacle] = (),
    contact: Contact | None = None,
    extras: Sequence[ElementSet] = (),
    device: str | wp.Device = "auto",
    threads: int | None = None,
    settings: Settings | None = None,
) -> np.ndarray:
    """Positions of the nodes [m], shape [n, 3], in which all forces cancel.

    Args:
        solid: The solid, held so that it can only deform, or lying on obstacles.
        gravity: Acceleration of gravity [m/s²].
        start: Positions to begin with, near the equilibrium; by default the load is applied to the solid at rest.
        relaxed: Whether materials with a Prony series have relaxed, as after a very long time; else they answer as at
            once. Others are the same.
        obstacles: Fixed rigid things that it touches, with friction.
        contact: How it touches them; by default as mesh and material say.
        extras: More element sets that act on its nodes.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        settings: How it is found.
    """
    require_solid(solid)
    chosen = choose_device(device)
    _require_how(contact, settings)
    world = World(gravity=gravity, obstacles=obstacles, contact=contact or Contact())
    require_motion(world.sand, dynamic=False, integrator=world.integrator)
    require_kind("extras of a solid", extras, Sequence, "a list of element sets")
    if start is not None:
        start = as_numbers("start", start)
        if start.shape != solid.nodes.shape or not np.isfinite(start).all():
            raise InvalidValue(
                f"start must be finite positions of shape {list(solid.nodes.shape)}, not of shape {list(start.shape)}."
            )
    contacts = touched_by(solid, world.touched, world.contact, chosen)
    if contacts is None or not contacts.rigids:
        solid.require_held()
    more = extras if contacts is None else [*extras, *contacts.sets]
    model = Model(solid, world, chosen, threads=threads, extras=more)
    positions = model.vectors(solid.nodes if start is None else start)
    if not relaxed:
        model.tetrahedra.pass_time(0.0, model.tetrahedra.history())
    newton = Newton(model, settings) if contacts is None else _among(contacts, model, settings, positions, start)
    newton.equilibrium(positions, start=0.0 if start is None else 1.0)
    model.measured.look(positions)
    return np.asarray(positions.numpy())


@spelled_out("the error of a mesh")
def _mesh_error(
    solid: Solid,
    *,
    actuators: Sequence[Actuator] = (),
    efforts: Mapping[str, float] | Sequence[float] | None = None,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    contact: Contact | None = None,
    device: str | wp.Device = "auto",
    threads: int | None = None,
    settings: Settings | None = None,
) -> MeshError:
    """About how far the equilibrium of a solid is from the right one because its mesh is coarse.

    It compares the equilibrium with that of a finer mesh under the same loads: of ten-node tetrahedra where the mesh is
    linear, else of eight tetrahedra in place of each. That mesh has 5 to 7 times as many nodes; fingers, a slab and a
    cylinder of 81 to 2,700 nodes took 5 to 20 times as long as an equilibrium. How well a mesh follows a curved shape
    is not part of it.

    Args:
        solid: The solid.
        actuators: Cables, chambers and forces that act on it.
        efforts: What they exert, all of them or by name.
        gravity: Acceleration of gravity [m/s²].
        obstacles: Fixed rigid things that it touches.
        contact: How it touches them.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        settings: How equilibria are found.
    """
    require_solid(solid)
    if (len(actuators) > 0) != (efforts is not None):
        raise InvalidValue("actuators act with efforts: give both, such as efforts={'air': 20e3} [Pa], or neither.")

    def at_rest(body: Solid, drives: Sequence[Actuator]) -> np.ndarray:
        where: dict[str, Any] = {
            "gravity": gravity, "obstacles": obstacles, "contact": contact, "device": device, "threads": threads,
        }  # fmt: skip
        if not drives:
            return equilibrium(body, settings=settings, **where)
        robot = Robot(body, drives, **where)
        Forward(robot, settings).settle(efforts)
        return np.asarray(robot.positions.numpy())

    finer = refined(solid)
    fine = at_rest(finer, refined_actuators(actuators, finer))
    return compared(solid, at_rest(solid, actuators), finer, fine)


Solid.mesh_error = _mesh_error  # here, since equilibria and robots are built upon solids


def _among(
    contacts: Contacts, model: Model, settings: Settings | None, positions: wp.array[Any], start: np.ndarray | None
) -> TouchingNewton:
    """Newton's method among obstacles that stand still, from a start."""
    if any(rigid.moves != "fixed" for rigid in contacts.rigids):
        raise InvalidValue("an equilibrium has fixed obstacles only: use motion='fixed', or fem.simulation.")
    if start is None:
        positions.assign(model.solid.nodes + contacts.shift)
    contacts.stand_still(positions)
    return TouchingNewton(model, contacts, settings)


def _require_how(contact: object, settings: object) -> None:
    require_kind("contact", contact, (Contact, NoneType), "a fem.Contact or None")
    require_kind("settings", settings, (Settings, NoneType), "fem.Settings or None")


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World):
    """What a simulation of a solid is given besides the solid."""

    dynamic: bool = parameter(
        True, "Whether it has inertia; else it goes from equilibrium to equilibrium as its loads change."
    )
    extras: Sequence[ElementSet] | Callable[[wp.Device], Sequence[ElementSet]] = parameter(
        (), "More element sets that act on its nodes, or a function that makes them on a device."
    )
    actuators: Sequence[Actuator] = parameter(
        (),
        "Cables, chambers and forces that act on it, and slides that move what holds it; each is a channel of "
        "`simulation.controls` that takes commands of its effort, between its limits.",
    )
    worlds: int | None = parameter(
        None,
        "Copies of the solid side by side that know nothing of each other, each with commands of its own; None for one "
        "by itself. A solid of a batch that finds no equilibrium is lost by itself.",
        least=1,
    )
    together: Choice = parameter(
        "auto",
        "Whether worlds in motion are stepped together, in single precision, instead of one by one: True, False, a "
        '`Together` that says how, or "auto": on CUDA, where there are several worlds of a solid for which that can be '
        "done.",
    )
    linear: Linear = parameter("auto", "How linear systems are solved, see `Model`.")
    settings: Settings | None = parameter(None, "How equilibria are found.")


@options_of(Options)
def simulation(solid: Solid, options: Options) -> Simulation[Solver]:
    """A simulation of a solid.

    For robots that follow targets or hold strokes see `inverse_simulation` and `forward_simulation`.

    Args:
        solid: The solid.
        options: What acts on it and how it is stepped.
    """
    require_solid(solid)
    chosen, world = choose_device(options.device), options.part(World)
    dynamic, integrator, worlds, settings = options.dynamic, world.integrator, options.worlds, options.settings
    _require_how(world.contact, settings)
    require_motion(world.sand, dynamic=dynamic, integrator=integrator)
    if (world.touched or world.contact.touches_itself(solid)) and integrator != "backward-euler" and dynamic:
        raise InvalidValue(
            f"integrator={integrator!r} cannot step a solid that touches obstacles yet, nor one that touches itself: "
            "use 'backward-euler'."
        )
    if integrator == "linearly-implicit" and dynamic and settings is not None:
        raise InvalidValue("integrator='linearly-implicit' solves once a step: leave out settings.")
    contacts = touched_by(solid, world.touched, world.contact, chosen)
    sand = None if world.sand is None else Sand(solid, world.sand, world.step, chosen)
    drives = [drive_of(actuator, solid, chosen, np.asarray(world.gravity, float)) for actuator in options.actuators]
    if integrator == "midpoint" and dynamic and any(isinstance(drive, SlideDrive) for drive in drives):
        raise InvalidValue("the midpoint rule cannot step a hold that a Slide moves: use integrator='backward-euler'.")
    made = options.extras(chosen) if callable(options.extras) else options.extras
    require_kind("extras of a solid", made, Sequence, "a list of element sets, or a function that returns one")
    added = tuple(made)
    how = how_together(
        options.together, solid, world, drives, chosen, worlds=worlds, dynamic=dynamic,
        more=bool(added) or sand is not None,
        corners=contacts is not None and bool(contacts.corners),
        itself=contacts is not None and contacts.pairs is not None,
    )  # fmt: skip
    more = [*added, *(each for drive in drives for each in drive.sets)]
    more += [] if contacts is None else contacts.sets
    more += [] if sand is None else [sand]
    if not dynamic:
        if options.linear == "kept":
            raise InvalidValue("linear='kept' is for a solid in motion; without motion use 'auto'.")
        if contacts is not None and contacts.bodies:
            raise InvalidValue("free bodies move, and this solid does not: use dynamic=True, or motion='fixed'.")
        model = Model(solid, world, chosen, threads=options.threads, extras=more, linear=options.linear)
        return Simulation(Solver(model, settings=settings, drives=drives, worlds=worlds, contacts=contacts))
    held = bool(solid.held.any() or solid.forces.any() or world.obstacles or options.actuators or added)
    warn_of_falling("the solid", world.gravity, held=held, stacklevel=3)
    warn_of_step(world.step, stacklevel=3)
    inertia = Inertia(solid, world, chosen)
    in_motion = linear_in_motion(options.linear, solid, touches=contacts is not None and sand is None and how is None)
    model = Model(solid, world, chosen, threads=options.threads, extras=[*more, inertia], linear=in_motion)
    if how is not None:
        return Simulation(
            BatchedSolver(
                model, inertia, together=how, drives=drives, contacts=contacts, worlds=worlds or 1, settings=settings
            )
        )
    return Simulation(
        _MOVING[integrator](
            model, inertia, settings=settings, drives=drives, worlds=worlds, contacts=contacts, sand=sand
        )
    )

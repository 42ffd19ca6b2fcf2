"""Granular matter: grains, rigid bodies, and the solvers that bring them together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from annelid.core.lazy import public
from annelid.core.options import Auto, require_kind, spelled_out
from annelid.core.simulation import Simulation
from annelid.grains.apart import push_apart
from annelid.grains.bed import Bed
from annelid.grains.beginning import warn_of_beginnings
from annelid.grains.controls import (
    AnyControl,
    BodyControl,
    force_control,
    spin_control,
    torque_control,
    velocity_control,
)
from annelid.grains.energy import energy_of
from annelid.grains.filling import fill, jittered_lattice, pour
from annelid.grains.joints import joints_of, lead_joints
from annelid.grains.material import GLASS, SAND, Grain
from annelid.grains.model import Model
from annelid.grains.packing import overlaps, packing_fraction
from annelid.grains.readout import Contacts, Depth, Readout
from annelid.grains.sensors import (
    contact_force_of,
    contact_torque_of,
    grain_energy,
    grain_position,
    grain_share,
    grain_velocity,
    height_map,
    orientation_of,
    position_of,
    spin_of,
    touch_of,
    velocity_of,
)
from annelid.grains.solver import Solver
from annelid.grains.state import State
from annelid.grains.world import World
from annelid.shapes import Medium, Obstacle, ResistiveGround

__all__ = [
    "GLASS",
    "SAND",
    "Bed",
    "BodyControl",
    "Contacts",
    "Depth",
    "Grain",
    "Medium",
    "Model",
    "Readout",
    "ResistiveGround",
    "Solver",
    "State",
    "World",
    "contact_force_of",
    "contact_torque_of",
    "energy_of",
    "fill",
    "force_control",
    "grain_energy",
    "grain_position",
    "grain_share",
    "grain_velocity",
    "height_map",
    "jittered_lattice",
    "joints_of",
    "orientation_of",
    "overlaps",
    "packing_fraction",
    "position_of",
    "pour",
    "push_apart",
    "simulation",
    "spin_control",
    "spin_of",
    "torque_control",
    "touch_of",
    "velocity_control",
    "velocity_of",
]

__dir__ = public(__name__)


@spelled_out("a simulation of grains")
def simulation(
    bed: Bed,
    *,
    dt: float | Auto = World.dt,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    method: str = World.method,
    iterations: int | None = World.iterations,
    tolerance: float | None = World.tolerance,
    converge: bool | Auto = World.converge,
    softness: float = World.softness,
    correction: float | None = World.correction,
    skin: float | None = World.skin,
    period: tuple[float, float, float] = World.period,
    too_fast: str = World.too_fast,
    contact_step: float | None = World.contact_step,
    controls: Sequence[AnyControl] = (),
    worlds: int = 1,
    world_of: np.ndarray | None = None,
    overlapping: str = "refuse",
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> Simulation[Solver]:
    """A simulation of grains and bodies.

    Args:
        bed: The grains.
        dt: Time step [s]; "auto" takes the longest that keeps overlaps near a hundredth of a diameter.
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`.
        method: "nonsmooth", "paper" or "hertz"; see `World`.
        iterations: Sweeps over all contacts in a step; see `World` for what None takes.
        tolerance: Sweeps end when none changes the relative velocity of a contact by more [m/s]; None: all are done.
        converge: Whether sweeps go on until a step is solved; "auto" does so beside free bodies, see `World`.
        softness: Compliance of contacts, in units of the lighter grain's inverse mass.
        correction: Share of an overlap that a step removes; None takes 0.012, and the paper's method 0.02.
        skin: How much further than needed neighbours are listed, in radii; None takes 0.25 on a CPU, up to 0.75 where
            grains are fast, and 0.4 on CUDA and beside soft bodies. Beside bodies that move freely, what is
            fast may move further.
        period: Lengths after which space repeats along x, y, z [m]; 0 for none.
        too_fast: What to do when a grain moves by more than its radius in a step, or a body by more than the thinnest
            is thick: "warn", "stop" or "substep".
        contact_step: Contacts are as stiff as in a step of this length [s]; None is the step itself, see `World`.
        controls: Channels that move driven bodies and pull free ones, see `velocity_control` and `force_control`, and
            joints of robots, see `annelid.shapes.articulated.joint_controls`.
        worlds: Copies of bed and bodies side by side that do not touch; each takes commands of its own.
        world_of: World of each grain, shape [n], of a bed that is not to be copied; without `worlds`, bodies are not
            copied either and name their worlds (`Rigid.world`).
        overlapping: What to do with grains that start deep in each other or in a body: "refuse", "push" or "allow".
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    require_kind("the bed", bed, Bed, "a grains.Bed")
    world = World(
        dt=dt, gravity=gravity, obstacles=obstacles, method=method, iterations=iterations, tolerance=tolerance,
        converge=converge, softness=softness, correction=correction, skin=skin, period=period, too_fast=too_fast,
        contact_step=contact_step, controls=controls,
    )  # fmt: skip
    model = Model(bed, world=world, worlds=worlds, world_of=world_of, overlapping=overlapping, device=device)
    warn_of_beginnings(model, stacklevel=3)
    made = Simulation(Solver(model, threads=threads))
    lead_joints(made, controls)
    return made

"""Mass-spring bodies: lattices, materials, contacts, actuation, and a solver for millions of springs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import StepTooLong
from annelid.core.handles import Handles
from annelid.core.lazy import public
from annelid.core.options import Auto, require_kind, spelled_out
from annelid.core.simulation import Simulation
from annelid.core.summary import Summary
from annelid.shapes import Obstacle
from annelid.springs.actuation import Signal, contract_expand, expand_contract, titan_wave, wave
from annelid.springs.beginning import warn_of_beginnings
from annelid.springs.body import Body, join
from annelid.springs.build import bars, beam, block, box, cylinder, lattice, sphere, truss
from annelid.springs.collisions import Collide, contact_radii
from annelid.springs.conditions import Energy, faster, higher, lower
from annelid.springs.energy import energy_of
from annelid.springs.equilibrium import equilibrium
from annelid.springs.model import Model
from annelid.springs.modes import Modes, modes
from annelid.springs.motors import Command, Motor, hinge, swing
from annelid.springs.quasi import quasi_lattice
from annelid.springs.readout import Readout
from annelid.springs.sensors import (
    contact_force_of,
    orientation_of,
    position_of,
    strain_of,
    touch_of,
    velocity_of,
)
from annelid.springs.solver import Solver
from annelid.springs.state import State
from annelid.springs.stiffness import (
    bar_stiffness,
    directional_modulus,
    elastic_tensor,
    lattice_stiffness,
    shear_modulus,
)
from annelid.springs.volume import VolumeTerm, split_moduli
from annelid.springs.world import World

__all__ = [
    "Body",
    "Collide",
    "Command",
    "Energy",
    "Handles",
    "Model",
    "Modes",
    "Motor",
    "Readout",
    "Signal",
    "Solver",
    "State",
    "StepTooLong",
    "Summary",
    "VolumeTerm",
    "World",
    "bar_stiffness",
    "bars",
    "beam",
    "block",
    "box",
    "contact_force_of",
    "contact_radii",
    "contract_expand",
    "cylinder",
    "directional_modulus",
    "elastic_tensor",
    "energy_of",
    "equilibrium",
    "expand_contract",
    "faster",
    "higher",
    "hinge",
    "join",
    "lattice",
    "lattice_stiffness",
    "lower",
    "modes",
    "orientation_of",
    "position_of",
    "quasi_lattice",
    "shear_modulus",
    "simulation",
    "sphere",
    "split_moduli",
    "strain_of",
    "swing",
    "titan_wave",
    "touch_of",
    "truss",
    "velocity_of",
    "wave",
]

__dir__ = public(__name__)


@spelled_out("a simulation of springs")
def simulation(
    body: Body,
    *,
    dt: float | Auto = World.dt,
    integrator: str = World.integrator,
    precision: str = World.precision,
    gravity: tuple[float, float, float] = World.gravity,
    velocity_damping: float = World.velocity_damping,
    drag: float = World.drag,
    obstacles: Sequence[Obstacle] = (),
    collisions: Sequence[Collide] = (),
    motors: Sequence[Motor] = (),
    prepare: tuple[str, ...] = (),
    forces: Sequence[wp.Function] = (),
    constraints: Sequence[wp.Function] = (),
    dashpots: Literal["constant", "growing"] | None = None,
    relaxation: float | Auto = World.relaxation,
    hardness: float | Auto = World.hardness,
    worlds: int | None = None,
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> Simulation[Solver]:
    """A simulation of a body.

    Args:
        body: The body; join several to simulate them together.
        dt: Time step [s]; "auto" takes 0.8 of the stable step of springs, dampings and contacts, 0.5 of that of a
            contact alone where that is shorter, and at most 1e-3, or 1e-4 where masses touch each other.
        integrator: "euler" (forward), "symplectic", "verlet" or "rk4".
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²].
        velocity_damping: Rate at which velocities decay [1/s].
        drag: Force on a mass per squared speed [kg/m].
        obstacles: What masses can touch: fixed rigid things, or bare geometries, see `annelid.shapes.Rigid`, and at
            most one `ResistiveGround`.
        collisions: Groups of masses that touch each other.
        motors: Motors on the hinges of the body.
        prepare: Features to make ready for later edits though the body does not use them yet: "damping", "breaking".
        forces: The user's forces, Warp functions `(time, index, position, velocity, mass) -> force [N]`.
        constraints: The user's constraints, Warp functions `(time, index, position, velocity) -> velocity`.
        dashpots: How contacts with obstacles slow masses down: "constant", or "growing" with the depth, so that the
            force begins at 0 (restitution is then that of an impact at 1 m/s); None is "constant", and "growing" in
            rollouts.
        relaxation: Time over which dashpots of springs build up their force [s]: 0 for at once; "auto" takes as much as
            lets them shorten the step by no more than a factor of √2, where they would by more than 2.
        hardness: Stiffness over mass of contacts with surfaces that give no stiffness [1/s²]; "auto" takes what suits
            the body.
        worlds: Copies of the body side by side that know nothing of each other, each with commands of its own; None for
            one by itself.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    require_kind("the body", body, Body, "a springs.Body")
    world = World(
        dt=dt, integrator=integrator, precision=precision, gravity=gravity, velocity_damping=velocity_damping,
        drag=drag, obstacles=obstacles, collisions=collisions, motors=motors, prepare=prepare, forces=forces,
        constraints=constraints, dashpots=dashpots, relaxation=relaxation, hardness=hardness,
    )  # fmt: skip
    model = Model(body, world, choose_device(device), worlds=worlds)
    stable = model.stable_step()
    if model.dt > stable:
        remedy = "dt='auto'" if stable > 0.0 else "the body damping, or take another integrator"
        warnings.warn(
            f"the time step {model.dt:.3g} s is above the stable one of about {stable:.3g} s, which is limited "
            f"most by {model.what_limits_the_step()}: it may diverge; give {remedy}.",
            StepTooLong,
            stacklevel=3,
        )
    warn_of_beginnings(model, stacklevel=3)
    return Simulation(Solver(model, threads=threads))

"""Mass-spring bodies: lattices, materials, contacts, actuation, and a solver for millions of springs."""

from __future__ import annotations

import warnings
from typing import Any

import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import StepTooLong
from annelid.core.handles import Handles
from annelid.core.simulation import Simulation
from annelid.springs.actuation import Signal, contract_expand, expand_contract, titan_wave, wave
from annelid.springs.body import Body, join
from annelid.springs.build import bars, beam, block, box, cylinder, lattice, sphere, truss
from annelid.springs.collisions import Collide, contact_radii
from annelid.springs.conditions import Energy, faster, higher, lower
from annelid.springs.equilibrium import equilibrium
from annelid.springs.model import Model, World
from annelid.springs.modes import Modes, modes
from annelid.springs.motors import Motor, hinge, swing
from annelid.springs.obstacles import Ball, Cuboid, HeightField, Plane, Rigid, Surface
from annelid.springs.quasi import quasi_lattice
from annelid.springs.readout import Readout, Summary
from annelid.springs.solver import Solver, State
from annelid.springs.stiffness import (
    bar_stiffness,
    directional_modulus,
    elastic_tensor,
    lattice_stiffness,
    shear_modulus,
)
from annelid.springs.volume import VolumeTerm, split_moduli

__all__ = [
    "Ball",
    "Body",
    "Collide",
    "Cuboid",
    "Energy",
    "Handles",
    "HeightField",
    "Model",
    "Modes",
    "Motor",
    "Plane",
    "Readout",
    "Rigid",
    "Signal",
    "Solver",
    "State",
    "StepTooLong",
    "Summary",
    "Surface",
    "VolumeTerm",
    "World",
    "bar_stiffness",
    "bars",
    "beam",
    "block",
    "box",
    "contact_radii",
    "contract_expand",
    "cylinder",
    "directional_modulus",
    "elastic_tensor",
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
    "quasi_lattice",
    "shear_modulus",
    "simulation",
    "sphere",
    "split_moduli",
    "swing",
    "titan_wave",
    "truss",
    "wave",
]


def simulation(
    body: Body, *, device: str | wp.Device = "auto", threads: int | None = None, **world: Any
) -> Simulation[Solver]:
    """A simulation of a body.

    Args:
        body: The body; join several to simulate them together.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        world: Attributes of `World`: dt, integrator, precision, gravity, obstacles...
    """
    model = Model(body, World(**world), choose_device(device))
    stable = model.stable_step()
    if model.world.dt > stable:
        warnings.warn(
            f"the time step {model.world.dt:.3g} s is above the stable one of about {stable:.3g} s: it may diverge.",
            StepTooLong,
            stacklevel=2,
        )
    return Simulation(Solver(model, threads=threads))

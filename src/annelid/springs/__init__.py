"""Mass-spring bodies: lattices, materials, contacts, actuation, and a solver for millions of springs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from annelid.core.device import OnDevice
from annelid.core.device import device as choose_device
from annelid.core.errors import StepTooLong
from annelid.core.handles import Handles
from annelid.core.lazy import public
from annelid.core.options import require_kind
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
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


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World):
    """What a simulation of springs is given besides the body."""

    worlds: int | None = parameter(
        None,
        "Copies of the body side by side that know nothing of each other, each with commands of its own; None for one "
        "by itself.",
        least=1,
    )


@options_of(Options)
def simulation(body: Body, options: Options) -> Simulation[Solver]:
    """A simulation of a body.

    Args:
        body: The body; join several to simulate them together.
        options: What surrounds it and how it is stepped.
    """
    require_kind("the body", body, Body, "a springs.Body")
    model = Model(body, options.part(World), choose_device(options.device), worlds=options.worlds)
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
    return Simulation(Solver(model, threads=options.threads))

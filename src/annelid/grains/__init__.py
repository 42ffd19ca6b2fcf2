"""Granular matter: grains, rigid bodies, and the solvers that bring them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from annelid.core.device import OnDevice
from annelid.core.lazy import public
from annelid.core.options import require_kind
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.grains.apart import push_apart
from annelid.grains.bed import Bed
from annelid.grains.beginning import warn_of_beginnings
from annelid.grains.controls import (
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

__all__ = [
    "GLASS",
    "SAND",
    "Bed",
    "BodyControl",
    "Contacts",
    "Depth",
    "Grain",
    "Model",
    "Readout",
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


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World):
    """What a simulation of grains is given besides the grains."""

    worlds: int = parameter(
        1, "Copies of bed and bodies side by side that do not touch; each takes commands of its own.", least=1
    )
    world_of: np.ndarray | None = parameter(
        None,
        "World of each grain, shape [n], of a bed that is not to be copied; without `worlds`, bodies are not copied "
        "either and name their worlds (`Rigid.world`).",
    )
    overlapping: Literal["refuse", "push", "allow"] = parameter(
        "refuse", 'What to do with grains that start deep in each other or in a body: "refuse", "push" or "allow".'
    )


@options_of(Options)
def simulation(bed: Bed, options: Options) -> Simulation[Solver]:
    """A simulation of grains and bodies.

    Args:
        bed: The grains.
        options: Where they live and how they are stepped.
    """
    require_kind("the bed", bed, Bed, "a grains.Bed")
    model = Model(
        bed, world=options.part(World), worlds=options.worlds, world_of=options.world_of,
        overlapping=options.overlapping, device=options.device,
    )  # fmt: skip
    warn_of_beginnings(model, stacklevel=3)
    made = Simulation(Solver(model, threads=options.threads))
    lead_joints(made, options.controls)
    return made

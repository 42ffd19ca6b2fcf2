"""Granular matter: grains, rigid bodies, and the solvers that bring them together."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.simulation import Simulation
from annelid.grains.apart import push_apart
from annelid.grains.bed import Bed
from annelid.grains.filling import fill, jittered_lattice, pour
from annelid.grains.material import GLASS, SAND, Grain
from annelid.grains.model import Model
from annelid.grains.packing import overlaps, packing_fraction
from annelid.grains.readout import Contacts, Depth, Readout
from annelid.grains.solver import Solver
from annelid.grains.state import State
from annelid.grains.world import World, world_of

__all__ = [
    "GLASS",
    "SAND",
    "Bed",
    "Contacts",
    "Depth",
    "Grain",
    "Model",
    "Readout",
    "Solver",
    "State",
    "World",
    "fill",
    "jittered_lattice",
    "overlaps",
    "packing_fraction",
    "pour",
    "push_apart",
    "simulation",
]


def simulation(
    bed: Bed,
    *,
    worlds: np.ndarray | None = None,
    overlapping: str = "refuse",
    device: str | wp.Device = "auto",
    threads: int | None = None,
    **world: Any,
) -> Simulation[Solver]:
    """A simulation of grains and bodies.

    Args:
        bed: The grains.
        worlds: World of each grain, shape [n], where several are simulated side by side.
        overlapping: What to do with grains that start deep in each other or in a body: "refuse", "push" or "allow".
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        world: Attributes of `World`: dt, gravity, obstacles, period, method...
    """
    model = Model(bed, world=world_of(world), worlds=worlds, overlapping=overlapping, device=device)
    return Simulation(Solver(model, threads=threads))

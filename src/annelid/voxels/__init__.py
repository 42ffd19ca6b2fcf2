"""2-D voxel robots: soft squares of masses and springs that sense, shrink and grow (Medvet et al., 2D-VSR-Sim)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.simulation import Simulation
from annelid.voxels import sensors
from annelid.voxels.material import Voxel
from annelid.voxels.model import Model, World
from annelid.voxels.objects import Box
from annelid.voxels.readout import Readout
from annelid.voxels.ready import biped, box, random_body, tripod, worm
from annelid.voxels.robot import Load, Robot, largest_connected
from annelid.voxels.sensors import Sensor, talamini_sensors
from annelid.voxels.solver import Solver, State
from annelid.voxels.terrain import Terrain, terrain

__all__ = [
    "Box",
    "Load",
    "Model",
    "Readout",
    "Robot",
    "Sensor",
    "Solver",
    "State",
    "Terrain",
    "Voxel",
    "World",
    "biped",
    "box",
    "largest_connected",
    "random_body",
    "sensors",
    "simulation",
    "talamini_sensors",
    "terrain",
    "tripod",
    "worm",
]


def simulation(
    robots: Robot | Sequence[Robot],
    *,
    terrain: Terrain | str | None = None,
    together: bool = False,
    positions: Any = None,
    device: str | wp.Device = "auto",
    threads: int | None = None,
    lanes: int | None = None,
    shared: bool = True,
    **world: Any,
) -> Simulation[Solver]:
    """A simulation of robots.

    Args:
        robots: One robot or many; many live each in a world of their own unless they are `together`.
        terrain: The ground, or its name ("flat", "hilly-1-10-0"...); None for a world without ground.
        together: Whether the robots share one world, where they can touch.
        positions: Lower left corner of each robot [m], shape [robots, 2]; by default they are placed on the ground.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        lanes: CUDA threads a world; None chooses by the size of the robots.
        shared: Whether working data may lie in shared memory (CUDA).
        world: Attributes of `World`: dt, control_interval, precision, gravity, objects...
    """
    group = [robots] if isinstance(robots, Robot) else list(robots)
    ground = _named(terrain)
    worlds = [group] if together else [[robot] for robot in group]
    where = None if positions is None else np.asarray(positions, float)
    model = Model(
        worlds, World(terrain=ground, **world), choose_device(device), positions=where, lanes=lanes, shared=shared
    )
    return Simulation(Solver(model, threads=threads))


def _named(ground: Terrain | str | None) -> Terrain | None:
    return terrain(ground) if isinstance(ground, str) else ground

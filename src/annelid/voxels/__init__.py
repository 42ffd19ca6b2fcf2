"""2-D voxel robots: soft squares of masses and springs that sense, shrink and grow (Medvet et al., 2D-VSR-Sim)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.device import OnDevice
from annelid.core.device import device as choose_device
from annelid.core.lazy import public
from annelid.core.options import require_kind
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.core.unlikely import warn_of_falling, warn_of_far
from annelid.voxels import evogym, sensors
from annelid.voxels.energy import energy_of
from annelid.voxels.material import Voxel
from annelid.voxels.model import Model
from annelid.voxels.objects import Box
from annelid.voxels.reading import highest, orientation_of, position_of, readings_of, velocity_of
from annelid.voxels.readout import Readout
from annelid.voxels.ready import biped, box, random_body, tripod, worm
from annelid.voxels.robot import Load, Robot, largest_connected
from annelid.voxels.sensors import Sensor, talamini_sensors
from annelid.voxels.solver import Solver, State
from annelid.voxels.terrain import Terrain, terrain
from annelid.voxels.world import World, require_copies

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
    "energy_of",
    "evogym",
    "highest",
    "largest_connected",
    "orientation_of",
    "position_of",
    "random_body",
    "readings_of",
    "sensors",
    "simulation",
    "talamini_sensors",
    "terrain",
    "tripod",
    "velocity_of",
    "worm",
]

__dir__ = public(__name__)


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World):
    """What a simulation of voxels is given besides robots."""

    together: bool = parameter(False, "Whether the robots share one world, where they can touch.")
    positions: Any = parameter(
        None,
        "Lower left corner of each robot [m], shape [robots, 2]; by default they begin 1 m above the ground, and side "
        "by side where they are together.",
    )
    worlds: int = parameter(
        1,
        "Number of independent copies of one robot, or of robots that are together; each moves to the bit as it would "
        "alone.",
        least=1,
    )


@options_of(Options)
def simulation(robots: Robot | Sequence[Robot], options: Options) -> Simulation[Solver]:
    """A simulation of robots.

    Args:
        robots: One robot or many; many live each in a world of their own unless they are `together`.
        options: What surrounds them and how they are stepped.
    """
    group = list(robots) if isinstance(robots, Iterable) else [robots]
    for robot in group:
        require_kind("each robot", robot, Robot, "a voxels.Robot")
    world, worlds, positions = options.part(World), options.worlds, options.positions
    each = [group] if options.together else [[robot] for robot in group]
    require_copies(worlds, len(each), sum(robot.voxel_count for robot in group))
    where = None if positions is None else np.tile(as_numbers("positions", positions), (worlds, 1))
    model = Model(each * worlds, world, choose_device(options.device), positions=where)
    held = bool(world.obstacles) or all(robot.loads or robot.fixed.any() for robot in group)
    warn_of_falling("the robot", world.gravity, held=held, stacklevel=3)
    if model.numpy_real is np.float32:
        pitch = min(material.side_length for robot in group for material in robot.materials)
        remedy = "place it near the origin with positions=, or give precision='float64'"
        warn_of_far("the robot", model.corners, pitch, remedy, stacklevel=3)
    return Simulation(Solver(model, threads=options.threads))

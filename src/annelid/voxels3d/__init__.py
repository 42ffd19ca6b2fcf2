"""3-D voxel robots: cubes on a lattice, joined by beams, that grow and shrink (Hiller and Lipson, Voxelyze)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.device import OnDevice
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.lazy import public
from annelid.core.memory import require_memory
from annelid.core.options import require_kind
from annelid.core.parameters import documented, options_of, parameter
from annelid.core.simulation import Simulation
from annelid.core.unlikely import warn_of_falling, warn_of_matter, warn_of_size
from annelid.voxels3d.files.folders import read_folder, run_setups
from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.files.history import History, HistoryWriter, read_history
from annelid.voxels3d.files.report import write_report
from annelid.voxels3d.files.robots import Setup, setup_of, vxa_of
from annelid.voxels3d.files.voxelyze_json import read_json, write_json
from annelid.voxels3d.files.vxa import Vxa
from annelid.voxels3d.likeness import body_distance, body_key
from annelid.voxels3d.model import Model
from annelid.voxels3d.obstacles import warn_of_beginnings
from annelid.voxels3d.readout import Readout
from annelid.voxels3d.regions import Hold, Push
from annelid.voxels3d.robot import Robot, largest_connected
from annelid.voxels3d.sensors import energy_of, orientation_of, position_of, strain_of, touch_of, velocity_of
from annelid.voxels3d.solver import Solver, State
from annelid.voxels3d.voxel import Voxel
from annelid.voxels3d.world import World

__all__ = [
    "Formula",
    "History",
    "HistoryWriter",
    "Hold",
    "Model",
    "Push",
    "Readout",
    "Robot",
    "Setup",
    "Solver",
    "State",
    "Voxel",
    "Vxa",
    "World",
    "body_distance",
    "body_key",
    "energy_of",
    "largest_connected",
    "orientation_of",
    "position_of",
    "read_folder",
    "read_history",
    "read_json",
    "run_setups",
    "setup_of",
    "simulation",
    "strain_of",
    "touch_of",
    "velocity_of",
    "vxa_of",
    "write_json",
    "write_report",
]

__dir__ = public(__name__)

_BYTES_A_VOXEL = 500  # while worlds are compiled, about


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Options(OnDevice, World):
    """What a simulation of 3-D voxels is given besides robots."""

    positions: Any = parameter(
        None, "Where the corner of cell (0, 0, 0) of each robot is [m], shape [3] or [robots, 3]."
    )
    worlds: int = parameter(1, "Number of copies of the robots; each moves to the bit as it would alone.", least=1)


@options_of(Options)
def simulation(robots: Robot | Sequence[Robot], options: Options) -> Simulation[Solver]:
    """A simulation of robots.

    Args:
        robots: One robot or many, each in a world of its own where `collisions` is not "all": none is aware of another.
        options: What surrounds them and how they are stepped.
    """
    group = list(robots) if isinstance(robots, Iterable) else [robots]
    for robot in group:
        require_kind("each robot", robot, Robot, "a voxels3d.Robot")
    worlds, world = options.worlds, options.part(World)
    needed = float(worlds) * _BYTES_A_VOXEL * sum(robot.voxel_count for robot in group)
    require_memory(f"a simulation of {worlds} worlds of {len(group)} robots", needed, "simulate fewer worlds")
    where = None if options.positions is None else np.tile(_places(options.positions, len(group)), (worlds, 1))
    share = len(group) if world.collisions == "all" else 1
    model = Model(group * worlds, world, choose_device(options.device), positions=where, group=share)
    held = bool(world.obstacles or world.force_field) or all(robot.holds or robot.pushes for robot in group)
    widest = max((robot.side_length * float(max(robot.grid.shape)) for robot in group), default=0.0)
    warn_of_size("a robot", widest, stacklevel=3)
    for each in dict.fromkeys(material for robot in group for material in robot.materials):
        warn_of_matter(each.name or "of a voxel", each.density, each.youngs_modulus, stacklevel=3)
    warn_of_falling("the robot", world.gravity, held=held, stacklevel=3)
    warn_of_beginnings(world.contacts, model.places, stacklevel=3)
    return Simulation(Solver(model, threads=options.threads))


def _places(positions: Any, count: int) -> np.ndarray:
    """Where robots are, a row each."""
    try:
        return np.broadcast_to(np.asarray(positions, float), (count, 3))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"positions must be numbers of shape [3], or [{count}, 3] for the {count} robots, not {positions!r:.60}."
        ) from None

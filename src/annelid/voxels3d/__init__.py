"""3-D voxel robots: cubes on a lattice, joined by beams, that grow and shrink (Hiller and Lipson, Voxelyze)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.lazy import public
from annelid.core.memory import require_memory
from annelid.core.numbers import is_whole
from annelid.core.options import Auto, require_kind, spelled_out
from annelid.core.simulation import Simulation
from annelid.core.unlikely import warn_of_falling, warn_of_matter, warn_of_size
from annelid.shapes import Obstacle
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
from annelid.voxels3d.world import Collisions, Links, Skin, World

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


@spelled_out("a simulation of 3-D voxels")
def simulation(
    robots: Robot | Sequence[Robot],
    *,
    dt: float | Auto = "auto",
    precision: str = World.precision,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    links: Links = World.links,
    collisions: Collisions = World.collisions,
    force_field: Sequence[Formula] = World.force_field,
    fluid: float = World.fluid,
    skin: Skin = World.skin,
    positions: Any = None,
    worlds: int = 1,
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> Simulation[Solver]:
    """A simulation of robots.

    Args:
        robots: One robot or many, each in a world of its own where `collisions` is not "all": none is aware of another.
        dt: Time step [s]; "auto" takes 0.75 of the step that Voxelyze recommends for the stiffest and lightest voxels,
            or 0.9 of the stable one where that is shorter.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²].
        obstacles: What voxels can touch: fixed rigid things, or bare geometries, see `annelid.shapes.Rigid`, and a
            `ResistiveGround`; nothing without.
        links: "balanced" links conserve angular momentum; "compatible" ones have the moments of Voxelyze, which do not
            where links are stretched.
        collisions: "none" of the voxels touch each other; with "self" those of a robot do; with "all" the robots share
            a world and touch each other too.
        force_field: Formulas of the force on each voxel along x, y and z [N], from its place x, y, z [m] and the time t
            [s]; none without.
        fluid: Density of the fluid at rest that robots move in, times the drag coefficient of their faces [kg/m³]: it
            pushes on open faces that move into it. It does not carry them: with neutral buoyancy there is no gravity.
        skin: How pictures show robots: "blocky", or "smooth", which rounds them off.
        positions: Where the corner of cell (0, 0, 0) of each robot is [m], shape [3] or [robots, 3].
        worlds: Number of copies of the robots; each moves to the bit as it would alone.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    group = list(robots) if isinstance(robots, Iterable) else [robots]
    for robot in group:
        require_kind("each robot", robot, Robot, "a voxels3d.Robot")
    if not is_whole(worlds, 1):
        raise InvalidValue(f"worlds must be a whole number of 1 or more, not {worlds!r}.")
    needed = float(worlds) * _BYTES_A_VOXEL * sum(robot.voxel_count for robot in group)
    require_memory(f"a simulation of {worlds} worlds of {len(group)} robots", needed, "simulate fewer worlds")
    world = World(
        dt=dt, precision=precision, gravity=gravity, obstacles=obstacles, links=links, collisions=collisions,
        force_field=force_field, fluid=fluid, skin=skin,
    )  # fmt: skip
    where = None if positions is None else np.tile(_places(positions, len(group)), (worlds, 1))
    share = len(group) if collisions == "all" else 1
    model = Model(group * worlds, world, choose_device(device), positions=where, group=share)
    held = bool(obstacles or force_field) or all(robot.holds or robot.pushes for robot in group)
    widest = max((robot.side_length * float(max(robot.grid.shape)) for robot in group), default=0.0)
    warn_of_size("a robot", widest, stacklevel=3)
    for each in dict.fromkeys(material for robot in group for material in robot.materials):
        warn_of_matter(each.name or "of a voxel", each.density, each.youngs_modulus, stacklevel=3)
    warn_of_falling("the robot", world.gravity, held=held, stacklevel=3)
    warn_of_beginnings(world.contacts, model.places, stacklevel=3)
    return Simulation(Solver(model, threads=threads))


def _places(positions: Any, count: int) -> np.ndarray:
    """Where robots are, a row each."""
    try:
        return np.broadcast_to(np.asarray(positions, float), (count, 3))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"positions must be numbers of shape [3], or [{count}, 3] for the {count} robots, not {positions!r:.60}."
        ) from None

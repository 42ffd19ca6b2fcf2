"""2-D voxel robots: soft squares of masses and springs that sense, shrink and grow (Medvet et al., 2D-VSR-Sim)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.device import device as choose_device
from annelid.core.lazy import public
from annelid.core.options import Auto, require_kind, spelled_out
from annelid.core.simulation import Simulation
from annelid.core.unlikely import warn_of_falling, warn_of_far
from annelid.shapes.values import require_count, step_or
from annelid.voxels import evogym, sensors
from annelid.voxels.energy import energy_of
from annelid.voxels.material import Voxel
from annelid.voxels.model import Model
from annelid.voxels.objects import Box
from annelid.voxels.obstacles import Obstacle
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


@spelled_out("a simulation of voxels")
def simulation(
    robots: Robot | Sequence[Robot],
    *,
    dt: float | Auto = World.dt,
    control_interval: int = World.control_interval,
    precision: str = World.precision,
    gravity: tuple[float, float, float] = World.gravity,
    obstacles: Sequence[Obstacle] = (),
    substeps: int | None = None,
    work: bool = World.work,
    watch: bool = World.watch,
    together: bool = False,
    positions: Any = None,
    worlds: int = 1,
    device: str | wp.Device = "auto",
    threads: int | None = None,
    lanes: int | None = None,
    shared: bool = True,
) -> Simulation[Solver]:
    """A simulation of robots.

    Args:
        robots: One robot or many; many live each in a world of their own unless they are `together`.
        dt: Time step [s]; "auto" is the default, 1/60 s.
        control_interval: Steps between two calls of the controllers: with c they are called every c + 1 steps.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²], along z.
        obstacles: What robots can touch: a terrain, such as `terrain("flat")`, and boxes; nothing without.
        substeps: Substeps of a step; None takes as many as the stiffest voxel needs.
        work: Whether the work of actuation is summed, which costs time.
        watch: Whether the extremes of a run are kept: heights, swings, contacts with the ground.
        together: Whether the robots share one world, where they can touch.
        positions: Lower left corner of each robot [m], shape [robots, 2]; by default they begin 1 m above the ground,
            and side by side where they are together.
        worlds: Number of independent copies of one robot, or of robots that are together; each moves to the bit as it
            would alone.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        lanes: CUDA threads a world; None chooses by the size of the robots.
        shared: Whether working data may lie in shared memory (CUDA).
    """
    group = list(robots) if isinstance(robots, Iterable) else [robots]
    for robot in group:
        require_kind("each robot", robot, Robot, "a voxels.Robot")
    each = [group] if together else [[robot] for robot in group]
    require_copies(worlds, len(each), sum(robot.voxel_count for robot in group))
    where = None if positions is None else np.tile(as_numbers("positions", positions), (worlds, 1))
    if lanes is not None:
        require_count("lanes", lanes, least=1, most=1024)
    world = World(
        dt=step_or("dt", dt, World.dt), control_interval=control_interval, precision=precision, gravity=gravity,
        obstacles=obstacles, substeps=substeps, work=work, watch=watch,
    )  # fmt: skip
    model = Model(each * worlds, world, choose_device(device), positions=where, lanes=lanes, shared=shared)
    held = bool(obstacles) or all(robot.loads or robot.fixed.any() for robot in group)
    warn_of_falling("the robot", world.gravity, held=held, stacklevel=3)
    if model.numpy_real is np.float32:
        pitch = min(material.side_length for robot in group for material in robot.materials)
        remedy = "place it near the origin with positions=, or give precision='float64'"
        warn_of_far("the robot", model.corners, pitch, remedy, stacklevel=3)
    return Simulation(Solver(model, threads=threads))

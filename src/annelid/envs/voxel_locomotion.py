"""Locomotion of a voxel robot: sensors are observed, voxels act; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import warp as wp

from annelid import control, voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.hooks import Batch, each_world
from annelid.envs.kernels import voxels as kernels
from annelid.envs.task import Task

BODIES = {
    "biped": lambda: voxels.biped(4),
    "tripod": lambda: voxels.tripod(5),
    "worm": lambda: voxels.worm(5),
    "box": lambda: voxels.box(3, 2),
}
"""Ready bodies by name."""


@documented
class VoxelLocomotion(Task):
    """Walk along x with a robot of flat voxels, on flat or uneven ground: `annelid/VoxelLocomotion-v0`."""

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")

    body: str | voxels.Robot = parameter(
        "biped", "Name of a ready body, or a `voxels.Robot`; its sensors are observed if it has some."
    )
    sensors: Sequence[voxels.Sensor] | None = parameter(
        None, "Sensors of every voxel, unless the body has its own; None for area, velocities and touch."
    )
    terrain: str | voxels.Terrain = parameter("flat", "The ground, or its name.")
    seconds: float = parameter(20.0, "Length of an episode [s].", unit="s", limits=(1e-3, 1e6))
    substeps: int = parameter(6, "Steps of 1/60 s in an action.", limits=(1, 10_000))
    noise: float = parameter(
        0.05, "Standard deviation of the velocity that an episode begins with [m/s].", unit="m/s", limits=(0.0, 10.0)
    )
    smooth = False
    arrays = "warp"
    observed: ClassVar[Mapping[str, str]] = {
        "readings": "readings of the sensors of each voxel, voxel by voxel as in `robot.cells`",
        "commanded": "the last action",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.body, str) and self.body not in BODIES:
            raise UnknownName("body", self.body, BODIES)

    def robot(self) -> voxels.Robot:
        """The robot with its sensors and without a controller."""
        body = BODIES[self.body]() if isinstance(self.body, str) else self.body
        plan = body.sensors if callable(body.sensors) or len(body.sensors) else self.sensors
        if plan is None:
            s = voxels.sensors
            plan = (
                s.area_ratio(),
                s.velocity("x", rotated=True),
                s.velocity("y", rotated=True),
                s.angle(),
                s.touching(),
            )
        robot = voxels.Robot(body.grid, body.materials, sensors=plan, fixed=body.fixed, loads=body.loads)
        if not robot.inputs:
            raise InvalidValue("a robot without sensors has no observations: give it sensors.")
        return robot

    def build(self, **machine: Any) -> Simulation[voxels.Solver]:
        """The robot on its ground."""
        ground = voxels.terrain(self.terrain) if isinstance(self.terrain, str) else self.terrain
        simulation = voxels.simulation(self.robot(), obstacles=[ground], control_interval=self.substeps - 1, **machine)
        simulation.sensors.add("readings", voxels.readings_of())
        simulation.sensors.add("commanded", control.commanded())
        return simulation

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return self.substeps

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Throw a robot a little, as the seed says."""
        worlds.kick(worlds.normal(2, self.noise), mask)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Where the robots are."""
        solver: voxels.Solver = worlds.simulation.solver
        return {"totals": solver.readout.device_totals(worlds.state)}

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """The way of the centre along x [m]."""
        return each_world(kernels.way, [now["totals"], before["totals"]])

"""Locomotion of a voxel robot: sensors are observed, voxels act; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import warp as wp

from annelid import voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.envs.hooks import Batch, Channel, each_world
from annelid.envs.kernels import voxels as kernels
from annelid.envs.task import Task
from annelid.envs.worlds import require

BODIES = {
    "biped": lambda: voxels.biped(4),
    "tripod": lambda: voxels.tripod(5),
    "worm": lambda: voxels.worm(5),
    "box": lambda: voxels.box(3, 2),
}
"""Ready bodies by name."""


class VoxelLocomotion(Task):
    """Walk along x with a robot of flat voxels, on flat or uneven ground: `annelid/VoxelLocomotion-v0`.

    Attributes:
        body: Name of a ready body, or a `voxels.Robot`; its sensors are observed if it has some.
        sensors: Sensors of every voxel, unless the body has its own; None for area, velocities and touch.
        terrain: The ground, or its name.
        seconds: Length of an episode [s].
        substeps: Steps of 1/60 s in an action.
        noise: Standard deviation of the velocity that an episode begins with [m/s].
    """

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")

    body: str | voxels.Robot = "biped"
    sensors: Sequence[voxels.Sensor] | None = None
    terrain: str | voxels.Terrain = "flat"
    seconds: float = 20.0
    substeps: int = 6
    noise: float = 0.05
    arrays = "warp"

    def __post_init__(self) -> None:
        if isinstance(self.body, str) and self.body not in BODIES:
            raise UnknownName("body", self.body, BODIES)
        require("seconds", self.seconds, 1e-3, 1e6)
        require("substeps", self.substeps, 1, 10_000, whole=True)
        require("noise", self.noise, 0.0, 10.0)

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
        return simulation

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return self.substeps

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Throw a robot a little, as the seed says."""
        worlds.kick(worlds.normal(2, self.noise), mask)

    def act(self, worlds: Batch) -> None:
        """Let each voxel shrink or grow as its number of the action says."""
        worlds.command(worlds.actions)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Where the robots are."""
        solver: voxels.Solver = worlds.simulation.solver
        return {"totals": solver.readout.device_totals(worlds.state)}

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """The way of the centre along x [m]."""
        return each_world(kernels.way, [now["totals"], before["totals"]])

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
        """Readings of all sensors, voxel by voxel, and the last action."""
        sensed, acting = simulation.sensors.size, len(simulation.controls)
        parts = (
            ("readings of the sensors of each voxel, voxel by voxel as in `robot.cells`", sensed),
            ("the last action", acting),
        )
        return (Channel("observation", (sensed + acting,), parts=parts),)

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write the readings and the last action."""
        seen = worlds.observations["observation"]
        inputs = [mask, worlds.now["readings"], worlds.actions]
        wp.launch(kernels.show_inputs, seen.shape, inputs, [seen], device=worlds.device)

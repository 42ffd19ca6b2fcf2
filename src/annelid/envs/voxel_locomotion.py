"""Locomotion of a voxel robot: sensors are observed, voxels act; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import warp as wp

from annelid import voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import state_arrays
from annelid.envs.kernels import voxels as kernels
from annelid.envs.worlds import Channel, Worlds, require

BODIES = {
    "biped": lambda: voxels.biped(4),
    "tripod": lambda: voxels.tripod(5),
    "worm": lambda: voxels.worm(5),
    "box": lambda: voxels.box(3, 2),
}
"""Ready bodies by name."""


@dataclass(frozen=True, kw_only=True)
class VoxelOptions:
    """Options of `annelid/VoxelLocomotion-v0`.

    Attributes:
        body: Name of a ready body, or a `voxels.Robot`; its sensors are observed if it has some.
        sensors: Sensors of every voxel, unless the body has its own; None for area, velocities and touch.
        terrain: The ground, or its name.
        seconds: Length of an episode [s].
        substeps: Steps of 1/60 s in an action.
        noise: Standard deviation of the velocity that an episode begins with [m/s].
    """

    body: str | voxels.Robot = "biped"
    sensors: Sequence[voxels.Sensor] | None = None
    terrain: str | voxels.Terrain = "flat"
    seconds: float = 20.0
    substeps: int = 6
    noise: float = 0.05

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


class VoxelLocomotion(Worlds):
    """Voxel robots, each on ground of its own.

    Args:
        count: Number of worlds.
        options: Options of the task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "VoxelLocomotion"
    settings: ClassVar[type[Any]] = VoxelOptions
    solver: voxels.Solver

    def __init__(
        self, count: int, options: VoxelOptions, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        self.robot = options.robot()
        super().__init__(count, options, device=device)
        simulation = self._simulation(count, threads)
        self.solver, self.state, self._controls = simulation.solver, simulation.state, simulation.controls
        self._stand_in: Simulation[voxels.Solver] | None = None
        self._before = self._zeros(count, wp.float64)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Readings of all sensors, voxel by voxel, and the last action."""
        sensed = len(self.robot.inputs)
        parts = (
            ("readings of the sensors of each voxel, voxel by voxel as in `robot.cells`", sensed),
            ("the last action", self.action_size),
        )
        return (Channel("observation", (sensed + self.action_size,), parts=parts),)

    @property
    def action_size(self) -> int:
        """One number a voxel: shrink or grow."""
        return self.robot.voxel_count

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.options.substeps / 60.0

    def snapshot(self, world: int = 0) -> Snapshot:
        """One robot on its ground."""
        if self._stand_in is None:
            self._stand_in = self._simulation(1, 1)
        twin = self._stand_in
        sources = state_arrays(self.state)
        for name, target in state_arrays(twin.state).items():
            wp.copy(target, sources[name], src_offset=0 if name == "clock" else world * len(target), count=len(target))
        return twin.solver.snapshot(twin.state, Look())

    def _simulation(self, count: int, threads: int | None) -> Simulation[voxels.Solver]:
        options = self.options
        return voxels.simulation(
            self.robot, obstacles=[voxels.terrain(options.terrain)], control_interval=options.substeps - 1,
            worlds=count, device=self.device, threads=threads,
        )  # fmt: skip

    def _memory(self) -> dict[str, Any]:
        return {"state": self.state, "before": self._before, "troubles": self.solver.troubles}

    def _begin(self, mask: wp.array[Any]) -> None:
        state, solver = self.state, self.solver
        solver.reset(state, mask)
        bodies = solver.model.body_count // self.count
        inputs = [mask, self.seeds, self.episodes, bodies, self.options.noise, state.clock, state.velocities]
        self._launch(kernels.nudge, inputs, [state.origins, solver.troubles])
        self._launch(kernels.note_start, [mask, solver.readout.device_totals(state)], [self._before])

    def _advance(self) -> None:
        self._controls.take(self.solver.commanded(self.state), self.actions, range(self.action_size))
        self.solver.advance(self.state, self.options.substeps)

    def _judge(self) -> None:
        inputs = [self.solver.readout.device_totals(self.state), self._before, self.solver.troubles]
        self._launch(kernels.judge_way, inputs, [self.rewards, self.terminated])

    def _observe(self, mask: wp.array[Any]) -> None:
        seen = self.observations["observation"]
        inputs = [mask, self.solver.sense(self.state), self.actions]
        wp.launch(kernels.show_inputs, seen.shape, inputs, [seen], device=self.device)

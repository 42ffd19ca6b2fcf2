"""What problems of walking voxel robots share: the ground, the time, the voxels, and how a robot is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.simulation import Simulation
from annelid.evolve.contract import Problem
from annelid.voxels import Robot, Voxel
from annelid.voxels.tasks import Locomotion


@documented
@dataclass(frozen=True, kw_only=True)
class WalkOptions(Checked):
    """Settings of a walk; the fitness is the velocity over the largest dimension of the robot [1/s]."""

    seconds: float = parameter(60.0, "Simulated time [s].", unit="s", above=0.0)
    dt: float = parameter(1.0 / 30.0, "Time step [s].", unit="s", above=0.0)
    terrain: str = parameter("flat", "Name of the ground.")
    preset: Literal["paper", "v1"] = parameter(
        "paper", "Voxels as the paper describes them, or as its program made them."
    )

    def task(self) -> Locomotion:
        """The task."""
        return Locomotion(seconds=self.seconds, dt=self.dt, terrain=self.terrain)

    def voxel(self, **changes: Any) -> Voxel:
        """A voxel of the preset with some properties changed."""
        return (Voxel.paper if self.preset == "paper" else Voxel.v1)(**changes)


class Walk(Problem):
    """A problem whose rows are walking robots.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    def __init__(self, options: WalkOptions, device: str, threads: int | None) -> None:
        self.task, self.device, self.threads = options.task(), device, threads

    def robot(self, parameters: np.ndarray) -> Robot | None:
        """The robot of a row; None where a row makes none."""
        raise NotImplementedError

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """The robot, as `Robot.from_json` reads it, or nothing."""
        robot = self.robot(parameters)
        return {} if robot is None else dict(json.loads(robot.to_json()))

    def film(self, parameters: np.ndarray) -> tuple[Simulation[Any], float]:
        """The robot at the beginning of its walk."""
        robot = self.robot(parameters)
        if robot is None:
            raise InvalidValue("these parameters make no robot that could be shown: no cell of its grid is filled.")
        return self.task.simulation(robot, device=self.device, threads=self.threads), self.task.seconds

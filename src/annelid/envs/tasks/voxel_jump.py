"""Jumping of a voxel robot: an action is the size of its voxels; reward: how much higher it gets than it has been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from annelid import control, voxels
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.task import Task

_GROUND = np.array([(-1000.0, 0.0), (1000.0, 0.0)])  # [m]


@documented
class VoxelJump(Task):
    """Jump as high as possible from level ground."""

    seconds = 4.0
    every = 0.1
    stir = 0.2
    width: int = parameter(3, "Voxels side by side.", limits=(1, 20))
    height: int = parameter(2, "Voxels on top of each other.", limits=(1, 20))

    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "size asked of each voxel, from −1 for the largest to 1 for the smallest",
        "place": "place of the centre, x, z [m]",
        "velocity": "its velocity, x, z [m/s]",
        "turn": "angle that the robot has turned by [rad]",
        "voxels": "of each voxel: its area over that at rest, whether it touches the ground",
        "highest": "highest place of the centre in this episode [m]",
    }

    def build(self, **machine: Any) -> Simulation[voxels.Solver]:
        """The robot standing on the ground."""
        felt = (voxels.sensors.area_ratio(), voxels.sensors.touching())
        simulation = voxels.simulation(
            voxels.box(self.width, self.height, sensors=felt), obstacles=[voxels.Terrain(_GROUND)],
            positions=[(0.0, 0.0)], watch=True, **machine,
        )  # fmt: skip
        sensors = simulation.sensors
        sensors.add("commanded", control.commanded())
        sensors.add("place", voxels.position_of())
        sensors.add("velocity", voxels.velocity_of())
        sensors.add("turn", voxels.orientation_of())
        sensors.add("voxels", voxels.readings_of())
        sensors.add("highest", voxels.highest())
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """How much higher the centre has been than in the episode before [m]: in all, the height of the best jump."""
        return now["highest"][:, 0] - before["highest"][:, 0]

"""Tasks for robots: each takes a batch of robots, of different shapes too, and returns arrays."""

from annelid.voxels.tasks.balancing import Balancing, BalancingOutcome
from annelid.voxels.tasks.carrying import Carrying, CarryingOutcome
from annelid.voxels.tasks.jumping import Jumping, JumpingOutcome
from annelid.voxels.tasks.locomotion import Locomotion, LocomotionOutcome
from annelid.voxels.tasks.task import Task

__all__ = [
    "Balancing",
    "BalancingOutcome",
    "Carrying",
    "CarryingOutcome",
    "Jumping",
    "JumpingOutcome",
    "Locomotion",
    "LocomotionOutcome",
    "Task",
]

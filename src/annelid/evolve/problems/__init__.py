"""Problems to search: controllers of voxel robots, their bodies, both together, and the wave of a spring worm."""

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.evolve.problems.spring_worm import SpringWorm
    from annelid.evolve.problems.task_controller import TaskController
    from annelid.evolve.problems.voxel_body import VoxelBody
    from annelid.evolve.problems.voxel_body_3d import VoxelBody3d
    from annelid.evolve.problems.voxel_body_and_brain import VoxelBodyAndBrain
    from annelid.evolve.problems.voxel_controller import VoxelController
    from annelid.evolve.problems.voxel_file_3d import VoxelFile3d
else:  # whoever searches for one kind of robot does not wait for the others
    __getattr__ = offered(
        __name__,
        {
            "spring_worm": ["SpringWorm"],
            "task_controller": ["TaskController"],
            "voxel_body": ["VoxelBody"],
            "voxel_body_3d": ["VoxelBody3d"],
            "voxel_body_and_brain": ["VoxelBodyAndBrain"],
            "voxel_controller": ["VoxelController"],
            "voxel_file_3d": ["VoxelFile3d"],
        },
    )

__all__ = [
    "SpringWorm",
    "TaskController",
    "VoxelBody",
    "VoxelBody3d",
    "VoxelBodyAndBrain",
    "VoxelController",
    "VoxelFile3d",
]

__dir__ = public(__name__)

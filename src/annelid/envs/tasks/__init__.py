"""Ready tasks, one file each; `registration` has their names."""

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public

if TYPE_CHECKING:
    from annelid.envs.tasks.finger_reach import FingerReach
    from annelid.envs.tasks.heap_push import HeapPush
    from annelid.envs.tasks.runner_gallop import RunnerGallop
    from annelid.envs.tasks.soft_crawl import SoftCrawl
    from annelid.envs.tasks.soft_grasp import SoftGrasp
    from annelid.envs.tasks.trunk_reach import TrunkReach
    from annelid.envs.tasks.trunk_reach_around import TrunkReachAround
    from annelid.envs.tasks.voxel_jump import VoxelJump
    from annelid.envs.tasks.worm_crawl import WormCrawl
else:  # whoever learns one does not wait for the others
    __getattr__ = offered(
        __name__,
        {
            "finger_reach": ["FingerReach"],
            "heap_push": ["HeapPush"],
            "runner_gallop": ["RunnerGallop"],
            "soft_crawl": ["SoftCrawl"],
            "soft_grasp": ["SoftGrasp"],
            "trunk_reach": ["TrunkReach"],
            "trunk_reach_around": ["TrunkReachAround"],
            "voxel_jump": ["VoxelJump"],
            "worm_crawl": ["WormCrawl"],
        },
    )

__all__ = [
    "FingerReach",
    "HeapPush",
    "RunnerGallop",
    "SoftCrawl",
    "SoftGrasp",
    "TrunkReach",
    "TrunkReachAround",
    "VoxelJump",
    "WormCrawl",
]

__dir__ = public(__name__)

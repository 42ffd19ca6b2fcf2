"""The list of scenes. Scenes are imported only when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.listing import listed

if TYPE_CHECKING:
    from annelid.core.scene import Scene

SCENES = {
    "workshop": ("annelid.scenes.workshop", "Workshop"),
    "worm": ("annelid.scenes.worm", "Worm"),
    "heater": ("annelid.scenes.heater", "Heater"),
    "swarm": ("annelid.scenes.swarm", "Swarm"),
    "walker": ("annelid.scenes.walker", "Walker"),
    "worms": ("annelid.scenes.worms", "Worms"),
    "runner": ("annelid.scenes.runner", "Runner"),
    "cantilever-topology": ("annelid.scenes.cantilever_topology", "CantileverTopology"),
    "bounce": ("annelid.scenes.bounce", "Bounce"),
    "voxel-worm": ("annelid.scenes.voxel_worm", "VoxelWorm"),
    "column": ("annelid.scenes.column", "Column"),
    "hopper": ("annelid.scenes.hopper", "Hopper"),
    "drum": ("annelid.scenes.drum", "Drum"),
    "gears": ("annelid.scenes.gears", "Gears"),
    "sandworm": ("annelid.scenes.sandworm", "Sandworm"),
    "pneumatic-worm": ("annelid.scenes.pneumatic_worm", "PneumaticWormOnSand"),
    "sand-walker": ("annelid.scenes.sand_walker", "SandWalker"),
    "gripper": ("annelid.scenes.gripper", "Gripper"),
    "wheel": ("annelid.scenes.wheel", "Wheel"),
    "intruder": ("annelid.scenes.intruder", "Intruder"),
    "tyre": ("annelid.scenes.tyre", "Tyre"),
    "silicone-cylinder": ("annelid.scenes.silicone_cylinder", "SiliconeCylinder"),
    "finger": ("annelid.scenes.finger", "Finger"),
    "pendulum": ("annelid.scenes.pendulum", "Pendulum"),
    "trunk": ("annelid.scenes.trunk", "Trunk"),
    "push-block": ("annelid.scenes.push_block", "PushBlock"),
    "trunk-wrap": ("annelid.scenes.trunk_wrap", "TrunkWrap"),
    "soft-crawler": ("annelid.scenes.soft_crawler", "SoftCrawler"),
    "soft-drop": ("annelid.scenes.soft_drop", "SoftDrop"),
    "soft-gripper": ("annelid.scenes.soft_gripper", "SoftGripper"),
    "soft-hand": ("annelid.scenes.soft_hand", "SoftHand"),
    "table": ("annelid.scenes.table", "Table"),
    "xenobot": ("annelid.scenes.xenobot", "Xenobot"),
    "tower": ("annelid.scenes.tower", "Tower"),
    "swimmer": ("annelid.scenes.voxel_swimmer", "Swimmer"),
    "hand": ("annelid.scenes.voxel_hand", "Hand"),
    "voxel-workshop": ("annelid.scenes.voxel_workshop", "VoxelWorkshop"),
    "voxel-listing": ("annelid.scenes.voxel_listing", "VoxelListing"),
}

INVERSE = frozenset({"finger", "pendulum", "push-block", "silicone-cylinder", "trunk"})
"""Scenes whose efforts an optimiser finds, which comes with the extra `fem`."""

DRAWN = frozenset({"cantilever-topology", "finger", "pendulum", "silicone-cylinder"})
"""Scenes that draw at the end of a run, with what comes with the extra `view`."""


def scene_names() -> list[str]:
    """Names of all scenes."""
    return sorted(SCENES)


def scene_class(name: str) -> type[Scene]:
    """The class of a scene by its name."""
    found: type[Scene] = listed("scene", name, SCENES)
    return found


def scenes() -> dict[str, type[Scene]]:
    """All scenes by name."""
    return {name: scene_class(name) for name in scene_names()}

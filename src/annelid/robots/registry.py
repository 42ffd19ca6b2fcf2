"""The list of robots: where each is made. They are imported only when they are asked for."""

from __future__ import annotations

from typing import Any

from annelid.core.listing import listed

ROBOTS = {
    "bellows": ("annelid.robots.bellows", "bellows"),
    "buried-worm": ("annelid.robots.sand_worm", "BuriedWorm"),
    "crawler": ("annelid.robots.crawler", "crawler"),
    "fibre-actuator": ("annelid.robots.fibre_actuator", "fibre_actuator"),
    "finger": ("annelid.robots.finger", "finger"),
    "gear-tower": ("annelid.robots.gear_tower", "gear_tower"),
    "gripper": ("annelid.robots.soft_gripper", "gripper"),
    "pendulum": ("annelid.robots.pendulum", "pendulum"),
    "pneumatic-worm": ("annelid.robots.pneumatic_worm", "PneumaticWorm"),
    "pneunet": ("annelid.robots.pneunet", "pneunet"),
    "pusher": ("annelid.robots.pusher", "pusher"),
    "quadruped": ("annelid.robots.quadruped", "quadruped"),
    "runner": ("annelid.robots.runner", "runner"),
    "sandbox": ("annelid.robots.sandbox", "Sandbox"),
    "things": ("annelid.robots.things", "thing"),
    "trunk": ("annelid.robots.trunk", "trunk"),
    "tube": ("annelid.robots.tubes", "tube_mesh"),
    "tube-hand": ("annelid.robots.tube_hand", "tube_hand"),
}
"""Module and function, or class, of each robot, and of the worlds and things that belong to them."""


def robot_maker(name: str) -> Any:
    """What makes a robot, by its name."""
    return listed("robot", name, ROBOTS)

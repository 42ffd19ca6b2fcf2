"""Ready robots and worlds that scenes, environments and studies share."""

from annelid.core.lazy import public
from annelid.robots.bellows import bellows, bellows_mesh
from annelid.robots.crawler import Crawler, crawler
from annelid.robots.fibre_actuator import fibre_actuator
from annelid.robots.finger import finger, finger_mesh
from annelid.robots.gear_tower import GearTower, gear_tower
from annelid.robots.pendulum import pendulum, pendulum_mesh
from annelid.robots.pneumatic_worm import PneumaticWorm
from annelid.robots.pneunet import pneunet
from annelid.robots.pusher import pusher
from annelid.robots.quadruped import quadruped
from annelid.robots.sand_worm import BuriedWorm
from annelid.robots.sandbox import Sandbox
from annelid.robots.soft_gripper import SoftGripper, gripper
from annelid.robots.things import egg_mesh, mug, thing
from annelid.robots.trunk import trunk, trunk_parts
from annelid.robots.tube_hand import tube_hand

__all__ = [
    "BuriedWorm",
    "Crawler",
    "GearTower",
    "PneumaticWorm",
    "Sandbox",
    "SoftGripper",
    "bellows",
    "bellows_mesh",
    "crawler",
    "egg_mesh",
    "fibre_actuator",
    "finger",
    "finger_mesh",
    "gear_tower",
    "gripper",
    "mug",
    "pendulum",
    "pendulum_mesh",
    "pneunet",
    "pusher",
    "quadruped",
    "thing",
    "trunk",
    "trunk_parts",
    "tube_hand",
]

__dir__ = public(__name__)

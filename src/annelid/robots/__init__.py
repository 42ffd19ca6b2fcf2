"""Ready robots and worlds that scenes, environments and studies share."""

from annelid.robots.bellows import bellows, bellows_mesh
from annelid.robots.fibre_actuator import fibre_actuator
from annelid.robots.finger import finger, finger_mesh
from annelid.robots.gear_tower import GearTower, gear_tower
from annelid.robots.pendulum import pendulum, pendulum_mesh, pendulum_solid
from annelid.robots.pneunet import pneunet
from annelid.robots.quadruped import quadruped
from annelid.robots.sand_worm import BuriedWorm
from annelid.robots.sandbox import Sandbox
from annelid.robots.trunk import trunk

__all__ = [
    "BuriedWorm",
    "GearTower",
    "Sandbox",
    "bellows",
    "bellows_mesh",
    "fibre_actuator",
    "finger",
    "finger_mesh",
    "gear_tower",
    "pendulum",
    "pendulum_mesh",
    "pendulum_solid",
    "pneunet",
    "quadruped",
    "trunk",
]

"""Joints of a robot as channels of a simulation.

arm = read_urdf("arm.urdf")
bodies, joints = arm.bodies(motion="driven"), joint_controls(arm)
simulation = grains.simulation(bed, obstacles=[ground(), *bodies], controls=joints)
simulation.controls["shoulder"] = 0.5  # [rad/s]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from annelid.core.controls import Control
from annelid.core.described import Brief
from annelid.core.options import Named
from annelid.shapes.articulated.tree import MOVING, Joint, RigidTree
from annelid.shapes.values import require_positive


@dataclass(frozen=True, eq=False, repr=False)
class JointControl(Brief, Named):
    """A channel that sets the speed of a joint; made by `joint_controls`.

    Attributes:
        name: Name of the channel.
        tree: The robot.
        joint: The joint.
        begin: Its value at the beginning [rad] or [m].
        fastest: Largest speed [rad/s] or [m/s].
        every: Simulated time between two commands of the links [s].
    """

    name: str
    tree: RigidTree
    joint: Joint
    begin: float
    fastest: float
    every: float

    @property
    def channel(self) -> Control:
        """The channel; joints rest until they are commanded."""
        slides = MOVING[self.joint.kind]
        does = f"speed of the joint {self.joint.name} of {self.tree.name}"
        return Control(self.name, -self.fastest, self.fastest, 0.0, "m/s" if slides else "rad/s", does)


def joint_controls(
    tree: RigidTree,
    values: Mapping[str, float] | ArrayLike | None = None,
    *,
    fastest: float = 1.0,
    every: float = 0.005,
    prefix: str = "",
) -> list[JointControl]:
    """Channels of all joints of a robot whose bodies have motion="driven": their speeds, 0 at rest.

    Joints stop at their limits. Within an interval each link moves evenly and arrives where the joints take it: links
    part by the square of the interval at most, and errors do not add up.

    Args:
        tree: The robot, where it was placed.
        values: Values of the joints as it begins, as they were given to `bodies`.
        fastest: Largest speed of joints of which the file tells none [rad/s] or [m/s].
        every: Simulated time between two commands of the links [s].
        prefix: What names of channels begin with, before the names of the joints, where there are several robots.
    """
    most, interval = require_positive("fastest", fastest), require_positive("every", every)
    found = []
    for joint, value in zip(tree.moving, tree.values(values).tolist(), strict=True):
        speed = joint.speed if math.isfinite(joint.speed) else most
        found.append(JointControl(prefix + joint.name, tree, joint, value, speed, interval))
    return found

"""The way from the root of a robot to each of its parts: joints that move, and what is fixed between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.shapes.articulated.frames import frame_of
from annelid.shapes.articulated.tree import MOVING, Joint, LinkPart, RigidTree
from annelid.shapes.mass import mass_properties
from annelid.shapes.values import Floats


@dataclass(frozen=True, eq=False)
class Hop:
    """A joint on the way to a part.

    Attributes:
        frame: From the joint before it, or from the world, to this joint at rest, shape [4, 4].
        axis: Unit axis in that frame.
        slides: Whether it slides along the axis, or turns about it.
        leader: Place of the joint that it follows, or its own, among the values of the robot.
        factor: Its value is `factor` times that of the leader...
        offset: ... and so much more.
    """

    frame: Floats
    axis: Floats
    slides: bool
    leader: int
    factor: float
    offset: float


def way_to(tree: RigidTree, part: LinkPart) -> tuple[list[Hop], Floats]:
    """Joints on the way to a part, and the frame of its centre of mass after the last one, shape [4, 4]."""
    hops, frame = [], tree.base
    for joint in joints_to(tree, part.link):
        frame = frame @ joint.frame
        if joint.kind in MOVING:
            leader, factor, offset = joint.follows or (joint.name, 1.0, 0.0)
            hops.append(Hop(frame, joint.axis, MOVING[joint.kind], tree.index(leader), factor, offset))
            frame = np.eye(4)
    return hops, frame @ part.frame @ frame_of(mass_properties(part.shape).center)


def joints_to(tree: RigidTree, link: str) -> list[Joint]:
    """Joints between the root and a link, from the root on."""
    found = []
    while link in tree.joints:
        found.append(tree.joints[link])
        link = found[-1].parent
    return found[::-1]

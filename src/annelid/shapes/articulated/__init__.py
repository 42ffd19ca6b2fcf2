"""Rigid robots with joints, from URDF and MJCF files: things that every physics can touch."""

from annelid.shapes.articulated.controls import JointControl, joint_controls
from annelid.shapes.articulated.driving import JointDrive
from annelid.shapes.articulated.mjcf import read_mjcf
from annelid.shapes.articulated.tree import Joint, Link, LinkShape, MeshFile, RigidTree
from annelid.shapes.articulated.urdf import read_urdf

__all__ = [
    "Joint",
    "JointControl",
    "JointDrive",
    "Link",
    "LinkShape",
    "MeshFile",
    "RigidTree",
    "joint_controls",
    "read_mjcf",
    "read_urdf",
]

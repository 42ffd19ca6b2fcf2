"""Arms from URDF files: the chain between two links and the meshes that its links collide with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.envs.machines.kinematics import Chain
from annelid.shapes import TriangleMesh
from annelid.shapes.articulated.tree import MOVING, Joint, MeshFile, RigidTree
from annelid.shapes.articulated.urdf import read_urdf as read_tree
from annelid.shapes.extrusion import joined


@dataclass(frozen=True)
class Robot:
    """What a URDF file says, as arms and meshes.

    Attributes:
        tree: Links and joints.
    """

    tree: RigidTree

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.tree.name

    @property
    def joints(self) -> Mapping[str, Joint]:
        """Joints by the link that they move."""
        return self.tree.joints

    def chain(self, tip: str) -> Chain:
        """The arm from the root to a link; fixed joints are part of the frames, the last ones of the tool's."""
        if tip not in self.joints:
            raise UnknownName("link that a joint moves", tip, self.joints)
        frame, offsets, moving = np.eye(4), [], []
        for joint in self._path(tip):
            frame = frame @ joint.frame
            if joint.kind in MOVING:
                offsets.append(frame)
                moving.append(joint)
                frame = np.eye(4)
        if not moving:
            raise InvalidValue(f"no joint moves the link {tip!r} of {self.name}; choose another one.")
        numbers = [np.array([getattr(joint, key) for joint in moving]) for key in ("lower", "upper", "speed", "effort")]
        sliding = np.array([MOVING[joint.kind] for joint in moving])
        axes = np.array([joint.axis for joint in moving])
        return Chain(tuple(joint.name for joint in moving), np.array(offsets), axes, sliding, frame, *numbers)

    def mesh_of(self, link: str) -> TriangleMesh | None:
        """The collision mesh of a link in its frame, closed if need be; None if it has none.

        Boxes, cylinders and spheres stand for details that a grain does not feel and are left out.
        """
        parts = []
        for part in self.tree.links[link].shapes if link in self.tree.links else ():
            if isinstance(part.geometry, MeshFile):
                mesh, frame = part.geometry.read(), part.frame
                parts.append(TriangleMesh(mesh.vertices @ frame[:3, :3].T + frame[:3, 3], mesh.triangles))
        return joined(parts) if parts else None

    def _path(self, tip: str) -> list[Joint]:
        path: list[Joint] = []
        link = tip
        while link in self.joints:
            path.append(self.joints[link])
            link = self.joints[link].parent
        return path[::-1]


def read_urdf(path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None) -> Robot:
    """Read a URDF file.

    Args:
        path: The file.
        folder: Folder that `package://NAME/` stands for, below which meshes must lie; by default that of the file.
    """
    return Robot(read_tree(path, folder=folder))

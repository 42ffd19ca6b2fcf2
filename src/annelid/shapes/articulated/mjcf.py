"""Robots from MJCF files, which MuJoCo itself reads (package `mujoco`, extra `export`).

MuJoCo follows includes and meshes wherever a file names them: read files of people whom you trust.
"""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from annelid.core.errors import FileFormatError, PartlyUsed
from annelid.core.packages import optional
from annelid.shapes.articulated.frames import frame_of, moved_along
from annelid.shapes.articulated.tree import Joint, Link, LinkShape, RigidTree
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.primitives import Box, Capsule, Cylinder, Sphere
from annelid.shapes.values import Floats


def read_mjcf(path: str | os.PathLike[str]) -> RigidTree:
    """Read an MJCF file; hinges and slides become joints, and geoms that collide become shapes.

    Free and ball joints are held, planes, height fields and ellipsoids are left out, and a warning names them. Meshes
    are replaced by their convex hulls, which is what MuJoCo collides with.

    Args:
        path: The file.
    """
    mujoco = optional("mujoco", purpose="an MJCF file", extra="export")
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}.")
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise FileFormatError(f"{path} is not a readable MJCF file: {' '.join(str(error).split())}.") from None
    return _Reader(mujoco, model, path).tree()


class _Reader:
    """A model of MuJoCo as it becomes a tree."""

    def __init__(self, mujoco: Any, model: Any, path: Path) -> None:
        self.mujoco, self.model, self.path = mujoco, model, path
        self.links: dict[str, Link] = {}
        self.joints: dict[str, Joint] = {}
        self.unused: dict[str, None] = {}

    def tree(self) -> RigidTree:
        """The tree; what is not used is told."""
        names = [self._name("body", body) for body in range(self.model.nbody)]
        for body, name in enumerate(names):
            mass = float(self.model.body_mass[body])
            self.links[name] = Link(name, self._shapes(body), mass if mass > 0.0 else None)
            if body:
                self._join(body, names[int(self.model.body_parentid[body])], name)
        if self.unused:
            warnings.warn(f"{self.path} is used without {', '.join(self.unused)}.", PartlyUsed, stacklevel=4)
        return RigidTree(self._title(), self.links, self.joints)

    def _join(self, body: int, parent: str, name: str) -> None:
        """Joints of a body one after another, with links without shapes between them."""
        model = self.model
        frame = frame_of(model.body_pos[body], _turn(model.body_quat[body]))
        first = int(model.body_jntadr[body])
        moving = [j for j in range(first, first + int(model.body_jntnum[body])) if self._moves(j)]
        for number, joint in enumerate(moving):
            between = f"{name}#{number}"
            self.links[between] = Link(between)
            self.joints[between] = self._joint(joint, parent, between, frame)
            parent, frame = between, frame_of(-model.jnt_pos[joint])
        self.joints[name] = Joint(f"{name}#fixed", "fixed", parent, name, frame, np.array([1.0, 0.0, 0.0]))

    def _moves(self, joint: int) -> bool:
        kinds = self.mujoco.mjtJoint
        if int(self.model.jnt_type[joint]) in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE):
            return True
        self.unused["free and ball joints, which are held"] = None
        return False

    def _joint(self, joint: int, parent: str, child: str, frame: Floats) -> Joint:
        """A hinge or slide, about its anchor; its value at rest is that of the file."""
        model = self.model
        sliding = int(model.jnt_type[joint]) == self.mujoco.mjtJoint.mjJNT_SLIDE
        limited = bool(model.jnt_limited[joint])
        lower, upper = model.jnt_range[joint].tolist() if limited else (-math.inf, math.inf)
        axis = np.array(model.jnt_axis[joint], dtype=np.float64)
        rest = np.array([-float(model.qpos0[model.jnt_qposadr[joint]])])
        at = frame @ frame_of(model.jnt_pos[joint]) @ moved_along(axis, rest, sliding=sliding)[0]
        kind = "prismatic" if sliding else "revolute" if limited else "continuous"
        return Joint(self._name("joint", joint), kind, parent, child, at, axis, lower, upper)

    def _shapes(self, body: int) -> tuple[LinkShape, ...]:
        model = self.model
        first = int(model.body_geomadr[body])
        found = []
        for geom in range(first, first + int(model.body_geomnum[body])):
            if not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue  # only to be looked at
            shape = self._shape(geom)
            if shape is not None:
                found.append(LinkShape(shape, frame_of(model.geom_pos[geom], _turn(model.geom_quat[geom]))))
        return tuple(found)

    def _shape(self, geom: int) -> Shape | None:
        kinds, kind = self.mujoco.mjtGeom, int(self.model.geom_type[geom])
        size = self.model.geom_size[geom].tolist()
        if kind == kinds.mjGEOM_BOX:
            return Box((2.0 * size[0], 2.0 * size[1], 2.0 * size[2]))
        if kind == kinds.mjGEOM_SPHERE:
            return Sphere(size[0])
        if kind == kinds.mjGEOM_CAPSULE:
            return Capsule(size[0], 2.0 * size[1])
        if kind == kinds.mjGEOM_CYLINDER:
            return Cylinder(size[0], 2.0 * size[1])
        if kind == kinds.mjGEOM_MESH:
            return self._hull(int(self.model.geom_dataid[geom]))
        self.unused["planes, height fields and ellipsoids"] = None
        return None

    def _hull(self, mesh: int) -> TriangleMesh:
        first, count = int(self.model.mesh_vertadr[mesh]), int(self.model.mesh_vertnum[mesh])
        points = np.array(self.model.mesh_vert[first : first + count], dtype=np.float64)
        try:
            return hull_of(points)
        except QhullError:
            raise FileFormatError(f"{self.path}: the mesh {self._name('mesh', mesh)!r} is flat.") from None

    def _name(self, kind: str, number: int) -> str:
        kinds = {"body": "mjOBJ_BODY", "joint": "mjOBJ_JOINT", "mesh": "mjOBJ_MESH"}
        found = self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, kinds[kind]), number)
        return found or f"{kind}{number}"

    def _title(self) -> str:
        """The name of the model, the first of all names."""
        name = bytes(self.model.names).split(b"\0", 1)[0].decode(errors="replace")
        return name if name and name != "MuJoCo Model" else self.path.stem


def hull_of(points: Floats) -> TriangleMesh:
    """The convex hull of points [m], shape [n, 3], as a closed mesh."""
    hull = ConvexHull(points)
    kept, inverse = np.unique(hull.simplices, return_inverse=True)
    triangles = inverse.reshape(-1, 3)
    corners = points[kept][triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ni,ni->n", normals, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return TriangleMesh(points[kept], triangles.astype(np.int32))


def _turn(quaternion: Any) -> Rotation:
    """MuJoCo writes the real part first."""
    return Rotation.from_quat(np.roll(np.asarray(quaternion, dtype=np.float64), -1))

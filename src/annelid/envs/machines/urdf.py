"""Arms from URDF files: the chain between two links and the meshes that its links collide with.

The file is untrusted: its size is checked, documents with a type declaration (and so with entities of their own) are
refused, and meshes are looked for below one folder only.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, UnknownName
from annelid.core.xml_files import parse_xml
from annelid.envs.machines.kinematics import Chain
from annelid.shapes import TriangleMesh
from annelid.shapes.extrusion import joined
from annelid.shapes.values import Floats

MAX_BYTES = 4 << 20
"""Largest file that is read."""

MOST_ELEMENTS = 100_000

_MOVING = {"revolute": False, "continuous": False, "prismatic": True}


@dataclass(frozen=True)
class Joint:
    """A joint of a robot.

    Attributes:
        name: Name.
        kind: "revolute", "continuous", "prismatic" or "fixed".
        parent: Link that carries it.
        child: Link that it moves.
        frame: Frame at rest in that of the parent, shape [4, 4].
        axis: Unit axis in its own frame.
        lower: Least angle [rad] or way [m].
        upper: Largest angle or way.
        speed: Largest speed.
        effort: Largest torque [N m] or force [N].
    """

    name: str
    kind: str
    parent: str
    child: str
    frame: Floats
    axis: Floats
    lower: float
    upper: float
    speed: float
    effort: float


@dataclass(frozen=True)
class Robot:
    """What a URDF file says.

    Attributes:
        name: Name of the robot.
        joints: Joints by the link that they move.
        collisions: Names of the mesh files of each link, with their scale and their frame in that of the link.
        folder: Folder that mesh files must lie in.
    """

    name: str
    joints: dict[str, Joint]
    collisions: dict[str, list[tuple[str, Floats, Floats]]]
    folder: Path

    def chain(self, tip: str) -> Chain:
        """The arm from the root to a link; fixed joints are part of the frames, the last ones of the tool's."""
        if tip not in self.joints:
            raise UnknownName("link that a joint moves", tip, self.joints)
        path = self._path(tip)
        frame, offsets, moving = np.eye(4), [], []
        for joint in path:
            frame = frame @ joint.frame
            if joint.kind in _MOVING:
                offsets.append(frame)
                moving.append(joint)
                frame = np.eye(4)
        if not moving:
            raise InvalidValue(f"no joint moves the link {tip!r} of {self.name}; choose another one.")
        numbers = [np.array([getattr(joint, key) for joint in moving]) for key in ("lower", "upper", "speed", "effort")]
        sliding = np.array([_MOVING[joint.kind] for joint in moving])
        axes = np.array([joint.axis for joint in moving])
        return Chain(tuple(joint.name for joint in moving), np.array(offsets), axes, sliding, frame, *numbers)

    def mesh_of(self, link: str) -> TriangleMesh | None:
        """The collision mesh of a link in its frame, closed if need be; None if it has none."""
        parts = []
        for name, scale, frame in self.collisions.get(link, []):
            mesh = TriangleMesh.read(self._file(name), repair=True).scaled(scale)
            parts.append(TriangleMesh(mesh.vertices @ frame[:3, :3].T + frame[:3, 3], mesh.triangles))
        return joined(parts) if parts else None

    def _path(self, tip: str) -> list[Joint]:
        path: list[Joint] = []
        link = tip
        while link in self.joints:
            if len(path) > len(self.joints):
                raise FileFormatError(f"the joints of {self.name} run in a circle through the link {link!r}.")
            path.append(self.joints[link])
            link = self.joints[link].parent
        return path[::-1]

    def _file(self, name: str) -> Path:
        """A mesh file below the folder; `package://NAME/` and `file://` are taken off."""
        plain = name.removeprefix("file://")
        if name.startswith("package://"):
            plain = name.removeprefix("package://").partition("/")[2]
        path = (self.folder / plain).resolve()
        if not path.is_relative_to(self.folder.resolve()) or not path.is_file():
            raise FileFormatError(f"the mesh {name!r} of {self.name} is not a file in {self.folder}.")
        return path


def read_urdf(path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None) -> Robot:
    """Read a URDF file.

    Args:
        path: The file.
        folder: Folder that `package://NAME/` stands for, below which meshes must lie; by default that of the file.
    """
    path = Path(path)
    root = parse_xml(path, "URDF", most_bytes=MAX_BYTES, most_elements=MOST_ELEMENTS, with_text=False)
    if root.tag != "robot":
        raise FileFormatError(f"{path} is not a URDF file: it begins with <{root.tag[:40]}>, not with <robot>.")
    try:
        joints = [_joint(element) for element in root.findall("joint")]
        collisions = {_text(link, "name"): _collisions(link) for link in root.findall("link")}
    except _Damaged as error:
        raise FileFormatError(f"{path}: {error}") from None
    by_child = {joint.child: joint for joint in joints}
    if len(by_child) != len(joints):
        raise FileFormatError(f"{path}: a link is moved by two joints; only trees of links can be read.")
    return Robot(root.get("name", path.stem), by_child, collisions, Path(folder) if folder else path.parent)


class _Damaged(AnnelidError, ValueError):
    """Something in the file that cannot be used."""


def _joint(element: ElementTree.Element) -> Joint:
    name, kind = _text(element, "name"), _text(element, "type")
    if kind not in _MOVING and kind != "fixed":
        raise _Damaged(f"joint {name!r} is of the type {kind!r}; revolute, continuous, prismatic and fixed are known")
    axis = element.find("axis")
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis, "xyz", 3)
    length = float(np.linalg.norm(direction))
    if length < 1e-9 and kind != "fixed":
        raise _Damaged(f"the axis of joint {name!r} has no direction")
    parent, child = (_text(_child(element, tag, name), "link") for tag in ("parent", "child"))
    endless = math.inf if kind == "continuous" else 0.0
    limits = element.find("limit")
    lower, upper, speed, effort = (
        (-endless, endless, math.inf, math.inf)
        if limits is None
        else tuple(_number(limits, key, default) for key, default in _defaults(endless))
    )
    frame = _frame(element.find("origin"))
    return Joint(name, kind, parent, child, frame, direction / max(length, 1e-9), lower, upper, speed, effort)


def _defaults(endless: float) -> tuple[tuple[str, float], ...]:
    return ("lower", -endless), ("upper", endless), ("velocity", math.inf), ("effort", math.inf)


def _collisions(link: ElementTree.Element) -> list[tuple[str, Floats, Floats]]:
    """Mesh files; boxes, cylinders and spheres stand for details that a grain does not feel and are left out."""
    found = []
    for collision in link.findall("collision"):
        mesh = collision.find("geometry/mesh")
        if mesh is not None:
            scale = _numbers(mesh, "scale", 3) if mesh.get("scale") else np.ones(3)
            found.append((_text(mesh, "filename"), scale, _frame(collision.find("origin"))))
    return found


def _frame(origin: ElementTree.Element | None) -> Floats:
    frame = np.eye(4)
    if origin is not None:
        if origin.get("xyz"):
            frame[:3, 3] = _numbers(origin, "xyz", 3)
        if origin.get("rpy"):
            frame[:3, :3] = Rotation.from_euler("xyz", _numbers(origin, "rpy", 3)).as_matrix()
    return frame


def _child(element: ElementTree.Element, tag: str, owner: str) -> ElementTree.Element:
    found = element.find(tag)
    if found is None:
        raise _Damaged(f"joint {owner!r} has no <{tag}>")
    return found


def _text(element: ElementTree.Element, key: str) -> str:
    value = element.get(key)
    if not value:
        raise _Damaged(f"a <{element.tag}> has no {key}")
    return value


def _number(element: ElementTree.Element, key: str, default: float) -> float:
    return float(_numbers(element, key, 1)[0]) if element.get(key) else default


def _numbers(element: ElementTree.Element, key: str, count: int) -> Floats:
    text = _text(element, key)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.isfinite(values).all():
        raise _Damaged(f"{key} = {text[:60]!r} of a <{element.tag}> is not {count} finite number{'s' * (count > 1)}")
    return values

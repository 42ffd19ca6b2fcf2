"""Robots from URDF files.

The file is untrusted: its size is checked, documents with a type declaration (and so with entities of their own) are
refused, and meshes are looked for below one folder only.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.xml_files import parse_xml
from annelid.shapes.articulated.tree import MOVING, Joint, Link, LinkShape, MeshFile, RigidTree
from annelid.shapes.mesh import Shape
from annelid.shapes.primitives import Box, Cylinder, Sphere
from annelid.shapes.values import Floats, as_vector

MAX_BYTES = 4 << 20
"""Largest file that is read."""

MOST_ELEMENTS = 100_000

KINDS = ("collision", "visual")
"""Which shapes of links are read."""


def read_urdf(
    path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None, shapes: str = "collision"
) -> RigidTree:
    """Read a URDF file.

    Args:
        path: The file.
        folder: Folder below which meshes must lie, and which `package://NAME/` stands for. By default that of the file;
            for `package://NAME/` the folder NAME above it that holds a package.xml, where there is one.
        shapes: Which shapes of links others touch: "collision" or "visual".
    """
    if shapes not in KINDS:
        raise InvalidValue(f"shapes must be one of {', '.join(KINDS)}, not {shapes!r}.")
    path = Path(path)
    root = parse_xml(path, "URDF", most_bytes=MAX_BYTES, most_elements=MOST_ELEMENTS, with_text=False)
    if root.tag != "robot":
        raise FileFormatError(f"{path} is not a URDF file: it begins with <{root.tag[:40]}>, not with <robot>.")
    find = _Finder(path, Path(folder) if folder else None)
    try:
        joints = [_joint(element) for element in root.findall("joint")]
        links = [_link(element, shapes, find) for element in root.findall("link")]
    except _Damaged as error:
        raise FileFormatError(f"{path}: {error}") from None
    by_child = {joint.child: joint for joint in joints}
    if len(by_child) != len(joints):
        raise FileFormatError(f"{path}: a link is moved by two joints; only trees of links can be read.")
    by_name = {link.name: link for link in links}
    if len(by_name) != len(links):
        raise FileFormatError(f"{path}: two links have the same name.")
    for end in (end for joint in joints for end in (joint.parent, joint.child)):
        by_name.setdefault(end, Link(end))  # one that only joints name has no shape
    return RigidTree(root.get("name", path.stem), by_name, by_child)


class _Damaged(AnnelidError, ValueError):
    """Something in the file that cannot be used."""


class _Finder:
    """Knows where meshes that the file names should be."""

    def __init__(self, path: Path, folder: Path | None) -> None:
        self.path, self.folder = path, folder

    def mesh(self, name: str, scale: Floats) -> MeshFile:
        """A mesh by its name."""
        folder, plain = self.folder or self.path.parent, name.removeprefix("file://")
        if name.startswith("package://"):
            package, _, plain = name.removeprefix("package://").partition("/")
            folder = self.folder or self._package(package) or folder
        return MeshFile(name, folder / plain, folder, as_vector("scale", scale))

    def _package(self, name: str) -> Path | None:
        for above in self.path.resolve().parents:
            if above.name == name and (above / "package.xml").is_file():
                return above
        return None


def _link(element: ElementTree.Element, kind: str, find: _Finder) -> Link:
    mass = element.find("inertial/mass")
    weight = 0.0 if mass is None else _number(mass, "value", 0.0)
    shapes = [_shape(one, find) for one in element.findall(kind)]
    given = tuple(shape for shape in shapes if shape is not None)
    return Link(_text(element, "name"), given, weight if weight > 0.0 else None)


def _shape(element: ElementTree.Element, find: _Finder) -> LinkShape | None:
    geometry = element.find("geometry")
    given = None if geometry is None else next(iter(geometry), None)
    if given is None:
        return None
    frame = _frame(element.find("origin"))
    if given.tag == "mesh":
        scale = _numbers(given, "scale", 3) if given.get("scale") else np.ones(3)
        return LinkShape(find.mesh(_text(given, "filename"), scale), frame)
    return LinkShape(_primitive(given), frame)


def _primitive(given: ElementTree.Element) -> Shape:
    try:
        if given.tag == "box":
            return Box(as_vector("size", _numbers(given, "size", 3)))
        if given.tag == "sphere":
            return Sphere(float(_numbers(given, "radius", 1)[0]))
        if given.tag == "cylinder":
            return Cylinder(float(_numbers(given, "radius", 1)[0]), float(_numbers(given, "length", 1)[0]))
    except InvalidValue as error:
        raise _Damaged(str(error)) from None
    raise _Damaged(f"a shape is a <{given.tag[:40]}>; box, cylinder, sphere and mesh are known")


def _joint(element: ElementTree.Element) -> Joint:
    name, kind = _text(element, "name"), _text(element, "type")
    if kind not in MOVING and kind != "fixed":
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
    if kind == "continuous":
        lower, upper = -math.inf, math.inf
    frame = _frame(element.find("origin"))
    axis_of = direction / max(length, 1e-9)
    return Joint(name, kind, parent, child, frame, axis_of, lower, upper, speed, effort, _follows(element))


def _follows(element: ElementTree.Element) -> tuple[str, float, float] | None:
    mimic = element.find("mimic")
    if mimic is None:
        return None
    return _text(mimic, "joint"), _number(mimic, "multiplier", 1.0), _number(mimic, "offset", 0.0)


def _defaults(endless: float) -> tuple[tuple[str, float], ...]:
    return ("lower", -endless), ("upper", endless), ("velocity", math.inf), ("effort", math.inf)


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

"""Files .vxa, .vxd and .vxc of VoxCAD, evosoro and voxcraft-sim."""

from __future__ import annotations

import copy
import os
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annelid.core.errors import FileFormatError, PartlyUsed
from annelid.core.files import as_path
from annelid.core.xml_files import parse_xml
from annelid.voxels3d.files.palette import Paint, read_paint, write_paint
from annelid.voxels3d.files.settings import Environment, Lattice, Region, Simulator
from annelid.voxels3d.files.structure import Structure, read_structure, write_structure
from annelid.voxels3d.files.tags import Reading, write_tagged
from annelid.voxels3d.files.writing import write_xml

MOST_BYTES = 256 << 20
"""Largest file that is read."""

MOST_ELEMENTS = 200_000

MOST_NAMED = 12
"""Elements that a warning names."""

_WITHOUT_EFFECT = ("VXA/GPU", "VXA/RawPrint", "VXA/Simulator/GA", "VXA/Simulator/SurfMesh")


@dataclass(frozen=True, eq=False)
class Vxa:
    """What a .vxa file says; a .vxc file says lattice, palette and structure only.

    Attributes:
        structure: Which material each cell has.
        palette: The materials.
        lattice: Side of the cells.
        simulator: Steps, damping, stops, formulas.
        environment: Gravity, floor, temperature.
        regions: What is held, moved and pushed.
        name: Name of the robot.
    """

    structure: Structure
    palette: tuple[Paint, ...]
    lattice: Lattice = field(default_factory=Lattice)
    simulator: Simulator = field(default_factory=Simulator)
    environment: Environment = field(default_factory=Environment)
    regions: tuple[Region, ...] = field(default=())
    name: str = "robot"

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, base: str | os.PathLike[str] | None = None) -> Vxa:
        """Read a .vxa or .vxc file, or a .vxd file on top of its base.

        What nobody here understands is named in a warning.

        Args:
            path: The file.
            base: The .vxa file that a .vxd file changes; by default base.vxa in the same folder.
        """
        path = as_path(path)
        root = _parsed(path)
        if root.tag == "VXD":
            root = overlaid(_parsed(path.parent / "base.vxa" if base is None else as_path(base)), root, path)
        if root.tag == "VXC":
            root = _wrapped(root)
        if root.tag != "VXA":
            raise FileFormatError(
                f"{path} is no file of a voxel robot: it begins with <{root.tag[:40]}>, not with <VXA>, <VXC> or <VXD>."
            )
        reading = Reading(path.name, set())
        read = _document(reading, root, path.stem)
        told = [name for name in reading.unknown(root, "VXA") if not name.startswith(_WITHOUT_EFFECT)]
        if told:
            more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
            warnings.warn(
                PartlyUsed(f"{path.name} has elements that are not used: {', '.join(told[:MOST_NAMED])}{more}."),
                stacklevel=2,
            )
        return read

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file by the end of its name: .vxa, .vxc (materials and cells only) or .vxd (cells only)."""
        path = as_path(path)
        kinds = {".vxa": self.to_vxa, ".vxc": self.to_vxc, ".vxd": self.to_vxd}
        if path.suffix not in kinds:
            raise FileFormatError(f"{path} must end in .vxa, .vxc or .vxd, or nobody knows what to write.")
        write_xml(kinds[path.suffix](), path)

    def to_vxa(self) -> ElementTree.Element:
        """The elements of a .vxa file."""
        root = ElementTree.Element("VXA", Version="1.1")
        write_tagged(self.simulator, ElementTree.SubElement(root, "Simulator"))
        surroundings = ElementTree.SubElement(root, "Environment")
        conditions = ElementTree.SubElement(surroundings, "Boundary_Conditions")
        ElementTree.SubElement(conditions, "NumBCs").text = str(len(self.regions))
        for region in self.regions:
            write_tagged(region, ElementTree.SubElement(conditions, "FRegion"))
        write_tagged(self.environment, surroundings)
        root.append(self.to_vxc())
        return root

    def to_vxc(self) -> ElementTree.Element:
        """The elements of a .vxc file."""
        root = ElementTree.Element("VXC", Version="0.94")
        write_tagged(self.lattice, root)
        palette = ElementTree.SubElement(root, "Palette")
        for number, paint in enumerate(self.palette, 1):
            write_paint(paint, palette, number)
        write_structure(self.structure, root)
        return root

    def to_vxd(self) -> ElementTree.Element:
        """The elements of a .vxd file, which changes the structure of a base."""
        root = ElementTree.Element("VXD")
        write_structure(self.structure, root).set("replace", "VXA.VXC.Structure")
        return root


def overlaid(base: ElementTree.Element, changes: ElementTree.Element, path: Path) -> ElementTree.Element:
    """A copy of the base in which each element of a VXD takes the place of the one that it names."""
    root = copy.deepcopy(base)
    for change in changes:
        where = change.get("replace")
        if where is None:
            raise FileFormatError(f"<{change.tag[:40]}> of {path} has no attribute replace that says where it belongs.")
        first, *names = where.split(".")
        if first != root.tag or not names or not all(name.isidentifier() for name in names):
            raise FileFormatError(f"replace={where[:60]!r} of {path} is no path such as 'VXA.VXC.Structure'.")
        parent = root
        for name in names[:-1]:
            found = parent.find(name)
            parent = ElementTree.SubElement(parent, name) if found is None else found
        new = copy.deepcopy(change)
        new.tag = names[-1]
        del new.attrib["replace"]
        old = parent.find(names[-1])
        if old is None:
            parent.append(new)
        else:
            parent[list(parent).index(old)] = new
    return root


def _parsed(path: Path) -> ElementTree.Element:
    return parse_xml(path, "voxel robot's", most_bytes=MOST_BYTES, most_elements=MOST_ELEMENTS)


def _wrapped(vxc: ElementTree.Element) -> ElementTree.Element:
    root = ElementTree.Element("VXA")
    root.append(vxc)
    return root


def _document(reading: Reading, root: ElementTree.Element, name: str) -> Vxa:
    simulator = reading.tagged(Simulator, reading.find(root, "Simulator"), "Simulator")
    surroundings = reading.find(root, "Environment")
    environment = reading.tagged(Environment, surroundings, "Environment")
    vxc = reading.find(root, "VXC")
    structure = None if vxc is None else reading.find(vxc, "Structure")
    if vxc is None or structure is None:
        raise FileFormatError(f"{reading.name} has no element VXC/Structure with the cells of a robot.")
    lattice = reading.tagged(Lattice, vxc, "VXC")
    if lattice.side_length <= 0.0:
        raise FileFormatError(f"Lattice_Dim of {reading.name} must be above 0 m, not {lattice.side_length:g}.")
    return Vxa(
        read_structure(reading, structure), _palette(reading, vxc), lattice, simulator, environment,
        _regions(reading, surroundings), name,
    )  # fmt: skip


def _palette(reading: Reading, vxc: ElementTree.Element) -> tuple[Paint, ...]:
    """Materials in their order, which is what cells refer to."""
    found = reading.find(vxc, "Palette")
    materials = [] if found is None else found.findall("Material")
    reading.used.update(materials)
    return tuple(read_paint(reading, element, number) for number, element in enumerate(materials, 1))


def _regions(reading: Reading, surroundings: ElementTree.Element | None) -> tuple[Region, ...]:
    found: list[Any] = []
    if surroundings is not None and (conditions := reading.find(surroundings, "Boundary_Conditions")) is not None:
        reading.find(conditions, "NumBCs")
        found = conditions.findall("FRegion")
        reading.used.update(found)
    return tuple(reading.tagged(Region, element, f"FRegion {number}") for number, element in enumerate(found, 1))

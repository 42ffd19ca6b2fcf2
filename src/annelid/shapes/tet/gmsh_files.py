"""Files of Gmsh in version 4.1 of its format, text and binary, with named physical groups. What is read is untrusted.

The format is described in the reference manual of Gmsh, "MSH file format". Older versions are read through meshio.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.tet.contents import Contents, Rows, faces_in, merged_groups
from annelid.shapes.values import Indices

_WIDTHS = {
    1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8, 17: 20,
    18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35, 31: 56,
}  # fmt: skip
"""Nodes of each type of element."""
_TETRAHEDRA = {4: 4, 11: 10}
_SOLIDS = {5: "hexahedron", 6: "wedge", 7: "pyramid", 12: "hexahedron27", 13: "wedge18", 14: "pyramid14"}
_SOLIDS |= {17: "hexahedron20", 18: "wedge15", 19: "pyramid13", 29: "tetra20", 30: "tetra35", 31: "tetra56"}
_TO_VTK = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]
"""Gmsh has the middles of edges 23 and 13 the other way round."""
_KINDS = ("point", "curve", "surface", "volume")


class UnknownVersion(Exception):
    """The file is of another version."""


@dataclass
class _Parts:
    """What was read so far.

    Attributes:
        names: Name of each physical group, by dimension and number.
        physicals: Numbers of the physical groups of each entity, by dimension and number.
        nodes: Labels and positions.
        blocks: Elements: dimension and number of their entity, type, and the labels of their nodes.
    """

    names: dict[tuple[int, int], str] = field(default_factory=dict)
    physicals: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    nodes: list[tuple[NDArray[Any], NDArray[Any]]] = field(default_factory=list)
    blocks: list[tuple[int, int, int, NDArray[Any]]] = field(default_factory=list)


class _Numbers:
    """The numbers of one section, taken one after another."""

    def __init__(self, data: bytes, begin: int, name: str, binary: bool) -> None:
        self._data, self._at, self._name, self._binary = data, begin, name, binary
        if not binary:
            end = data.find(b"$End" + name.encode(), begin)
            text = data[begin : end if end >= 0 else len(data)]
            self._text = np.fromstring(text.decode("ascii"), sep=" ")
            self._at = 0

    def take(self, kind: str, count: int) -> NDArray[Any]:
        """So many numbers: kind "<i4", "<u8" or "<f8"."""
        dtype = np.dtype(kind)
        left = (len(self._data) - self._at) // dtype.itemsize if self._binary else len(self._text) - self._at
        if not 0 <= count <= left:
            raise ValueError(
                f"it claims to have {count} numbers in ${self._name}, which a file of this size cannot hold"
            )
        if self._binary:
            found = np.frombuffer(self._data, dtype, count, self._at)
            self._at += count * dtype.itemsize
        else:
            found = self._text[self._at : self._at + count]
            self._at += count
        if dtype.kind == "f":
            return found.astype(np.float64)
        if not (np.abs(found) < 2.0**53).all():  # of what text holds
            raise ValueError(f"${self._name} has a number of something that is no whole number")
        return found.astype(np.int64)

    def ints(self, count: int) -> list[int]:
        """Whole numbers of 4 bytes."""
        return [int(x) for x in self.take("<i4", count)]

    def sizes(self, count: int) -> list[int]:
        """Whole numbers of 8 bytes."""
        return [int(x) for x in self.take("<u8", count)]


def read_gmsh(data: bytes) -> Contents:
    """The tetrahedra of a file of version 4.1; others raise `UnknownVersion`."""
    parts = _Parts()
    binary = _is_binary(data)
    readers = {"Entities": _read_entities, "Nodes": _read_nodes, "Elements": _read_elements}
    at = 0
    while (found := re.compile(rb"^\$(\w+)[ \t\r]*\n", re.MULTILINE).search(data, at)) is not None:
        name = found[1].decode()
        if name in readers:
            readers[name](_Numbers(data, found.end(), name, binary), parts)
        elif name == "PhysicalNames":
            _read_names(data[found.end() :], parts)
        at = data.find(b"$End" + found[1], found.end())
        if at < 0:
            raise ValueError(f"${name} does not end")
        at += len(name) + 4
    return _contents(parts)


def _is_binary(data: bytes) -> bool:
    found = re.match(rb"\s*\$MeshFormat\s+([\d.]+)\s+(\d)\s+(\d+)[ \t\r]*\n", data)
    if found is None or found[1] != b"4.1":
        raise UnknownVersion
    binary = found[2] == b"1"
    if binary and (found[3] != b"8" or data[found.end() : found.end() + 4] != (1).to_bytes(4, "little")):
        raise ValueError("it was written on a machine of another order of bytes; write it as text")
    return binary


def _read_names(data: bytes, parts: _Parts) -> None:
    lines = data[: data.find(b"$EndPhysicalNames")].decode("utf-8", errors="replace").splitlines()
    for line in lines[1:]:
        if line.strip():
            dimension, number, name = shlex.split(line)
            parts.names[int(dimension), int(number)] = name


def _read_entities(numbers: _Numbers, parts: _Parts) -> None:
    for dimension, count in enumerate(numbers.sizes(4)):
        for _ in range(count):
            (tag,) = numbers.ints(1)
            numbers.take("<f8", 6 if dimension else 3)
            parts.physicals[dimension, tag] = numbers.ints(*numbers.sizes(1))
            if dimension:
                numbers.ints(*numbers.sizes(1))  # what bounds it


def _read_nodes(numbers: _Numbers, parts: _Parts) -> None:
    for _ in range(numbers.sizes(4)[0]):
        dimension, _tag, parametric = numbers.ints(3)
        (count,) = numbers.sizes(1)
        labels = numbers.take("<u8", count)
        width = 3 + (dimension if parametric else 0)
        parts.nodes.append((labels, numbers.take("<f8", count * width).reshape(count, width)[:, :3]))


def _read_elements(numbers: _Numbers, parts: _Parts) -> None:
    for _ in range(numbers.sizes(4)[0]):
        dimension, tag, kind = numbers.ints(3)
        (count,) = numbers.sizes(1)
        if kind not in _WIDTHS:
            raise ValueError(f"it has elements of type {kind}, whose nodes are not known; save it in order 1 or 2")
        width = 1 + _WIDTHS[kind]
        parts.blocks.append((dimension, tag, kind, numbers.take("<u8", count * width).reshape(count, width)[:, 1:]))


def _contents(parts: _Parts) -> Contents:
    solids = [block for block in parts.blocks if block[2] in _TETRAHEDRA and len(block[3])]
    _require_tetrahedra(parts, solids)
    rows = Rows(np.concatenate([labels for labels, _ in parts.nodes] or [np.empty(0)]), "node")
    nodes = np.concatenate([positions for _, positions in parts.nodes])
    width = 10 if all(block[2] == 11 for block in solids) else 4
    tetrahedra = rows.of(np.concatenate([block[3][:, :width] for block in solids]))
    regions, names = _regions(parts, solids)
    groups = []
    for dimension, tag, _kind, labels in parts.blocks:
        for number in parts.physicals.get((dimension, tag), []) if dimension < 3 else []:
            name = parts.names.get((dimension, number), f"{_KINDS[dimension]} {number}")
            groups.append((name, rows.of(labels)))
    return Contents(nodes, tetrahedra[:, _TO_VTK] if width == 10 else tetrahedra, regions, names, merged_groups(groups))


def _require_tetrahedra(parts: _Parts, solids: list[tuple[int, int, int, NDArray[Any]]]) -> None:
    foreign = sorted({_SOLIDS[kind] for _, _, kind, labels in parts.blocks if kind in _SOLIDS and len(labels)})
    if foreign:
        raise ValueError(f"it holds cells of the kind {', '.join(foreign)}; only tetra and tetra10 can be used")
    if not solids:
        raise ValueError(
            "it holds no tetrahedra; mesh the volume (gmsh -3), and where surfaces have physical groups give the "
            "volume one too, for Gmsh saves what is in a group and nothing else"
        )


def _regions(parts: _Parts, solids: list[tuple[int, int, int, NDArray[Any]]]) -> tuple[Indices, dict[int, str]]:
    """Region of each tetrahedron: its physical group; its volume where there are several and no groups; else 0."""
    tags = sorted({tag for _, tag, _, _ in solids})
    grouped = {tag: parts.physicals.get((3, tag), []) for tag in tags}
    if any(grouped.values()):
        numbers = {tag: groups[0] if groups else 0 for tag, groups in grouped.items()}
    else:
        numbers = {tag: tag if len(tags) > 1 else 0 for tag in tags}
    regions = np.concatenate([np.full(len(labels), numbers[tag]) for _, tag, _, labels in solids])
    return regions, {n: parts.names[3, n] for n in sorted(set(numbers.values())) if (3, n) in parts.names}


def written_gmsh(mesh: Contents, boundary: Indices) -> bytes:
    """A file of version 4.1 in text; boundary faces, shape [k, 3 or 6], say which faces a group of nodes has.

    A group becomes a physical surface of the faces all of whose nodes it has, and physical points of its other nodes.
    """
    numbers = _region_tags(mesh)
    names = list(mesh.groups)
    first = max(numbers.values()) + 1
    member = np.stack([faces_in(boundary, mesh.groups[name], len(mesh.nodes)) for name in names]) if names else None
    surfaces = _surfaces(boundary, member)
    points = _points(mesh, boundary, member)
    volumes = [int(n) for n in np.unique(mesh.regions)]
    named = [n for n in volumes if n > 0 or n in mesh.region_names]
    titles = [(3, numbers[n], mesh.region_names[n]) for n in volumes if n in mesh.region_names]
    titles += [(2, first + k, name) for k, name in enumerate(names) if any(k in groups for groups, _ in surfaces)]
    titles += [(0, first + k, name) for k, name in enumerate(names) if any(k in groups for groups, _ in points)]
    box = " ".join(f"{x:.17g}" for x in (*mesh.nodes.min(axis=0), *mesh.nodes.max(axis=0)))
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat"]
    if titles:
        lines += ["$PhysicalNames", str(len(titles)), *(f'{d} {n} "{name}"' for d, n, name in titles)]
        lines += ["$EndPhysicalNames"]
    lines += ["$Entities", f"{len(points)} 0 {len(surfaces)} {len(volumes)}"]
    for tag, (groups, node) in enumerate(points, 1):
        place = " ".join(f"{x:.17g}" for x in mesh.nodes[node])
        lines.append(f"{tag} {place} {_listed(first + k for k in groups)}")
    for tag, (groups, _) in enumerate(surfaces, 1):
        lines.append(f"{tag} {box} {_listed(first + k for k in groups)} 0")
    for n in volumes:
        lines.append(f"{numbers[n]} {box} {_listed([numbers[n]] if n in named else [])} 0")
    lines += ["$EndEntities", "$Nodes", f"1 {len(mesh.nodes)} 1 {len(mesh.nodes)}"]
    lines += [f"3 {numbers[volumes[0]]} 0 {len(mesh.nodes)}", *map(str, range(1, len(mesh.nodes) + 1))]
    lines += [f"{x:.17g} {y:.17g} {z:.17g}" for x, y, z in mesh.nodes.tolist()]
    lines += ["$EndNodes", "$Elements"]
    return "\n".join([*lines, *_element_lines(mesh, boundary, numbers, surfaces, points), "$EndElements", ""]).encode()


def _region_tags(mesh: Contents) -> dict[int, int]:
    """Number of each region in the file: its own, but that of region 0, since Gmsh counts from 1."""
    found = [int(n) for n in np.unique(mesh.regions)]
    return {n: n if n > 0 else max(found) + 1 for n in found}


def _surfaces(boundary: Indices, member: NDArray[np.bool_] | None) -> list[tuple[tuple[int, ...], NDArray[Any]]]:
    """Faces that are in the same groups: the numbers of those groups, and the rows of the faces."""
    if member is None or not member.any():
        return []
    kinds, kind = np.unique(member.T, axis=0, return_inverse=True)
    sets = [tuple(np.flatnonzero(row).tolist()) for row in kinds]
    return [(groups, np.flatnonzero(kind.ravel() == k)) for k, groups in enumerate(sets) if groups]


def _points(mesh: Contents, boundary: Indices, member: NDArray[np.bool_] | None) -> list[tuple[tuple[int, ...], int]]:
    """Nodes of groups that are on none of their faces: the numbers of those groups, and the node."""
    loose: dict[int, list[int]] = {}
    for k, nodes in enumerate(mesh.groups.values()):
        covered = boundary[member[k]] if member is not None else boundary[:0]
        for node in np.setdiff1d(nodes, covered):
            loose.setdefault(int(node), []).append(k)
    return [(tuple(groups), node) for node, groups in sorted(loose.items())]


def _element_lines(
    mesh: Contents,
    boundary: Indices,
    numbers: dict[int, int],
    surfaces: list[tuple[tuple[int, ...], NDArray[Any]]],
    points: list[tuple[tuple[int, ...], int]],
) -> list[str]:
    ten = mesh.tetrahedra.shape[1] == 10
    cells = mesh.tetrahedra[:, _TO_VTK] if ten else mesh.tetrahedra
    blocks = [(0, tag, 15, np.array([[node]])) for tag, (_, node) in enumerate(points, 1)]
    blocks += [(2, tag, 9 if ten else 2, boundary[rows]) for tag, (_, rows) in enumerate(surfaces, 1)]
    blocks += [(3, tag, 11 if ten else 4, cells[mesh.regions == n]) for n, tag in numbers.items()]
    total = sum(len(nodes) for *_, nodes in blocks)
    lines, label = [f"{len(blocks)} {total} 1 {total}"], 1
    for dimension, tag, kind, nodes in blocks:
        lines.append(f"{dimension} {tag} {kind} {len(nodes)}")
        lines += [f"{label + i} {' '.join(map(str, row))}" for i, row in enumerate((nodes + 1).tolist())]
        label += len(nodes)
    return lines


def _listed(numbers: Any) -> str:
    found = [str(n) for n in numbers]
    return " ".join([str(len(found)), *found])

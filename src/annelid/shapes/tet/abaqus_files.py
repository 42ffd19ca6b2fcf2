"""Input files of Abaqus (.inp): nodes, tetrahedra, sets, sections and surfaces. What is read is untrusted.

CalculiX and Gmsh write the same format. Of materials, steps and loads nothing is read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.tet.contents import Contents, Rows, faces_in, merged_groups
from annelid.shapes.values import Indices

_TETRAHEDRA = re.compile(r"C3D(4|10)(?!\d)")
_FLAT = re.compile(r"(?:S|STRI|M3D|SFM3D|CPS|CPE|CPEG|CAX|R3D|T3D)([1-9])")
_OTHERS = {"B31": 2, "B32": 3, "MASS": 1}
"""Surfaces, lines and points, with their nodes: their sets become groups of nodes."""
_FACES = {"S1": (0, 1, 2), "S2": (0, 3, 1), "S3": (1, 3, 2), "S4": (2, 3, 0)}
_MIDDLES = {"S1": (4, 5, 6), "S2": (7, 8, 4), "S3": (8, 9, 5), "S4": (9, 7, 6)}
"""Corners of the faces of a tetrahedron as Abaqus numbers them, and the middles of their sides."""
_FOREIGN = {"INCLUDE", "NGEN", "NFILL", "NCOPY", "ELGEN", "ELCOPY", "SYSTEM"}
_NUMBERED = re.compile(r"region-(\d{1,9})", re.IGNORECASE)
"""How regions are called that have no name."""


_NONE = np.empty(0, np.int64)


@dataclass
class _Deck:
    """What was read so far; names of sets are kept in capitals, beside how they were written.

    Attributes:
        nodes: Label and three coordinates of the nodes of each line that has some, shape [k, 4].
        blocks: Elements of one line: their labels, the labels of their nodes, and whether they are tetrahedra.
        node_sets: Labels of nodes by name.
        element_sets: Labels of elements by name.
        surfaces: Faces by name: elements or their set, and which side, or a set of nodes.
        sections: Element sets that have a solid section.
        written: How a name is written.
        parts: Parts and instances.
    """

    nodes: list[NDArray[Any]] = field(default_factory=list)
    blocks: list[tuple[NDArray[Any], NDArray[Any], bool]] = field(default_factory=list)
    node_sets: dict[str, NDArray[Any]] = field(default_factory=dict)
    element_sets: dict[str, NDArray[Any]] = field(default_factory=dict)
    surfaces: dict[str, list[list[str]]] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """A name as names are compared; how it was written first is kept."""
        plain = name.strip().strip('"')
        self.written.setdefault(plain.upper(), plain)
        return plain.upper()

    def labels(self, of: str) -> NDArray[Any]:
        """Labels of the nodes, or of the elements, that were read so far."""
        found = [block[:, 0] for block in self.nodes] if of == "NSET" else [block[0] for block in self.blocks]
        return np.concatenate([_NONE, *found])

    def add(self, of: str, name: str, labels: Sequence[NDArray[Any]]) -> None:
        """Labels that belong to a set, beside those that it has."""
        sets = self.node_sets if of == "NSET" else self.element_sets
        key = self.key(name)
        sets[key] = np.unique(np.concatenate([sets.get(key, _NONE), *labels]))


def read_abaqus(data: bytes) -> Contents:
    """The tetrahedra of an input file."""
    deck = _Deck()
    keyword, options, rows = "", dict[str, str](), list[str]()
    unfinished = ""  # a line of options that goes on
    for line in data.decode("utf-8", errors="replace").splitlines():
        line = unfinished + line.strip()
        if not line or line.startswith("**"):
            continue
        unfinished = line if line.startswith("*") and line.endswith(",") else ""
        if unfinished:
            continue
        if line.startswith("*"):
            _take(deck, keyword, options, rows)
            keyword, options, rows = *_header(line), []
        elif keyword in _TAKEN:
            rows.append(line)
    _take(deck, keyword, options, rows)
    return _contents(deck)


def _header(line: str) -> tuple[str, dict[str, str]]:
    """The keyword of a line and its options."""
    first, *rest = line[1:].split(",")
    pairs = (each.partition("=") for each in rest)
    return first.strip().upper(), {name.strip().upper(): value.strip() for name, _, value in pairs}


def _take(deck: _Deck, keyword: str, options: dict[str, str], rows: list[str]) -> None:
    if keyword in _FOREIGN or (keyword == "NODE" and options.get("SYSTEM", "R").upper() != "R"):
        raise ValueError(f"*{keyword} asks for more than the file says itself; write it as one flat file")
    if keyword in ("PART", "INSTANCE"):
        deck.parts[keyword] = deck.parts.get(keyword, 0) + 1
        if deck.parts[keyword] > 1:
            raise ValueError(f"it has more than one {keyword.lower()}, whose labels repeat; write it without parts")
    if keyword in _TAKEN:
        _TAKEN[keyword](deck, options, rows)


def _take_nodes(deck: _Deck, options: dict[str, str], rows: list[str]) -> None:
    found = [[float(text or 0.0) for text in row.split(",")[:4]] for row in rows]
    table = np.array([row + [0.0] * (4 - len(row)) for row in found]).reshape(-1, 4)
    deck.nodes.append(table)
    if "NSET" in options:
        deck.add("NSET", options["NSET"], [table[:, 0]])


def _take_elements(deck: _Deck, options: dict[str, str], rows: list[str]) -> None:
    kind = options.get("TYPE", "").upper()
    solid, flat = _TETRAHEDRA.match(kind), _FLAT.match(kind)
    width = int(solid[1]) if solid else int(flat[1]) if flat else _OTHERS.get(kind)
    if width is None:
        raise ValueError(f"it holds elements of the type {kind or 'none'}; only C3D4 and C3D10 can be used")
    numbers = np.array([int(word) for row in rows for word in row.split(",") if word.strip()], np.int64)
    if len(numbers) % (1 + width):
        raise ValueError(f"elements of the type {kind} have {width} nodes each; {len(numbers)} numbers do not fit")
    table = numbers.reshape(-1, 1 + width)
    deck.blocks.append((table[:, 0], table[:, 1:], bool(solid)))
    if "ELSET" in options:
        deck.add("ELSET", options["ELSET"], [table[:, 0]])


def _take_set(deck: _Deck, options: dict[str, str], rows: list[str]) -> None:
    of = "NSET" if "NSET" in options else "ELSET"
    if not options.get(of):
        raise ValueError(f"a *{of} has no name")
    if "GENERATE" in options:
        there = deck.labels(of)
        found = [_generated(row, there) for row in rows]
    else:
        sets = deck.node_sets if of == "NSET" else deck.element_sets
        words = [word for row in rows for word in row.split(",") if word.strip()]
        found = [np.array([int(word) for word in words if _is_label(word)], np.int64)]
        found += [sets.get(deck.key(word), _NONE) for word in words if not _is_label(word)]
    deck.add(of, options[of], found)


def _generated(row: str, there: NDArray[Any]) -> NDArray[Any]:
    """Labels from one to another by steps, of those that are there: a line may ask for any number."""
    first, last, *step = (int(word) for word in row.split(",") if word.strip())
    by = max(step[0], 1) if step else 1
    return there[(there >= first) & (there <= last) & ((there - first) % by == 0)]


def _take_surface(deck: _Deck, options: dict[str, str], rows: list[str]) -> None:
    if options.get("NAME"):
        deck.surfaces.setdefault(deck.key(options["NAME"]), []).extend(row.split(",") for row in rows)


def _take_section(deck: _Deck, options: dict[str, str], rows: list[str]) -> None:
    if options.get("ELSET"):
        deck.sections.append(deck.key(options["ELSET"]))


_TAKEN = {
    "NODE": _take_nodes, "ELEMENT": _take_elements, "NSET": _take_set, "ELSET": _take_set, "SURFACE": _take_surface,
    "SOLID SECTION": _take_section,
}  # fmt: skip


def _is_label(word: str) -> bool:
    return word.strip().lstrip("+").isdecimal()


def _contents(deck: _Deck) -> Contents:
    solids = [(labels, nodes) for labels, nodes, solid in deck.blocks if solid and len(labels)]
    if not solids:
        raise ValueError("it holds no tetrahedra, C3D4 or C3D10; mesh the volume, not the surface")
    table = np.concatenate([np.empty((0, 4)), *deck.nodes])
    width = min(nodes.shape[1] for _, nodes in solids)
    rows, numbers = Rows(table[:, 0], "node"), np.concatenate([labels for labels, _ in solids])
    tetrahedra = rows.of(np.concatenate([nodes[:, :width] for _, nodes in solids]))
    elements = Rows(numbers, "element")
    regions, names = _regions(deck, numbers, elements)
    groups = _node_groups(deck, rows, tetrahedra, numbers)
    return Contents(table[:, 1:], tetrahedra, regions, names, merged_groups(groups))


def _regions(deck: _Deck, numbers: NDArray[Any], elements: Rows) -> tuple[Indices, dict[int, str]]:
    """Region of each tetrahedron: the set of its section, or else the smallest set that has it; 0 without one."""
    aside = {deck.key(row[0]) for rows in deck.surfaces.values() for row in rows}
    names = dict.fromkeys(deck.sections) or dict.fromkeys(name for name in deck.element_sets if name not in aside)
    members = {name: np.intersect1d(deck.element_sets.get(name, _NONE), numbers) for name in names}
    regions, title = np.zeros(len(numbers), np.int32), dict[int, str]()
    for number, name in enumerate(sorted(names, key=lambda name: -len(members[name])), 1):
        regions[elements.of(members[name])] = number
        title[number] = deck.written[name]
    return _renumbered(regions, title, [deck.written[name] for name in names])


def _renumbered(regions: Indices, title: dict[int, str], order: list[str]) -> tuple[Indices, dict[int, str]]:
    """Regions that have elements by the order of the file, those without a name of their own by their number."""
    found, names = np.zeros_like(regions), dict[int, str]()
    used = {number: name for number, name in title.items() if (regions == number).any()}
    own = {name: int(match[1]) for name in used.values() if (match := _NUMBERED.fullmatch(name))}
    free = (number for number in itertools.count(1) if number not in own.values())
    for name in sorted(used.values(), key=order.index):
        number = own[name] if name in own else next(free)
        found[np.isin(regions, [k for k, each in used.items() if each == name])] = number
        if name not in own:
            names[number] = name
    return found, names


def _node_groups(deck: _Deck, rows: Rows, tetrahedra: Indices, numbers: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    """Sets of nodes, those of the surfaces and lines that have an element set, and those of surfaces."""
    found = [(deck.written[name], rows.of(each)) for name, each in deck.node_sets.items()]
    flat = [(labels, nodes) for labels, nodes, solid in deck.blocks if not solid]
    for name, each in deck.element_sets.items():
        for labels, nodes in flat:
            found.append((deck.written[name], rows.of(nodes[np.isin(labels, each)])))
    for name, lines in deck.surfaces.items():
        for line in lines:
            found.append((deck.written[name], _face_nodes(deck, line, tetrahedra, numbers)))
    return found


def _face_nodes(deck: _Deck, line: Sequence[str], tetrahedra: Indices, numbers: NDArray[Any]) -> NDArray[Any]:
    """Nodes of a line of a *SURFACE: an element, or a set of them, and a side."""
    side = line[1].strip().upper() if len(line) > 1 else ""
    if side not in _FACES:
        return np.empty(0, np.int32)  # of nodes, or of shells
    if _is_label(line[0]):
        labels = np.array([int(line[0])])
    else:
        labels = deck.element_sets.get(deck.key(line[0]), _NONE)
    corners = _FACES[side] + (_MIDDLES[side] if tetrahedra.shape[1] == 10 else ())
    return tetrahedra[np.isin(numbers, labels)][:, corners]


def written_abaqus(mesh: Contents, boundary: Indices) -> bytes:
    """An input file with an element set for each region, and for each group of nodes a set and its surface."""
    lines = ["*HEADING", "annelid, in metres", "*NODE"]
    lines += [f"{i}, {x:.17g}, {y:.17g}, {z:.17g}" for i, (x, y, z) in enumerate(mesh.nodes.tolist(), 1)]
    kind = f"C3D{mesh.tetrahedra.shape[1]}"
    for number in np.unique(mesh.regions).tolist():
        name = mesh.region_names.get(number, f"region-{number}" if number or mesh.region_names else "")
        chosen = np.flatnonzero(mesh.regions == number)
        lines.append(f"*ELEMENT, TYPE={kind}" + (f", ELSET={_quoted(name)}" if name else ""))
        rows = zip((chosen + 1).tolist(), (mesh.tetrahedra[chosen] + 1).tolist(), strict=True)
        lines += [", ".join(map(str, (label, *row))) for label, row in rows]
    for name, nodes in mesh.groups.items():
        lines.append(f"*NSET, NSET={_quoted(name)}")
        labels = [str(n) for n in (nodes + 1).tolist()]
        lines += [", ".join(labels[k : k + 12]) for k in range(0, len(labels), 12)]
        faces = _sides(mesh.tetrahedra, boundary[faces_in(boundary, nodes, len(mesh.nodes))])
        if faces:
            lines += [f"*SURFACE, NAME={_quoted(name)}, TYPE=ELEMENT", *faces]
    return "\n".join([*lines, ""]).encode()


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"[^\w.-]", name) else name


def _sides(tetrahedra: Indices, faces: Indices) -> list[str]:
    """Elements and sides of boundary faces."""
    wanted = {tuple(sorted(face)) for face in faces[:, :3].tolist()}
    near = np.flatnonzero(np.isin(tetrahedra[:, :4], faces[:, :3]).sum(axis=1) >= 3)
    found = []
    for element, corners in zip(near.tolist(), tetrahedra[near, :4].tolist(), strict=True):
        for side, places in _FACES.items():
            if tuple(sorted(corners[k] for k in places)) in wanted:
                found.append(f"{element + 1}, {side}")
    return found

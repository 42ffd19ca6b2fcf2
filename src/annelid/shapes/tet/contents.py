"""What a file of tetrahedra holds, whatever its format: arrays, and the names of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.values import Floats, Indices


@dataclass(frozen=True)
class Contents:
    """A mesh as a file has it, not yet checked.

    Attributes:
        nodes: Positions, shape [n, 3].
        tetrahedra: Nodes of each tetrahedron, shape [m, 4], or [m, 10] with the middles of the edges in VTK's order.
        regions: Number of each tetrahedron's region, shape [m].
        region_names: Names of regions, by number.
        groups: Named sets of nodes.
    """

    nodes: Floats
    tetrahedra: Indices
    regions: Indices
    region_names: dict[int, str] = field(default_factory=dict)
    groups: dict[str, Indices] = field(default_factory=dict)


class Rows:
    """Rows of labels: files number their nodes and elements as they like, with gaps and in any order.

    Args:
        labels: Labels, shape [n], each of them once.
        what: What is labelled: "node".
    """

    def __init__(self, labels: NDArray[Any], what: str) -> None:
        self._order = np.argsort(labels, kind="stable")
        self._sorted, self._what = np.asarray(labels)[self._order], what
        twice = np.flatnonzero(np.diff(self._sorted) == 0)
        if len(twice):
            raise ValueError(f"{what} {self._sorted[twice[0]]} is there twice")

    def of(self, labels: NDArray[Any]) -> Indices:
        """Row of each label, of the same shape."""
        place = np.minimum(np.searchsorted(self._sorted, labels), max(len(self._sorted) - 1, 0))
        missing = np.ones(labels.shape, bool) if len(self._sorted) == 0 else self._sorted[place] != labels
        if missing.any():
            raise ValueError(f"{self._what} {labels[missing].ravel()[0]} is named but not there")
        return np.asarray(self._order[place], np.int32)


def merged_groups(pairs: list[tuple[str, NDArray[Any]]]) -> dict[str, Indices]:
    """Sets of nodes by name: those of one name are united."""
    found: dict[str, list[NDArray[Any]]] = {}
    for name, nodes in pairs:
        found.setdefault(name, []).append(np.asarray(nodes).ravel())
    united = {name: np.unique(np.concatenate(parts)).astype(np.int32) for name, parts in found.items()}
    return {name: nodes for name, nodes in united.items() if len(nodes)}


def faces_in(boundary: Indices, nodes: Indices, size: int) -> NDArray[np.bool_]:
    """Which boundary faces, shape [k, 3 or 6], have all corners in a set of nodes of a mesh of so many nodes."""
    inside = np.zeros(size, bool)
    inside[nodes] = True
    return np.asarray(inside[boundary[:, :3]].all(axis=1))

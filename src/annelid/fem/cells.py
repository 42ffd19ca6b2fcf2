"""Groups of neighbouring tetrahedra, for meshes that were not made of hexahedra: they share one change of volume."""

from __future__ import annotations

import numpy as np

_ROUNDS = 3  # of pairing: groups of up to eight, about as many groups as there are nodes
_SIDES = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])


def merged(nodes: np.ndarray, elements: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Number of each tetrahedron's group, shape [t]. Only tetrahedra of one region join.

    Args:
        nodes: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4].
        regions: Region of each tetrahedron, shape [t].
    """
    first, second, areas = _shared_faces(nodes, elements)
    inside = regions[first] == regions[second]
    groups = np.arange(len(elements))
    for _ in range(_ROUNDS):
        groups = _paired(groups, first[inside], second[inside], areas[inside])
    return groups


def _paired(groups: np.ndarray, first: np.ndarray, second: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Groups after pairs have joined: those first that prefer each other, by the surface they share, then the rest."""
    count = int(groups.max()) + 1
    low, high = np.minimum(groups[first], groups[second]), np.maximum(groups[first], groups[second])
    apart = low != high
    pairs, which = np.unique(low[apart].astype(np.int64) * count + high[apart], return_inverse=True)
    shared = np.bincount(which.reshape(-1), areas[apart], len(pairs))
    low, high = np.divmod(pairs, count)
    rank = np.empty(len(pairs), np.int64)
    # A strict order, so that some two always prefer each other; rounding must not decide between equal areas.
    rank[np.lexsort((pairs, np.round(shared / shared.max(initial=1e-300), 9)))] = np.arange(len(pairs))
    name, single = np.arange(count), np.ones(count, bool)
    while True:
        live = single[low] & single[high]
        best = np.full(count, -1, np.int64)
        np.maximum.at(best, low[live], rank[live])
        np.maximum.at(best, high[live], rank[live])
        chosen = live & (best[low] == rank) & (best[high] == rank)
        if not chosen.any():
            return np.unique(name[groups], return_inverse=True)[1].reshape(-1)
        name[high[chosen]] = low[chosen]
        single[low[chosen]] = single[high[chosen]] = False


def _shared_faces(nodes: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of tetrahedra with a common face, and its area [m²]."""
    faces = np.sort(elements[:, _SIDES].reshape(-1, 3), axis=1)
    owner = np.repeat(np.arange(len(elements)), 4)
    order = np.lexsort(faces.T)
    faces, owner = faces[order], owner[order]
    same = np.flatnonzero((faces[1:] == faces[:-1]).all(axis=1))
    a, b, c = (nodes[faces[same, i]] for i in range(3))
    return owner[same], owner[same + 1], 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)

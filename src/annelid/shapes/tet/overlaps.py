"""Closed surfaces of one mesh that overlap, as parts that a modelling program did not unite: no pitch keeps them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from annelid.core.errors import InvalidMesh
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.repair import compact
from annelid.shapes.topology import edges_of, shells_of, signed_volumes
from annelid.shapes.values import Floats

_MOST_SHELLS = 64
_PROBES = 9
"""Points along each side of the box in which two surfaces may meet."""
_MARGIN = 1e-6
"""Of the size of the mesh: outer surfaces nearer than this touch, and cavities that reach less far out do not."""


def require_apart(mesh: TriangleMesh) -> None:
    """Refuse outer surfaces that overlap or touch, and cavities that reach out of the solid or into each other."""
    if (fault := overlap_of(mesh)) is not None:
        raise InvalidMesh(
            f"{fault}: unite the parts in a modelling program, or fill what comes with a pitch and tolerance=None."
        )


def overlap_of(mesh: TriangleMesh) -> str | None:
    """Which closed surfaces of a mesh overlap or touch, and where, in words; None where they are apart.

    Looked for at points of a grid where the boxes of two outer surfaces meet, and in those of cavities: around each of
    them, outer surfaces less cavities must count 0 or 1.
    """
    count, shell = shells_of(edges_of(mesh.triangles))
    if not 1 < count <= _MOST_SHELLS:
        return None
    outwards = np.bincount(shell, signed_volumes(mesh.vertices, mesh.triangles), count) > 0.0
    shells = [TriangleMesh(*compact(mesh.vertices, mesh.triangles[shell == number])) for number in range(count)]
    boxes = [each.bounds() for each in shells]
    margin = _MARGIN * float(np.ptp(mesh.vertices, axis=0).max())
    points = _probes(boxes, outwards, margin)
    around = np.zeros(len(points), dtype=int)
    for each, (low, high), sign in zip(shells, boxes, np.where(outwards, 1, -1), strict=True):
        near = np.flatnonzero(((points >= low - margin) & (points <= high + margin)).all(axis=1))
        around[near[each.signed_distance(points[near]) < sign * margin]] += sign
    for wrong, fault in (
        (around > 1, "closed surfaces of the mesh overlap or touch"),
        (around < 0, "a cavity of the mesh reaches out of the solid, or into another cavity"),
    ):
        if wrong.any():
            x, y, z = points[np.flatnonzero(wrong)[0]]
            return f"{fault}, as at ({x:.4g}, {y:.4g}, {z:.4g}) m"
    return None


def _probes(boxes: list[tuple[Floats, Floats]], outwards: NDArray[np.bool_], margin: float) -> Floats:
    """Points of a grid in the boxes of cavities, and in what the boxes of two outer surfaces share, shape [n, 3]."""
    steps = (np.arange(_PROBES) + 0.5) / _PROBES
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    found = [np.zeros((0, 3))]
    found += [low + grid * (high - low) for (low, high), outer in zip(boxes, outwards, strict=True) if not outer]
    solids = [box for box, outer in zip(boxes, outwards, strict=True) if outer]
    for (low, high), (other_low, other_high) in itertools.combinations(solids, 2):
        start, end = np.maximum(low, other_low), np.minimum(high, other_high)
        if (start <= end + margin).all():
            found.append(start + grid * (end - start))
    return np.concatenate(found)

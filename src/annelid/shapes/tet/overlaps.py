"""Surfaces of a mesh that cut, touch or hardly leave each other: no pitch that can be had keeps them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.mesh_arrays import coordinates
from annelid.shapes.repair import compact
from annelid.shapes.spread import spread_over
from annelid.shapes.topology import edges_of, shells_of, signed_volumes
from annelid.shapes.values import Floats

_MOST_SHELLS = 2000
_MARGIN = 1e-5
"""Of half the diagonal of a mesh: triangles that go less deep into each other do not touch."""
_SAMPLES = 8192


@dataclass(init=False)
class Shells:
    """The closed surfaces of a mesh.

    Attributes:
        count: How many.
        of: That of each triangle, shape [m].
        of_vertices: One of those of each vertex, -1 for a vertex that no triangle uses, shape [n].
        low: Lowest corner of the box around each [m], shape [count, 3].
        high: Highest corner [m].
        corners: A vertex of each [m], shape [count, 3].
        volumes: Volume inside of each [m^3], 0 or less for a cavity, shape [count].
        outwards: Whether it bounds a solid, not a cavity, shape [count].
    """

    def __init__(self, mesh: TriangleMesh) -> None:
        self._mesh = mesh
        self.count, self.of = shells_of(edges_of(mesh.triangles))
        self.of_vertices = np.full(len(mesh.vertices), -1)
        self.of_vertices[mesh.triangles] = self.of[:, None]
        corners = mesh.vertices[mesh.triangles]
        self.low, self.high = np.full((self.count, 3), np.inf), np.full((self.count, 3), -np.inf)
        np.minimum.at(self.low, self.of, corners.min(axis=1))
        np.maximum.at(self.high, self.of, corners.max(axis=1))
        self.corners = corners[np.unique(self.of, return_index=True)[1], 0]
        self.volumes = np.bincount(self.of, signed_volumes(mesh.vertices, mesh.triangles), self.count)
        self.outwards = self.volumes > 0.0

    def overlap(self) -> str | None:
        """Which surfaces overlap or touch, where, and a remedy, in words; None where they are apart.

        All triangles are compared. What does not touch still has to lie in each other as solids and cavities do.
        """
        if (place := self._mesh.query().crossing(_MARGIN)) is not None:
            fault = f"surfaces of the mesh overlap or touch, as at {coordinates(place)} m"
            return f"{fault}: unite the parts in a modelling program"
        around = self.around()
        for wrong, fault in (
            (
                (around > 0) & self.outwards,
                f"some of the {int(self.outwards.sum())} closed surfaces that face outwards lie inside others, so "
                "they would be filled, as at {}: mesh.repaired() or TriangleMesh.read(path, repair=True) makes them "
                "cavities",
            ),
            (
                (around != 1) & ~self.outwards,
                "a cavity of the mesh lies out of the solid, or in another cavity, as at {}: turn it outwards in a "
                "modelling program",
            ),
        ):
            if wrong.any():
                return fault.format(f"{coordinates(self.corners[int(wrong.argmax())])} m")
        return None

    def narrowest_gap(self) -> tuple[float, Floats]:
        """Distance between those that come closest [m], and where; inf where there is one only.

        At vertices, and at points spread over the surface.
        """
        spread, faces = spread_over(self._mesh.vertices, self._mesh.triangles, _SAMPLES)
        used = self.of_vertices >= 0
        points = np.concatenate([self._mesh.vertices[used], spread])
        of_points = np.concatenate([self.of_vertices[used], self.of[faces]])
        least, place = math.inf, np.zeros(3)
        for number in range(self.count if 1 < self.count <= _MOST_SHELLS else 0):
            reach = min(least, float((self.high - self.low).max()))
            near = (of_points != number) & self.boxed(points, number, reach)
            if near.any():
                distances = self.alone(number).query().distance(points[near])
                if distances.min() < least:
                    least, place = float(distances.min()), points[near][distances.argmin()]
        return least, place

    def alone(self, number: int) -> TriangleMesh:
        """One of them as a mesh."""
        return TriangleMesh(*compact(self._mesh.vertices, self._mesh.triangles[self.of == number]))

    def boxed(self, points: Floats, number: int, reach: float = 0.0) -> NDArray[np.bool_]:
        """Whether points are within reach [m] of the box around a shell."""
        return np.asarray(((points >= self.low[number] - reach) & (points <= self.high[number] + reach)).all(axis=1))

    def around(self) -> NDArray[np.int64]:
        """Outer surfaces less cavities around each, itself left out, shape [count]."""
        around = np.zeros(self.count, dtype=np.int64)
        for number in range(self.count if 1 < self.count <= _MOST_SHELLS else 0):
            near = self.boxed(self.corners, number)
            near[number] = False
            if near.any():
                inside = np.flatnonzero(near)[self.alone(number).contains(self.corners[near])]
                around[inside] += 1 if self.outwards[number] else -1
        return around + (~self.outwards if self.count > _MOST_SHELLS else 0)

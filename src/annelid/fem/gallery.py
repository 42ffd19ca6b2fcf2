"""Snapshots of several worlds: their pictures stand side by side in a grid, merged part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annelid.core.snapshot import Field, Lines, Look, Mesh, Plane, Snapshot, Spheres, host_array

_PITCH = 1.5  # sizes of the solid from one world to the next

Part = Mesh | Spheres | Lines | Plane


class Gallery:
    """Puts pictures of worlds side by side.

    Args:
        worlds: Number of worlds.
        nodes: Positions of the nodes of one solid at rest [m], shape [n, 3].
    """

    def __init__(self, worlds: int, nodes: np.ndarray) -> None:
        self._worlds = worlds
        place, across = np.arange(worlds), int(np.ceil(np.sqrt(worlds)))
        pitch = _PITCH * np.maximum(np.ptp(nodes, axis=0), 0.3 * np.ptp(nodes, axis=0).max())
        self._shifts = np.column_stack([place % across, -(place // across), np.zeros(worlds)]) * pitch
        self._triangles: dict[str, tuple[Any, np.ndarray]] = {}

    def snapshot(self, picture: Callable[[int, Look], Snapshot], look: Look) -> Snapshot:
        """A snapshot of all worlds; numbers are those of the first.

        Args:
            picture: Makes a snapshot of a world; all of them have the same parts.
            look: What is to be seen; parts of several worlds are put together on the host.
        """
        if self._worlds == 1:
            return picture(0, look)
        first = picture(0, replace(look, host=True))
        others = [picture(world, replace(look, host=True, numbers=False)) for world in range(1, self._worlds)]
        columns = zip(*(shot.parts for shot in (first, *others)), strict=True)
        return replace(first, parts=tuple(self._merged(parts) for parts in columns))

    def _merged(self, parts: Sequence[Any]) -> Part:
        """One part of all worlds; a plane has no end and is drawn once."""
        one = parts[0]
        if isinstance(one, Plane):
            return one
        fields = {name: _joined([part.fields[name] for part in parts]) for name in one.fields}
        if isinstance(one, Mesh):
            points = self._placed([part.vertices for part in parts])
            return replace(one, vertices=points, triangles=self._all_triangles(one), fields=fields)
        if isinstance(one, Lines):
            ends, count = np.asarray(one.segments), len(one.points)
            segments = np.concatenate([ends + count * world for world in range(self._worlds)]).astype(np.int32)
            return replace(one, points=self._placed([part.points for part in parts]), segments=segments, fields=fields)
        radii = np.concatenate([np.broadcast_to(host_array(part.radii), len(part.centers)) for part in parts])
        return replace(one, centers=self._placed([part.centers for part in parts]), radii=radii, fields=fields)

    def _placed(self, points: Sequence[Any]) -> np.ndarray:
        moved = [host_array(some) + shift for some, shift in zip(points, self._shifts, strict=True)]
        return np.concatenate(moved).astype(np.float32)

    def _all_triangles(self, one: Mesh) -> np.ndarray:
        """Triangles of all worlds: the same array while those of a world are the same."""
        known = self._triangles.get(one.name)
        if known is None or known[0] is not one.triangles:
            triangles, count = host_array(one.triangles), len(one.vertices)
            every = np.concatenate([triangles + count * world for world in range(self._worlds)]).astype(np.int32)
            known = self._triangles[one.name] = (one.triangles, every)
        return known[1]


def _joined(fields: Sequence[Field]) -> Field:
    return replace(fields[0], values=np.concatenate([host_array(each.values) for each in fields]))

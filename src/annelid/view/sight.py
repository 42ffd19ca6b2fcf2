"""The geometry of all worlds of a solver as rays meet it now, on the device: what sensors that see share."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.scenery import Moving, Scenery, visible
from annelid.core.snapshot import Mesh, Plane, Snapshot, Spheres, host_array
from annelid.core.solver import Solver
from annelid.view.camera.kernels.sensing import place_points
from annelid.view.camera.stage import Stage

Solid = Mesh | Spheres


class Sight:
    """Follows the states of one solver.

    Args:
        solver: The solver; one that cannot be seen is refused.
    """

    def __init__(self, solver: Solver) -> None:
        self._solver, self._visible = solver, visible(solver)
        self._stage: Stage | None = None
        self._take(self._visible.scenery())

    def look(self, state: Any) -> Stage:
        """The geometry of a state; no more than a few launches while the topology stays."""
        if not self._scenery.current():
            self._take(self._visible.scenery())
        for one, first in self._moving:
            out = self._points[isinstance(one.part, Spheres)]
            inputs = [one.points(state), one.count, first, len(out) // self._solver.worlds]
            count = one.count * self._solver.worlds
            wp.launch(place_points, count, inputs, [out], device=self._solver.device)
        vertices, centers = self._points
        if self._stage is None:
            self._stage = Stage(self._snapshots(), device=self._solver.device)
        else:
            self._stage.move(vertices, centers)
        return self._stage

    def _take(self, scenery: Scenery) -> None:
        """Make room for the points of all worlds, those of meshes and of spheres, and put what stands still there."""
        worlds, device = self._solver.worlds, self._solver.device
        self._scenery, self._stage = scenery, None
        self._moving: list[tuple[Moving, int]] = []
        self._parts: list[tuple[Solid, int]] = []
        self._points: list[wp.array[Any]] = []
        for kind in (Mesh, Spheres):
            rows, first = [np.zeros((0, 3))], 0
            for part in (p for p in scenery.still if isinstance(p, kind)):
                rows.append(np.asarray(host_array(_points(part)), float).reshape(-1, 3))
                self._parts.append((part, first))
                first += len(rows[-1])
            for one in (m for m in scenery.moving if isinstance(m.part, kind) and m.count):
                rows.append(np.zeros((one.count, 3)))
                self._moving.append((one, first))
                self._parts.append((one.part, first))
                first += one.count
            every = np.tile(np.concatenate(rows), (worlds, 1)).astype(np.float32)
            self._points.append(wp.array(every, dtype=wp.vec3, device=device))

    def _snapshots(self) -> list[Snapshot]:
        """One a world; their arrays stay on the device and change in place."""
        planes = tuple(part for part in self._scenery.still if isinstance(part, Plane))
        shots = []
        for world in range(self._solver.worlds):
            parts = [self._of_world(part, first, world) for part, first in self._parts]
            shots.append(Snapshot(0.0, 0, (*parts, *planes)))
        return shots

    def _of_world(self, part: Solid, first: int, world: int) -> Solid:
        every = self._points[isinstance(part, Spheres)]
        start = world * (len(every) // self._solver.worlds) + first
        span = every[start : start + len(_points(part))]
        if isinstance(part, Mesh):
            return Mesh(part.name, span, part.triangles, color=part.color)
        return Spheres(part.name, span, part.radii, color=part.color)


def _points(part: Solid) -> Any:
    return part.vertices if isinstance(part, Mesh) else part.centers

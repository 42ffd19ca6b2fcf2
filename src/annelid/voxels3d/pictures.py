"""Snapshots of 3-D voxel robots: one skin, whose corners lie between the voxels that meet there, or a rounded one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from annelid.core.distinct import distinct_rows
from annelid.core.snapshot import Color, Field, Lines, Look, Mesh, Number, Plane, Snapshot, Spheres
from annelid.shapes import Plane as Halfspace
from annelid.shapes.resistive.pictures import sand_parts
from annelid.voxels3d.model import Model
from annelid.voxels3d.readout import Readout
from annelid.voxels3d.skins import Rounded, rounded

COLORS: tuple[Color, ...] = (
    (0.83, 0.42, 0.34), (0.33, 0.58, 0.78), (0.93, 0.75, 0.32), (0.45, 0.68, 0.45), (0.60, 0.48, 0.72),
    (0.55, 0.55, 0.58),
)  # fmt: skip
"""Of materials that have none of their own, one after the other."""
_OBSTACLE: Color = (0.90, 0.90, 0.91)
_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
"""Corners of a cell; a corner is 4 x + 2 y + z."""
_FACES = np.array(
    [
        [4, 6, 7, 5], [0, 1, 3, 2],  # +x, -x
        [2, 3, 7, 6], [0, 4, 5, 1],  # +y, -y
        [1, 5, 7, 3], [0, 2, 6, 4],  # +z, -z
    ]
)  # fmt: skip
"""Corners of the six faces of a cell, counter-clockwise from outside."""


class Painter:
    """Makes snapshots of one model; worlds stand in a grid, side by side.

    Args:
        model: The model.
        readout: What reads its states.
    """

    def __init__(self, model: Model, readout: Readout) -> None:
        self.model, self.readout = model, readout

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        return ("size", "speed", "strain", "material", "phase")

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for."""
        look.require_known(self.fields)
        shift = self._shifts[self.model.world_of_voxel]
        centers = self.readout.positions(state) + shift
        parts: list[Any] = []
        if look.surface:
            parts += self._ground(state) + self._skins(state, look, centers)
        if look.spheres:
            parts.append(Spheres("voxels", centers, 0.3 * float(self.model.of_voxels("side").min())))
        if look.lines:
            parts.append(Lines("links", centers, self.readout.links.astype(np.int32)))
        step = int(state.clock.numpy()[0])
        return Snapshot(step * self.model.dt, step, tuple(parts), self._numbers(state))

    def _skins(self, state: Any, look: Look, centers: np.ndarray) -> list[Mesh]:
        """The surface of all robots, material by material; all have the same vertices."""
        half = 0.5 * self.model.of_voxels("side") * self.readout.sizes(state)
        arms = (2.0 * _CORNERS - 1.0)[None] * half[:, None, None]
        turn = self.readout.rotations(state).as_matrix()
        corners = centers[:, None] + np.einsum("vij,vcj->vci", turn, arms)
        vertices = self._on_skin(self._mean(corners.reshape(-1, 3)))
        fields = {name: self._field(state, name) for name in look.fields}
        return [Mesh(name, vertices, triangles, fields, color=color) for name, triangles, color in self._materials]

    def _field(self, state: Any, name: str) -> Field:
        values, unit, labels = self._values(state, name)
        if labels:
            owners = np.zeros(self._vertex_count, int)
            owners[self._vertex_of] = np.repeat(values, 8)  # a corner has the material of one of its voxels
            if self._rounded is not None:
                owners = owners[self._rounded.nearest]
            return Field(owners.astype(float), unit, None, labels)
        return Field(self._on_skin(self._mean(np.repeat(values, 8)[:, None]))[:, 0], unit)

    def _on_skin(self, of_vertices: np.ndarray) -> np.ndarray:
        """Numbers of vertices between voxels as those of the vertices that are drawn."""
        return of_vertices if self._rounded is None else np.asarray(self._rounded.matrix @ of_vertices)

    def _values(self, state: Any, name: str) -> tuple[np.ndarray, str, tuple[str, ...]]:
        """A field of each voxel, its unit, and labels where it is a category."""
        if name == "speed":
            return np.linalg.norm(self.readout.velocities(state), axis=1), "m/s", ()
        if name == "strain":
            strains, links = self.readout.link_strains(state), self.readout.links
            total = sum(np.bincount(links[:, end], strains, self.model.voxel_count) for end in (0, 1))
            count = sum(np.bincount(links[:, end], minlength=self.model.voxel_count) for end in (0, 1))
            return total / np.maximum(count, 1), "", ()
        if name == "material":
            return self._material_of, "", tuple(label for label, _, _ in self._materials)
        if name == "phase":
            return self.model.tables.waves.numpy()[:, 2] % 1.0, "", ()
        return self.readout.sizes(state), "", ()

    def _mean(self, of_corners: np.ndarray) -> np.ndarray:
        """Means over the corners of voxels that meet at a vertex, shape [vertices, n]."""
        sums = [np.bincount(self._vertex_of, column, self._vertex_count) for column in of_corners.T]
        return np.asarray(np.stack(sums, axis=1) / self._met[:, None])

    @cached_property
    def _met(self) -> np.ndarray:
        return np.bincount(self._vertex_of, minlength=self._vertex_count)

    @cached_property
    def _vertex_of(self) -> np.ndarray:
        """Vertex of each corner of each voxel, shape [8 voxels]."""
        cells = np.concatenate([robot.cells for robot in self.model.robots])
        keys = np.concatenate([np.repeat(self._part_of[:, None, None], 8, axis=1),
                               cells[:, None] + _CORNERS], axis=2).reshape(-1, 4)  # fmt: skip
        return np.asarray(distinct_rows(keys, return_inverse=True)[1]).reshape(-1)

    @cached_property
    def _part_of(self) -> np.ndarray:
        """Number of the connected part that each voxel belongs to: only what is joined has common corners."""
        after, _ = self.model.neighbours()
        first, axis = np.nonzero(after >= 0)
        ends = first, after[first, axis]
        count = self.model.voxel_count
        joined = sparse.coo_array((np.ones(len(first), np.int8), ends), shape=(count, count))
        return np.asarray(sparse.csgraph.connected_components(joined, directed=False)[1])

    @property
    def _vertex_count(self) -> int:
        return int(self._vertex_of.max()) + 1

    @cached_property
    def _palette(self) -> list[tuple[str, Color]]:
        """Name and colour of each material of all robots."""
        found: dict[Any, tuple[str, Color]] = {}
        for robot in self.model.robots:
            for material in robot.materials:
                number = len(found)
                found.setdefault(
                    material, (material.name or f"material {number}", material.color or COLORS[number % len(COLORS)])
                )
        self._number_of = {material: number for number, material in enumerate(found)}
        return list(found.values())

    @cached_property
    def _material_of(self) -> np.ndarray:
        """Material of each voxel, a number among those of all robots."""
        _ = self._palette
        numbers = [
            np.array([self._number_of[m] for m in robot.materials])[robot.material_of] for robot in self.model.robots
        ]
        return np.concatenate(numbers)

    @cached_property
    def _faces(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of the open faces of voxels, shape [f, 4], and the material of each."""
        after = [np.where(s.next >= 0, 1, -1) for s in self.model.shapes]
        before = [np.where(s.before >= 0, 1, -1) for s in self.model.shapes]
        open_faces = np.stack([np.concatenate(after), np.concatenate(before)], axis=2).reshape(-1, 6) < 0
        voxel, face = np.nonzero(open_faces)
        return self._vertex_of.reshape(-1, 8)[voxel[:, None], _FACES[face]], self._material_of[voxel]

    @cached_property
    def _rounded(self) -> Rounded | None:
        """The rounded skin, where the world asks for it."""
        return rounded(self._faces[0], self._vertex_count) if self.model.world.skin == "smooth" else None

    @cached_property
    def _materials(self) -> list[tuple[str, np.ndarray, Color]]:
        """Name, triangles and colour of the skin of each material."""
        quads, owner = self._faces
        if self._rounded is not None:
            quads, owner = self._rounded.quads, owner[self._rounded.face_of]
        triangles = np.stack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1).astype(np.int32)
        return [
            (name, np.ascontiguousarray(triangles[owner == number].reshape(-1, 3)), color)
            for number, (name, color) in enumerate(self._palette)
        ]

    def _ground(self, state: Any) -> list[Any]:
        """The obstacles, as they are in the first world of a state."""
        parts: list[Any] = sand_parts(self.model.world.sand)
        for number in range(len(self.model.world.contacts)):
            rigid = self.readout.placed(state, number)
            name = rigid.name or f"obstacle-{number}"
            color = rigid.color or _OBSTACLE
            if rigid.hidden:
                continue
            if isinstance(rigid.geometry, Halfspace):
                plane = rigid.where
                assert isinstance(plane, Halfspace)
                parts.append(Plane(name, plane.point, plane.normal, color))
            else:
                parts.append(Mesh(name, *rigid.picture, color=color))
        return parts

    @cached_property
    def _shifts(self) -> np.ndarray:
        """Where each world stands in the picture [m], shape [worlds, 3]: side by side, if they begin in one place."""
        count = self.model.world_count
        corners = self.model.corners.reshape(count, -1, 3)
        if len(np.unique(corners[:, 0], axis=0)) == count:
            return np.zeros((count, 3))
        across = int(np.ceil(np.sqrt(count)))
        apart = float(np.ptp(corners[:, :, :2], axis=1).max())  # of robots that share a world
        pitch = 2.0 * (apart + max(max(robot.size[:2]) for robot in self.model.robots))
        place = np.arange(count)
        return np.column_stack([place % across, place // across, np.zeros(count)]) * pitch

    def _numbers(self, state: Any) -> dict[str, Number]:
        center = self.readout.centers(state)[0]
        return {f"center-{axis}": Number(float(value), "m") for axis, value in zip("xyz", center, strict=True)}

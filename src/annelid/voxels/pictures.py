"""Snapshots of voxel robots: thin plates in the x-z plane, red where shrunk, green at rest, yellow where enlarged."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.scenery import Scenery
from annelid.core.snapshot import Color, Field, Lines, Look, Mesh, Number, Snapshot, Spheres
from annelid.voxels.model import Model
from annelid.voxels.readout import Readout
from annelid.voxels.scenery import scenery_of

_SHADES = 7
_RED, _GREEN, _YELLOW = np.array([0.86, 0.20, 0.18]), np.array([0.30, 0.69, 0.31]), np.array([0.98, 0.85, 0.22])
_RANGE = 0.2  # change of the area at which a colour is full
_GROUND: Color = (0.35, 0.36, 0.38)
_OBJECT: Color = (0.55, 0.42, 0.30)
_FACES = np.array(
    [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]] + [[i, i + 4, (i + 1) % 4 + 4] for i in range(4)]
    + [[i, (i + 1) % 4 + 4, (i + 1) % 4] for i in range(4)], dtype=np.int32,
)  # fmt: skip
"""Triangles of a plate: four front corners clockwise, then the four behind them."""


class Painter:
    """Makes snapshots of one model; worlds stand in a grid, side by side.

    Args:
        model: The model.
        readout: What reads its states.
    """

    def __init__(self, model: Model, readout: Readout) -> None:
        self.model, self.readout = model, readout
        self._depth = 0.4 * model.robots[0].side_length
        count = model.voxel_count
        self._triangles = (8 * np.arange(count)[:, None, None] + _FACES).reshape(-1, 3).astype(np.int32)
        self._shift = self._grid()

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        return ("area", "control", "material")

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for."""
        look.require_known(self.fields)
        areas = self.readout.area_ratios(state)
        parts: list[Any] = []
        if look.surface:
            parts += self._ground(state) + self._boxes(state) + self._voxels(state, look, areas)
        if look.spheres:
            masses = self._lift(self.readout.mass_positions(state).reshape(-1, 2), np.repeat(self._world_of_voxel(), 4))
            parts.append(Spheres("masses", masses, 0.15 * self.model.robots[0].side_length))
        if look.lines:
            parts.append(self._lines(state))
        step = int(state.clock.numpy()[0])
        return Snapshot(step * self.model.world.step, step, tuple(parts), self._numbers(state, areas))

    def scenery(self) -> Scenery:
        """The same as cameras and lidars among the sensors see it."""
        return scenery_of(self.model, self.readout, _FACES, 0.5 * self._depth, (_GROUND, _OBJECT))

    def _painted(self, state: Any, name: str, areas: np.ndarray) -> Field:
        """A field for each of the eight corners of the plate that a voxel is drawn as."""
        values = np.repeat(self._field(state, name, areas), 8)
        limits = {"area": (1.0 - _RANGE, 1.0 + _RANGE), "control": (-1.0, 1.0)}.get(name)
        labels = tuple(f"material {i}" for i in range(1 + int(values.max()))) if name == "material" else ()
        return Field(values, "", limits, labels)

    def _voxels(self, state: Any, look: Look, areas: np.ndarray) -> list[Mesh]:
        flat = self.readout.corners(state)
        vertices = self._plates(flat, self._world_of_voxel())
        if look.fields:
            fields = {name: self._painted(state, name, areas) for name in look.fields}
            return [Mesh("robots", vertices, self._triangles, fields)]
        shade = np.clip(np.rint((areas - 1.0) / _RANGE * (_SHADES // 2)), -(_SHADES // 2), _SHADES // 2).astype(int)
        middle = np.repeat(vertices.reshape(-1, 8, 3).mean(axis=1), 8, axis=0)
        # Each shade is a mesh of all voxels in which those of other shades are shrunk to a point: the topology, which
        # viewers and recordings keep, never changes.
        return [
            Mesh(
                f"robots-{number + _SHADES // 2}",
                np.where(np.repeat(shade == number, 8)[:, None], vertices, middle),
                self._triangles,
                color=_color(number / (_SHADES // 2)),
            )
            for number in range(-(_SHADES // 2), _SHADES // 2 + 1)
        ]

    def _field(self, state: Any, name: str, areas: np.ndarray) -> np.ndarray:
        if name == "control":
            return state.controls.numpy().astype(float)
        if name == "material":
            return np.concatenate([self.model.shapes[s].material_of for s in self.model.shape_of]).astype(float)
        return areas

    def _ground(self, state: Any) -> list[Mesh]:
        """A slab of ground under the robots of each world."""
        ground = self.model.world.terrain
        if ground is None:
            return []
        centers = self.readout.centers(state)[self.model.first_robot[:-1]]
        reach = 1.5 * max(max(robot.size) for robot in self.model.robots) + 6.0
        quads, worlds = [], []
        for world, (x, (higher, shift)) in enumerate(zip(centers[:, 0], self.readout.grounds(state), strict=True)):
            points = ground.points[:, 0] + shift
            xs = np.concatenate([[x - reach], points[np.abs(points - x) < reach], [x + reach]])
            ys = higher * np.minimum(ground.height(xs - shift), ground.height(x - shift) + 0.3 * reach)
            low = float(ys.min()) - 2.0
            quads.append(np.stack([
                np.stack([xs[:-1], ys[:-1]], axis=1), np.stack([xs[1:], ys[1:]], axis=1),
                np.stack([xs[1:], np.full(len(xs) - 1, low)], axis=1),
                np.stack([xs[:-1], np.full(len(xs) - 1, low)], axis=1),
            ], axis=1))  # fmt: skip
            worlds.append(np.full(len(xs) - 1, world))
        flat = np.concatenate(quads)
        triangles = (8 * np.arange(len(flat))[:, None, None] + _FACES).reshape(-1, 3).astype(np.int32)
        vertices = self._plates(flat, np.concatenate(worlds), depth=1.5 * self._depth)
        return [Mesh("ground", vertices, triangles, color=_GROUND)]

    def _boxes(self, state: Any) -> list[Mesh]:
        places = self.readout.box_positions(state)
        meshes = []
        for number, item in enumerate(self.model.world.boxes):
            x, y, angle = places[:, number].T
            outline = item.outline()[::-1]
            c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
            flat = np.stack(
                [
                    x[:, None] + c * outline[:, 0] - s * outline[:, 1],
                    y[:, None] + s * outline[:, 0] + c * outline[:, 1],
                ],
                axis=2,
            )
            triangles = (8 * np.arange(len(flat))[:, None, None] + _FACES).reshape(-1, 3).astype(np.int32)
            vertices = self._plates(flat, np.arange(len(flat)))
            meshes.append(Mesh(f"object-{number}", vertices, triangles, color=_OBJECT))
        return meshes

    def _lines(self, state: Any) -> Lines:
        """Sides and diagonals of the voxels, between the centres of their masses."""
        masses = self._lift(self.readout.mass_positions(state).reshape(-1, 2), np.repeat(self._world_of_voxel(), 4))
        masses[:, 1] -= 0.55 * self._depth
        pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
        segments = (4 * np.arange(self.model.voxel_count)[:, None, None] + pairs).reshape(-1, 2).astype(np.int32)
        return Lines("scaffolding", masses, segments)

    def _plates(self, flat: np.ndarray, worlds: np.ndarray, depth: float | None = None) -> np.ndarray:
        """Vertices of plates over polygons of four clockwise corners, shape [8 n, 3]."""
        half = 0.5 * (self._depth if depth is None else depth)
        lifted = self._lift(flat.reshape(-1, 2), np.repeat(worlds, 4)).reshape(-1, 4, 3)
        front, back = lifted.copy(), lifted.copy()
        front[..., 1] += half
        back[..., 1] -= half
        return np.concatenate([front, back], axis=1).reshape(-1, 3)

    def _lift(self, flat: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Points of the plane in space: y becomes z, and each world stands at its place in the grid."""
        moved = flat + self._shift[worlds]
        return np.stack([moved[:, 0], np.zeros(len(moved)), moved[:, 1]], axis=1)

    def _world_of_voxel(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.model.worlds)), np.diff(self.model.first_voxel))

    def _grid(self) -> np.ndarray:
        """Shift of each world [m], shape [worlds, 2]."""
        count = len(self.model.worlds)
        across = int(np.ceil(np.sqrt(count)))
        pitch = np.max([robot.size for robot in self.model.robots], axis=0) * [4.0, 2.0] + [12.0, 8.0]
        place = np.arange(count)
        return np.stack([place % across, -(place // across)], axis=1) * pitch

    def _numbers(self, state: Any, areas: np.ndarray) -> dict[str, Number]:
        center = self.readout.centers(state)[0]
        return {
            "center-x": Number(float(center[0]), "m"),
            "center-z": Number(float(center[1]), "m"),
            "area-ratio-mean": Number(float(areas.mean())),
            "area-ratio-low": Number(float(areas.min())),
            "area-ratio-high": Number(float(areas.max())),
        }


def _color(amount: float) -> Color:
    """Red at -1, green at 0, yellow at 1."""
    end = _YELLOW if amount > 0 else _RED
    r, g, b = _GREEN + (end - _GREEN) * abs(amount)
    return float(r), float(g), float(b)

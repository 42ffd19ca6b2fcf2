"""Snapshots of grains and bodies: spheres, moving meshes, planes, force chains and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.snapshot import Color, Field, Lines, Look, Mesh, Number, Plane, Snapshot, Spheres
from annelid.grains.model import Model
from annelid.grains.readout import Readout
from annelid.grains.rigid import Solid, Wall

SAND: Color = (0.80, 0.66, 0.45)
"""Colour of grains."""
_CAGE: Color = (0.35, 0.42, 0.50)
_EDGE = 0.35  # cosine of the angle between two faces below which the edge between them is drawn
_UNITS = {"speed": "m/s", "height": "m", "radius": "m", "material": "", "contacts": "", "spin": "rad/s", "start": "m"}


class Painter:
    """Makes snapshots of one model; worlds stand side by side in a grid.

    Args:
        model: The model.
        readout: What reads its states.
    """

    def __init__(self, model: Model, readout: Readout) -> None:
        self.model, self.readout = model, readout
        self._shift = self._grid()
        self._cages = {
            number: _outline(*body.surface_mesh)
            for number, body in enumerate(model.bodies)
            if isinstance(body, Solid) and body.inside and not body.hidden
        }

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        bed = self.model.bed
        offered = {
            "speed": True,
            "height": True,
            "start": True,
            "spin": True,
            "contacts": True,
            "radius": bool(np.ptp(bed.radii) > 0.0),
            "material": len(bed.materials) > 1,
        }
        return tuple(name for name, there in offered.items() if there)

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for."""
        look.require_known(self.fields)
        parts: list[Any] = []
        if look.surface or look.spheres or look.lines:
            parts += self._planes()
            parts += self._bodies(state)
        if look.surface or look.spheres:
            parts.append(self._grains(state, look))
        if look.lines:
            parts.append(self._chains(state, look))
        step = int(state.clock.numpy()[0])
        numbers = self._numbers(state) if look.numbers else {}
        return Snapshot(step * self.model.dt, step, tuple(parts), numbers)

    def _grains(self, state: Any, look: Look) -> Spheres:
        bed = self.model.bed
        radii = bed.radii.astype(np.float32) if np.ptp(bed.radii) > 0.0 else float(bed.radii[0])
        plain = look.host or self.model.world_count > 1
        centers: Any = self.readout.points(state)
        if plain:
            centers = centers.numpy() + self._shift[self.model.worlds]
        fields = {name: self._field(state, name) for name in look.fields}
        return Spheres("grains", centers, radii, fields, SAND)

    def _field(self, state: Any, name: str) -> Field:
        bed, readout = self.model.bed, self.readout
        labels: tuple[str, ...] = ()
        if name == "speed":
            values = np.linalg.norm(readout.velocities(state), axis=1)
        elif name == "spin":
            values = np.linalg.norm(readout.spins(state), axis=1)
        elif name == "height":
            values = readout.positions(state) @ self._up
        elif name == "start":
            values = bed.positions @ self._up
        elif name == "contacts":
            values = readout.contact_counts(state)
        elif name == "radius":
            values = bed.radii
        else:
            values, labels = bed.kinds, tuple(f"material {i}" for i in range(len(bed.materials)))
        return Field(np.asarray(values, np.float32), _UNITS[name], labels=labels)

    @property
    def _up(self) -> np.ndarray:
        gravity = np.asarray(self.model.world.gravity)
        length = np.linalg.norm(gravity)
        return np.array([0.0, 0.0, 1.0]) if length == 0.0 else -gravity / length

    def _planes(self) -> list[Plane]:
        walls = [(n, body) for n, body in enumerate(self.model.bodies) if isinstance(body, Wall) and not body.hidden]
        return [
            Plane(f"plane-{n}", tuple(np.asarray(wall.point) + self._shift[wall.world]), wall.normal)
            for n, wall in walls
        ]

    def _bodies(self, state: Any) -> list[Mesh | Lines]:
        """Bodies as meshes; those that grains are kept inside of as outlines, or nothing inside would be seen."""
        places, turns = state.places.numpy().astype(float), state.turns.numpy().astype(float)
        parts: list[Mesh | Lines] = []
        for number, body in enumerate(self.model.bodies):
            if not isinstance(body, Solid) or body.hidden:
                continue
            name = f"{body.name or 'body'}-{number}"
            place = places[number] + self._shift[body.world]
            vertices = Rotation.from_quat(turns[number]).apply(body.surface_mesh[0]) + place
            if number in self._cages:
                parts.append(Lines(name, vertices, self._cages[number], color=_CAGE))
            else:
                parts.append(Mesh(name, vertices, body.surface_mesh[1], color=body.color))
        return parts

    def _chains(self, state: Any, look: Look) -> Lines:
        """Lines between grains that push each other, coloured by their force."""
        contacts = self.readout.contacts(state)
        points = self.readout.positions(state) + self._shift[self.model.worlds]
        near = np.linalg.norm(points[contacts.pairs[:, 0]] - points[contacts.pairs[:, 1]], axis=1)
        shown = near < 4.0 * self.model.bed.radii.max()  # across a period a line would cross the picture
        force = Field(np.linalg.norm(contacts.forces[shown], axis=1).astype(np.float32), "N")
        return Lines("contacts", points, contacts.pairs[shown].astype(np.int32), {"force": force})

    def _grid(self) -> np.ndarray:
        """Shift of each world [m], shape [worlds, 3]."""
        count = self.model.world_count
        across = int(np.ceil(np.sqrt(count)))
        pitch = 1.3 * np.ptp(self.model.bed.positions, axis=0) + 6.0 * self.model.bed.radii.max()
        place = np.arange(count)
        return np.column_stack([place % across, -(place // across), np.zeros(count)]) * pitch

    def _numbers(self, state: Any) -> dict[str, Number]:
        numbers = self.readout.summary(state).numbers("kinetic", "rotational", "gravitational")
        return {**numbers, "largest-speed": Number(self.readout.largest_speed(state), "m/s")}


def _outline(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Edges of a mesh at which it bends, and some of those along which it is curved, shape [k, 2]."""
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    order = np.lexsort(edges.T)
    first, second = order[::2], order[1::2]  # a closed mesh has each edge twice
    bend = np.einsum("ni,ni->n", normals[first // 3], normals[second // 3])
    sharp, curved = bend < _EDGE, (bend >= _EDGE) & (bend < 1.0 - 1e-6)
    chosen = np.concatenate([first[sharp], first[curved][::4]])
    return np.asarray(edges[chosen], np.int32)

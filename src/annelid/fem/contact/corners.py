"""Corners and edges of rigid things against the triangles of a solid, as one more element set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.distinct import distinct_rows
from annelid.core.replay import Launcher
from annelid.core.state import overwrite
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.contact.places import Pose
from annelid.fem.contact.sliding import followed_tangents
from annelid.fem.elements import ElementSet
from annelid.fem.kernels import corners as kernels
from annelid.shapes import Box, Cylinder, Rigid, TriangleMesh
from annelid.shapes.form import Form

_ALONG = 16  # points along an edge, at most
_VERTICES = 256  # of a mesh, at most
_SLOTS = 24  # places of a surface that a point touches, at most: seldom more than three


class CornerContacts(ElementSet):
    """Contact of sharp points of obstacles with triangles: one element a triangle, whose nodes are coupled already.

    Args:
        faces: Triangles of the outer surface, shape [t, 3].
        node_count: Nodes of the solid.
        rigids: The obstacles.
        forms: What they are.
        structure: The same for the kernels.
        frictions: Coulomb coefficients of the solid with each obstacle, shape [o].
        spacing: Distance of points along an edge [m].
        reach: Gap at which contact begins [m].
        skin: Gap that is kept beside [m].
        device: Where it is computed.

    Attributes:
        owners: The obstacle of each point, shape [c].
        point_forces: Push on each point from the places that it touches [N], vec3d of shape [c, s].
        point_rubs: Friction on each point [N], vec3d of shape [c].
        stretches: Stretch of the spring of friction of each point [m], vec3d of shape [c].
    """

    def __init__(
        self,
        faces: np.ndarray,
        node_count: int,
        rigids: Sequence[Rigid],
        forms: Sequence[Form],
        structure: Any,
        frictions: Sequence[float],
        *,
        spacing: float,
        reach: float,
        skin: float,
        device: wp.Device,
    ) -> None:
        super().__init__(faces, device)
        points = [sharp_points(rigid, form, spacing) for rigid, form in zip(rigids, forms, strict=True)]
        self.owners = np.repeat(np.arange(len(rigids)), [len(each) for each in points])
        self.forms, self.faces, count = structure, faces, len(self.owners)
        self._corners: Any = kernels.Corners()
        self._corners.owners = wp.array(self.owners, dtype=wp.int32, device=device)
        places = np.concatenate([np.zeros((0, 3)), *points])
        self._corners.places = wp.array(places, dtype=wp.vec3d, device=device)
        self._built = np.array(frictions, float)[self.owners]
        self._corners.frictions = wp.array(self._built, dtype=wp.float64, device=device)
        free = np.array([rigid.moves == "free" for rigid in rigids])
        self._corners.free = wp.array(free[self.owners].astype(np.int32), dtype=wp.int32, device=device)
        triangles: Any = wp.array(faces, dtype=wp.int32, device=device)
        self._corners.faces = triangles
        self._corners.counted = wp.array(counted_with(faces), dtype=wp.int32, device=device)
        self._corners.skin, self._corners.reach = wp.float64(skin), wp.float64(reach)
        self._hits, self._nearest, self._lagging = self._made_hits(count), *(self._made_nearest() for _ in range(2))
        self._energies, self.strengths, self._parts = (self._numbers(count) for _ in range(3))
        self.point_rubs, self._rub_places = self._vectors(count), self._vectors(count)
        self.stretches, self._normals = self._vectors(count), self._vectors(count)
        self.point_forces = wp.zeros((count, _SLOTS), dtype=wp.vec3d, device=device)
        self.point_tangents = wp.zeros((count, _SLOTS), dtype=wp.mat33d, device=device)
        self.rub_tangents = wp.zeros(count, dtype=wp.mat33d, device=device)
        self._starts = self._vectors(node_count)
        self._launcher = Launcher(device)

    def __len__(self) -> int:
        """Number of sharp points."""
        return len(self.owners)

    def scale_friction(self, factor: float) -> None:
        """Let Coulomb coefficients be so many times what they were built with."""
        overwrite(self._corners.frictions, factor * self._built)

    def begin(self, begin: Any, now: Any, stretches: wp.array[Any], positions: wp.array[Any]) -> None:
        """Start a step: where obstacles were and, in arrays that are written to, are; stretches; where nodes are."""
        self._begin, self._now = begin, now
        wp.copy(self.stretches, stretches)
        wp.copy(self._starts, positions)

    def follow(self, positions: wp.array[Any]) -> None:
        """Take limits, planes and triangles of friction from where nodes are."""
        self._find(positions)
        for name in ("faces", "weights"):
            wp.copy(getattr(self._lagging, name), getattr(self._nearest, name))
        inputs = [self._corners, self.forms, self._now, self._hits, positions]
        self._launch(kernels.follow_corners, inputs, [self.strengths, self._normals])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of push and friction."""
        self._find(positions)
        lagging = [self._starts, self.stretches, self._lagging, self.strengths, self._normals]
        inputs = [int(tangent), self._corners, self.forms, self._begin, self._now, *lagging, self._hits, positions]
        found = [self._energies, self.point_forces, self.point_tangents, self.point_rubs, self.rub_tangents]
        self._launch(kernels.touch_corners, inputs, [*found, self._rub_places])
        outputs = [self.energy, self.forces, self.tangent]
        given = [int(tangent), self._corners, positions, self._lagging, self._hits, *found]
        self._launcher.launch(kernels.load_faces, self.element_count, [*given, *outputs])

    def end(self, positions: wp.array[Any], stretches: wp.array[Any]) -> None:
        """End a step: what friction keeps, into an array of a state."""
        self.follow(positions)
        self.evaluate(positions, tangent=False)
        fixed = [self._corners, self.forms, self._begin, self._now, self._starts, self._lagging]
        inputs = [*fixed, self.strengths, self._normals, positions, self.stretches]
        self._launch(kernels.keep_corner_stretches, inputs, [])
        wp.copy(stretches, self.stretches)

    def free_part(self, positions: wp.array[Any], step: wp.array[Any], begin: Any, end: Any) -> float:
        """Part of a step of nodes and obstacles on which no point gets nearer than a tenth of its gap, at most 1."""
        self._launch(kernels.free_corner_parts, [self._corners, begin, end, positions, step], [self._parts])
        return float(self._parts.numpy().min(initial=1.0))

    def places_in(self, pose: Pose) -> np.ndarray:
        """Where the points are in a pose [m], shape [c, 3]."""
        return pose.points(self.owners, self._corners.places.numpy())

    def loads_in(self, pose: Pose, of: np.ndarray | None = None) -> list[CornerLoad]:
        """What points do that touch, pushes and frictions apart, as they were evaluated last, in a pose.

        Args:
            pose: Where obstacles are.
            of: The obstacles that are asked about; None for all.
        """
        wanted = np.ones(len(self), bool) if of is None else np.isin(self.owners, of)
        if not wanted.any():
            return []
        found = []
        sides = (self._pushes(), self.places_in(pose)), (self._rubs(), self._rub_places.numpy())
        for of_each, places in sides:
            for i, face, weights, pull, tangent in zip(*of_each, strict=True):
                if wanted[i] and pull.any():
                    owner, nodes = int(self.owners[i]), self.faces[face]
                    found.append(CornerLoad(owner, places[i], nodes, weights, pull, tangent))
        return found

    def stiffness(self, *, losses: bool = False) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pushes and frictions as evaluated last: triangles [p, 3], shares [p, 3], tangents [N/m] [p, 3, 3].

        Args:
            losses: Whether friction that is lost with gaps that open is a part of them.
        """
        points, faces, weights, _, pushes = self._pushes()
        found = [(self.faces[faces], weights, pushes)]
        rubs = self.rub_tangents.numpy()
        if losses:
            total = np.zeros_like(rubs)
            np.add.at(total, points, pushes)
            stiffness = self.forms.stiffnesses.numpy()[self.owners]
            rubs = followed_tangents(
                self._corners.frictions.numpy(), stiffness, self._normals.numpy(), total, self.point_rubs.numpy(), rubs
            )
        faces = self._lagging.faces.numpy()
        rubbing = np.flatnonzero((faces >= 0) & rubs.any(axis=(1, 2)))
        return [*found, (self.faces[faces[rubbing]], self._lagging.weights.numpy()[rubbing], rubs[rubbing])]

    def _pushes(self) -> tuple[np.ndarray, ...]:
        """Of all pushes: points, triangles, weights, forces on points and tangents, as evaluated last."""
        hits = self._hits
        held = np.arange(_SLOTS) < hits.used.numpy()[:, None]
        points, slots = np.nonzero(held & (hits.counts.numpy() != 0.0))
        arrays = (hits.faces, hits.weights, self.point_forces, self.point_tangents)
        return points, *(each.numpy()[points, slots] for each in arrays)

    def _rubs(self) -> tuple[np.ndarray, ...]:
        """The same of all frictions."""
        points = np.flatnonzero(self._lagging.faces.numpy() >= 0)
        arrays = (self._lagging.faces, self._lagging.weights, self.point_rubs, self.rub_tangents)
        return points, *(each.numpy()[points] for each in arrays)

    def _find(self, positions: wp.array[Any]) -> None:
        self._launch(kernels.find_faces, [self._corners, self._now, positions], [self._nearest, self._hits])

    def _launch(self, kernel: Any, inputs: list[Any], outputs: list[Any]) -> None:
        self._launcher.launch(kernel, len(self.owners), [*inputs, *outputs])

    def _made_hits(self, count: int) -> Any:
        made: Any = kernels.Hits()
        made.used = wp.zeros(count, dtype=wp.int32, device=self.device)
        kinds = {"keys": wp.vec2i, "faces": wp.int32, "weights": wp.vec3d, "counts": wp.float64, "gaps": wp.float64}
        for name, kind in kinds.items():
            setattr(made, name, wp.zeros((count, _SLOTS), dtype=kind, device=self.device))
        return made

    def _made_nearest(self) -> Any:
        made: Any = kernels.Nearest()
        made.faces = wp.array(np.full(len(self), -1), dtype=wp.int32, device=self.device)
        made.weights = self._vectors(len(self))
        return made

    def _numbers(self, count: int) -> wp.array[Any]:
        return wp.zeros(count, dtype=wp.float64, device=self.device)

    def _vectors(self, count: int) -> wp.array[Any]:
        return wp.zeros(count, dtype=wp.vec3d, device=self.device)


def counted_with(faces: np.ndarray) -> np.ndarray:
    """Edges (bits 0 to 2) and corners (bits 3 to 5) of triangles, [t, 3], that are counted with them: each once."""
    sides = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    first = np.zeros((2, faces.size), bool)
    first[0, distinct_rows(sides, return_index=True)[1]] = True
    first[1, np.unique(faces, return_index=True)[1]] = True
    bits = first.reshape(2, -1, 3).transpose(1, 0, 2).reshape(-1, 6)
    return np.asarray(bits @ (1 << np.arange(6)), np.int32)


def sharp_points(rigid: Rigid, form: Form, spacing: float) -> np.ndarray:
    """Corners of an obstacle and points along its edges, in the frame of the kernels [m], shape [c, 3].

    Round things have none, and neither have those that keep a solid inside.
    """
    geometry = rigid.geometry
    if rigid.inside:
        return np.zeros((0, 3))
    if isinstance(geometry, Box):
        return _box_points(form.size, spacing)
    if isinstance(geometry, Cylinder):
        radius, half, _ = form.size
        count = int(np.clip(np.ceil(2.0 * np.pi * radius / spacing), 8, 4 * _ALONG))
        angle = 2.0 * np.pi * np.arange(count) / count
        rim = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, half)])
        return np.concatenate([rim, rim * (1.0, 1.0, -1.0)])
    if isinstance(geometry, TriangleMesh):
        vertices = form.axes.inv().apply(np.asarray(geometry.vertices) - form.middle)
        return vertices[np.unique(np.linspace(0, len(vertices) - 1, _VERTICES).astype(int))]
    return np.zeros((0, 3))


def _box_points(half: np.ndarray, spacing: float) -> np.ndarray:
    lines = [np.linspace(-h, h, 1 + int(np.clip(np.ceil(2.0 * h / spacing), 1, _ALONG))) for h in half]
    points = []
    for axis in range(3):
        others = [np.array([-half[k], half[k]]) if k != axis else lines[axis] for k in range(3)]
        points.append(np.stack(np.meshgrid(*others, indexing="ij"), axis=-1).reshape(-1, 3))
    return np.asarray(np.unique(np.concatenate(points), axis=0))

"""The four kinds of geometry of a stage, each merged over all parts and worlds: meshes, spheres, lines, planes.

A layer is laid out once a topology and then only refreshed: positions are copied in place and its tree is refitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidMesh
from annelid.core.snapshot import Array, Lines, Mesh, Plane, Spheres, host_array
from annelid.view.camera.kernels import staging as kernels
from annelid.view.camera.kernels.rays import ABSENT
from annelid.view.camera.palette import ColorTable, Palette, Placed, spans
from annelid.view.camera.transfer import WarpArray, count_of, launch, put_scalars, put_vectors
from annelid.view.colors import decode

_BIG_TREE = 300_000  # primitives from which a tree of the best quality takes too long to build on the host
_REBUILD_EVERY = 32  # refits of a sphere tree on the CPU before it is built anew


def _shifted(indices: Array, span: slice, name: str) -> np.ndarray:
    """Indices into a part's points as indices into the points of all parts."""
    host = host_array(indices)
    count = span.stop - span.start
    if len(host) and not (host.min() >= 0 and host.max() < count):
        raise InvalidMesh(f"{name!r} refers to the point {host.max()} (or a negative one) but has {count} points.")
    return (host + span.start).astype(np.int32)


def _groups(placed: Sequence[Placed[Any]], counts: Sequence[int], worlds: int, device: Any) -> WarpArray | None:
    if worlds == 1:
        return None
    group = np.repeat([item.world for item in placed], counts).astype(np.int32)
    return wp.array(group, dtype=wp.int32, device=device)


class Entries:
    """The node at which the rays of each world enter a tree, so that they meet their own world only."""

    def __init__(self, placed: Sequence[Placed[Any]], counts: Sequence[int], worlds: int, device: Any) -> None:
        present = np.zeros(worlds, dtype=np.int32)
        present[[item.world for item, count in zip(placed, counts, strict=True) if count]] = 1
        self.present = wp.array(present, dtype=wp.int32, device=device)
        self.roots = wp.array(np.where(present == 1, -1, int(ABSENT)), dtype=wp.int32, device=device)

    def find(self, tree: wp.Mesh | wp.Bvh | None) -> None:
        """Look the nodes up, after the tree was built."""
        worlds, device = self.roots.shape[0], self.roots.device
        if tree is None or worlds == 1:
            return
        kernel = kernels.mesh_group_roots if isinstance(tree, wp.Mesh) else kernels.box_group_roots
        wp.launch(kernel, worlds, [tree.id, self.present, int(ABSENT)], [self.roots], device=device)


class MeshLayer:
    """All triangle meshes as one, in a tree that is refitted."""

    def __init__(self, placed: Sequence[Placed[Mesh]], worlds: int, device: Any, creases: tuple[float, float]) -> None:
        vertices = [count_of(item.part.vertices, f"vertices of {item.part.name!r}", 3) for item in placed]
        triangles = [count_of(item.part.triangles, f"triangles of {item.part.name!r}", 3) for item in placed]
        self.device = device
        self.spans = spans(vertices)
        self.creases = creases
        self.palette = Palette(placed, vertices, device)
        self.points = wp.zeros(sum(vertices), dtype=wp.vec3, device=device)
        self.mesh: wp.Mesh | None = None
        self._copy(placed)
        if sum(triangles):
            corners = [
                _shifted(m.part.triangles, span, m.part.name) for m, span in zip(placed, self.spans, strict=True)
            ]
            self._connect(np.concatenate(corners), sum(vertices), device)
            constructor = "sah" if sum(triangles) < _BIG_TREE else None
            groups = _groups(placed, triangles, worlds, device)
            self.mesh = wp.Mesh(self.points, self.triangles, bvh_constructor=constructor, groups=groups)
        self.entries = Entries(placed, triangles, worlds, device)
        self.entries.find(self.mesh)

    def _connect(self, triangles: np.ndarray, vertices: int, device: Any) -> None:
        corners = triangles.ravel()
        faces = np.argsort(corners, kind="stable").astype(np.int32) // 3
        first = np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=vertices))]).astype(np.int32)
        self.triangles = wp.array(corners, dtype=wp.int32, device=device)
        self.faces = wp.array(faces, dtype=wp.int32, device=device)
        self.first_face = wp.array(first, dtype=wp.int32, device=device)
        self.normals = wp.zeros(len(corners), dtype=wp.vec3, device=device)

    def _copy(self, placed: Sequence[Placed[Mesh]]) -> None:
        for item, span in zip(placed, self.spans, strict=True):
            put_vectors(item.part.vertices, self.points[span])

    def refresh(self, placed: Sequence[Placed[Mesh]], table: ColorTable | None) -> None:
        """Move and colour the vertices, and refit the tree."""
        self._copy(placed)
        self.palette.refresh(placed, table)
        self._follow()

    def move(self, vertices: Array, *, shaded: bool) -> None:
        """Move the vertices of all parts, given in one array."""
        put_vectors(vertices, self.points)
        self._follow(shaded=shaded)

    def _follow(self, *, shaded: bool = True) -> None:
        if self.mesh is None:
            return
        self.mesh.refit()
        if not shaded:
            return
        inputs = [self.triangles, self.first_face, self.faces, *self.creases, self.points]
        launch(kernels.corner_normals, self.triangles.shape[0], inputs, [self.normals], self.device)

    def enter(self, geometry: Any) -> None:
        """Hand the arrays to the kernels."""
        geometry.mesh_roots = self.entries.roots
        geometry.vertex_colors = self.palette.colors
        geometry.vertex_shades = self.palette.shades
        if self.mesh is not None:
            geometry.mesh = self.mesh.id
            geometry.vertices = self.points
            geometry.triangles = self.triangles
            geometry.corner_normals = self.normals


class SphereLayer:
    """All spheres, in a tree over their boxes."""

    def __init__(self, placed: Sequence[Placed[Spheres]], worlds: int, device: Any) -> None:
        counts = [count_of(item.part.centers, f"centers of {item.part.name!r}", 3) for item in placed]
        self.device = device
        self.spans = spans(counts)
        self.palette = Palette(placed, counts, device)
        total = sum(counts)
        self.centers, self.lower, self.upper = (wp.zeros(total, dtype=wp.vec3, device=device) for _ in range(3))
        self.radii = wp.zeros(total, dtype=wp.float32, device=device)
        self.tree: wp.Bvh | None = None
        self._copy(placed)
        if total:
            # Grains wander, so their tree is built anew now and then; on CUDA that works in place for "lbvh" only.
            constructor = "sah" if device.is_cpu else "lbvh"
            self.tree = wp.Bvh(self.lower, self.upper, constructor, _groups(placed, counts, worlds, device))
        self.entries = Entries(placed, counts, worlds, device)
        self.entries.find(self.tree)
        self.age = 0

    def _copy(self, placed: Sequence[Placed[Spheres]]) -> None:
        for item, span in zip(placed, self.spans, strict=True):
            put_vectors(item.part.centers, self.centers[span])
            put_scalars(item.part.radii, self.radii[span])
        self._box()

    def _box(self) -> None:
        count = self.centers.shape[0]
        launch(kernels.sphere_boxes, count, [self.centers, self.radii], [self.lower, self.upper], self.device)

    def refresh(self, placed: Sequence[Placed[Spheres]], table: ColorTable | None) -> None:
        """Move and colour the spheres, and refit the tree."""
        self._copy(placed)
        self.palette.refresh(placed, table)
        self._follow()

    def move(self, centers: Array) -> None:
        """Move the spheres of all parts, given in one array."""
        put_vectors(centers, self.centers)
        self._box()
        self._follow()

    def _follow(self) -> None:
        if self.tree is None:
            return
        self.age += 1
        if self.device.is_cpu and self.age % _REBUILD_EVERY:
            self.tree.refit()
        else:
            self.tree.rebuild()
            self.entries.find(self.tree)

    def enter(self, geometry: Any) -> None:
        """Hand the arrays to the kernels."""
        geometry.spheres = self.tree.id if self.tree is not None else 0
        geometry.sphere_roots = self.entries.roots
        geometry.sphere_centers = self.centers
        geometry.sphere_radii = self.radii
        geometry.sphere_colors = self.palette.colors


class LineLayer:
    """All segments as thin capsules, in a tree over their boxes."""

    def __init__(self, placed: Sequence[Placed[Lines]], worlds: int, device: Any, radius: float) -> None:
        points = [count_of(item.part.points, f"points of {item.part.name!r}", 3) for item in placed]
        counts = [count_of(item.part.segments, f"segments of {item.part.name!r}", 2) for item in placed]
        self.device = device
        self.spans = spans(points)
        self.radius = radius
        self.palette = Palette(placed, counts, device)
        total = sum(counts)
        ends = [_shifted(m.part.segments, span, m.part.name) for m, span in zip(placed, self.spans, strict=True)]
        joined = np.concatenate(ends) if total else np.zeros((0, 2), dtype=np.int32)
        self.segments = wp.array(joined, dtype=wp.int32, device=device)
        self.points = wp.zeros(sum(points), dtype=wp.vec3, device=device)
        self.starts, self.ends, self.lower, self.upper = (
            wp.zeros(total, dtype=wp.vec3, device=device) for _ in range(4)
        )
        self.tree: wp.Bvh | None = None
        self._copy(placed)
        if total:
            constructor = "sah" if total < _BIG_TREE else None
            self.tree = wp.Bvh(self.lower, self.upper, constructor, _groups(placed, counts, worlds, device))
        self.entries = Entries(placed, counts, worlds, device)
        self.entries.find(self.tree)

    def _copy(self, placed: Sequence[Placed[Lines]]) -> None:
        for item, span in zip(placed, self.spans, strict=True):
            put_vectors(item.part.points, self.points[span])
        outputs = [self.starts, self.ends, self.lower, self.upper]
        inputs = [self.segments, self.radius, self.points]
        launch(kernels.line_boxes, self.starts.shape[0], inputs, outputs, self.device)

    def refresh(self, placed: Sequence[Placed[Lines]], table: ColorTable | None) -> None:
        """Move and colour the segments, and refit the tree."""
        self._copy(placed)
        self.palette.refresh(placed, table)
        if self.tree is not None:
            self.tree.refit()

    def enter(self, geometry: Any) -> None:
        """Hand the arrays to the kernels."""
        geometry.lines = self.tree.id if self.tree is not None else 0
        geometry.line_roots = self.entries.roots
        geometry.line_starts = self.starts
        geometry.line_ends = self.ends
        geometry.line_colors = self.palette.colors
        geometry.line_radius = self.radius


class PlaneLayer:
    """All planes, ordered by world."""

    def __init__(self, worlds: Sequence[Sequence[Plane]], device: Any) -> None:
        planes = [plane for world in worlds for plane in world]
        first = np.cumsum([0, *(len(world) for world in worlds)]).astype(np.int32)
        normals = np.array([plane.normal for plane in planes], dtype=np.float64).reshape(-1, 3)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        points = np.array([plane.point for plane in planes], dtype=np.float32).reshape(-1, 3)
        colors = decode(np.array([plane.color for plane in planes], dtype=np.float64).reshape(-1, 3))
        self.first = wp.array(first, dtype=wp.int32, device=device)
        self.points = wp.array(points, dtype=wp.vec3, device=device)
        self.normals = wp.array(normals.astype(np.float32), dtype=wp.vec3, device=device)
        self.axes = wp.array(_across(normals).astype(np.float32), dtype=wp.vec3, device=device)
        self.colors = wp.array(colors.astype(np.float32), dtype=wp.vec3, device=device)

    def enter(self, geometry: Any) -> None:
        """Hand the arrays to the kernels."""
        geometry.plane_first = self.first
        geometry.plane_points = self.points
        geometry.plane_normals = self.normals
        geometry.plane_axes = self.axes
        geometry.plane_colors = self.colors


def _across(normals: np.ndarray) -> np.ndarray:
    """Unit vectors in planes, shape [n, 3]: along x, or along y where x sticks out of the plane."""
    axes = np.where(np.abs(normals[:, :1]) > 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    axes = axes - np.sum(axes * normals, axis=1, keepdims=True) * normals
    return np.asarray(axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-30))

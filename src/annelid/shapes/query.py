"""Exact signed distance and gradient of a closed triangle mesh, by Warp mesh queries on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from annelid.core.errors import DeviceUnavailable
from annelid.shapes.kernels import crossings
from annelid.shapes.kernels import query as kernels
from annelid.shapes.rough import Rough
from annelid.shapes.topology import beyond, edges_of
from annelid.shapes.values import Floats, Indices, Vector, as_points

_LOT = 1 << 11
"""Points or triangles of one launch on a CPU: half a second among long thin triangles, so that Ctrl-C is heard."""


class MeshDistance:
    """A mesh on a device, for queries of the distance of points.

    Distances are exact to rounding in double precision; the sign, found in single precision, may err for points closer
    to the surface than 3e-5 of half the diagonal. The mesh must be closed and wound outwards, as
    `TriangleMesh.require_closed` checks.
    """

    def __init__(self, vertices: Floats, triangles: Indices, *, device: str = "cpu") -> None:
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        self.device = warp_device(device)
        self._center = 0.5 * (low + high)
        self._scale = 0.5 * float(np.linalg.norm(high - low))
        local = self._local(vertices)
        self._mesh = wp.Mesh(
            points=self._array(local, wp.vec3),
            indices=self._array(triangles.ravel(), wp.int32),
            support_winding_number=True,
        )
        surface: Any = kernels.Surface()  # Warp gives the fields their types
        surface.mesh = self._mesh.id
        surface.vertices = self._array(local, wp.vec3d)
        surface.triangles = self._array(triangles, wp.int32)
        surface.across = self._array(beyond(edges_of(triangles)), wp.int32)
        self._surface = surface

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance of each point to the surface [m], negative inside; points [n, 3], result [n]."""
        return self.distance_and_gradient(points)[0]

    def distance_and_gradient(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Signed distance [m], shape [n], and its gradient, shape [n, 3]: unit vectors that point outwards.

        Where several surface points are equally close the gradient belongs to one of them.
        """
        points = self._local(as_points(points))
        distances, gradients = np.empty(len(points)), np.empty((len(points), 3))
        for lot in self._lots(len(points)):
            local = self._array(points[lot], wp.vec3d)
            distance = wp.empty(len(local), dtype=wp.float64, device=self.device)
            gradient = wp.empty(len(local), dtype=wp.vec3d, device=self.device)
            wp.launch(
                kernels.distances_and_gradients,
                len(local),
                inputs=[self._surface, local],
                outputs=[distance, gradient],
                device=self.device,
            )
            distances[lot], gradients[lot] = self._scale * distance.numpy(), gradient.numpy()
        return distances, gradients

    def distance(self, points: ArrayLike) -> Floats:
        """Distance of each point to the surface [m], inside too; much quicker than one with a sign."""
        local = self._array(self._local(as_points(points)), wp.vec3d)
        distance = wp.empty(len(local), dtype=wp.float64, device=self.device)
        wp.launch(kernels.plain_distances, len(local), [self._surface, local], [distance], device=self.device)
        return self._scale * distance.numpy()

    def crossing(self, margin: float) -> Floats | None:
        """Where two triangles cross, or lie on each other, shape [3]; None if no two do.

        Args:
            margin: How deep in each other triangles may be, as a fraction of half the diagonal of the mesh.
        """
        corners = self._surface.vertices.numpy()[self._surface.triangles.numpy()]
        for lot in self._lots(len(corners)):
            other = wp.empty(len(corners[lot]), dtype=wp.int32, device=self.device)
            asked = [self._surface, lot.start, margin]
            wp.launch(crossings.crossings, len(other), asked, [other], device=self.device)
            others = other.numpy()
            if (others >= 0).any():
                first = int((others >= 0).argmax())
                pair = corners[[lot.start + first, others[first]]]
                middle = 0.5 * (pair.min(axis=1).max(axis=0) + pair.max(axis=1).min(axis=0))
                return np.asarray(self._center + self._scale * middle)
        return None

    def thicknesses(self, points: Floats, faces: Indices) -> Floats:
        """How thick the solid is behind points of its faces [m], inf where a ray finds no end; shapes [n, 3], [n]."""
        local = self._array(self._local(points), wp.vec3d)
        found = wp.empty(len(local), dtype=wp.float64, device=self.device)
        asked = [self._surface, local, self._array(faces, wp.int32)]
        wp.launch(kernels.thicknesses, len(local), asked, [found], device=self.device)
        return self._scale * found.numpy()

    def on_grid(
        self, origin: Vector, spacing: float, shape: tuple[int, int, int], rough: Rough | None = None
    ) -> wp.array[Any]:
        """Signed distance [m] of the nodes origin + spacing (i, j, k), float32 of the given shape, on the device.

        Args:
            origin: The first node [m].
            spacing: Distance between neighbouring nodes [m].
            shape: Number of nodes along each axis.
            rough: What is known before; only what is near the surface is then asked.
        """
        distance = self._all_on_grid(origin, spacing, shape) if rough is None else np.abs(rough.refined(self.distance))
        inside = self._inside(distance, np.array(origin), spacing)
        return wp.array(np.where(inside, -distance, distance), dtype=wp.float32, device=self.device)

    def _all_on_grid(self, origin: Vector, spacing: float, shape: tuple[int, int, int]) -> NDArray[np.float32]:
        """Distance [m] of all nodes, without a sign."""
        local = wp.vec3d(*self._local(np.array(origin)))
        nodes = wp.empty(shape, dtype=wp.float32, device=self.device)
        wp.launch(
            kernels.node_distances,
            shape,
            inputs=[self._surface, self._scale, local, spacing / self._scale],
            outputs=[nodes],
            device=self.device,
        )
        return np.asarray(nodes.numpy())

    def _inside(self, distance: NDArray[np.float32], origin: Floats, spacing: float) -> NDArray[np.bool_]:
        """Which nodes of a grid are inside.

        No surface passes between neighbours whose distances from it add up to more than the spacing, so a connected
        region of nodes that are further from it than half a spacing needs one winding number only, and most of the
        nodes beside it none. Those on the surface are asked, whose distance is rounding.
        """
        region, count = ndimage.label(distance > 0.51 * spacing)
        _, first = np.unique(region, return_index=True)
        near = np.flatnonzero(region == 0)
        joined, found = _joined(near, distance, region, spacing)
        region.ravel()[joined] = found
        near = near[region.ravel()[near] == 0]
        asked = np.concatenate([first[-count:] if count else first[:0], near])
        points = origin + spacing * np.stack(np.unravel_index(asked, distance.shape), axis=1)
        inside = self.signed_distance(points) < 0.0
        result = np.concatenate([[False], inside[:count]])[region]
        result.ravel()[near] = inside[count:]
        return np.asarray(result)

    def _lots(self, count: int) -> list[slice]:
        """Parts of a number of points or triangles that are short enough for one launch."""
        size = max(count, 1) if self.device.is_cuda else _LOT
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _local(self, points: Floats) -> Floats:
        return (points - self._center) / self._scale

    def _array(self, values: NDArray[Any], dtype: Any) -> wp.array[Any]:
        return wp.array(values, dtype=dtype, device=self.device)


def _joined(
    near: NDArray[np.int64], distance: NDArray[np.float32], region: NDArray[np.int32], spacing: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Nodes near the surface that it does not part from a neighbour in a region, and which region that is."""
    near = near[distance.ravel()[near] > 0.02 * spacing]
    found = np.zeros(len(near), region.dtype)
    places = np.unravel_index(near, distance.shape)
    for axis in range(3):
        for way in (-1, 1):
            beside = list(places)
            beside[axis] = np.clip(places[axis] + way, 0, distance.shape[axis] - 1)
            apart = distance[places] + distance[tuple(beside)] > 1.01 * spacing
            found = np.where(apart, region[tuple(beside)], found)
    return near[found > 0], found[found > 0]


def warp_device(name: str) -> wp.Device:
    """The Warp device of that name, such as 'cpu' or 'cuda:0'."""
    try:
        return wp.get_device(name)
    except (ValueError, RuntimeError):
        known = ", ".join(str(device) for device in wp.get_devices())
        raise DeviceUnavailable(f"there is no device {name!r} here; there is {known}.") from None

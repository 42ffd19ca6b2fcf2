"""Exact signed distance and gradient of a closed triangle mesh, by Warp mesh queries on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from annelid.core.errors import DeviceUnavailable
from annelid.shapes.kernels import query as kernels
from annelid.shapes.topology import beyond, edges_of
from annelid.shapes.values import Floats, Indices, Vector, as_points


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
        local = self._array(self._local(as_points(points)), wp.vec3d)
        distance = wp.empty(len(local), dtype=wp.float64, device=self.device)
        gradient = wp.empty(len(local), dtype=wp.vec3d, device=self.device)
        wp.launch(
            kernels.distances_and_gradients,
            len(local),
            inputs=[self._surface, local],
            outputs=[distance, gradient],
            device=self.device,
        )
        return self._scale * distance.numpy(), gradient.numpy()

    def distance(self, points: ArrayLike) -> Floats:
        """Distance of each point to the surface [m], inside too; much quicker than one with a sign."""
        local = self._array(self._local(as_points(points)), wp.vec3d)
        distance = wp.empty(len(local), dtype=wp.float64, device=self.device)
        wp.launch(kernels.plain_distances, len(local), [self._surface, local], [distance], device=self.device)
        return self._scale * distance.numpy()

    def on_grid(self, origin: Vector, spacing: float, shape: tuple[int, int, int]) -> wp.array[Any]:
        """Signed distance [m] of the nodes origin + spacing (i, j, k), float32 of the given shape, on the device."""
        local = wp.vec3d(*self._local(np.array(origin)))
        nodes = wp.empty(shape, dtype=wp.float32, device=self.device)
        wp.launch(
            kernels.node_distances,
            shape,
            inputs=[self._surface, self._scale, local, spacing / self._scale],
            outputs=[nodes],
            device=self.device,
        )
        distance = nodes.numpy()
        inside = self._inside(distance, np.array(origin), spacing)
        return wp.array(np.where(inside, -distance, distance), dtype=wp.float32, device=self.device)

    def _inside(self, distance: NDArray[np.float32], origin: Floats, spacing: float) -> NDArray[np.bool_]:
        """Which nodes of a grid are inside.

        No surface passes between neighbours that are both further from it than half a spacing, so a connected region of
        such nodes needs one winding number only.
        """
        region, count = ndimage.label(distance > 0.51 * spacing)
        near = np.flatnonzero(region == 0)
        _, first = np.unique(region, return_index=True)
        asked = np.concatenate([first[-count:] if count else first[:0], near])
        points = origin + spacing * np.stack(np.unravel_index(asked, distance.shape), axis=1)
        inside = self.signed_distance(points) < 0.0
        result = np.concatenate([[False], inside[:count]])[region]
        result.ravel()[near] = inside[count:]
        return np.asarray(result)

    def _local(self, points: Floats) -> Floats:
        return (points - self._center) / self._scale

    def _array(self, values: NDArray[Any], dtype: Any) -> wp.array[Any]:
        return wp.array(values, dtype=dtype, device=self.device)


def warp_device(name: str) -> wp.Device:
    """The Warp device of that name, such as 'cpu' or 'cuda:0'."""
    try:
        return wp.get_device(name)
    except (ValueError, RuntimeError):
        known = ", ".join(str(device) for device in wp.get_devices())
        raise DeviceUnavailable(f"there is no device {name!r} here; there is {known}.") from None

"""A signed distance baked on a regular grid: cheap to look up in kernels, with an error of the order of its spacing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.kernels.sdf import SdfGrid, sample_points
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.query import warp_device
from annelid.shapes.rough import Rough
from annelid.shapes.values import Floats, Vector, as_points, require_count, require_positive

MAX_NODES = 512**3
"""Largest grid that is baked (512 MiB)."""

_MARGIN_CELLS = 2
_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class SignedDistanceGrid:
    """Signed distances at the nodes origin + spacing (i, j, k).

    Attributes:
        origin: Node (0, 0, 0) [m].
        spacing: Distance between neighbouring nodes [m].
        values: Signed distances [m], negative inside, float32 of shape [nx, ny, nz], on the device.
    """

    origin: Vector
    spacing: float
    values: wp.array[Any]

    @classmethod
    def bake(
        cls,
        shape: Shape,
        *,
        resolution: int | None = None,
        spacing: float | None = None,
        margin: float | None = None,
        device: str = "cpu",
    ) -> SignedDistanceGrid:
        """Bake a shape or a closed mesh.

        Args:
            shape: What to bake.
            resolution: Cells along the longest side of the shape; 64 if neither this nor the spacing is given.
            spacing: Distance between nodes [m], instead of a resolution.
            margin: Free space around the shape that the grid covers at least [m]; two cells by default.
            device: Where the grid lives, such as 'cpu' or 'cuda:0'.
        """
        origin, step, counts = grid_over(*shape.bounds(), resolution=resolution, spacing=spacing, margin=margin)
        return cls(origin=origin, spacing=step, values=bake_values(shape, origin, step, counts, device))

    @property
    def device(self) -> wp.Device:
        """Where the values live."""
        return cast(wp.Device, self.values.device)

    @cached_property
    def struct(self) -> SdfGrid:
        """The grid as kernels take it, for `sdf_sample`; it lives no longer than this object."""
        grid: Any = SdfGrid()  # Warp gives the fields their types
        grid.values = self.values
        grid.origin = wp.vec3(*self.origin)
        grid.spacing = self.spacing
        return cast(SdfGrid, grid)

    def bounds(self) -> tuple[Floats, Floats]:
        """First and last node [m], two arrays of shape [3]."""
        low = np.array(self.origin)
        return low, low + self.spacing * (np.array(self.values.shape) - 1)

    def sample(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Signed distance [m], shape [n], and gradient, shape [n, 3], at points [m], shape [n, 3]; see `sdf_sample`."""
        where = wp.array(as_points(points).astype(np.float32), dtype=wp.vec3, device=self.device)
        distance = wp.empty(len(where), dtype=wp.float32, device=self.device)
        gradient = wp.empty(len(where), dtype=wp.vec3, device=self.device)
        wp.launch(
            sample_points, len(where), inputs=[self.struct, where], outputs=[distance, gradient], device=self.device
        )
        return distance.numpy().astype(np.float64), gradient.numpy().astype(np.float64)


def grid_over(
    low: Floats, high: Floats, *, resolution: int | None, spacing: float | None, margin: float | None
) -> tuple[Vector, float, tuple[int, int, int]]:
    """First node [m], spacing [m] and number of nodes of the grid that `SignedDistanceGrid.bake` puts around a box."""
    step = _spacing(float((high - low).max()), resolution, spacing)
    border = _MARGIN_CELLS * step if margin is None else margin
    if not (is_number(border) and border >= 0.0):
        raise InvalidValue(f"margin = {margin!r} cannot be used; give a finite number of 0 or more [m].")
    cells = np.maximum(np.ceil((high - low + 2.0 * border) / step - 1e-9), 1.0)
    if np.prod(cells + 1.0) > MAX_NODES:
        nodes = " x ".join(f"{n:.0f}" for n in cells + 1.0)
        raise InvalidValue(f"a spacing of {step:g} m needs {nodes} nodes, more than {MAX_NODES}; choose a coarser one.")
    x, y, z = (0.5 * (low + high - cells * step)).tolist()
    nx, ny, nz = (int(n) + 1 for n in cells)
    return (x, y, z), step, (nx, ny, nz)


def _spacing(longest: float, resolution: int | None, spacing: float | None) -> float:
    if spacing is not None:
        if resolution is not None:
            raise InvalidValue(f"resolution = {resolution!r} and spacing = {spacing!r} exclude each other; give one.")
        return require_positive("spacing", spacing)
    return longest / require_count("resolution", 64 if resolution is None else resolution, least=1, most=4096)


def bake_values(
    shape: Shape,
    origin: Vector,
    spacing: float,
    counts: tuple[int, int, int],
    device: str,
    rough: Rough | None = None,
) -> wp.array[Any]:
    """Signed distances [m] of a shape at the nodes origin + spacing (i, j, k), float32 on the device.

    Where there are rough ones from a coarser grid, only what is near the surface is asked.
    """
    if isinstance(shape, TriangleMesh):
        return shape.query(device).on_grid(origin, spacing, counts, rough)
    if rough is not None:
        return wp.array(rough.refined(shape.signed_distance), dtype=wp.float32, device=warp_device(device))
    axes = [start + spacing * np.arange(count) for start, count in zip(origin, counts, strict=True)]
    values = np.empty(counts, dtype=np.float32)
    slabs = max(_ROWS_AT_ONCE // (counts[1] * counts[2]), 1)
    for start in range(0, counts[0], slabs):
        part = slice(start, start + slabs)
        nodes = np.stack(np.meshgrid(axes[0][part], axes[1], axes[2], indexing="ij"), axis=-1)
        values[part] = shape.signed_distance(nodes.reshape(-1, 3)).reshape(nodes.shape[:-1])
    return wp.array(values, dtype=wp.float32, device=warp_device(device))

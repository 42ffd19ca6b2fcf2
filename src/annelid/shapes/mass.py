"""Mass, centre of mass and inertia of solids of even density: closed forms for primitives, integrals for meshes.

A mesh whose shells overlap is one solid, whose surface is not among its triangles: it is summed over a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.primitives import Axial, Box, Sphere
from annelid.shapes.sdf_cache import baked, solids_of
from annelid.shapes.values import Floats, require_positive

_SEGMENTS = 128  # of a full turn of a shape that is neither a primitive nor a mesh
_CELLS = 64  # along the longest side, as rigid bodies are baked by default
_SAME = 0.01  # of the volume: shells that overlap by less are summed by their triangles, which is more exact


@dataclass(frozen=True, eq=False)
class MassProperties:
    """The mass properties of a rigid body.

    Attributes:
        mass: Mass [kg].
        volume: Volume [m^3].
        center: Centre of mass [m], shape [3].
        inertia: Inertia tensor about the centre of mass, along the axes of the shape [kg m^2], shape [3, 3].
    """

    mass: float
    volume: float
    center: Floats
    inertia: Floats

    @property
    def principal(self) -> tuple[Floats, Floats]:
        """Principal moments, rising [kg m^2], shape [3], and the rotation with their axes as columns, shape [3, 3]."""
        moments, axes = np.linalg.eigh(self.inertia)
        return moments, axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])

    def about(self, point: Floats) -> Floats:
        """Inertia tensor about another point [m]: the theorem of Steiner; shape [3, 3]."""
        arm = np.asarray(point, dtype=np.float64) - self.center
        return self.inertia + self.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


def mass_properties(shape: Shape, density: float = 1.0) -> MassProperties:
    """Mass, centre and inertia of a solid; shells of a mesh that overlap are one, and are summed over a grid.

    Args:
        shape: The solid.
        density: Density [kg/m^3].
    """
    density = require_positive("density", density)
    if isinstance(shape, TriangleMesh):
        volume, center, inertia = _of_shells(shape)
    elif isinstance(shape, (Box, Sphere, Axial)):
        volume, center, inertia = shape.volume, np.array(shape.center), shape.volume * _of_primitive(shape)
    elif isinstance(shape, Shape):
        volume, center, inertia = _of_mesh(shape.surface(_SEGMENTS))
    else:
        raise InvalidValue(f"the mass of {type(shape).__name__} is not known; give a primitive or a closed mesh.")
    return MassProperties(density * volume, volume, center, density * inertia)


def _of_shells(mesh: TriangleMesh) -> tuple[float, Floats, Floats]:
    """Volume, centre and inertia at a density of 1, by triangles, or over a grid if shells overlap."""
    exact = _of_mesh(mesh)
    if not _near(solids_of(mesh)):
        return exact
    union = _of_grid(mesh)
    return union if abs(union[0] - exact[0]) > _SAME * exact[0] else exact


def _near(solids: list[Shape]) -> bool:
    """Whether the boxes of two of them overlap."""
    lows, highs = (np.array(ends) for ends in zip(*(solid.bounds() for solid in solids), strict=True))
    meet = ((lows[:, None] < highs[None]) & (lows[None] < highs[:, None])).all(axis=2)
    return bool(np.triu(meet, 1).any())


def _of_grid(mesh: TriangleMesh) -> tuple[float, Floats, Floats]:
    """Volume, centre and inertia at a density of 1, over the nodes of a grid, each a cube that the surface may cut."""
    grid = baked(mesh, cells=_CELLS)
    shares = np.clip(0.5 - grid.values.numpy() / grid.spacing, 0.0, 1.0)
    inside = np.nonzero(shares)
    weights = shares[inside].astype(np.float64) * grid.spacing**3
    points = np.array(grid.origin) + grid.spacing * np.stack(inside, axis=1)
    volume = float(weights.sum())
    center = weights @ points / volume
    arms = points - center
    second = arms.T @ (weights[:, None] * arms) + volume * grid.spacing**2 / 12.0 * np.eye(3)  # cubes, not points
    return volume, center, np.trace(second) * np.eye(3) - second


def _of_mesh(mesh: TriangleMesh) -> tuple[float, Floats, Floats]:
    """Volume, centre and inertia at a density of 1, summed over tetrahedra between the triangles and a middle point.

    The integral of x xᵀ over a tetrahedron with one corner at the origin is V/20 (Σ c cᵀ + s sᵀ) with the other corners
    c and their sum s.
    """
    mesh.require_closed()
    low, high = mesh.bounds()
    middle = 0.5 * (low + high)  # near the solid, or large terms would cancel
    corners = mesh.vertices[mesh.triangles] - middle
    volumes = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    sums = corners.sum(axis=1)
    volume = float(volumes.sum())
    center = volumes @ sums / (4.0 * volume)
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, sums, sums)
    second = second / 20.0 - volume * np.outer(center, center)
    return volume, center + middle, np.trace(second) * np.eye(3) - second


def _of_primitive(shape: Box | Sphere | Axial) -> Floats:
    """Inertia of a primitive about its centre over its mass [m^2], shape [3, 3]."""
    if isinstance(shape, Box):
        x, y, z = np.square(shape.size)
        return np.diag([y + z, z + x, x + y]) / 12.0
    if isinstance(shape, Sphere):
        return 0.4 * shape.radius**2 * np.eye(3)
    along, across = shape.moments
    axis = np.array(shape.axis)
    return across * np.eye(3) + (along - across) * np.outer(axis, axis)

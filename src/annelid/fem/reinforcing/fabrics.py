"""Fabrics and sheets that reinforce the surface of a solid: what a user gives, and the triangles that they cover."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.distinct import distinct_rows
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_word
from annelid.shapes.tet.topology import flat_triangles
from annelid.shapes.values import as_axis, require_positive

_ALONG = 1e-3
"""Part of a direction that must lie in a face, so that it has one there."""
_FACING = math.cos(math.radians(75.0))
"""Least cosine between where a face looks and where a fabric is to face: ends and sides of a body are left out."""


@dataclass(frozen=True, eq=False)
class Fabric(Named):
    """A thin sheet bonded to a part of the surface, perhaps stiffer along its warp than across.

    It resists being stretched, compressed and sheared in its plane (St. Venant-Kirchhoff in plane stress), not bending.

    Attributes:
        where: Which nodes, as for `Solid.fix`; it covers the boundary faces all of whose nodes are chosen.
        modulus: Young's modulus [Pa], or those along and across the warp.
        thickness: Thickness [m].
        poisson_ratio: How much it narrows when it is stretched along the warp.
        shear_modulus: Shear modulus [Pa]; by default that of an isotropic sheet with the mean modulus. That of woven
            fabric is small.
        direction: Direction of the warp: 'x', 'y', 'z' or a vector, projected on each face.
        name: Name, for messages and pictures.
        facing: Where covered faces look, a vector out of the solid; those more than 75 degrees away are left out, such
            as ends and walls of a cavity whose nodes are chosen, too. None covers all.
    """

    where: Any
    modulus: float | tuple[float, float]
    thickness: float
    poisson_ratio: float = 0.3
    shear_modulus: float | None = None
    direction: str | ArrayLike = "x"
    name: str = "fabric"
    facing: str | ArrayLike | None = None

    def __post_init__(self) -> None:
        require_word("the name of a fabric", self.name)
        require_positive(f"thickness of {self.name}", self.thickness)
        along, across = self.moduli
        for value in (along, across, along if self.shear_modulus is None else self.shear_modulus):
            require_positive(f"a modulus of {self.name}", value)
        highest = math.sqrt(along / across)
        if not (is_number(self.poisson_ratio) and abs(self.poisson_ratio) < highest):
            raise InvalidValue(
                f"poisson_ratio of {self.name} = {self.poisson_ratio!r} makes it unstable; with moduli of {along:g} "
                f"and {across:g} Pa it must be below {highest:.3g}."
            )
        as_axis(self.direction)
        if self.facing is not None:
            as_axis(self.facing)

    @property
    def moduli(self) -> tuple[float, float]:
        """Young's moduli along and across the warp [Pa]."""
        try:
            given = np.asarray(self.modulus, float)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0)
        if given.shape not in ((), (2,)) or np.asarray(self.modulus).dtype == bool:
            raise InvalidValue(f"modulus of {self.name} must be a number or two [Pa], not {self.modulus!r}.")
        along, across = np.broadcast_to(given, 2).tolist()
        return along, across

    def tangent_modulus(self) -> np.ndarray:
        """From E11, E22, 2 E12 to the forces in its plane [N/m], shape [3, 3]; 1 is the warp."""
        along, across = self.moduli
        ratio, other = self.poisson_ratio, self.poisson_ratio * across / along
        mean = math.sqrt(along * across)
        isotropic = mean / (2.0 * (1.0 + self.poisson_ratio * math.sqrt(across / along)))
        shear = isotropic if self.shear_modulus is None else self.shear_modulus
        scale = self.thickness / (1.0 - ratio * other)
        plane = scale * np.array([[along, ratio * across], [other * along, across]])
        return np.block([[plane, np.zeros((2, 1))], [np.zeros((1, 2)), np.full((1, 1), shear * self.thickness)]])


@dataclass(frozen=True, eq=False)
class LaidFabric:
    """A fabric on the faces of a solid.

    Attributes:
        fabric: The fabric.
        triangles: Nodes of the triangles that it covers, shape [k, 3]; 6-node faces are divided into four.
        gradients: Gradients of their shape functions along and across the warp [1/m], shape [k, 3, 2].
        areas: Areas at rest [m²], shape [k].
    """

    fabric: Fabric
    triangles: np.ndarray
    gradients: np.ndarray
    areas: np.ndarray

    def in_words(self) -> str:
        """Its name and how much it covers."""
        return f"{self.fabric.name} {self.areas.sum():.3g} m²"

    @cached_property
    def outline(self) -> np.ndarray:
        """Sides that only one of its triangles has, nodes of shape [s, 2]."""
        sides = np.sort(self.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        found, count = distinct_rows(sides, return_counts=True)
        return np.asarray(found[count == 1])

    @property
    def stiffest(self) -> float:
        """The largest of its moduli times its thickness [N/m]."""
        return float(self.fabric.tangent_modulus().max())


def covered(fabric: Fabric, nodes: np.ndarray, faces: np.ndarray) -> LaidFabric:
    """Lay a fabric on faces of a boundary, nodes of shape [k, 3] or [k, 6] as `Solid.boundary` has them."""
    if len(faces) == 0:
        raise InvalidValue(f"no boundary face lies where {fabric.name} should be; choose all nodes of a face.")
    triangles = flat_triangles(faces)
    if fabric.facing is not None:
        triangles = triangles[_normals(nodes, triangles)[0] @ as_axis(fabric.facing) > _FACING]
        if len(triangles) == 0:
            raise InvalidValue(f"no chosen face of {fabric.name} looks along {fabric.facing!r}; give another facing.")
    a, b, c = (nodes[triangles[:, i]] for i in range(3))
    normal, double = _normals(nodes, triangles)
    warp = np.asarray(as_axis(fabric.direction)) - normal * (normal @ as_axis(fabric.direction))[:, None]
    size = np.linalg.norm(warp, axis=1)
    if size.min() < _ALONG:
        place = nodes[triangles[size.argmin()]].mean(axis=0).round(9).tolist()
        raise InvalidValue(
            f"the direction {fabric.direction!r} of {fabric.name} is perpendicular to the face at {place} m; give one "
            "that lies in all faces, or leave such faces out with facing=, the way out of the solid of those you mean."
        )
    warp /= size[:, None]
    weft = np.cross(normal, warp)
    sides = np.stack([c - b, a - c, b - a], axis=1)
    # The gradient of a corner's shape function is the opposite side, turned by a right angle, over twice the area.
    around = np.cross(normal[:, None], sides) / double[:, None, None]
    gradients = np.stack([np.einsum("kai,ki->ka", around, axis) for axis in (warp, weft)], axis=2)
    return LaidFabric(fabric, triangles, gradients, 0.5 * double)


def _normals(nodes: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals out of the solid, shape [k, 3], and twice the areas [m²], shape [k]."""
    a, b, c = (nodes[triangles[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    double = np.linalg.norm(normal, axis=1)
    return normal / double[:, None], double

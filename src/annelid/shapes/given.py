"""What users have where a shape is asked for: the path of a mesh file, an object of trimesh, or a shape."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.values import require_positive


@runtime_checkable
class WithFaces(Protocol):
    """A mesh of another library, trimesh for instance."""

    @property
    def vertices(self) -> Any:
        """Positions, shape [n, 3]."""
        ...

    @property
    def faces(self) -> Any:
        """Vertex indices of the triangles, shape [m, 3]."""
        ...


MeshLike = str | os.PathLike[str] | WithFaces
"""The path of an STL, OBJ or PLY file, or an object of trimesh."""

_SUSPICIOUS = 10.0
"""A file that is wider than this [m] without saying its unit is probably in millimetres."""


def given_solid(given: Any, *, scale: float | None = None, repair: bool = False) -> Any:
    """The shape that is meant.

    Args:
        given: The path of an STL, OBJ or PLY file, an object of trimesh, or a shape, which is returned as it is.
        scale: Length of the unit of a file or an object of trimesh [m], 1e-3 for millimetres. None takes metres, and
            refuses what would then be too wide for a robot.
        repair: Close the surface of a file or an object of trimesh if need be.
    """
    if isinstance(given, str | os.PathLike):
        mesh = TriangleMesh.read(given, scale=1.0 if scale is None else scale, repair=repair)
        name = os.path.basename(os.fspath(given))
    elif isinstance(given, WithFaces):
        unit = 1.0 if scale is None else require_positive("scale", scale)
        mesh = TriangleMesh(np.asarray(given.vertices, float) * unit, np.asarray(given.faces))
        mesh, name = mesh.repaired() if repair else mesh, "the mesh"
    else:
        return _as_it_is(given, scale, repair)
    low, high = mesh.bounds()
    widest = float((high - low).max())
    if scale is None and widest > _SUSPICIOUS:
        raise InvalidValue(
            f"{name} would be {widest:.4g} m wide: is it in millimetres? Give scale=1e-3, or scale=1 if it is right."
        )
    return mesh


def _as_it_is(shape: Any, scale: float | None, repair: bool) -> Any:
    if scale is not None or repair:
        raise InvalidValue(
            f"scale and repair are for files and objects of trimesh, not for a {type(shape).__name__}, which has "
            "metres; use its own methods."
        )
    return shape

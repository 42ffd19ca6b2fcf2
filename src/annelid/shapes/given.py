"""What users have where a shape is asked for: the path of a mesh file, an object of trimesh, or a shape."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import require_truth
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


@runtime_checkable
class WithParts(Protocol):
    """Several meshes in one, a scene of trimesh for instance."""

    def to_mesh(self) -> WithFaces:
        """All of them as one mesh."""
        ...


MeshLike = str | os.PathLike[str] | WithFaces | WithParts
"""The path of an STL, OBJ or PLY file, or an object of trimesh, be it a mesh or a scene."""

_SUSPICIOUS = 10.0
"""A file that is wider than this [m] without saying its unit is probably in millimetres."""


def given_solid(given: Any, *, scale: float | None = None, repair: bool = False) -> Any:
    """The shape that is meant.

    Args:
        given: The path of an STL, OBJ or PLY file, an object of trimesh, a `TriangleMesh`, or another shape, which is
            returned as it is.
        scale: Length of the unit of a mesh [m], 1e-3 for millimetres. None takes metres, and refuses what would then be
            too wide for a robot.
        repair: Close the surface of a mesh if need be.
    """
    require_truth("repair", repair)
    if isinstance(given, WithParts):
        given = given.to_mesh()
    if isinstance(given, str | os.PathLike):
        mesh = TriangleMesh.read(given, scale=1.0 if scale is None else scale, repair=repair)
        name = os.path.basename(os.fspath(given))
    elif isinstance(given, WithFaces):
        unit = 1.0 if scale is None else require_positive("scale", scale)
        mesh = TriangleMesh(np.asarray(given.vertices, float) * unit, np.asarray(given.faces))
        mesh, name = mesh.repaired() if repair else mesh, "the mesh"
    elif isinstance(given, TriangleMesh):
        mesh = given if scale is None else given.scaled(require_positive("scale", scale))
        mesh, name = mesh.repaired() if repair else mesh, "the mesh"
    else:
        return _as_it_is(given, scale, repair)
    if scale is None:
        require_likely_size(_corners(mesh), name, "Give scale=1e-3, or scale=1 if it is right")
    return mesh


def given_geometry(given: Any) -> Any:
    """The same for a rigid thing, which takes a mesh in metres: a `TriangleMesh` is taken as it is, however wide."""
    if not isinstance(given, str | os.PathLike | WithFaces | WithParts):
        return given
    mesh = given_solid(given, scale=1.0)
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        remedy = f"Give TriangleMesh.read({path!r}, scale=1e-3), or scale=1 if it is right"
        require_likely_size(_corners(mesh), os.path.basename(path), remedy)
    else:
        remedy = "Give TriangleMesh(mesh.vertices, mesh.faces).scaled(1e-3), or without scaled() if it is right"
        require_likely_size(_corners(mesh), "the mesh", remedy)
    return mesh


def require_likely_size(points: np.ndarray, name: str, remedy: str) -> None:
    """Refuse points [m], shape [n, 3], that are spread too wide for a robot: their unit was probably another."""
    widest = float(np.ptp(points, axis=0).max(initial=0.0))
    if widest > _SUSPICIOUS:
        raise InvalidValue(f"{name} would be {widest:.4g} m wide: is it in millimetres? {remedy}.")


def _corners(mesh: TriangleMesh) -> np.ndarray:
    return np.stack(mesh.bounds())


def _as_it_is(shape: Any, scale: float | None, repair: bool) -> Any:
    if scale is not None or repair:
        raise InvalidValue(
            f"scale and repair are for meshes and their files, not for a {type(shape).__name__}, which has "
            "metres; use its own methods."
        )
    return shape

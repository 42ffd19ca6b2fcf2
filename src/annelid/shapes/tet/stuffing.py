"""Tetrahedra in any closed shape, with its cavities: which lattice, which distance, and whether the result is good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes.given import MeshLike, given_solid
from annelid.shapes.mesh import Shape, TriangleMesh
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.tet.bcc import BccLattice
from annelid.shapes.tet.clipping import Distance, clipped
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.overlaps import require_apart
from annelid.shapes.topology import edges_of, shells_of, signed_volumes
from annelid.shapes.values import Floats, require_positive

_FIRST_CUBES = 12
_TRIALS = 8


@runtime_checkable
class Solid(Protocol):
    """What can be filled: every `Shape`, and anything else with these two methods."""

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest corner of a box around the solid [m]."""
        ...

    def signed_distance(self, points: ArrayLike) -> Floats:
        """Distance of each point to the surface [m], negative inside; points [n, 3], result [n]."""
        ...


def tet_fill(
    solid: Solid | SignedDistanceGrid | MeshLike,
    *,
    pitch: float | None = None,
    tolerance: float | None = 0.01,
    cavity_tolerance: float | None = 0.05,
    device: str = "cpu",
    scale: float | None = None,
    repair: bool = False,
) -> TetMesh:
    """Fill a closed shape with tetrahedra whose dihedral angles lie between 10.7 and 164.8 degrees.

    Closed surfaces inside the shape that face inwards are cavities, and come out as `TetMesh.cavities`. Edges and
    corners are cut off at the scale of the pitch, and what is thinner than it is lost. So the volume is compared with
    the true one where that is known (a primitive, a mesh), and each surface of a mesh must be found again.

    Args:
        solid: A closed shape or mesh, a baked distance, any object with `bounds` and `signed_distance`, the path of an
            STL, OBJ or PLY file, or an object of trimesh.
        pitch: Edge of the lattice's cubes [m]; a full cube holds 12 tetrahedra. By default the first of a falling
            series that keeps the tolerance.
        tolerance: Largest relative error of the solid's volume; None allows any, and any number of surfaces.
        cavity_tolerance: Largest relative error of the volume of each cavity of a mesh; None allows any.
        device: Where distances to meshes are computed, such as 'cpu' or 'cuda:0'.
        scale: Length of the unit of a file [m]: 1e-3 for millimetres; None takes metres and refuses what is too wide.
        repair: Close the surface of a file if need be.
    """
    shape: Solid | SignedDistanceGrid = given_solid(solid, scale=scale, repair=repair)
    goal = _Goal.of(shape, _limit("tolerance", tolerance), _limit("cavity_tolerance", cavity_tolerance))
    low, high = _bounds(shape)
    distance = _distance(shape, device)
    if pitch is not None:
        return _filled(low, high, require_positive("pitch", pitch), distance, goal)
    step = float((high - low).max()) / _FIRST_CUBES
    for trial in range(_TRIALS):
        try:
            return _filled(low, high, step, distance, goal)
        except TooCoarse as fault:
            if trial == _TRIALS - 1:
                raise
            step *= fault.refinement
    raise AssertionError  # the last trial returns or raises


class TooCoarse(InvalidMesh):
    """A lattice is too coarse for a shape.

    Attributes:
        refinement: By what to multiply the pitch, as a guess.
    """

    def __init__(self, pitch: float, fault: str, refinement: float, otherwise: str) -> None:
        advice = f"use one of about {refinement * pitch:.2g} m, {otherwise}"
        super().__init__(f"a pitch of {pitch:g} m is too coarse: {fault}; {advice}.")
        self.refinement = refinement


@dataclass(frozen=True)
class _Goal:
    """What is known of the result beforehand.

    Attributes:
        tolerance: Largest relative error of the volume; None allows anything.
        cavity_tolerance: Largest relative error of a cavity's volume; None allows any.
        volume: That of the solid [m^3], if it is known.
        shells: Signed volumes of its closed surfaces [m^3], rising, if they are known.
        exact: Whether distances are true distances.
    """

    tolerance: float | None
    cavity_tolerance: float | None
    volume: float | None = None
    shells: Floats | None = None
    exact: bool = False

    @classmethod
    def of(cls, solid: object, tolerance: float | None, cavity_tolerance: float | None) -> _Goal:
        if isinstance(solid, TriangleMesh):
            count, shell = shells_of(edges_of(solid.triangles))
            shells = np.sort(np.bincount(shell, signed_volumes(solid.vertices, solid.triangles), count))
            _require_cavities_inwards(solid, int((shells > 0.0).sum()))
            if tolerance is not None:
                require_apart(solid)
            return cls(tolerance, cavity_tolerance, solid.volume, shells.astype(np.float64), True)
        if isinstance(solid, Shape):
            return cls(tolerance, cavity_tolerance, solid.volume, exact=True)
        return cls(tolerance, cavity_tolerance)

    def check(self, mesh: TetMesh, pitch: float) -> TetMesh:
        if self.tolerance is not None and self.shells is not None:
            self._check_shells(mesh, pitch, self.shells)
        if self.tolerance is not None and self.volume is not None:
            error = mesh.volume / self.volume - 1.0
            _require_close(pitch, "the volume", error, self.tolerance, "tolerance")
        return mesh

    def _check_shells(self, mesh: TetMesh, pitch: float, shells: Floats) -> None:
        found = np.sort([float(signed_volumes(mesh.nodes, piece).sum()) for piece in mesh.surfaces()])
        if len(found) != len(shells) or ((found <= 0.0) != (shells <= 0.0)).any():
            wanted = f"{(shells > 0.0).sum()} outer surfaces and {(shells <= 0.0).sum()} cavities"
            made = f"{(found > 0.0).sum()} and {(found <= 0.0).sum()}"
            walls = "walls are 1.5 pitches thick at least; tolerance=None takes what comes"
            raise TooCoarse(pitch, f"{wanted} become {made}", 0.6, walls)
        cavities = shells <= 0.0
        if self.cavity_tolerance is not None and cavities.any():
            errors = (found / shells - 1.0)[cavities]
            worst = float(errors[np.abs(errors).argmax()])
            _require_close(pitch, "a cavity's volume", worst, self.cavity_tolerance, "cavity_tolerance")


def _require_cavities_inwards(mesh: TriangleMesh, outer: int) -> None:
    """A surface inside another that faces outwards encloses nothing but more material; that is hardly ever meant."""
    if outer > 1 and not math.isclose(mesh.repaired().volume, mesh.volume, rel_tol=1e-6):
        raise InvalidMesh(
            f"some of the {outer} closed surfaces that face outwards lie inside others, so they would be filled; "
            "mesh.repaired() or TriangleMesh.read(path, repair=True) makes them cavities."
        )


def _require_close(pitch: float, what: str, error: float, tolerance: float, option: str) -> None:
    if abs(error) > tolerance:
        fault = f"{what} is {100.0 * error:+.2g} % off, more than {100.0 * tolerance:g} %"
        refinement = min(max(math.sqrt(0.8 * tolerance / abs(error)), 0.5), 0.85)
        raise TooCoarse(pitch, fault, refinement, f"or a larger {option}")


def _filled(low: Floats, high: Floats, pitch: float, distance: Distance, goal: _Goal) -> TetMesh:
    nodes, tetrahedra = clipped(BccLattice.around(low, high, pitch), distance, exact=goal.exact)
    if len(tetrahedra) == 0:
        raise TooCoarse(pitch, "none of its points lies inside the shape", 0.5, "or less")
    return goal.check(TetMesh(nodes, tetrahedra), pitch)


def _limit(name: str, value: float | None) -> float | None:
    return None if value is None else require_positive(name, value)


def _bounds(solid: Solid | SignedDistanceGrid) -> tuple[Floats, Floats]:
    if not isinstance(solid, (Solid, SignedDistanceGrid)):
        raise InvalidValue(
            f"an object of type {type(solid).__name__} cannot be filled; give a shape, a closed TriangleMesh, a "
            "SignedDistanceGrid or an object with bounds() and signed_distance(points)."
        )
    low, high = (np.asarray(corner, dtype=np.float64) for corner in solid.bounds())
    if low.shape != (3,) or high.shape != (3,) or not (np.isfinite([low, high]).all() and (low < high).all()):
        raise InvalidValue(
            f"the bounds {low.tolist()} to {high.tolist()} enclose nothing; give a solid of finite size."
        )
    return low, high


def _distance(solid: Solid | SignedDistanceGrid, device: str) -> Distance:
    def checked(points: Floats) -> Floats:
        if isinstance(solid, TriangleMesh):
            values = solid.signed_distance(points, device=device)
        elif isinstance(solid, SignedDistanceGrid):
            values = solid.sample(points)[0]
        else:
            values = np.asarray(solid.signed_distance(points), dtype=np.float64)
        if values.shape != (len(points),) or not np.isfinite(values).all():
            raise InvalidValue(
                f"the signed distance of {len(points)} points is not {len(points)} finite numbers; mend the shape."
            )
        return values

    return checked

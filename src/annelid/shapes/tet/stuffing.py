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
from annelid.shapes.mesh_arrays import coordinates
from annelid.shapes.sdf import SignedDistanceGrid
from annelid.shapes.tet.bcc import BccLattice
from annelid.shapes.tet.clipping import Distance, clipped
from annelid.shapes.tet.mesh import TetMesh
from annelid.shapes.tet.overlaps import Shells
from annelid.shapes.thickness import thinnest_wall
from annelid.shapes.topology import signed_volumes
from annelid.shapes.values import Floats, require_positive

_FIRST_CUBES = 12
_TRIALS = 8
MOST_TETRAHEDRA = 400_000
"""Finest mesh that is tried where no pitch is given."""
_MOST_POINTS = 2_000_000  # of its lattice


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
            series that keeps the tolerance, of 400,000 tetrahedra at most.
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
    step, finest = float((high - low).max()) / _FIRST_CUBES, _finest(low, high, goal)
    goal.require_walls(finest)
    for trial in range(_TRIALS):
        try:
            return _filled(low, high, step, distance, goal)
        except TooCoarse as fault:
            step *= fault.refinement
            if trial == _TRIALS - 1 or step < finest:
                raise InvalidMesh(
                    f"{fault} A mesh of more than {MOST_TETRAHEDRA} tetrahedra is made where a pitch is given."
                ) from None
    raise AssertionError  # the last trial returns or raises


def _finest(low: Floats, high: Floats, goal: _Goal) -> float:
    """The pitch of the finest mesh that is tried [m]."""
    box = float(np.prod(high - low))
    filled = 12.0 * (box if goal.volume is None else goal.volume) / MOST_TETRAHEDRA
    return max(filled, 2.0 * box / _MOST_POINTS) ** (1.0 / 3.0)


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
        shells: Its closed surfaces, if they are known.
        exact: Whether distances are true distances.
        wall: Thickness of the thinnest wall of a mesh [m], and where it is [m].
    """

    tolerance: float | None
    cavity_tolerance: float | None
    volume: float | None = None
    shells: Shells | None = None
    exact: bool = False
    wall: tuple[float, Floats] = (math.inf, np.zeros(3))

    @classmethod
    def of(cls, solid: object, tolerance: float | None, cavity_tolerance: float | None) -> _Goal:
        if isinstance(solid, TriangleMesh):
            volume = solid.require_closed().volume
            if tolerance is None:
                return cls(tolerance, cavity_tolerance, volume, exact=True)
            shells = Shells(solid)
            if (fault := shells.overlap()) is not None:
                raise InvalidMesh(f"{fault}, or fill what comes with a pitch and tolerance=None.")
            wall = min(thinnest_wall(solid), shells.narrowest_gap(), key=lambda found: found[0])
            return cls(tolerance, cavity_tolerance, volume, shells, True, wall)
        if isinstance(solid, Shape):
            return cls(tolerance, cavity_tolerance, solid.volume, exact=True)
        return cls(tolerance, cavity_tolerance)

    def require_walls(self, pitch: float) -> None:
        """Refuse walls thinner than a cell of a pitch [m]."""
        thickness, place = self.wall
        if thickness < pitch:
            raise InvalidMesh(
                f"a wall, or a gap between closed surfaces, of {thickness:.3g} m is thinner at {coordinates(place)} m "
                f"than a cell of {pitch:.3g} m, that of a mesh of {MOST_TETRAHEDRA} tetrahedra: make it thicker, give "
                "a smaller pitch, or take what comes with a pitch and tolerance=None."
            )

    def check(self, mesh: TetMesh, pitch: float) -> TetMesh:
        if self.tolerance is not None and self.shells is not None:
            self._check_shells(mesh, pitch, self.shells)
        if self.tolerance is not None and self.volume is not None:
            error = mesh.volume / self.volume - 1.0
            _require_close(pitch, "the volume", error, self.tolerance, "tolerance")
        return mesh

    def _check_shells(self, mesh: TetMesh, pitch: float, given: Shells) -> None:
        order = np.argsort(given.volumes)
        shells = given.volumes[order]
        found = np.sort([float(signed_volumes(mesh.nodes, piece).sum()) for piece in mesh.surfaces()])
        if len(found) != len(shells) or ((found <= 0.0) != (shells <= 0.0)).any():
            wanted = f"{(shells > 0.0).sum()} outer surfaces and {(shells <= 0.0).sum()} cavities"
            made = f"{(found > 0.0).sum()} and {(found <= 0.0).sum()}"
            thickness, place = self.wall
            thinnest = f"the thinnest is {thickness:.3g} m, at {coordinates(place)} m"
            walls = f"walls are 1.5 pitches thick at least{f' ({thinnest})' if math.isfinite(thickness) else ''}"
            raise TooCoarse(pitch, f"{wanted} become {made}", 0.6, f"{walls}; tolerance=None takes what comes")
        cavities = shells <= 0.0
        if self.cavity_tolerance is not None and cavities.any():
            errors = (found / shells - 1.0)[cavities]
            worst = int(np.abs(errors).argmax())
            what = f"the volume of the cavity at {coordinates(given.corners[order[worst]])} m"
            _require_close(pitch, what, float(errors[worst]), self.cavity_tolerance, "cavity_tolerance")


def _require_close(pitch: float, what: str, error: float, tolerance: float, option: str) -> None:
    if abs(error) > tolerance:
        fault = f"{what} is {100.0 * error:+.3g} % off, more than {100.0 * tolerance:g} %"
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

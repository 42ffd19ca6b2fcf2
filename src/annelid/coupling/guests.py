"""Guests: points of the surface of a body as they stand among grains."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid import grains
from annelid.coupling.division import Division
from annelid.coupling.kernels.guests import GuestArrays
from annelid.coupling.outline import Outline
from annelid.coupling.surface import Points
from annelid.grains.material import matter_of
from annelid.shapes import Surface

_HELD = 1.0e-3  # inverse mass of a held guest, in inverse masses of the lightest grain


class BedWithGuests(grains.Bed):
    """Grains and, after them, guests, whose masses are their own.

    Args:
        bed: The grains.
        guests: The guests as grains; of these, the masses do not count.
        masses: Masses of the guests [kg], shape [g].
    """

    def __init__(self, bed: grains.Bed, guests: grains.Bed, masses: np.ndarray) -> None:
        both = bed + guests
        names = ("positions", "radii", "kinds", "velocities", "spins")
        super().__init__(**{name: getattr(both, name) for name in names}, materials=both.materials)
        self._masses = np.concatenate([bed.masses, masses])

    @property
    def masses(self) -> np.ndarray:
        """Masses [kg], shape [n]."""
        return self._masses


class Guests:
    """The guests of a body.

    Args:
        body: The body.
        points: Where grains meet its surface.

    Attributes:
        body: The body.
        points: Where the guests are.
        members: The surface masses, which guests hang on, ascending, shape [m].
        loads: Sum of the weights that hang on each of them, shape [m].
    """

    def __init__(self, body: Outline, points: Points) -> None:
        self.body, self.points = body, points
        self.members = np.unique(body.triangles)
        weights = np.bincount(self._places(self.division.corners).ravel(), self.division.weights.ravel())
        self.loads = np.asarray(weights)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def division(self) -> Division:
        """The points of the surface that guests are at."""
        return self.points.division

    @property
    def radii(self) -> np.ndarray:
        """Radius of each guest [m], shape [g]: how far it stands out."""
        return self.points.radii

    @property
    def masses(self) -> np.ndarray:
        """Mass that contacts assume at each guest [kg], shape [g]: its share of those that it hangs on."""
        gives = np.zeros(len(self.body.positions))
        gives[self.members] = self.loads / self.body.masses[self.members]
        return np.asarray(1.0 / self.division.mixed(gives))

    def hanging_on(self, masses: np.ndarray) -> np.ndarray:
        """Numbers of the guests that hang on any of some masses."""
        return np.flatnonzero(np.isin(self.division.corners, masses).any(axis=1))

    def lying_on(self, masses: np.ndarray) -> np.ndarray:
        """Numbers of the guests whose disc or rod lies as any of some masses say."""
        return np.flatnonzero(np.isin(self.points.spans, masses).any(axis=1))

    def among(self, bed: grains.Bed, skin: Surface) -> BedWithGuests:
        """Grains and guests together.

        Args:
            bed: The grains.
            skin: How the surface of the body responds to contact.
        """
        body, points = self.body, self.division
        guests = grains.Bed(
            points.mixed(body.positions), self.radii, matter_of(skin), velocities=points.mixed(body.velocities)
        )
        return BedWithGuests(bed, guests, self.masses)

    def arrays(self, bed: grains.Bed, solver: grains.Solver) -> Any:
        """The structure that the kernels read.

        Args:
            bed: The grains.
            solver: The solver of grains and guests, which tells what pushes these.
        """
        device = solver.device
        points, count, surface = self.division, len(self), len(self.members)
        corners, around = self._places(points.corners), self._places(points.around)
        owner = np.repeat(np.arange(count), np.diff(points.first))

        def numbers(values: np.ndarray, dtype: Any = wp.int32) -> wp.array[Any]:
            kind = np.int32 if dtype in (wp.int32, wp.vec3i, wp.vec4i) else np.float32
            return wp.array(values.astype(kind), dtype=dtype, device=device)

        arrays: Any = GuestArrays()
        arrays.masses, arrays.present = numbers(self.members), wp.full(surface, 1, dtype=wp.int32, device=device)
        arrays.outside = numbers(self.body.forces[self.members], wp.vec3)
        arrays.loads = numbers(self.loads, wp.float32)
        arrays.strains = wp.zeros(surface, dtype=wp.float32, device=device)
        hung = np.flatnonzero(points.weights.ravel() > 0.0)
        order, arrays.first_hung = self._by_member(corners.ravel()[hung], numbers)
        arrays.hung = numbers(hung[order] // 3)
        arrays.hung_weights = numbers(points.weights.ravel()[hung[order]], wp.float32)
        order, arrays.first_turned = self._by_member(around, numbers)
        arrays.turned = numbers(owner[order])
        arrays.corners, arrays.weights = numbers(corners, wp.vec3i), numbers(points.weights, wp.vec3)
        arrays.extents = numbers(self.points.extents / self._scales(), wp.float32)
        arrays.widest = float(bed.radii.min())
        arrays.spans = numbers(self._places(self.points.spans), wp.vec4i)
        arrays.alive = wp.full(count, 1, dtype=wp.int32, device=device)
        arrays.first, arrays.around = numbers(points.first), numbers(around)
        arrays.heaviest = _HELD / float(bed.masses.min())
        arrays.pushes, arrays.touching = solver.pushes, solver.touches
        for name in ("pushed", "expected"):
            setattr(arrays, name, wp.zeros(surface, dtype=wp.vec3, device=device))
        return arrays

    def _scales(self) -> np.ndarray:
        """Lengths that the extents of discs and rods grow and shrink with [m], shape [g]."""
        a, b, c, d = (self.body.positions[self.points.spans[:, k]] for k in range(4))
        across = np.sqrt(np.linalg.norm(np.cross(b - a, d - c), axis=1))
        return np.maximum(np.where(self.points.extents < 0.0, np.linalg.norm(b - a, axis=1), across), 1e-100)

    def _places(self, masses: np.ndarray) -> np.ndarray:
        """Places of surface masses among the members."""
        return np.searchsorted(self.members, masses)

    def _by_member(self, members: np.ndarray, numbers: Any) -> tuple[np.ndarray, wp.array[Any]]:
        """An order by members, and where each of them begins in it."""
        order = np.argsort(members, kind="stable")
        return order, numbers(np.searchsorted(members[order], np.arange(len(self.members) + 1)))

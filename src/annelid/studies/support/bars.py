"""Mechanical tests of bars made of springs: tension, shear, torsion and bending at small strain, and compression.

Each bar is held and loaded at its ends as in a testing machine; moduli are read from its middle half, where the grips
are no longer felt. Forces come from the stiffness matrix, displacements from one sparse solve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from annelid import springs
from annelid.springs.equilibrium import NotConverged, equilibrium
from annelid.springs.factors import Factors, narrow_order
from annelid.springs.potential import Potential
from annelid.springs.volume import VolumeTerm

_FLOOR = 1e-9  # of the largest stiffness: a bar may turn and shift freely where the test does not hold it
_FAULT = 1e-3  # how far masses of a cube stand beside their places, as a part of the shortest spring
_SQUARE_TORSION = 0.1405770  # of a square bar: J / side⁴


@dataclass(frozen=True, eq=False)
class Bar:
    """A square bar.

    Attributes:
        body: The body.
        axis: Unit vector along it, shape [3].
        side: Unit vector across it, parallel to two of its sides, shape [3].
        length: Length [m].
        width: Side of its cross-section [m].
        grip: Depth of the grips at its ends [m].
        volume: A term that resists changes of its volume, or None.
    """

    body: springs.Body
    axis: np.ndarray
    side: np.ndarray
    length: float
    width: float
    grip: float
    volume: VolumeTerm | None = None

    @property
    def frame(self) -> np.ndarray:
        """Axis, side and the third direction in rows, shape [3, 3]."""
        return np.stack([self.axis, self.side, np.cross(self.axis, self.side)])

    @property
    def places(self) -> np.ndarray:
        """Positions along axis, side and third direction, the middle of the bar at 0 [m], shape [n, 3]."""
        local = self.body.positions @ self.frame.T
        return local - (local.max(axis=0) + local.min(axis=0)) / 2

    @property
    def along(self) -> np.ndarray:
        """Distance of each mass from the first end [m], shape [n]."""
        return self.places[:, 0] + self.length / 2

    def tension(self) -> tuple[float, float]:
        """Young's modulus [Pa] and Poisson's ratio: the ends are drawn apart and may shrink sideways."""
        body, (low, high) = self.body.copy(), self._ends()
        for end in (low, high):
            body.guide(end, "plane", self.axis.tolist())
        pulled = np.zeros_like(body.positions)
        pulled[high] = self.axis
        moved, forces = self._solve(body, pulled)
        strain, lateral = self._strains(moved)
        stress = float((forces[high] @ self.axis).sum()) / self.width**2
        return stress / strain, -lateral / strain

    def shear(self) -> float:
        """Shear modulus [Pa]: the surface follows a uniform shear, the inside finds its place."""
        places = self.places
        inner = np.array([self.length, self.width, self.width]) / 2 - self.grip
        outer = (np.abs(places) > inner).any(axis=1)
        body = self.body.copy().fix(outer)
        sheared = np.outer(places[:, 1], self.axis)
        moved, _ = self._solve(body, np.where(outer[:, None], sheared, 0.0))
        stiffness = Potential(self.body, volume=self.volume).stiffness(self.body.positions)
        energy = 0.5 * float(moved.ravel() @ (stiffness @ moved.ravel()))
        return 2 * energy / (self.width**2 * self.length)

    def torsion(self) -> float:
        """Shear modulus [Pa] from a twist of the ends."""
        body, (low, high) = self.body.copy(), self._ends()
        body.fix(low).fix(high)
        across = self.places * [0.0, 1.0, 1.0]
        turn = np.cross([1.0, 0.0, 0.0], across) @ self.frame  # of 1 rad
        moved, forces = self._solve(body, np.where(high[:, None], turn, 0.0))
        torque = float(np.sum(forces[high] * turn[high]))
        middle = self._middle()
        angle = np.sum(moved * turn, axis=1) / np.maximum(np.sum(turn**2, axis=1), 1e-30)
        weight = np.linalg.norm(across, axis=1)
        twist = np.polyfit(self.along[middle], angle[middle], 1, w=weight[middle])[0]
        return torque / (_SQUARE_TORSION * self.width**4 * float(twist))

    def bending(self) -> float:
        """Young's modulus [Pa] from the curve of a cantilever with a force at its tip."""
        body, (low, high) = self.body.copy(), self._ends()
        body.fix(low).push(high, tuple(self.side))
        moved, _ = self._solve(body, np.zeros_like(body.positions))
        middle, x = self._middle(), self.along
        arm = float(x[high].mean())
        curve = arm * x**2 / 2 - x**3 / 6  # deflection of a beam times E I, but for shift, tilt and shear
        terms = np.stack([np.ones_like(x), x, curve], axis=1)[middle]
        fit = np.linalg.lstsq(terms, (moved @ self.side)[middle], rcond=None)[0]
        return 12 / (self.width**4 * float(fit[2]))

    def collapse(self, *, step: float = 0.05, most: float = 0.35) -> tuple[float, float]:
        """Compressive strain up to which it keeps two thirds of its first stiffness, and the largest one tried.

        A cube shows what the lattice bears; a longer bar would sway to the side before. Masses start a little beside
        their places: an order without any fault would not know which way to buckle.
        """
        body, (low, high) = self.body.copy(), self._ends()
        body.guide(low | high, "plane", self.axis.tolist()).fix(np.flatnonzero(low)[:1])
        travel = self.along[high].mean() - self.along[low].mean()
        shorter = np.where(high, travel, np.where(low, 0.0, np.clip(self.along - self.along[low].mean(), 0.0, travel)))
        faults = _FAULT * body.rest_lengths.min() * np.random.default_rng(0).standard_normal(body.positions.shape)
        body.positions += np.where((low | high)[:, None], 0.0, faults)
        first = 0.0
        for count in range(1, round(most / step) + 1):
            body.positions -= step * np.outer(shorter, self.axis)
            secant = self._press(body, high) / (count * step)
            first = first or secant
            if secant < 2 / 3 * first:
                return (count - 1) * step, most
        return most, most

    def _press(self, body: springs.Body, high: np.ndarray) -> float:
        """Let a compressed body come to rest; the force with which it presses against its high end [N], or 0 if not."""
        try:
            body.positions = equilibrium(body, gravity=(0.0, 0.0, 0.0), volume=self.volume, tolerance=1e-5)
        except NotConverged:
            return 0.0
        return float((Potential(body, volume=self.volume).forces(body.positions)[high] @ self.axis).sum())

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.along < self.grip, self.along > self.length - self.grip

    def _middle(self) -> np.ndarray:
        return np.abs(self.along - self.length / 2) < self.length / 4

    def _strains(self, moved: np.ndarray) -> tuple[float, float]:
        """Mean strain along and across the middle half."""
        middle, local = self._middle(), moved @ self.frame.T
        places = self.places[middle]
        strain = np.polyfit(places[:, 0], local[middle, 0], 1)[0]
        sideways = [np.polyfit(places[:, i], local[middle, i], 1)[0] for i in (1, 2)]
        return float(strain), float(np.mean(sideways))

    def _solve(self, body: springs.Body, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacements [m] when held and guided masses move as given, and the forces that hold them [N]."""
        potential = Potential(body, volume=self.volume)
        stiffness, basis = potential.stiffness(body.positions), potential.basis
        matrix = basis.T @ stiffness @ basis
        matrix = (matrix + _FLOOR * matrix.diagonal().max() * sparse.eye_array(matrix.shape[0])).tocsc()
        load = basis.T @ (body.forces.ravel() - stiffness @ given.ravel())
        answer = Factors(matrix, narrow_order(matrix, potential.basis_points)).solve(load)
        moved = given.ravel() + basis @ answer
        return moved.reshape(-1, 3), (stiffness @ moved - body.forces.ravel()).reshape(-1, 3)

"""Hyperelastic tetrahedra: laws for large strains, nearly incompressible ones without locking.

Changes of volume that cost much are not asked for at every point: those of linear tetrahedra are shared by a cell,
those of 10-node ones are projected on functions that are linear over a cell, so that a single layer of them bends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.history import History, StressHistory
from annelid.fem.kernels.hyperelastic import (
    FACTOR,
    FIRST,
    HyperPoints,
    foresee_kernel,
    hyper_cell_kernel,
    hyper_row_kernel,
    invariant_kernel,
    stretch_kernel,
)
from annelid.fem.kernels.laws import invariant_law, stretch_law
from annelid.fem.kernels.stress import cauchy_von_mises
from annelid.fem.relaxation import Relaxation
from annelid.fem.shape_functions import point_places
from annelid.fem.tetrahedra import Tetrahedra
from annelid.materials import Law, Material, NeoHooke
from annelid.materials.laws import Form

CRUSH_OF_SHEAR = 1e4
"""Of the shear modulus: how a point resists being crushed to nothing."""


class Hyperelastic(Tetrahedra):
    """Tetrahedra of materials with laws; a material without one is taken for neo-Hookean.

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        materials: Materials.
        element_materials: Index of each tetrahedron's material, shape [t].
        crew: Where it is computed.
        cells: Tetrahedra with the same number, all of one material, share changes of volume, see `Tetrahedra`.

    Attributes:
        members: Points of each form of a law, int32 arrays.
    """

    def __init__(
        self,
        rest: np.ndarray,
        elements: np.ndarray,
        materials: Sequence[Material],
        element_materials: np.ndarray,
        crew: Crew,
        *,
        cells: np.ndarray | None = None,
    ) -> None:
        super().__init__(rest, elements, crew, cells=cells)
        width = elements.shape[1]
        modes = self._modes(rest, elements, cells)
        self._table, self._columns = material_constants(materials, shared=cells is not None)
        self._factors = self._table[:, FACTOR].copy()
        self._constants = self._array(self._table.ravel(), wp.float64)
        chosen = element_materials[self.point_elements]
        self._points = self._made_points(chosen, modes)
        self._relaxation = self._made_relaxation(materials, shared=cells is not None)
        self.members = {
            form: self._array(np.flatnonzero(np.isin(chosen, numbers)).astype(np.int32), wp.int32)
            for form, numbers in _by_form(materials, set(chosen.tolist())).items()
        }
        self._strain = [self._strain_command(form, members, width) for form, members in self.members.items()]
        about = [self._columns, self._constants, self._points, self._cells]
        self._foreseen = False
        shape = self.element_count, modes.shape[1]
        self._pressures = wp.zeros(shape, dtype=wp.float64, device=self.device)
        sums = [0, 0, *about, self._pressures, self._energies, self.energy]
        self._sum = crew.command(hyper_cell_kernel(modes.shape[1]), self.element_count, sums)
        self._foresee: Command | None = None
        if modes.shape[1]:
            nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
            arguments = [nowhere, *about, self._pressures]
            self._foresee = crew.command(foresee_kernel(width, modes.shape[1]), self.element_count, arguments)
        rows = [self.nodes.shape[1], *about, self.forces, self.tangent]
        self._rows = {
            wanted: crew.command(
                hyper_row_kernel(width, self.most_points, modes.shape[1], self.whole, wanted), self.nodes.size, rows
            )
            for wanted in (False, True)
        }

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        self.answer(positions, tangent=tangent)
        if self._relaxation is not None:
            self._relaxation.relax(tangent=tangent)
        self._sum((0, int(tangent)), (1, int(self._foreseen)))
        self._rows[tangent]()

    @property
    def points(self) -> Any:
        """Its integration points, a `kernels.hyperelastic.HyperPoints`, as `evaluate` left them."""
        return self._points

    @property
    def constants(self) -> tuple[int, wp.array[Any]]:
        """How many constants a material has, and those of all, float64, in the order of the kernels."""
        return self._columns, self._constants

    @property
    def relaxing(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Part of the resistance to changes of shape that is left, and λ where points do not share it [Pa], [m] each.

        Those that `evaluate` answers with now: λ is told for materials that relax only.
        """
        if self._relaxation is not None:
            return self._relaxation.now
        count = len(self._table)
        return self._array(np.ones(count), wp.float64), self._array(np.zeros(count), wp.float64)

    def series(self, dt: float) -> Any:
        """The Prony series of its materials for a time dt [s] that passes, a `kernels.relaxation.Series`."""
        assert self._relaxation is not None
        return self._relaxation.series(dt)

    @property
    def foresees(self) -> bool:
        """Whether points share changes of volume."""
        return self._foresee is not None

    def foresee(self, move: wp.array[Any] | None) -> None:
        """Let tangents be those under the pressures that a move leads to to first order, until None ends that."""
        self._foreseen = move is not None and self._foresee is not None
        if self._foresee is not None and move is not None:
            self._foresee((0, move))

    @property
    def foreseen(self) -> wp.array[Any]:
        """Pressures of the shared changes of volume of each cell [Pa]."""
        return self._pressures.flatten()

    def foresee_as(self, pressures: wp.array[Any]) -> None:
        """Let tangents be those under pressures that were foreseen before."""
        self._foreseen = self.foresees
        wp.copy(self.foreseen, pressures)

    @property
    def inverted(self) -> bool:
        """Whether a point has no volume left, or less."""
        return bool(self._points.dilations.numpy().min(initial=0.0) <= -1.0)

    @property
    def frames(self) -> wp.array[Any]:
        """Deformation of each point, whose rotation is nearest to it, mat33d of shape [p]."""
        return self._points.deformations

    def stiffen(self, factor: float) -> None:
        """Multiply the energies of all materials by a factor."""
        if factor != self._stiffer:
            self._stiffer = factor
            self._table[:, FACTOR] = factor * self._factors
            self._constants.assign(self._table.ravel())

    def von_mises(self, place: int, factors: wp.array[Any], out: wp.array[Any]) -> None:
        """Von Mises stress of each point [Pa]."""
        points = self._points
        inputs = [place, factors, self.volumes, points.deformations, points.stresses, out]
        wp.launch(cauchy_von_mises, self.point_count, inputs, device=self.device)

    def nominal_stresses(self) -> np.ndarray:
        """First Piola-Kirchhoff stress of each point [Pa], shape [p, 3, 3]."""
        return np.asarray(self._points.stresses.numpy() / self.point_volumes[:, None, None])

    def history(self) -> History:
        """What the material remembers of a solid that was at rest for ever."""
        return History() if self._relaxation is None else self._relaxation.history()

    def pass_time(self, dt: float, history: History) -> None:
        """From now on `evaluate` answers as at the end of a time dt [s] after a history, until `rest`."""
        if self._relaxation is not None and isinstance(history, StressHistory):
            self._relaxation.pass_time(dt, history)

    def remember(self, positions: wp.array[Any], history: History) -> None:
        """Take what happened in the time that passes into the history."""
        if self._relaxation is not None and isinstance(history, StressHistory):
            self.answer(positions, tangent=False)
            self._relaxation.remember(history)

    def rest(self) -> None:
        """From now on `evaluate` answers as after a very long time."""
        if self._relaxation is not None:
            self._relaxation.rest()

    def answer(self, positions: wp.array[Any], *, tangent: bool) -> None:
        """What the laws of the points answer by themselves, as if no time passed and nothing were shared."""
        for strain in self._strain:
            strain((0, positions), (1, int(tangent)))

    def _made_relaxation(self, materials: Sequence[Material], *, shared: bool) -> Relaxation | None:
        if not any(material.prony for material in materials):
            return None
        lames = np.array([0.0 if shared else _lame(material) for material in materials]) / self._table[:, FACTOR]
        constants = self._constants, self._columns
        return Relaxation(materials, lames, self._points, self.point_count, constants, self._energies, self._crew)

    def _modes(self, rest: np.ndarray, elements: np.ndarray, cells: np.ndarray | None) -> np.ndarray:
        """Functions of place that changes of volume are projected on, orthonormal over each cell, shape [p, k]."""
        if cells is None:
            return np.zeros((self.point_count, 0))
        if elements.shape[1] == 4:
            return np.ones((self.point_count, 1))
        places = point_places(rest, elements)[self._plan.order]
        return _linear_modes(places, self.point_volumes, self._plan.first)

    def _made_points(self, materials: np.ndarray, modes: np.ndarray) -> Any:
        count, points = self.point_count, HyperPoints()  # type: int, Any
        points.nodes = self._array(self.point_nodes, wp.int32)
        points.gradients, points.places, points.volumes = self._gradients, self._places, self.volumes
        points.materials = self._array(materials.astype(np.int32), wp.int32)
        points.modes = wp.array(np.ascontiguousarray(modes), dtype=wp.float64, shape=modes.shape, device=self.device)
        for name in ("deformations", "stresses"):
            setattr(points, name, wp.zeros(count, dtype=wp.mat33d, device=self.device))
        for name in ("pressures", "dilations"):
            setattr(points, name, wp.zeros(count, dtype=wp.float64, device=self.device))
        points.tangents = wp.zeros((count, 81), dtype=wp.float64, device=self.device)
        points.grown = wp.zeros(self.point_nodes.shape, dtype=wp.vec3d, device=self.device)
        return points

    def _strain_command(self, form: Form, members: wp.array[Any], width: int) -> Command:
        of_invariants = form.of == "invariants"
        kernel = (
            invariant_kernel(width, invariant_law(form)) if of_invariants else stretch_kernel(width, stretch_law(form))
        )
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        arguments = [nowhere, 1, members, self._columns, self._constants, self._points, self._energies]
        return self._crew.command(kernel, len(members), arguments)


def law_of(material: Material) -> Law:
    """The law of a material, neo-Hooke where it has none."""
    return material.law or NeoHooke(material.shear_modulus)


def _by_form(materials: Sequence[Material], used: set[int]) -> dict[Form, list[int]]:
    """Materials by the form of their law."""
    found: dict[Form, list[int]] = {}
    for number in sorted(used):
        found.setdefault(law_of(materials[number]).form, []).append(number)
    return found


def material_constants(materials: Sequence[Material], *, shared: bool) -> tuple[np.ndarray, int]:
    """Constants of each material in the order of the kernels, shape [m, c], and c.

    Without a law's tension at rest, p, nothing would balance it; κ makes what is left behave as with λ = 0. Where
    changes of volume are not shared, λ is part of κ.
    """
    laws = [law_of(material) for material in materials]
    width = FIRST + max(len(law.constants) for law in laws)
    rows = np.zeros((len(materials), width))
    for row, material, law in zip(rows, materials, laws, strict=True):
        local, lame = volume_constants(material)
        bulk, rest = (max(local, 0.0), lame + min(local, 0.0)) if shared else (local + lame, 0.0)
        row[:FIRST] = 1.0, law.pull, bulk, rest, CRUSH_OF_SHEAR * material.shear_modulus
        row[FIRST : FIRST + len(law.constants)] = law.constants
    return rows, width


def volume_constants(material: Material) -> tuple[float, float]:
    """What makes the law of a material behave as with λ = 0, and λ [Pa]."""
    law, shear = law_of(material), material.shear_modulus
    return (6.0 * shear + 6.0 * law.pull - law.swelling) / 9.0, _lame(material)


def _lame(material: Material) -> float:
    """Lamé's first parameter λ [Pa]."""
    return material.bulk_modulus - 2.0 / 3.0 * material.shear_modulus


def _linear_modes(places: np.ndarray, volumes: np.ndarray, first: np.ndarray) -> np.ndarray:
    """1, x, y and z over each cell, made orthonormal with the volumes of its points as weights, shape [p, 4].

    Args:
        places: Where the points are [m], shape [p, 3].
        volumes: Volumes of the points [m³], shape [p].
        first: First point of each cell, and the number of points at the end, shape [c + 1].
    """
    modes = np.zeros((len(places), 4))
    for begin, end in zip(first[:-1], first[1:], strict=True):
        weights = volumes[begin:end] / volumes[begin:end].sum()
        middle = weights @ places[begin:end]
        away = places[begin:end] - middle
        columns = np.column_stack([np.ones(end - begin), away / np.sqrt(weights @ (away**2).sum(axis=1))])
        root = np.sqrt(weights)[:, None]
        modes[begin:end] = np.linalg.qr(root * columns)[0] / root
    return modes

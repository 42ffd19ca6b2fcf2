"""Co-rotational tetrahedra: linear elasticity in a frame that turns with each integration point."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.kernels.parameters import scale_moduli
from annelid.fem.kernels.solid import Points, cell_kernel, foresee_dilations, point_kernel, row_kernel
from annelid.fem.kernels.stress import von_mises
from annelid.fem.tetrahedra import Tetrahedra


class Corotational(Tetrahedra):
    """Co-rotational tetrahedra.

    Args:
        rest: Positions at rest [m], shape [n, 3].
        elements: Nodes of each tetrahedron, shape [t, 4] or [t, 10].
        shear: Shear modulus μ of each tetrahedron [Pa], shape [t].
        lame: Lamé's first parameter λ of each tetrahedron [Pa], shape [t].
        crew: Where it is computed.
        cells: Tetrahedra with the same number share one change of volume, see `Tetrahedra`.
    """

    def __init__(
        self,
        rest: np.ndarray,
        elements: np.ndarray,
        shear: np.ndarray,
        lame: np.ndarray,
        crew: Crew,
        *,
        cells: np.ndarray | None = None,
    ) -> None:
        super().__init__(rest, elements, crew, cells=cells)
        self.mean = cells is not None
        self._points = self._made_points(shear[self.point_elements], lame[self.point_elements])
        self._foreseen = False
        self._dilations = wp.zeros(self.element_count if self.mean else 0, dtype=wp.float64, device=crew.device)
        self._strain, self._sum, self._rows = self._commands(crew, elements.shape[1])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        self._strain((0, positions))
        self._sum((0, int(self._foreseen)))
        self._rows[tangent]()

    @property
    def points(self) -> Any:
        """Its integration points, a `kernels.solid.Points`, as `evaluate` left them."""
        return self._points

    @property
    def frames(self) -> wp.array[Any]:
        """Rotation of each point, mat33d of shape [p]."""
        return self._points.rotations

    def foresee(self, move: wp.array[Any] | None) -> None:
        """Let tangents be those under the shared changes of volume that a move leads to, until None ends that."""
        self._foreseen = self.mean and move is not None
        if self._foreseen:
            self._foresee((0, move))

    @property
    def foreseen(self) -> wp.array[Any]:
        """Shared change of volume of each cell [-]."""
        return self._dilations

    def foresee_as(self, pressures: wp.array[Any]) -> None:
        """Let tangents be those under changes of volume that were foreseen before."""
        self._foreseen = self.mean
        wp.copy(self._dilations, pressures)

    def stiffen(self, factor: float) -> None:
        """Multiply the moduli that the tetrahedra were given by a factor."""
        if factor != self._stiffer:
            self._stiffer = factor
            self._stiffen((0, wp.float64(factor)))

    def von_mises(self, place: int, factors: wp.array[Any], out: wp.array[Any]) -> None:
        """Von Mises stress of each point [Pa]."""
        wp.launch(von_mises, self.point_count, [place, factors, self._points, out], device=self.device)

    def nominal_stresses(self) -> np.ndarray:
        """First Piola-Kirchhoff stress of each point [Pa], shape [p, 3, 3]."""
        points = self._points
        shape_part = points.strains.numpy() / self.point_volumes[:, None, None]
        pressure = points.lame.numpy() * points.dilations.numpy()
        return np.asarray(shape_part + pressure[:, None, None] * points.rotations.numpy())

    @cached_property
    def _foresee(self) -> Command:
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        arguments = [nowhere, self._points, self._cells, self._dilations]
        return self._crew.command(foresee_dilations, self.element_count, arguments)

    @cached_property
    def _stiffen(self) -> Command:
        moduli = self._points.shear, self._points.lame
        copies = (wp.clone(each) for each in moduli)
        return self._crew.command(scale_moduli, self.point_count, [wp.float64(1.0), *copies, *moduli])

    def _made_points(self, shear: np.ndarray, lame: np.ndarray) -> Any:
        points: Any = Points()
        points.nodes = self._array(self.point_nodes, wp.int32)
        points.gradients, points.places, points.volumes = self._gradients, self._places, self.volumes
        points.shear, points.lame = self._array(shear, wp.float64), self._array(lame, wp.float64)
        for name in ("rotations", "strains", "spins"):
            setattr(points, name, wp.zeros(self.point_count, dtype=wp.mat33d, device=self.device))
        points.turned = wp.zeros(self.point_nodes.shape, dtype=wp.vec3d, device=self.device)
        points.dilations = wp.zeros(self.point_count, dtype=wp.float64, device=self.device)
        return points

    def _commands(self, crew: Crew, width: int) -> tuple[Command, Command, dict[bool, Command]]:
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=crew.device)
        rows = [self.nodes.shape[1], self._points, self._cells, self.forces, self.tangent]
        return (
            crew.command(point_kernel(width), self.point_count, [nowhere, self._points, self._energies]),
            crew.command(
                cell_kernel(self.mean),
                self.element_count,
                [0, self._points, self._cells, self._dilations, self._energies, self.energy],
            ),
            {
                wanted: crew.command(
                    row_kernel(width, self.most_points, self.mean, self.whole, wanted), self.nodes.size, rows
                )
                for wanted in (False, True)
            },
        )

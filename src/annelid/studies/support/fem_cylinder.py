"""The measured silicone cylinder in finite elements of several sizes: error and fitted modulus against refinement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import warp as wp

from annelid import fem
from annelid.fem.shape_functions import values
from annelid.materials import material
from annelid.shapes import TetMesh, TriangleMesh, tet_cylinder
from annelid.studies.support.measured_cylinder import LENGTH, MASS, RADIUS, Fit, skin

_TIP = np.array([[0.0, 0.0, LENGTH]])


@dataclass(frozen=True)
class Rod:
    """A mesh of the cylinder.

    Attributes:
        cells: Cells along a side of the square core of its section.
        rings: Rings around the core.
        layers: Cells along it.
        quadratic: Whether elements have 10 nodes.
        volume: Whether tetrahedra share changes of volume, see `fem.Solid`.
    """

    cells: int
    rings: int
    layers: int
    quadratic: bool = False
    volume: fem.Volume = "auto"

    @property
    def name(self) -> str:
        """Kind and size."""
        kind = "10-node" if self.quadratic else "linear"
        plain = "-plain" if self.volume == "plain" and not self.quadratic else ""
        return f"{kind}{plain}-{len(self.solid.nodes)}"

    @cached_property
    def mesh(self) -> TetMesh:
        """The linear mesh."""
        return tet_cylinder(RADIUS, LENGTH, cells=self.cells, rings=self.rings, layers=self.layers, equal_area=True)

    @cached_property
    def solid(self) -> fem.Solid:
        """The clamped cylinder, of the nominal modulus and the measured mass."""
        silicone = material("silicone-marchal").with_(density=MASS / self.mesh.volume)
        solid = fem.Solid(self.mesh.quadratic() if self.quadratic else self.mesh, silicone, volume=self.volume)
        return solid.fix(lambda p: p[:, 2] < 1e-9)


class Binding:
    """Points that follow a deformed mesh.

    Args:
        rod: The mesh.
        points: Positions at rest [m], shape [p, 3]; those a little outside are carried along too.
    """

    def __init__(self, rod: Rod, points: np.ndarray) -> None:
        element, weights = rod.mesh.locate(points)
        self._nodes = rod.solid.elements[element]
        self._shares = values(self._nodes.shape[1], weights)

    def deformed(self, positions: np.ndarray) -> np.ndarray:
        """Where they are once nodes are at `positions` [m]."""
        return np.einsum("ps,psi->pi", self._shares, positions[self._nodes])


class SolidFit(Fit):
    """States of a mesh.

    Args:
        rod: The mesh.
        measured: The measured surface; without it only the tip is compared.
        device: Where to compute.
        threads: CPU threads.
    """

    moduli, exact = (40e3, 110e3), 200.0

    def __init__(self, rod: Rod, measured: TriangleMesh | None, device: wp.Device, threads: int | None) -> None:
        super().__init__(measured)
        self._skin = skin(LENGTH / 30)
        self._surface, self._tip = Binding(rod, self._skin.vertices), Binding(rod, _TIP)
        self._model = fem.Model(rod.solid, device=device, threads=threads)
        self._newton = fem.Newton(self._model, fem.Settings(1e-6))
        self._positions = wp.clone(self._model.rest)

    def settled(self, pull: float) -> tuple[TriangleMesh, np.ndarray]:
        """Surface and tip [m] at rest under a gravity."""
        self._model.set_gravity((0.0, -pull, 0.0))
        self._newton.equilibrium(self._positions, start=1.0 if self.states else 0.0)
        positions = self._positions.numpy()
        surface = TriangleMesh(self._surface.deformed(positions), self._skin.triangles)
        return surface, self._tip.deformed(positions)[0]

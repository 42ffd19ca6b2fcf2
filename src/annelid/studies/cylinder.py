"""A clamped silicone cylinder under gravity against its measured surface (Cronos, Table 1; Marchal et al.).

The error is the mean distance of the simulated from the measured surface and back, over the area of both (`surfaces`).
The simulated surface is that of the true cylinder, bound to the masses (`Skin`), not the steps of the lattice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.shapes import Cylinder as CylinderShape
from annelid.shapes import TriangleMesh
from annelid.shapes.lattice import Lattice
from annelid.springs.equilibrium import equilibrium
from annelid.springs.quasi import quasi_lattice
from annelid.springs.stiffness import lattice_stiffness
from annelid.springs.volume import VolumeTerm, split_moduli
from annelid.studies.support.measured_cylinder import (
    LENGTH,
    MASS,
    RADIUS,
    Fit,
    Fitted,
    State,
    fitted,
    read_reference,
    skin,
)
from annelid.studies.support.plots import figure
from annelid.studies.support.skin import Skin

_TABLE = "Cronos, Table 1: mass-spring 1.68 (Cronos), 0.75 (Marchal), FEM 0.63, 2.87, 18.60"


@dataclass(frozen=True, eq=False)
class Rod:
    """The cylinder as a body, along z from its clamped end at z = 0.

    Attributes:
        name: Name of the model.
        body: The masses and springs, with the nominal modulus.
        volume: The term that resists changes of volume, or None.
        skin: The surface at rest.
    """

    name: str
    body: springs.Body
    volume: VolumeTerm | None
    skin: TriangleMesh


@dataclass(frozen=True)
class Cylinder(Checked):
    """A clamped silicone cylinder bends under its weight; its surface stands beside the measured one."""

    name: ClassVar[str] = "cylinder"

    quick: bool = parameter(False, "Coarser lattices.")
    reference: Path | None = parameter(
        None, "The measured deformed surface, a closed mesh in metres; without it only the tip is compared."
    )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Fitted:
        """Equilibrium at the nominal modulus, and at the one that fits best."""
        measured = None if self.reference is None else read_reference(self.reference)
        return fitted({rod.name: LatticeFit(rod, measured) for rod in self.rods()}, measured, progress)

    def rods(self) -> list[Rod]:
        """The lattices that are compared: voxels, voxels with a volume term, quasi-uniform."""
        fine, coarse = (28, 28) if self.quick else (47, 37)  # cells along the cylinder
        return [
            _voxels("voxel", LENGTH / fine),
            _voxels_volume("voxel-volume", LENGTH / fine),
            _quasi("quasi-uniform", LENGTH / coarse),
        ]

    def measure(self, found: Fitted) -> list[Measurement]:
        """Tip and surface errors, at the nominal and at the fitted modulus."""
        rows = []
        for name, best in found.best.items():
            rows.append(Measurement(f"{name}-modulus-fitted", 1e-3 * best.modulus, "kPa", source="nominal: 60 kPa"))
            rows += [*_errors(name, "nominal", found.nominal[name]), *_errors(name, "fitted", best)]
        if found.least_error is not None:
            source, least = "Cronos, Table 1: co-rotational tetrahedra", 1e3 * found.least_error
            rows.append(Measurement("best-surface-mean-fitted", least, "mm", 0.63, source=source, bound="at-most"))
        return rows

    def plot(self, found: Fitted, folder: Path) -> list[Path]:
        """Outlines, the search for the modulus, and a picture of both surfaces."""

        def draw(axes: Any) -> None:
            found.draw_outlines(axes[0, 0], found.best)
            found.draw_search(axes[0, 1], {"best finite elements": 0.63, "Cronos": 1.68})

        path = figure(folder / "cylinder.png", draw, size=(10.0, 4.6), grid=(1, 2))
        name = min(found.best, key=lambda name: found.best[name].misfit)
        return [path, found.picture(name, folder / "cylinder-surfaces.png")]


def _errors(name: str, kind: str, state: State) -> list[Measurement]:
    """Distances of a state from what was measured; those of the surface with a reference only."""
    rows = [Measurement(f"{name}-tip-{kind}", 1e3 * state.tip_distance, "mm")]
    if state.error is None:
        return rows
    error, limit, source = state.error, (1.68 if kind == "fitted" else None), (_TABLE if kind == "fitted" else "")
    mean = Measurement(f"{name}-surface-mean-{kind}", 1e3 * error.mean, "mm", limit, source=source, bound="at-most")
    others = {
        "surface-95": (error.percentile, "95 % of both surfaces are closer"),
        "simulated-to-measured": (error.there, "mean of one direction"),
        "measured-to-simulated": (error.back, "mean of the other"),
    }
    return [
        *rows,
        mean,
        *(Measurement(f"{name}-{what}-{kind}", 1e3 * value, "mm", source=s) for what, (value, s) in others.items()),
    ]


class LatticeFit(Fit):
    """States of a lattice.

    Args:
        rod: The lattice.
        measured: The measured surface; without it only the tip is compared.
    """

    moduli, exact = (55e3, 110e3), 300.0

    def __init__(self, rod: Rod, measured: TriangleMesh | None) -> None:
        super().__init__(measured)
        self._rod = rod
        self._skin = Skin(rod.body, rod.skin.vertices)
        self._tip = Skin(rod.body, np.array([[0.0, 0.0, LENGTH]]))
        self._positions: np.ndarray | None = None

    def settled(self, pull: float) -> tuple[TriangleMesh, np.ndarray]:
        """Surface and tip [m] at rest under a gravity."""
        rod = self._rod
        self._positions = still = equilibrium(
            rod.body, gravity=(0.0, -pull, 0.0), start=self._positions, volume=rod.volume, tolerance=1e-5
        )
        return TriangleMesh(self._skin.deformed(still), rod.skin.triangles), self._tip.deformed(still)[0]


def _grid(pitch: float) -> tuple[Lattice, np.ndarray]:
    """Cells that the cylinder touches, and how much of each it fills: steps would make it up to 10 % too thick."""
    count = 2 * int(np.ceil(RADIUS / pitch))
    corner = np.array([-count * pitch / 2, -count * pitch / 2, 0.0])
    steps = (np.arange(8) + 0.5) * pitch / 8
    x, y = (corner[0] + pitch * np.arange(count)[:, None] + steps for _ in range(2))
    inside = np.hypot(x[:, None, :, None], y[None, :, None, :]) < RADIUS
    shares = np.repeat(inside.mean(axis=(2, 3))[:, :, None], round(LENGTH / pitch), axis=2)
    return Lattice(shares > 0.1, pitch, corner), shares


def _voxels(name: str, pitch: float, share_of_springs: float = 1.0) -> Rod:
    """A cubic lattice whose border cells are as stiff and heavy as the part of them that is inside."""
    grid, shares = _grid(pitch)
    links, kinds = grid.links
    constants = lattice_stiffness(material("silicone-marchal").youngs_modulus * share_of_springs, pitch)
    parts = grid.link_means(shares)
    masses = grid.node_sums(shares)
    body = springs.Body(
        positions=grid.nodes,
        masses=masses * (MASS / masses.sum()),
        springs=links,
        rest_lengths=pitch * np.sqrt(kinds.astype(float)),
        stiffness=parts * np.choose(kinds - 1, constants),
        volumes=grid.node_sums(shares * pitch**3),
        triangles=grid.surface,
    )
    return Rod(name, body.fix(lambda p: p[:, 2] < 0.5 * pitch), None, skin(pitch))


def _voxels_volume(name: str, pitch: float) -> Rod:
    """The same with a volume term, for the material's Poisson's ratio of 0.49."""
    silicone = material("silicone-marchal")
    modulus, kappa = split_moduli(silicone)
    rod = _voxels(name, pitch, modulus / silicone.youngs_modulus)
    grid, shares = _grid(pitch)
    return Rod(name, rod.body, VolumeTerm(grid, kappa * shares), rod.skin)


def _quasi(name: str, pitch: float) -> Rod:
    """Two spacings longer than the cylinder: masses without order are held by a slab of them, not by a plane."""
    spacing = pitch / 1.25  # the mean distance of masses is then about the pitch
    held = 2 * spacing
    shape = CylinderShape(RADIUS, LENGTH + held, center=(0.0, 0.0, (LENGTH - held) / 2))
    body = quasi_lattice(shape, spacing, "silicone-marchal", mass=MASS * (1 + held / LENGTH))
    return Rod(name, body.fix(lambda p: p[:, 2] < 0.0), None, skin(pitch))

"""What a user may trust: mechanical tests of every kind of lattice against the material's Young's modulus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.progress import Progress
from annelid.materials import Material, material
from annelid.shapes import Box, Shape
from annelid.shapes.lattice import Lattice
from annelid.springs.quasi import quasi_lattice
from annelid.springs.stiffness import lattice_modulus
from annelid.studies.bars import Bar
from annelid.studies.plots import COLORS, figure

POISSON = 0.25
"""Of every isotropic network of springs."""
DIRECTIONS = {"100": (1.0, 0.0, 0.0), "110": (1.0, 1.0, 0.0), "111": (1.0, 1.0, 1.0)}
"""Directions of tension, as seen from the cells of a cubic lattice."""
CALIBRATED = ("voxel", "quasi-uniform")
"""Kinds that are to have the material's modulus."""
_EXACT = {"voxel-tension-100", "voxel-shear", "voxel-poisson"}  # no surface and no curvature that the cells could miss
_TOLERANCE = 0.08  # of 6 cells across; bending and torsion err by about 1.3 and 1.6 over the squared number of cells
_WIDTH, _SLENDER = 0.04, 5  # width of the bars [m], and their length in widths

Builder = Callable[[Shape, float, Material], springs.Body]


@dataclass(frozen=True, eq=False)
class Found:
    """Ratios of measured to true moduli, by kind of lattice and test, and the tests of bending at rising resolution."""

    ratios: dict[str, dict[str, float]]
    poisson: dict[str, float]
    bending: dict[str, dict[int, float]]


@dataclass(frozen=True)
class Materials:
    """Tension, shear, torsion and bending of bars made of every kind of lattice."""

    name: ClassVar[str] = "materials"

    quick: bool = False
    """Coarser bars."""

    @property
    def cells(self) -> int:
        """Cells across the bars."""
        return 6 if self.quick else 10

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Test all kinds."""
        ratios: dict[str, dict[str, float]] = {}
        poisson, bending = {}, {}
        for kind in KINDS:
            ratios[kind], poisson[kind] = self._tests(kind)
            counts = (2, 4, 6, 8) if self.quick else (2, 4, 6, 8, 10, 12)
            bending[kind] = {n: _bar(kind, "100", n).bending() / _matter().youngs_modulus for n in counts}
            progress.say(f"{kind}: tested")
        return Found(ratios, poisson, bending)

    def measure(self, found: Found) -> list[Measurement]:
        """Moduli over those of the material."""
        rows = []
        for kind, ratios in found.ratios.items():
            rows += [_judged(kind, test, value, 1.0) for test, value in ratios.items()]
            rows.append(_judged(kind, "poisson", found.poisson[kind], POISSON))
            for count, value in found.bending[kind].items():
                rows.append(Measurement(f"{kind}-bending-{count}-cells", value, source="of the material"))
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """All ratios, and bending against resolution."""
        return [figure(folder / "materials.png", lambda axes: _draw(axes, found), size=(10.0, 4.0), grid=(1, 2))]

    def _tests(self, kind: str) -> tuple[dict[str, float], float]:
        modulus = _matter().youngs_modulus
        shear = modulus / (2 * (1 + POISSON))
        bars = {name: _bar(kind, name, self.cells) for name in DIRECTIONS}
        tension = {name: bar.tension() for name, bar in bars.items()}
        straight = bars["100"]
        ratios = {f"tension-{name}": value[0] / modulus for name, value in tension.items()}
        ratios["shear"] = straight.shear() / shear
        ratios["torsion"] = straight.torsion() / shear
        ratios["bending"] = straight.bending() / modulus
        return ratios, tension["100"][1]


def _judged(kind: str, test: str, value: float, reference: float) -> Measurement:
    name = f"{kind}-{test}"
    tolerance = (1e-3 if name in _EXACT else _TOLERANCE) * reference if kind in CALIBRATED else None
    source = "of the material" if test != "poisson" else "isotropic network of springs"
    return Measurement(name, value, "", reference, tolerance, source)


def _matter() -> Material:
    return material("dragon-skin-30")


def _bar(kind: str, direction: str, cells: int) -> Bar:
    """A bar of a kind of lattice along a direction of its cells."""
    axis = np.array(DIRECTIONS[direction]) / np.linalg.norm(DIRECTIONS[direction])
    pitch, length = _WIDTH / cells, _SLENDER * _WIDTH
    shape: Shape = Box((length, _WIDTH, _WIDTH))
    turn = np.cross([1.0, 0.0, 0.0], axis)
    side = np.array([0.0, 1.0, 0.0])
    if np.linalg.norm(turn) > 1e-9:
        angle = float(np.arccos(axis[0]))
        shape = shape.surface().rotated(turn, angle)
        unit = turn / np.linalg.norm(turn)
        side = side * np.cos(angle) + np.cross(unit, side) * np.sin(angle) + unit * (unit @ side) * (1 - np.cos(angle))
    grip = 1.0 * pitch if direction != "100" or kind == "quasi-uniform" else 0.5 * pitch
    return Bar(KINDS[kind](shape, pitch, _matter()), axis, side, length, _WIDTH, grip)


def _voxel(shape: Shape, pitch: float, matter: Material) -> springs.Body:
    return springs.lattice(shape, pitch, matter)


def _quasi(shape: Shape, pitch: float, matter: Material) -> springs.Body:
    return quasi_lattice(shape, pitch / 1.25, matter)  # the mean distance of masses is then about the pitch


def _cronos(shape: Shape, pitch: float, matter: Material) -> springs.Body:
    """Constants k = c / L for every spring, as Cronos and Titan do, with c such that the bulk has E along its edges."""
    grid = Lattice.fill(shape, pitch)
    links, kinds = grid.links
    lengths = pitch * np.sqrt(kinds.astype(float))
    plain = lattice_modulus((1.0, 1 / np.sqrt(2.0), 1 / np.sqrt(3.0)), pitch)
    constants = (matter.youngs_modulus / plain) * pitch / lengths
    volumes = grid.node_sums(np.full(grid.cells.shape, pitch**3))
    return springs.Body(grid.nodes, matter.density * volumes, links, lengths, constants, volumes=volumes)


KINDS: dict[str, Builder] = {"voxel": _voxel, "quasi-uniform": _quasi, "voxel-cronos": _cronos}
"""Kinds of lattice: calibrated cubic, quasi-uniform, and cubic with stiffness over length as the papers have it."""


def _draw(axes: Any, found: Found) -> None:
    bars, curves = axes[0]
    tests = list(next(iter(found.ratios.values())))
    for number, ((kind, ratios), color) in enumerate(zip(found.ratios.items(), COLORS, strict=False)):
        places = np.arange(len(tests)) + 0.27 * (number - 1)
        bars.bar(places, [ratios[test] for test in tests], 0.25, color=color, label=kind)
        curves.plot(list(found.bending[kind]), list(found.bending[kind].values()), "o-", color=color, label=kind)
    bars.set_xticks(range(len(tests)), tests, rotation=30, ha="right")
    bars.set(ylabel="modulus / that of the material", ylim=(0.0, 2.0))
    curves.set(xlabel="cells across the bar", ylabel="bending modulus / that of the material", ylim=(0.8, 2.0))
    for axis in (bars, curves):
        axis.axhline(1.0, color="0.3", linewidth=0.8)
        axis.legend(fontsize=7)

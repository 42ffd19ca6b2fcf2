"""What a user may trust: mechanical tests of every kind of lattice against the material's Young's modulus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.specimens import DIRECTIONS, KINDS, MATTER, SPRINGS_POISSON, specimen

_EXACT = {  # no surface and no curvature that the cells could miss
    f"{kind}-{test}" for kind in ("voxel", "voxel-volume") for test in ("tension-100", "shear", "poisson")
}
_TOLERANCE = 0.08  # of 6 cells across; bending and torsion err by about 1.3 and 1.6 over the squared number of cells
_CUBE = 4  # cells across the cube that is compressed


@dataclass(frozen=True, eq=False)
class Found:
    """What the tests gave, by kind of lattice.

    Attributes:
        ratios: Measured over true modulus of each test.
        poisson: Poisson's ratio.
        collapse: Compressive strain that it bears, and the largest one that was tried.
        bending: Measured over true modulus of bending, by number of cells across.
    """

    ratios: dict[str, dict[str, float]]
    poisson: dict[str, float]
    collapse: dict[str, tuple[float, float]]
    bending: dict[str, dict[int, float]]


@dataclass(frozen=True)
class Materials(Checked):
    """Tension, shear, torsion, bending and compression of bars made of every kind of lattice."""

    name: ClassVar[str] = "materials"

    quick: bool = parameter(False, "Coarser bars.")

    @property
    def cells(self) -> int:
        """Cells across the bars."""
        return 6 if self.quick else 10

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Test all kinds."""
        found = Found({}, {}, {}, {})
        counts = (2, 4) if self.quick else (2, 4, 6, 8, 12)
        for kind in KINDS:
            found.ratios[kind], found.poisson[kind] = self._tests(kind)
            bending = {n: specimen(kind, "100", n).bending() / MATTER.youngs_modulus for n in counts}
            found.bending[kind] = dict(sorted((bending | {self.cells: found.ratios[kind]["bending"]}).items()))
            found.collapse[kind] = specimen(kind, "100", _CUBE, slender=1).collapse()
            progress.say(f"{kind}: tested")
        return found

    def measure(self, found: Found) -> list[Measurement]:
        """Moduli over those of the material."""
        rows = []
        for kind, ratios in found.ratios.items():
            rows += [_judged(kind, test, value, 1.0) for test, value in ratios.items()]
            rows.append(_judged(kind, "poisson", found.poisson[kind], KINDS[kind].poisson))
            borne, most = found.collapse[kind]
            source = f"compression of a cube until it yields a third of its force; at most {100 * most:.0f} % tried"
            rows.append(Measurement(f"{kind}-collapse", 100 * borne, "%", source=source))
            for count, value in found.bending[kind].items():
                rows.append(Measurement(f"{kind}-bending-{count}-cells", value, source="of the material"))
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """All ratios, and bending against resolution."""
        return [figure(folder / "materials.png", lambda axes: _draw(axes, found), size=(10.0, 4.0), grid=(1, 2))]

    def _tests(self, kind: str) -> tuple[dict[str, float], float]:
        modulus = MATTER.youngs_modulus
        shear = modulus / (2 * (1 + KINDS[kind].poisson))
        bars = {name: specimen(kind, name, self.cells) for name in DIRECTIONS}
        tension = {name: bar.tension() for name, bar in bars.items()}
        straight = bars["100"]
        ratios = {f"tension-{name}": value[0] / modulus for name, value in tension.items()}
        ratios["shear"] = straight.shear() / shear
        ratios["torsion"] = straight.torsion() / shear
        ratios["bending"] = straight.bending() / modulus
        return ratios, tension["100"][1]


def _judged(kind: str, test: str, value: float, reference: float) -> Measurement:
    name = f"{kind}-{test}"
    tolerance = (1e-3 if name in _EXACT else _TOLERANCE) * reference if KINDS[kind].calibrated else None
    of_springs = test == "poisson" and reference == SPRINGS_POISSON
    source = "isotropic network of springs" if of_springs else "of the material"
    return Measurement(name, value, "", reference, tolerance, source)


def _draw(axes: Any, found: Found) -> None:
    bars, curves = axes[0]
    tests = list(next(iter(found.ratios.values())))
    width = 0.8 / len(found.ratios)
    for number, ((kind, ratios), color) in enumerate(zip(found.ratios.items(), COLORS, strict=False)):
        places = np.arange(len(tests)) + width * (number - (len(found.ratios) - 1) / 2)
        bars.bar(places, [ratios[test] for test in tests], 0.9 * width, color=color, label=kind)
        curves.plot(list(found.bending[kind]), list(found.bending[kind].values()), "o-", color=color, label=kind)
    bars.set_xticks(range(len(tests)), tests, rotation=30, ha="right")
    bars.set(ylabel="modulus / that of the material", ylim=(0.0, 2.6))
    curves.set(xlabel="cells across the bar", ylabel="bending modulus / that of the material", ylim=(0.8, 2.0))
    for axis in (bars, curves):
        axis.axhline(1.0, color="0.3", linewidth=0.8)
        axis.legend(fontsize=7)

"""Frequencies of cantilevers against beam theory (Cronos, Fig. 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.studies.support.beams import Cantilever, vibrate
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.signals import exponent, peak_frequency, zero_crossing_frequency

INTEGRATORS = ("symplectic", "verlet", "rk4")
THEORY = {"length": -2.0, "height": 1.0, "width": 0.0}
"""Exponents of the frequency of a thin beam."""
_TOLERANCE = {"length": 0.05, "height": 0.05, "width": 0.03}
_THIN = 10.0  # length over height from which on shear may be left out
_LENGTH, _HEIGHT = 0.32, 0.032  # of the base beam [m]: 5 Hz in thermoplastic polyurethane


@dataclass(frozen=True)
class Reading:
    """What one beam did under one integrator: frequencies [Hz] by passages through zero and by Fourier transform."""

    beam: Cantilever
    crossings: float
    transform: float


@dataclass(frozen=True, eq=False)
class Found:
    """Readings by series and integrator, those of thick beams, and those of one beam at rising resolution."""

    series: dict[str, dict[str, list[Reading]]]
    thick: list[Reading]
    resolution: list[Reading]


@dataclass(frozen=True)
class BeamFrequency(Checked):
    """Cantilevers of varied length, width and height vibrate; their frequencies stand beside beam theory."""

    name: ClassVar[str] = "beam-frequency"

    quick: bool = parameter(False, "Fewer and coarser beams.")

    @property
    def cells(self) -> int:
        """Cells along the height."""
        return 4 if self.quick else 6

    def series(self) -> dict[str, list[Cantilever]]:
        """Beams of which one dimension varies; the number of cells along the height stays, so that only size counts."""
        lengths, widths = (1.0, 1.25, 1.5), (1, 2)
        heights = (1.0, 0.8) if self.quick else (1.0, 0.8, 2 / 3)
        base = self.cells // 2
        return {
            "length": [self._beam(length=x) for x in lengths],
            "height": [self._beam(height=x, width_cells=round(base / x)) for x in heights],
            "width": [self._beam(width_cells=base * x) for x in widths],
        }

    def thick(self) -> list[Cantilever]:
        """Short beams, for Timoshenko's theory."""
        return [self._beam(length=x) for x in ((0.5,) if self.quick else (0.3, 0.5))]

    def resolution(self) -> list[Cantilever]:
        """The base beam with rising numbers of cells."""
        counts = (2, 4, 6) if self.quick else (2, 4, 6, 8)
        return [self._beam(cells=n, width_cells=n // 2) for n in counts]

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Let the varied beams vibrate under all integrators, the others under Verlet's."""
        series, thick, resolution = self.series(), self.thick(), self.resolution()
        varied = {beam for beams in series.values() for beam in beams}
        readings = {
            name: self._read(
                varied.union(thick, resolution) if name == "verlet" else varied, name, device, threads, progress
            )
            for name in INTEGRATORS
        }
        by_series = {
            kind: {name: [readings[name][beam] for beam in beams] for name in INTEGRATORS}
            for kind, beams in series.items()
        }
        verlet = readings["verlet"]
        return Found(by_series, [verlet[beam] for beam in thick], [verlet[beam] for beam in resolution])

    def measure(self, found: Found) -> list[Measurement]:
        """Exponents, absolute frequencies, thick beams, and convergence with the number of cells."""
        rows: list[Measurement] = []
        for kind, by_integrator in found.series.items():
            for name, readings in by_integrator.items():
                sizes = np.array([getattr(r.beam, kind) for r in readings])
                value = exponent(sizes, np.array([r.crossings for r in readings]))
                rows.append(
                    Measurement(f"{kind}-exponent-{name}", value, "", THEORY[kind], _TOLERANCE[kind], "Euler-Bernoulli")
                )
        return [*rows, *self._absolute(found), *self._thick(found), *self._convergence(found)]

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Fig. 5, with absolute frequencies, and the convergence."""
        path = figure(folder / "beam-frequency.png", lambda axes: _draw(axes, found), size=(9.5, 7.0), grid=(2, 2))
        return [path]

    def _beam(
        self, *, length: float = 1.0, height: float = 1.0, cells: int | None = None, width_cells: int | None = None
    ) -> Cantilever:
        count = cells or self.cells
        return Cantilever(
            material("tpu"),
            length * _LENGTH,
            height * _HEIGHT,
            count,
            count // 2 if width_cells is None else width_cells,
        )

    def _read(
        self,
        beams: Iterable[Cantilever],
        integrator: str,
        device: wp.Device,
        threads: int | None,
        progress: Progress,
    ) -> dict[Cantilever, Reading]:
        """Beams of equal pitch vibrate side by side."""
        by_pitch: dict[float, list[Cantilever]] = defaultdict(list)
        for beam in sorted(beams, key=lambda b: (b.pitch, b.length, b.width_cells)):
            by_pitch[round(beam.pitch, 12)].append(beam)
        readings: dict[Cantilever, Reading] = {}
        for together in by_pitch.values():
            motion = vibrate(together, integrator, device, threads)
            for beam, tip in zip(together, motion.tips.T, strict=True):
                frequencies = zero_crossing_frequency(motion.times, tip), peak_frequency(motion.times, tip)
                readings[beam] = Reading(beam, *frequencies)
            labels = ", ".join(beam.label for beam in together)
            progress.say(f"{integrator}, dt = {motion.dt:.3g} s: beams of {labels} mm")
        return readings

    def _absolute(self, found: Found) -> list[Measurement]:
        rows = {}
        for by_integrator in found.series.values():
            for name, readings in by_integrator.items():
                for reading in readings:
                    theory = reading.beam.euler_bernoulli()
                    row = Measurement(
                        f"frequency-{reading.beam.label}-{name}",
                        reading.crossings,
                        "Hz",
                        theory,
                        0.05 * theory,
                        f"Euler-Bernoulli, L/H = {reading.beam.slenderness:.3g}",
                    )
                    if reading.beam.slenderness >= _THIN - 1e-9:
                        rows[row.name] = row
        worst = max(
            abs(r.transform / r.crossings - 1.0) for by in found.series.values() for rs in by.values() for r in rs
        )
        source = "Fourier transform against passages through zero"
        return [*rows.values(), Measurement("methods-differ", 100 * worst, "%", 1.0, None, source, "at-most")]

    def _thick(self, found: Found) -> list[Measurement]:
        return [
            Measurement(
                f"thick-{r.beam.label}-verlet",
                r.crossings,
                "Hz",
                r.beam.timoshenko(),
                0.05 * r.beam.timoshenko(),
                f"Timoshenko, L/H = {r.beam.slenderness:.3g}; Euler-Bernoulli {r.beam.euler_bernoulli():.4g} Hz",
            )
            for r in found.thick
        ]

    def _convergence(self, found: Found) -> list[Measurement]:
        cells, errors = _errors(found.resolution)
        rows = [
            Measurement(f"error-{n}-cells", 100 * e, "%", source="above Timoshenko, L/H = 10")
            for n, e in zip(cells, errors, strict=True)
        ]
        slope = -exponent(cells, errors)
        return [*rows, Measurement("convergence-order", slope, "", 2.0, 0.5, "trapezoidal rule across the height")]


def _errors(readings: list[Reading]) -> tuple[np.ndarray, np.ndarray]:
    """Cells along the height, and how far the frequency is above theory."""
    cells = np.array([r.beam.cells for r in readings])
    return cells, np.array([r.transform / r.beam.timoshenko() - 1.0 for r in readings])


def _draw(axes: Any, found: Found) -> None:
    markers = {"symplectic": "o", "verlet": "x", "rk4": "+"}
    for axis, (kind, by_integrator) in zip(axes.ravel(), found.series.items(), strict=False):
        beams = [r.beam for r in next(iter(by_integrator.values()))]
        sizes = np.array([1e3 * getattr(b, kind) for b in beams])
        theory = [b.euler_bernoulli() for b in beams]
        order = np.argsort(sizes)
        smooth = np.linspace(sizes.min(), sizes.max(), 100)
        curve = theory[0] * (smooth / sizes[0]) ** THEORY[kind]
        axis.plot(smooth, curve, color="0.4", label="Euler-Bernoulli")
        for (name, readings), color in zip(by_integrator.items(), COLORS, strict=False):
            values = np.array([r.crossings for r in readings])
            style = {"marker": markers[name], "linestyle": "none", "markersize": 9, "fillstyle": "none"}
            axis.plot(sizes[order], values[order], color=color, label=name, **style)
        axis.set(xlabel=f"{kind} [mm]", ylabel="frequency [Hz]", ylim=(0.0, 1.25 * max(theory)))
        axis.legend()
    cells, errors = _errors(found.resolution)
    last = axes.ravel()[-1]
    last.loglog(cells, 100 * errors, "o-", color=COLORS[0], label="verlet")
    last.loglog(cells, 100 * errors[0] * (cells[0] / cells) ** 2, "--", color="0.4", label="second order")
    last.set(xlabel="cells along the height", ylabel="above Timoshenko [%]")
    last.set_xticks(cells, [str(n) for n in cells])
    ticks = [t for t in (0.5, 1, 2, 5, 10, 20) if 100 * errors.min() / 2 < t < 200 * errors.max()]
    last.set_yticks(ticks, [str(t) for t in ticks])
    last.minorticks_off()
    last.legend()

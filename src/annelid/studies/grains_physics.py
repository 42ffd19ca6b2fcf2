"""Grains against closed forms and laws of granular matter: inclines, bounces, gases, packing, columns, silos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.grains import Grain
from annelid.scenes.column import Column, bead_height_law, height_law, run_out_law
from annelid.scenes.hopper import LOST, Hopper
from annelid.studies.support.grain_beds import (
    Collapse,
    Drop,
    Outflow,
    collapse,
    discharge,
    dropped_ball,
    packings,
    reposes,
)
from annelid.studies.support.grain_laboratory import EXPERIMENTS, laboratory
from annelid.studies.support.granular_gas import Cooling, cooling
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.tall_silos import Pressures, silo_pressures

_LUBE, _BEADS = "Lube et al. 2004", "Lajeunesse et al. 2005, glass beads"
_LINEAR = 1.7  # aspect ratio below which the run-out grows with it, and above which with its root


@dataclass(frozen=True, eq=False)
class Found:
    """What came out of all experiments.

    Attributes:
        closed: Measurements of the experiments with closed forms.
        frictions: Friction of the poured beds, shape [k].
        packings: Their packing, shape [k].
        materials: Friction and rolling resistance in the drums, shape [m, 2].
        reposes: Angles of repose there [rad], shape [m].
        drop: The ball dropped into a bed.
        columns: The columns, by aspect ratio.
        silos: The silos, by opening.
        gases: Gases that cool, by restitution.
        pressures: What the floors of tall silos bear.
    """

    closed: list[Measurement]
    frictions: np.ndarray
    packings: np.ndarray
    materials: np.ndarray
    reposes: np.ndarray
    drop: Drop
    columns: list[Collapse]
    silos: list[Outflow]
    gases: list[Cooling]
    pressures: Pressures


@dataclass(frozen=True)
class GrainsPhysics(Checked):
    """Grains slide, roll, bounce, cool, pack, collapse and fill silos as closed forms and measured laws say."""

    name: ClassVar[str] = "grains-physics"

    quick: bool = parameter(False, "Smaller columns and silos, and fewer of them; they are then reported, not judged.")
    friction: float = parameter(0.5, "Coulomb friction of the columns and silos.", least=0.0)
    rolling: float = parameter(
        0.15, "Rolling resistance of the columns and silos, which stands for grains that are not round.", least=0.0
    )
    width: float = parameter(20.0, "Radius of the columns in grain diameters.", above=0.0)
    aspects: tuple[float, ...] = parameter((0.5, 1.0, 1.5, 2.0, 3.0), "Aspect ratios of the columns.", above=0.0)

    def columns(self) -> list[Column]:
        """The columns to collapse."""
        aspects, width = ((1.0, 2.0), 8.0) if self.quick else (self.aspects, self.width)
        return [Column(aspect=a, width=width, friction=self.friction, rolling=self.rolling, pause=0.3) for a in aspects]

    def silos(self) -> list[tuple[Hopper, float]]:
        """Silos with a flat bottom, and how long they run [s]."""
        openings = (8.0,) if self.quick else (8.0, 10.0, 12.0, 14.0, 16.0)
        width, filling = (20.0, 12.0) if self.quick else (36.0, 20.0)
        shared: dict[str, Any] = {
            "friction": self.friction,
            "rolling": self.rolling,
            "slope": 0.0,
            "width": width,
            "filling": filling,
        }
        return [(Hopper(opening=opening, **shared), 0.8) for opening in openings]

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Run all experiments."""
        where: dict[str, Any] = {"device": device, "threads": threads}
        tracks = laboratory(EXPERIMENTS, **where)
        closed = [row for experiment, track in zip(EXPERIMENTS, tracks, strict=True) for row in experiment.judge(track)]
        progress.say(f"closed forms: {sum(bool(row.passed) for row in closed)} of {len(closed)} hold")
        gases = [cooling(e, side=8 if self.quick else 12, **where) for e in ((0.8,) if self.quick else (0.9, 0.8))]
        progress.say("gases cool at " + ", ".join(f"{gas.found / gas.rate:.3f}" for gas in gases) + " of the rate")
        pressures = silo_pressures((10.0, 20.0) if self.quick else (12.0, 20.0, 32.0, 50.0, 72.0), **where)
        progress.say("tall silos: floors bear " + ", ".join(f"{share:.2f}" for share in pressures.shares))
        frictions = np.array([0.0, 0.5, 1.0] if self.quick else [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 10.0])
        packed = packings(tuple(frictions), side=8 if self.quick else 12, **where)
        progress.say("packing " + ", ".join(f"{p:.3f} at {f:g}" for f, p in zip(frictions, packed, strict=True)))
        materials = np.array([(0.2, 0.0), (0.5, 0.0), (0.5, 0.15)])
        angles = reposes(
            [Grain(friction=f, rolling=r) for f, r in materials], width=20.0 if self.quick else 32.0, **where
        )
        progress.say("repose " + ", ".join(f"{a:.1f}" for a in np.degrees(angles)) + " degrees")
        drop = dropped_ball(**where, side=10 if self.quick else 14)
        progress.say(f"ball: {drop.missing.max() / drop.scale:.2g} of its momentum is not accounted for")
        silos = []
        for silo, seconds in self.silos():
            silos.append(discharge(silo, seconds, **where))
            progress.say(f"silo of {silo.opening:g} d: {silos[-1].rate:.3g} kg/s, law {silos[-1].law:.3g}")
        columns = []
        for column in self.columns():
            columns.append(collapse(column, **where))
            progress.say(f"column of {columns[-1].aspect:.2f}: run-out {columns[-1].run_out:.2f}")
        return Found(closed, frictions, packed, materials, angles, drop, columns, silos, gases, pressures)

    def measure(self, found: Found) -> list[Measurement]:
        """Numbers beside what they should be."""
        return [
            *found.closed,
            *_gas_rows(found.gases),
            *_packing_rows(found.frictions, found.packings),
            *_repose_rows(found.materials, found.reposes),
            *_drop_rows(found.drop),
            *self._column_rows(found.columns),
            *self._silo_rows(found.silos),
            *_pressure_rows(found.pressures),
        ]

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Packing, the ball, gases, run-outs and heights of columns, outflow, and what floors of silos bear."""
        return [figure(folder / "grains-physics.png", lambda axes: _draw(axes, found), size=(14.0, 6.5), grid=(2, 3))]

    def _column_rows(self, columns: Sequence[Collapse]) -> list[Measurement]:
        rows = []
        for column in columns:
            law, label = run_out_law(column.aspect), f"column-{column.aspect:.2f}"
            near = None if self.quick else 0.15 * law
            rows.append(Measurement(f"{label}-run-out", column.run_out, "radii", law, near, _LUBE))
            beads, sand = bead_height_law(column.aspect), height_law(column.aspect)
            near = None if self.quick else 0.15 * beads  # grains are spheres
            rows.append(Measurement(f"{label}-height", column.height, "radii", beads, near, _BEADS))
            rows.append(Measurement(f"{label}-height-of-sand", sand, "radii", source=_LUBE))
            rows.append(Measurement(f"{label}-slope", math.degrees(column.angle), "deg"))
            rows.append(Measurement(f"{label}-strays", column.strays / column.grains, "", source="share of grains"))
        return rows + _column_fits(columns)

    def _silo_rows(self, silos: Sequence[Outflow]) -> list[Measurement]:
        """Each rate, and the constant C that fits them all with k = 1.45."""
        rows = [
            Measurement(f"silo-{silo.opening:g}d", silo.rate, "kg/s", silo.law, None, "Beverloo et al. 1961")
            for silo in silos
        ]
        constant = 0.58 * float(np.mean([silo.rate / silo.law for silo in silos]))
        near = None if self.quick else 0.1
        rows.append(Measurement("beverloo-constant", constant, "", 0.58, near, "k = 1.45, φ = 0.59"))
        return rows + _beverloo_fit(silos)


def _beverloo_fit(silos: Sequence[Outflow]) -> list[Measurement]:
    """Both constants of W = C ρ √g (D − k d)^(5/2), by the line that W^(2/5) is over D, and how far it is missed."""
    if len(silos) < 3:
        return []
    openings = np.array([silo.opening for silo in silos])
    rates = np.array([silo.rate / silo.law for silo in silos])  # of C = 0.58 and k = LOST
    slope, start = np.polyfit(openings, rates**0.4 * (openings - LOST), 1)
    missed = np.abs((slope * openings + start) ** 2.5 / (rates * (openings - LOST) ** 2.5) - 1.0).max()
    return [
        Measurement("beverloo-fit-constant", 0.58 * float(slope) ** 2.5, "", 0.6, 0.1, "0.55 to 0.65"),
        Measurement("beverloo-fit-lost", float(-start / slope), "d", 1.45, 0.6, "1.4 for spheres, more for sand"),
        Measurement("beverloo-fit-misses", float(missed), "", 0.05, bound="at-most", source="by its largest part"),
    ]


def _gas_rows(gases: Sequence[Cooling]) -> list[Measurement]:
    rows = []
    for gas in gases:
        label = f"haff-restitution-{gas.restitution:g}"
        rows.append(Measurement(f"{label}-rate", gas.found / gas.rate, "", 1.0, 0.05, "Haff 1983, Enskog's rate"))
        rows.append(Measurement(f"{label}-bend", gas.bend, "", 0.05, bound="at-most", source="1/√T grows by a line"))
    return rows


def _pressure_rows(pressures: Pressures) -> list[Measurement]:
    lengths = pressures.lengths
    spread = float(np.ptp(lengths) / lengths.mean())
    return [
        Measurement("janssen-length", float(lengths.mean()) / pressures.radius, "radii"),
        Measurement("janssen-spread", spread, "", 0.2, bound="at-most", source="of that length, over all heights"),
        Measurement("janssen-redirected", pressures.redirected, "", 0.65, 0.25, "measured: 0.4 to 0.9"),
        Measurement("janssen-borne-by-walls", 1.0 - float(pressures.shares[-1]), source="of the tallest filling"),
    ]


def _packing_rows(frictions: np.ndarray, packed: np.ndarray) -> list[Measurement]:
    known = {0.0: (0.64, 0.015), 0.5: (0.59, 0.015)}
    rows = []
    for friction, value in zip(frictions, packed, strict=True):
        reference, tolerance = known.get(float(friction), (None, None))
        rows.append(Measurement(f"packing-friction-{friction:g}", float(value), "", reference, tolerance, "random"))
    falls = float(np.diff(packed).max(initial=-1.0))
    return [*rows, Measurement("packing-rises-with-friction", falls, "", 0.003, bound="at-most", source="it falls")]


def _repose_rows(materials: np.ndarray, angles: np.ndarray) -> list[Measurement]:
    """Not judged one by one: the friction of glass beads is not known well enough. Each must be steeper."""
    rows = []
    for (friction, rolling), angle in zip(materials, np.degrees(angles), strict=True):
        label = f"repose-friction-{friction:g}-rolling-{rolling:g}"
        rows.append(Measurement(label, float(angle), "deg", source="glass beads: 22 to 26"))
    rise = float(np.degrees(np.diff(angles).min(initial=math.inf)))
    return [*rows, Measurement("repose-rise", rise, "deg", 0.0, bound="at-least", source="with either friction")]


def _drop_rows(drop: Drop) -> list[Measurement]:
    return [
        Measurement(
            "ball-momentum-missing", float(drop.missing.max()) / drop.scale, "", 1e-3, bound="at-most",
            source="of the ball's",
        ),
        Measurement("ball-speed-at-end", float(drop.speeds[-1]), "m/s", 0.01, bound="at-most", source="at rest"),
        Measurement("ball-depth", drop.surface - float(drop.heights[-1]), "m"),
    ]  # fmt: skip


def _column_fits(columns: Sequence[Collapse]) -> list[Measurement]:
    """Constants of Lube's laws: Δr = c a r₀ for low columns, c √a r₀ for high ones."""
    rows = []
    for name, chosen, power, law in (
        ("column-fit-low", [c for c in columns if c.aspect < _LINEAR], 1.0, 1.24),
        ("column-fit-high", [c for c in columns if c.aspect >= _LINEAR], 0.5, 1.6),
    ):
        if chosen:
            x = np.array([c.aspect**power for c in chosen])
            y = np.array([c.run_out for c in chosen])
            rows.append(Measurement(name, float(x @ y / (x @ x)), "", law, None, _LUBE))
    return rows


def _draw(axes: Any, found: Found) -> None:
    packing, ball, gas, run_out, silo, tall = axes.ravel()
    packing.plot(np.maximum(found.frictions, 0.01), found.packings, "o-", color=COLORS[0])
    packing.axhline(0.64, color="0.6", linestyle=":")
    packing.axhline(0.55, color="0.6", linestyle=":")
    packing.set(xscale="log", xlabel="friction (0 at the left end)", ylabel="packing", title="poured beds")
    ball.plot(found.drop.times, found.drop.heights, color=COLORS[0], label="lowest point")
    ball.axhline(found.drop.surface, color="0.6", linestyle=":", label="surface of the bed")
    ball.set(xlabel="time [s]", ylabel="height [m]", title="a ball dropped into a bed")
    ball.legend(fontsize=7)
    grid = np.linspace(0.2, max(3.2, 1.05 * max(column.aspect for column in found.columns)), 200)
    run_out.plot(grid, [run_out_law(a) for a in grid], color="0.5", label="run-out, Lube")
    run_out.plot(grid, [height_law(a) for a in grid], color="0.5", linestyle=":", label="height, Lube")
    run_out.plot(grid, [bead_height_law(a) for a in grid], color="0.5", linestyle="--", label="height, beads")
    aspects = [column.aspect for column in found.columns]
    run_out.plot(aspects, [column.run_out for column in found.columns], "o", color=COLORS[0], label="run-out")
    run_out.plot(aspects, [column.height for column in found.columns], "s", color=COLORS[1], label="height")
    run_out.set(xlabel="height / radius", ylabel="run-out or height / radius", title="columns")
    run_out.legend(fontsize=7)
    openings = np.array([s.opening for s in found.silos])
    silo.plot(openings, [s.rate for s in found.silos], "o", color=COLORS[0], label="measured")
    wide = np.linspace(0.9 * openings.min(), 1.1 * openings.max(), 100)
    law = found.silos[0].law * ((wide - LOST) / (found.silos[0].opening - LOST)) ** 2.5
    silo.plot(wide, law, "-", color="0.5", label=f"Beverloo, C = 0.58, k = {LOST:g}")
    silo.set(xlabel="opening / grain diameter", ylabel="outflow [kg/s]", title="silos with a flat bottom")
    silo.legend(fontsize=7)
    for number, one in enumerate(found.gases):
        gas.plot(one.times, one.temperatures**-0.5, "o", color=COLORS[number], label=f"e = {one.restitution:g}")
        gas.plot(one.times, 1.0 + one.rate * one.times, "-", color="0.5")
    gas.set(xlabel="time [s]", ylabel="1/√T", title="gases that cool, and Haff's law")
    gas.legend(fontsize=7)
    depths, length = found.pressures.heights, float(found.pressures.lengths.mean())
    deep = np.linspace(0.2 * depths.min(), 1.05 * depths.max(), 100)
    radius = found.pressures.radius
    tall.plot(depths / radius, found.pressures.shares, "o", color=COLORS[0], label="measured")
    tall.plot(deep / radius, length / deep * (1.0 - np.exp(-deep / length)), "-", color="0.5", label="Janssen")
    tall.set(xlabel="filling / radius", ylabel="weight on the floor", title="tall silos")
    tall.legend(fontsize=7)

"""How accurate the finite elements are: closed forms, convergence orders, and the measured silicone cylinder.

The cases are next door: `fem_cases` holds those with a closed form, `fem_cylinder` the measured one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.fem_cases import (
    Case,
    cantilever_ratio,
    elastica,
    elastica_tip,
    manufactured_error,
    patch_error,
    rotation_force,
)
from annelid.studies.support.fem_cylinder import Rod, SolidFit
from annelid.studies.support.measured_cylinder import Fitted, fitted, read_reference
from annelid.studies.support.plots import COLORS, figure

_PUBLISHED = 0.63
_TABLE = "Cronos, Table 1: co-rotational tetrahedra"
_LOADS = (1.0, 2.0, 4.0, 7.0, 10.0)


@dataclass(frozen=True, eq=False)
class Found:
    """What was computed.

    Attributes:
        patch: Errors of the patch test, by elements.
        rotation: Forces of a rotated cube, by elements.
        manufactured: Cells along an edge and errors of the manufactured solution, by elements.
        cantilever: Cells along the thickness and deflections over Timoshenko's, by elements.
        elastica: Loads P L²/EI, and tips found and exact, shape [loads, 2] each.
        cylinder: The cylinder of several meshes, beside the measured one if that was given.
    """

    patch: dict[str, float]
    rotation: dict[str, float]
    manufactured: dict[str, tuple[np.ndarray, np.ndarray]]
    cantilever: dict[str, tuple[np.ndarray, np.ndarray]]
    elastica: tuple[np.ndarray, np.ndarray, np.ndarray]
    cylinder: Fitted


@dataclass(frozen=True)
class FemAccuracy(Checked):
    """Finite elements against closed forms, and against a measured silicone cylinder."""

    name: ClassVar[str] = "fem-accuracy"

    quick: bool = parameter(False, "Coarser meshes and fewer of them.")
    reference: Path | None = parameter(
        None, "The measured deformed surface, a closed mesh in metres; without it only the tip is compared."
    )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Run all cases."""
        measured = None if self.reference is None else read_reference(self.reference)
        cases = [Case(quadratic, device, threads) for quadratic in (False, True)]
        patch = {case.name: patch_error(case) for case in cases} | {"mean": patch_error(cases[0], volume="mean")}
        rotation = {case.name: rotation_force(case) for case in cases}
        progress.say("patch test and rotation: done")
        manufactured = {case.name: self._manufactured(case) for case in cases}
        progress.say("manufactured solution: done")
        cantilever = {case.name: self._cantilever(case) for case in cases}
        tips = [elastica_tip(cases[1], load) for load in self.loads]
        bent = np.array(self.loads), np.array([found for found, _ in tips]), np.array([exact for _, exact in tips])
        progress.say("cantilever and elastica: done")
        fits = {rod.name: SolidFit(rod, measured, device, threads) for rod in self.rods()}
        return Found(patch, rotation, manufactured, cantilever, bent, fitted(fits, measured, progress))

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads P L²/EI of the elastica."""
        return _LOADS[::2] if self.quick else _LOADS

    def rods(self) -> list[Rod]:
        """Meshes of the cylinder, from coarse to fine."""
        if self.quick:
            return [Rod(2, 1, 10), Rod(2, 1, 20), Rod(2, 1, 8, quadratic=True)]
        return [
            Rod(2, 1, 10),
            Rod(2, 1, 20),
            Rod(4, 1, 20),
            Rod(4, 2, 36),
            Rod(4, 2, 20, volume="plain"),
            Rod(2, 1, 8, quadratic=True),
            Rod(2, 1, 14, quadratic=True),
            Rod(4, 1, 16, quadratic=True),
        ]

    def measure(self, found: Found) -> list[Measurement]:
        """Numbers beside what they should be."""
        rows = [
            Measurement(f"patch-{name}", value, "", 1e-13, source="exact", bound="at-most")
            for name, value in found.patch.items()
        ]
        rows += [
            Measurement(f"rotation-force-{name}", value, "", 1e-13, source="of E times area", bound="at-most")
            for name, value in found.rotation.items()
        ]
        rows += [*self._orders(found), *self._beams(found), *self._cylinders(found)]
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Convergence, deflections, the cylinder's outline and the fitted modulus against refinement."""
        sheet = figure(folder / "fem-accuracy.png", lambda axes: _draw(axes, found), size=(11.0, 7.6), grid=(2, 3))
        return [sheet, found.cylinder.picture(list(found.cylinder.best)[-1], folder / "fem-cylinder.png")]

    def _manufactured(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        counts = ((2, 4) if self.quick else (2, 4, 6)) if case.quadratic else ((4, 8) if self.quick else (4, 8, 12))
        return np.array(counts), np.array([manufactured_error(case, count) for count in counts])

    def _cantilever(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        counts = ((1, 2) if case.quadratic else (2, 4)) if self.quick else ((1, 2) if case.quadratic else (2, 4, 6))
        return np.array(counts), np.array([cantilever_ratio(case, (10 * n, n, n)) for n in counts])

    def _orders(self, found: Found) -> list[Measurement]:
        rows = []
        for (name, (counts, errors)), order in zip(found.manufactured.items(), (2.0, 3.0), strict=True):
            slope = float(np.log(errors[-2] / errors[-1]) / np.log(counts[-1] / counts[-2]))
            rows.append(Measurement(f"order-{name}", slope, "", order, 0.2, "theory, in displacement"))
        return rows

    def _beams(self, found: Found) -> list[Measurement]:
        counts, ratios = found.cantilever["10-node"]
        rows = [Measurement(f"cantilever-10-node-{counts[-1]}", float(ratios[-1]), "", 1.0, 0.01, "Timoshenko")]
        rows += [
            Measurement(f"cantilever-linear-{count}", float(ratio), "", source="Timoshenko: 1; stiff in bending")
            for count, ratio in zip(*found.cantilever["linear"], strict=True)
        ]
        for load, tip, exact in zip(*found.elastica, strict=True):
            drop = Measurement(f"elastica-{load:g}-drop", float(tip[1] / exact[1]), "", 1.0, 0.01, "Euler's elastica")
            rows += [
                drop,
                Measurement(f"elastica-{load:g}-reach", float(tip[0] / exact[0]), "", 1.0, 0.01, drop.source),
            ]
        return rows

    def _cylinders(self, found: Found) -> list[Measurement]:
        rows = []
        for name, best in found.cylinder.best.items():
            rows.append(Measurement(f"{name}-modulus-fitted", 1e-3 * best.modulus, "kPa", source="nominal: 60 kPa"))
            rows.append(Measurement(f"{name}-tip-fitted", 1e3 * best.tip_distance, "mm"))
            if best.error is None:
                continue
            mean, nominal = 1e3 * best.error.mean, found.cylinder.nominal[name].error
            limit = None if "plain" in name else _PUBLISHED
            rows.append(Measurement(f"{name}-surface-fitted", mean, "mm", limit, source=_TABLE, bound="at-most"))
            if nominal is not None:
                rows.append(Measurement(f"{name}-surface-nominal", 1e3 * nominal.mean, "mm"))
        if found.cylinder.least_error is not None:
            least = 1e3 * found.cylinder.least_error
            rows.append(Measurement("best-surface-fitted", least, "mm", _PUBLISHED, source=_TABLE, bound="at-most"))
        return rows


def _draw(axes: Any, found: Found) -> None:
    _draw_orders(axes[0, 0], found)
    _draw_cantilever(axes[0, 1], found)
    _draw_elastica(axes[0, 2], found)
    found.cylinder.draw_outlines(axes[1, 0], dict(list(found.cylinder.best.items())[-1:]))
    found.cylinder.draw_search(axes[1, 1], {"best published": _PUBLISHED})
    _draw_moduli(axes[1, 2], found)


def _draw_orders(axis: Any, found: Found) -> None:
    for (name, (counts, errors)), order, color in zip(found.manufactured.items(), (2, 3), COLORS, strict=False):
        axis.loglog(1 / counts, errors, "o-", color=color, label=name)
        axis.loglog(1 / counts, errors[-1] * (counts[-1] / counts) ** order, ":", color=color, label=f"order {order}")
    axis.set(xlabel="cell / cube", ylabel="rms error / cube", title="manufactured solution")
    axis.tick_params(axis="x", which="minor", labelbottom=False)
    axis.legend(fontsize=7)


def _draw_cantilever(axis: Any, found: Found) -> None:
    for (name, (counts, ratios)), color in zip(found.cantilever.items(), COLORS, strict=False):
        axis.plot(counts, ratios, "o-", color=color, label=name)
    axis.axhline(1.0, color="0.4", linestyle="--", label="Timoshenko")
    axis.set(xlabel="cells through the thickness", ylabel="deflection / theory", title="cantilever, ν = 0")
    axis.legend(fontsize=7)


def _draw_elastica(axis: Any, found: Found) -> None:
    loads, tips, _ = found.elastica
    fine = np.linspace(0.05, loads.max(), 40)
    exact = np.array([elastica(load) for load in fine])
    for column, label in enumerate(("reach", "drop")):
        axis.plot(fine, exact[:, column], "-", color=COLORS[column], label=f"{label}, elastica")
        axis.plot(loads, tips[:, column], "o", color=COLORS[column], label=f"{label}, 10-node")
    axis.set(xlabel="P L² / EI", ylabel="tip / length", title="large deflection")
    axis.legend(fontsize=7)


def _draw_moduli(axis: Any, found: Found) -> None:
    kinds: dict[str, list[tuple[int, float]]] = {}
    for name, state in found.cylinder.best.items():
        kind, _, nodes = name.rpartition("-")
        kinds.setdefault(kind, []).append((int(nodes), 1e-3 * state.modulus))
    for (kind, points), color in zip(kinds.items(), COLORS, strict=False):
        axis.semilogx(*zip(*sorted(points), strict=True), "o-", color=color, label=kind)
    axis.set(xlabel="nodes", ylabel="fitted modulus [kPa]", title="refinement: locking hides in the modulus")
    axis.tick_params(axis="x", which="minor", labelbottom=False)
    axis.legend(fontsize=7)

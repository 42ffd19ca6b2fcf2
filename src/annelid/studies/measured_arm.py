"""A measured pneumatic arm of silicone: three constants fitted to every second pressure (Dubied et al., RA-L 2022).

Modulus, a winding around the skin and the plane of bending are fitted to some runs; the others, and those of another
session, are predicted. Without the runs the arm is simulated with the constants that were fitted to them, and nothing
is judged. docs/reference/studies.md says what is known of the arm, what is assumed and what is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.studies.support.arm_fit import Constants, Fit, fit, left, motions
from annelid.studies.support.arm_tracks import Measured, read_holds, read_steps
from annelid.studies.support.measured_arm import Arm, Cells, Motion, Segment
from annelid.studies.support.plots import COLORS, figure

_BESIDE = Path("..") / "shared" / "data" / "arm"
_QUICK = (Cells(1, 1, 1, 1, 4, 1),)
_FULL = (*_QUICK, Cells(2, 1, 1, 1, 8, 1), Cells(2, 2, 2, 1, 12, 1))
_FITTED = {True: (355e3, 543.0, 0.0759), False: (382.7e3, 780.0, 0.0760)}  # constants of the quick and the full form
_PRESSURES = tuple(5e3 * count for count in range(1, 9))  # at which they were measured [Pa]
_GOAL, _AIM = 2.0, "at most three constants; 1 mm is aimed at"


@dataclass(frozen=True, eq=False)
class Found:
    """What was fitted on each mesh, the coarser first, and the runs beside what the finest predicts.

    Attributes:
        fits: Constants on each mesh.
        nodes: Nodes of each mesh.
        pressures: Pressures at which the finest arm was inflated [Pa], rising.
        moved: How its tip moved; None beyond the pressure that it bears.
        runs: Runs of the session that was fitted.
        holds: Runs of another session.
    """

    fits: list[Fit]
    nodes: list[int]
    pressures: list[float]
    moved: list[Motion | None]
    runs: list[Measured]
    holds: list[Measured]

    def error(self, run: Measured) -> float:
        """Root mean square over the markers of how far the simulated ones are off [m]."""
        motion = self.moved[self.pressures.index(run.pressure)]
        return float(np.sqrt((left(motion, run, self.fits[-1].constants.turn) ** 2).sum(axis=1).mean()))


@dataclass(frozen=True)
class MeasuredArm(Checked):
    """A pneumatic arm with four chambers, one of them inflated: how its tip goes, against measured markers."""

    name: ClassVar[str] = "measured-arm"

    quick: bool = parameter(False, "One coarse mesh.")
    data: Path | None = parameter(
        None, "Folder with static.csv, step-NNNmbar.csv, hold-NNNmbar.csv; found where it lies beside the checkout."
    )
    fitted: tuple[float, ...] = parameter(
        (1e4, 2e4, 3e4, 4e4),
        "Pressures of the runs that are fitted [Pa]; all others are held out.",
        unit="Pa",
        above=0.0,
    )
    predict: tuple[float, ...] = parameter(
        (), "More pressures at which to tell where the tip goes [Pa].", unit="Pa", above=0.0
    )
    modulus: float | None = parameter(
        None, "Young's modulus of the silicone at small strains [Pa]; fitted unless given.", unit="Pa", above=0.0
    )
    winding: float | None = parameter(
        None,
        "Stiffness of the skin against being widened, besides the silicone's [N/m]; fitted unless given.",
        unit="N/m",
        least=0.0,
    )
    turn: float | None = parameter(
        None,
        "Angle about the axis from the frame of the markers to the plane of bending [rad]; fitted unless given.",
        unit="rad",
    )
    silicone: str = parameter("dragon-skin-10/ogden", "Material whose law gives the shape of the curve of stress.")
    outer_wall: float = parameter(
        2.03e-3, "Thickness of the wall between chambers and outside [m].", unit="m", above=0.0
    )
    core: float = parameter(9.42e-3, "From the axis to the flat inner sides of the chambers [m].", unit="m", above=0.0)
    hole: float = parameter(
        1e-3,
        "From the axis to the sides of the hole in the core [m]; 7.15 mm makes it as hollow as its makers drew it.",
        unit="m",
        least=0.0,
    )
    rib: float = parameter(4.4e-3, "Thickness of the ribs between chambers [m].", unit="m", above=0.0)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Fit the constants on each mesh, and inflate the finest arm to all pressures."""
        folder = self.data or (_BESIDE if _BESIDE.is_dir() else None)
        if folder is None:
            progress.say(
                "the measured runs are not part of this project, name their folder with --data: simulated with what "
                "was fitted to them, beside nothing"
            )
            return self._simulated(threads)
        runs, holds = read_steps(folder), read_holds(folder)
        chosen = [run for run in runs if run.pressure in self.fitted]
        if not chosen:
            raise InvalidValue(f"{folder} has no run at a pressure of {self.fitted} Pa; name others with --fitted.")
        fits, nodes, start = list[Fit](), list[int](), self._start()
        for cells in self._meshes():
            fits.append(fit(self._maker(cells, threads), chosen, start, (self.modulus, self.winding, self.turn)))
            start = fits[-1].constants
            nodes.append(self._maker(cells, threads)(start).solid.node_count)
            progress.say(f"{nodes[-1]} nodes: {_words(start)}")
        pressures = sorted({run.pressure for run in (*runs, *holds)} | set(self.predict))
        moved = motions(self._maker(self._meshes()[-1], threads), start, pressures)
        return Found(fits, nodes, pressures, moved, runs, holds)

    def _simulated(self, threads: int | None) -> Found:
        """The arm with the constants that were fitted to the runs, which are not here, unless others are given."""
        given, make = (self.modulus, self.winding, self.turn), self._maker(self._meshes()[-1], threads)
        chosen = [known if value is None else value for value, known in zip(given, _FITTED[self.quick], strict=True)]
        constants, pressures = Constants(*chosen), sorted({*_PRESSURES, *self.predict})
        nodes = make(constants).solid.node_count
        return Found([Fit(constants, (0, 0, 0))], [nodes], pressures, motions(make, constants, pressures), [], [])

    def _start(self) -> Constants:
        """Where the search begins: stiffer than any answer, since a soft arm bursts."""
        return Constants(600e3, 2e3, 0.0)

    def _meshes(self) -> tuple[Cells, ...]:
        return _QUICK if self.quick else _FULL

    def _maker(self, cells: Cells, threads: int | None) -> Callable[[Constants], Arm]:
        segment = Segment(outer_wall=self.outer_wall, core=self.core, hole=self.hole, rib=self.rib)
        law = material(self.silicone)

        def make(constants: Constants) -> Arm:
            return Arm(segment, law.with_(youngs_modulus=constants.modulus), constants.winding, cells, threads)

        return make

    def measure(self, found: Found) -> list[Measurement]:
        """The constants, errors at fitted pressures and at those held out, and where the tip goes at each."""
        if not found.runs:
            return [*_constants(found), *(row for pressure in found.pressures for row in _predicted(found, pressure))]
        rows = _constants(found)
        inside = [run for run in found.runs if run.pressure in self.fitted]
        outside = [run for run in found.runs if run.pressure not in self.fitted]
        rows.append(Measurement("fitted-rms", _rms(found, inside), "mm", source=f"{len(inside)} runs"))
        if outside:
            value = _rms(found, outside)
            rows.append(Measurement("held-out-rms", value, "mm", _GOAL, source=_AIM, bound="at-most"))
            rows.append(Measurement("all-rms", _rms(found, found.runs), "mm", _GOAL, source=_AIM, bound="at-most"))
        if found.holds:
            rows.append(Measurement("other-session-rms", _rms(found, found.holds), "mm", source="hold runs, at 1.3 s"))
        for run in (*found.runs, *found.holds):
            rows += _beside(found, run)
        for pressure in self.predict:
            rows += _predicted(found, pressure)
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Where the middle of the tip goes, sideways and along, and how far it turns, against pressure."""
        path = folder / "measured-arm.png"
        return [figure(path, lambda axes: self._draw(axes, found), size=(10.0, 3.4), grid=(1, 3))]

    def _draw(self, axes: Any, found: Found) -> None:
        known = [(p / 100, m) for p, m in zip(found.pressures, found.moved, strict=True) if m is not None]
        groups = (
            ([r for r in found.runs if r.pressure in self.fitted], "o", "fitted"),
            ([r for r in found.runs if r.pressure not in self.fitted], "s", "held out"),
            (found.holds, "x", "another session"),
        )
        name = "simulated" if found.runs else "simulated, nothing measured"
        titles = ("aside [mm]", "along z [mm]", "turn [°]")
        for column, (ax, title) in enumerate(zip(np.ravel(axes), titles, strict=True)):
            ax.plot([p for p, _ in known], [_three(m)[column] for _, m in known], color=COLORS[1], label=name)
            for runs, mark, label in filter(lambda group: group[0], groups):
                at = [run.pressure / 100 for run in runs]
                ax.plot(at, [_three(r)[column] for r in runs], mark, color=COLORS[0], fillstyle="none", label=label)
            ax.set(xlabel="pressure [mbar]", ylabel=title)
        np.ravel(axes)[0].legend(fontsize=7)


def _three(seen: Motion | Measured | None) -> tuple[float, float, float]:
    """How far the middle of the tip has gone aside and along z [mm], and how far it has turned [degrees]."""
    if seen is None:
        return math.nan, math.nan, math.nan
    if isinstance(seen, Motion):
        return 1e3 * abs(seen.x), 1e3 * seen.z, math.degrees(abs(seen.angle))
    x, y, z = 1e3 * seen.centre
    return math.hypot(x, y), float(z), math.degrees(seen.tilt)


def _rms(found: Found, runs: list[Measured]) -> float:
    return 1e3 * float(np.sqrt(np.mean([found.error(run) ** 2 for run in runs])))


def _constants(found: Found) -> list[Measurement]:
    rows = []
    for each, nodes in zip(found.fits, found.nodes, strict=True):
        (modulus, winding, turn), on = each.spread, "" if each is found.fits[-1] else f"-{nodes}-nodes"
        c = each.constants
        within = (f"{1e-3 * c.modulus * modulus:.1f}", f"{c.winding * winding:.0f}", f"{math.degrees(turn):.1f}")
        sources = [f"within {text}" if found.runs else "given, nothing fitted" for text in within]
        rows += [
            Measurement(f"modulus{on}", 1e-3 * c.modulus, "kPa", source=sources[0]),
            Measurement(f"winding{on}", c.winding, "N/m", source=sources[1]),
            Measurement(f"turn{on}", math.degrees(c.turn), "deg", source=sources[2]),
        ]
    return rows


def _beside(found: Found, run: Measured) -> list[Measurement]:
    """One run beside the prediction: the error of its markers, then where the tip goes."""
    error = Measurement(f"{run.name}-error", 1e3 * found.error(run), "mm")
    told = _told(run.name, found.moved[found.pressures.index(run.pressure)], _three(run))
    return [error, *told]


def _predicted(found: Found, pressure: float) -> list[Measurement]:
    """Where the tip goes at a pressure that was not measured."""
    return _told(f"predicted-{pressure / 100:g}mbar", found.moved[found.pressures.index(pressure)])


def _told(name: str, motion: Motion | None, seen: tuple[float, float, float] | None = None) -> list[Measurement]:
    units = (("aside", "mm"), ("along-z", "mm"), ("turn", "deg"))
    source = "" if seen is None else "measured"
    return [
        Measurement(f"{name}-{what}", value, unit, None if seen is None else seen[i], source=source)
        for i, ((what, unit), value) in enumerate(zip(units, _three(motion), strict=True))
    ]


def _words(c: Constants) -> str:
    return f"{1e-3 * c.modulus:.1f} kPa, {c.winding:.0f} N/m, {math.degrees(c.turn):.1f} degrees fit best"

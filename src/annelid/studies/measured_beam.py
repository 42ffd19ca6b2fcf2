"""A measured silicone beam: one modulus fitted to its statics, then how it rings (Dubied et al., RA-L 2022).

One number is fitted to where the beam settles under three loads, and one to how the motion of one run dies out; the
others are predicted. Without the tracks the beam is simulated with the numbers that were fitted to them, and nothing is
judged. What is not known of the experiment is said in docs/reference/studies.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.optimize import minimize_scalar

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.measured_beam import RUNS, Beam, Run, Sine, damped_sine, read_runs
from annelid.studies.support.plots import COLORS, figure

_BESIDE = Path("..") / "shared" / "data" / "beam"
_RANGE = (150e3, 450e3)  # moduli among which the fit looks [Pa]
_ENOUGH, _ATTEMPTS = 0.005, 6  # of a damping ratio; searches for it
_COMSOL = "what COMSOL reached with one modulus"
_FITTED = {True: (258.6e3, 0.2293), False: (267.7e3, 0.2302)}  # of the quick and the full form: [Pa], part that relaxes
_RELAXES, _PERIODS = 0.0474, (0.13, 0.23, 0.3)  # time of that [s]; of a swing under each load, for the time step [s]


@dataclass(frozen=True, eq=False)
class Swing:
    """A load, its run where that was read, and its simulation.

    Attributes:
        name: Name of the run.
        run: What was measured; None without data.
        settled: How far the markers sink [m], shape [3, 3].
        sine: How it rings.
        times: Moments [s].
        heights: Heights of the second marker from where it was held [m].
    """

    name: str
    run: Run | None
    settled: np.ndarray
    sine: Sine
    times: np.ndarray
    heights: np.ndarray


@dataclass(frozen=True, eq=False)
class Found:
    """The modulus [Pa], the Prony series, and the swing under each load; the last one was used for damping."""

    modulus: float
    series: tuple[tuple[float, float], ...]
    swings: list[Swing]


@dataclass(frozen=True)
class MeasuredBeam(Checked):
    """A silicone beam that was held, let go and filmed: where it settles and how it rings."""

    name: ClassVar[str] = "measured-beam"

    quick: bool = parameter(False, "A coarser mesh and longer steps.")
    data: Path | None = parameter(
        None, "Folder with gravity.csv, load-0.51N.csv and load-1.00N.csv; found where it lies beside the checkout."
    )
    markers: float = parameter(
        3e-3,
        "Mass of the three markers together [kg]; 1 g is usual for one, and nobody has told.",
        unit="kg",
        least=0.0,
    )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Fit the modulus, then the damping of the heaviest run, and let it swing under all three loads."""
        folder = self.data or (_BESIDE if _BESIDE.is_dir() else None)
        if folder is None:
            progress.say(
                "the measured tracks are not part of this project, name their folder with --data: simulated with what "
                "was fitted to them, beside nothing"
            )
            return self._simulated()
        runs, beam, steps = read_runs(folder), self._beam(), self._steps
        modulus = self._modulus(beam, runs)
        progress.say(f"{1e-3 * modulus:.1f} kPa fit the statics best")
        series = self._series(beam, runs[-1], modulus, steps)
        progress.say(f"{100 * series[0][0]:.1f} % of the stress relax in {1e3 * series[0][1]:.0f} ms")
        swings = [self._swing(beam, run.name, run.weight, modulus, series, 1.0 / run.sine.frequency) for run in runs]
        return Found(modulus, series, [replace(swing, run=run) for swing, run in zip(swings, runs, strict=True)])

    def _simulated(self) -> Found:
        """The beam with the constants that were fitted to the tracks, which are not here."""
        modulus, part = _FITTED[self.quick]
        series, beam = ((part, _RELAXES),), self._beam()
        loads = zip(RUNS.items(), _PERIODS, strict=True)
        swings = [self._swing(beam, name, weight, modulus, series, period) for (name, weight), period in loads]
        return Found(modulus, series, swings)

    def _beam(self) -> Beam:
        return Beam((4, 1, 1) if self.quick else (8, 2, 2), self.markers)

    @property
    def _steps(self) -> int:
        return 20 if self.quick else 40

    def measure(self, found: Found) -> list[Measurement]:
        """What is left of the statics, and what was predicted of the motion."""
        here = all(each.run for each in found.swings)
        told, given = ("others: 264, 283, 294 kPa", "fitted to the heaviest run"), "given, nothing fitted"
        sources = told if here else (given, given)
        rows = [
            Measurement("modulus-fitted" if here else "modulus", 1e-3 * found.modulus, "kPa", source=sources[0]),
            *_statics(found),
            Measurement("stress-that-relaxes", 100 * found.series[0][0], "%", source=sources[1]),
        ]
        for each in found.swings:
            name, fitted = each.name.lower().replace(".", "-"), each is found.swings[-1]
            rows += _ringing(name, each.sine, each.run.sine if each.run else None, fitted)
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Heights of the second marker, measured and simulated."""
        path = folder / "measured-beam.png"
        return [figure(path, lambda axes: _draw(axes, found), size=(10.0, 3.4), grid=(1, len(found.swings)))]

    @staticmethod
    def _modulus(beam: Beam, runs: list[Run]) -> float:
        """Young's modulus that leaves least of all settled places, in the plane of bending [Pa]."""

        def misfit(modulus: float) -> float:
            left = [beam.settled(modulus, run.weight) - run.settled for run in runs]
            return float((np.array(left)[..., [0, 2]] ** 2).sum())

        return float(minimize_scalar(misfit, bounds=_RANGE, method="bounded", options={"xatol": 300.0}).x)

    @staticmethod
    def _series(beam: Beam, run: Run, modulus: float, steps: int) -> tuple[tuple[float, float], ...]:
        """One term that loses most at the frequency of a run, as strong as its motion dies out."""
        time, rise = 1.0 / (2.0 * np.pi * run.sine.frequency), 4.0 * run.sine.damping
        for _ in range(_ATTEMPTS):
            series = ((rise / (1.0 + rise), time),)
            times, places = beam.swing(modulus, run.weight, series, 1.0 / run.sine.frequency, steps)
            damping = damped_sine(times, places[:, 1, 2]).damping
            if abs(damping / run.sine.damping - 1.0) < _ENOUGH:
                break
            rise *= run.sine.damping / damping
        return series

    def _swing(
        self, beam: Beam, name: str, weight: float, modulus: float, series: tuple[tuple[float, float], ...],
        period: float,
    ) -> Swing:  # fmt: skip
        times, places = beam.swing(modulus, weight, series, period, self._steps)
        heights = places[:, 1, 2]
        return Swing(name, None, beam.settled(modulus, weight), damped_sine(times, heights), times, heights)


def _statics(found: Found) -> list[Measurement]:
    """How far off the settled markers are, or where they settle if that was not measured."""
    runs = [each.run for each in found.swings if each.run is not None]
    if not runs:
        return [
            Measurement(f"{each.name.lower().replace('.', '-')}-sinks", -1e3 * float(each.settled[1, 2]), "mm")
            for each in found.swings
        ]
    errors = 1e3 * np.array([each.settled - run.settled for each, run in zip(found.swings, runs, strict=True)])
    height, plane = np.sqrt((errors[..., 2] ** 2).mean()), np.sqrt((errors[..., [0, 2]] ** 2).sum(axis=-1).mean())
    return [
        Measurement("settled-height-rms", float(height), "mm", 0.4, source=_COMSOL, bound="at-most"),
        Measurement("settled-plane-rms", float(plane), "mm", 0.85, source=_COMSOL, bound="at-most"),
    ]


def _ringing(name: str, sine: Sine, seen: Sine | None, fitted: bool) -> list[Measurement]:
    frequency, left = f"{name}-frequency", f"{name}-after-five-periods"
    if seen is None:
        return [Measurement(frequency, sine.frequency, "Hz"), Measurement(left, sine.left, "")]
    tolerance = None if fitted else 0.25 * seen.left
    return [
        Measurement(frequency, sine.frequency, "Hz", seen.frequency, 0.05 * seen.frequency, "measured"),
        Measurement(left, sine.left, "", seen.left, tolerance, "measured"),
    ]


def _draw(axes: Any, found: Found) -> None:
    for ax, each in zip(np.ravel(axes), found.swings, strict=True):
        if each.run is not None:
            held = each.run.places[each.run.times < 0.0, 1, 2].mean()
            shown = each.run.times <= 2.0
            heights = 1e3 * (each.run.places[shown, 1, 2] - held)
            ax.plot(each.run.times[shown], heights, color=COLORS[0], label="measured")
        name = "simulated" if each.run else "simulated, nothing measured"
        ax.plot(each.times, 1e3 * each.heights, color=COLORS[1], lw=1.0, label=name)
        ax.set(title=each.name, xlabel="time [s]", ylabel="height of marker 2 [mm]")
    np.ravel(axes)[0].legend()

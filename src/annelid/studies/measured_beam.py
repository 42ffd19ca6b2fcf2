"""A measured silicone beam: one modulus fitted to its statics, then how it rings (Dubied et al., RA-L 2022).

One number is fitted to where the beam settles under three loads, and one to how the motion of one run dies out; the
others are predicted. What is not known of the experiment is said in docs/reference/studies.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.optimize import minimize_scalar

from annelid.core.measurement import Measurement
from annelid.core.progress import Progress
from annelid.studies.support.measured_beam import Beam, Run, Sine, damped_sine, read_runs
from annelid.studies.support.plots import COLORS, figure

_BESIDE = Path("..") / "shared" / "data" / "beam"
_RANGE = (150e3, 450e3)  # moduli among which the fit looks [Pa]
_ENOUGH, _ATTEMPTS = 0.005, 6  # of a damping ratio; searches for it
_COMSOL = "what COMSOL reached with one modulus"


@dataclass(frozen=True, eq=False)
class Swing:
    """A run beside its simulation: moments [s] and heights of the second marker from where it was held [m]."""

    run: Run
    settled: np.ndarray
    sine: Sine
    times: np.ndarray
    heights: np.ndarray


@dataclass(frozen=True, eq=False)
class Found:
    """The fitted modulus [Pa], the Prony series, and each run beside its simulation; the last was used for damping."""

    modulus: float
    series: tuple[tuple[float, float], ...]
    swings: list[Swing]


@dataclass(frozen=True)
class MeasuredBeam:
    """A silicone beam that was held, let go and filmed: where it settles and how it rings."""

    name: ClassVar[str] = "measured-beam"

    quick: bool = False
    """A coarser mesh and longer steps."""
    data: Path | None = None
    """Folder with gravity.csv, load-0.51N.csv and load-1.00N.csv; found where it lies beside the checkout."""
    markers: float = 3e-3
    """Mass of the three markers together [kg]; 1 g is usual for one, and nobody has told."""

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found | None:
        """Fit the modulus, then the damping of the heaviest run, and let all three swing; None without data."""
        folder = self.data or (_BESIDE if _BESIDE.is_dir() else None)
        if folder is None:
            progress.say("skipped: the measured tracks are not part of this project; name their folder with --data")
            return None
        runs, beam, steps = read_runs(folder), self._beam(), self._steps
        modulus = self._modulus(beam, runs)
        progress.say(f"{1e-3 * modulus:.1f} kPa fit the statics best")
        series = self._series(beam, runs[-1], modulus, steps)
        progress.say(f"{100 * series[0][0]:.1f} % of the stress relax in {1e3 * series[0][1]:.0f} ms")
        return Found(modulus, series, [self._swing(beam, run, modulus, series, steps) for run in runs])

    def _beam(self) -> Beam:
        return Beam((4, 1, 1) if self.quick else (8, 2, 2), self.markers)

    @property
    def _steps(self) -> int:
        return 20 if self.quick else 40

    def measure(self, found: Found | None) -> list[Measurement]:
        """What is left of the statics, and what was predicted of the motion."""
        if found is None:
            return []
        errors = 1e3 * np.array([each.settled - each.run.settled for each in found.swings])[..., [0, 2]]
        height, plane = np.sqrt((errors[..., 1] ** 2).mean()), np.sqrt((errors**2).sum(axis=-1).mean())
        rows = [
            Measurement("modulus-fitted", 1e-3 * found.modulus, "kPa", source="others: 264, 283, 294 kPa"),
            Measurement("settled-height-rms", float(height), "mm", 0.4, source=_COMSOL, bound="at-most"),
            Measurement("settled-plane-rms", float(plane), "mm", 0.85, source=_COMSOL, bound="at-most"),
            Measurement("stress-that-relaxes", 100 * found.series[0][0], "%", source="fitted to the heaviest run"),
        ]
        for each in found.swings:
            name, seen = each.run.name.lower().replace(".", "-"), each.run.sine
            rows.append(
                Measurement(
                    f"{name}-frequency", each.sine.frequency, "Hz", seen.frequency, 0.05 * seen.frequency, "measured"
                )
            )
            tolerance = None if each is found.swings[-1] else 0.25 * seen.left
            rows.append(Measurement(f"{name}-after-five-periods", each.sine.left, "", seen.left, tolerance, "measured"))
        return rows

    def plot(self, found: Found | None, folder: Path) -> list[Path]:
        """Heights of the second marker, measured and simulated."""
        if found is None:
            return []
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

    @staticmethod
    def _swing(beam: Beam, run: Run, modulus: float, series: tuple[tuple[float, float], ...], steps: int) -> Swing:
        times, places = beam.swing(modulus, run.weight, series, 1.0 / run.sine.frequency, steps)
        heights = places[:, 1, 2]
        return Swing(run, beam.settled(modulus, run.weight), damped_sine(times, heights), times, heights)


def _draw(axes: Any, found: Found) -> None:
    for ax, each in zip(np.ravel(axes), found.swings, strict=True):
        held = each.run.places[each.run.times < 0.0, 1, 2].mean()
        shown = each.run.times <= 2.0
        ax.plot(each.run.times[shown], 1e3 * (each.run.places[shown, 1, 2] - held), color=COLORS[0], label="measured")
        ax.plot(each.times, 1e3 * each.heights, color=COLORS[1], lw=1.0, label="simulated")
        ax.set(title=each.run.name, xlabel="time [s]", ylabel="height of marker 2 [mm]")
    np.ravel(axes)[0].legend()

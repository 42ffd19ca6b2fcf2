"""Known constants, tracks of them with noise, and whether identification brings them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annelid.calibration import Calibration, Identified, Run, identify, synthetic_tracks
from annelid.calibration.calibration import Bodies
from annelid.core.measurement import Measurement
from annelid.core.progress import Progress
from annelid.studies.support.plots import COLORS, figure

NOISE = 1e-3
"""Standard deviation of each component of a track [m]."""
OFFS = (5.0, 0.2, 50.0, 0.02)
"""How many times too large all constants are at the start; the errors that are allowed belong to these factors."""
_ALLOWED = {5.0: 0.5, 50.0: 1.0}  # error of the first constant [%], by how far the start is off


@dataclass(frozen=True, eq=False)
class Trial:
    """One identification: how far off it began, the seed of the noise, and what it found."""

    off: float
    seed: int
    found: Identified


@dataclass(frozen=True, eq=False)
class Recovered:
    """All identifications of a body with known constants; the first is its stiffness, the second its damping."""

    truth: Mapping[str, float]
    trials: tuple[Trial, ...]

    def error(self, trial: Trial, name: str) -> float:
        """Relative error of a constant [%]."""
        return 100.0 * (trial.found.constants[name] / self.truth[name] - 1.0)

    def deviations(self, trial: Trial, name: str) -> float:
        """Error of a constant, in deviations as they were predicted."""
        return (trial.found.constants[name] - self.truth[name]) / trial.found.deviations[name]


def recovered(
    body: Bodies,
    markers: Mapping[str, Any],
    truth: Mapping[str, float],
    times: np.ndarray,
    *,
    seeds: Sequence[int],
    offs: Sequence[float],
    world: Mapping[str, Any],
    progress: Progress,
) -> Recovered:
    """Identify constants from tracks with noise, for several seeds and starts.

    Args:
        body: The body.
        markers: Places of markers [m], by name.
        truth: Its constants, the stiffness first and the damping second.
        times: Moments of the tracks [s].
        seeds: Seeds of the noise.
        offs: How many times too large constants are at the start.
        world: Options of the simulation, with device and threads.
        progress: What shows how far it is.
    """
    exact = synthetic_tracks(body, markers, truth, times, world=world)
    trials = []
    for seed in seeds:
        noise = np.random.default_rng(seed).normal(0.0, NOISE, exact.places.shape)
        run = Run(type(exact)(exact.times, exact.places + noise, exact.names), name=f"seed-{seed}")
        for off in offs:
            free = {name: off * value for name, value in truth.items()}
            found = identify(Calibration(body, [run], markers, free, world=world))
            trials.append(Trial(off, seed, found))
            progress.say(f"seed {seed}, start {off:g} times: {found!r}, {found.evaluations} simulations")
    return Recovered(dict(truth), tuple(trials))


def measurements(found: Recovered) -> list[Measurement]:
    """Largest error of the first constant, and errors of the second in deviations, beside what is allowed."""
    first, second = found.truth
    rows = []
    for far, allowed in _ALLOWED.items():
        chosen = [trial for trial in found.trials if max(trial.off, 1.0 / trial.off) == far]
        if chosen:
            name = f"{first.replace('_', '-')}-error-from-{far:g}-times-off"
            worst = max(abs(found.error(trial, first)) for trial in chosen)
            rows.append(Measurement(name, worst, "%", allowed, source="asked for", bound="at-most"))
    off = np.array([found.deviations(trial, second) for trial in found.trials])
    hyphened = second.replace("_", "-")
    rows += [
        Measurement(f"{hyphened}-error-rms", float(np.sqrt(np.mean(off**2))), "deviations", 2.0, bound="at-most"),
        Measurement(f"{hyphened}-error-largest", float(np.abs(off).max()), "deviations"),
        Measurement(f"{hyphened}-within-two-deviations", 100.0 * float(np.mean(np.abs(off) <= 2.0)), "%"),
        Measurement(
            "noise-found", 1.0 * float(np.mean([t.found.noise for t in found.trials])), "mm", 1.0, 0.1, "known"
        ),
        Measurement("simulations-a-fit", float(np.mean([t.found.evaluations for t in found.trials]))),
    ]
    return rows


def drawn(found: Recovered, path: Path) -> Path:
    """The last marker of the first trial, and errors of all trials with two predicted deviations."""

    def draw(axes: Any) -> None:
        run = found.trials[0].found.runs[0]
        curve, errors = axes[0]
        curve.plot(run.times, 1e3 * run.measured[:, -1, 2], ".", color=COLORS[0], ms=3, label="measured, 1 mm of noise")
        curve.plot(run.times, 1e3 * run.model[:, -1, 2], color=COLORS[1], lw=1.0, label="identified")
        curve.set(xlabel="time [s]", ylabel=f"height of {run.markers[-1]} [mm]")
        curve.legend()
        for number, name in enumerate(found.truth):
            scale = 100.0 / found.truth[name]
            spread = [2.0 * scale * trial.found.deviations[name] for trial in found.trials]
            at = np.arange(len(found.trials)) + 0.15 * number
            label = f"{name}, bars: two deviations"
            shown = [found.error(trial, name) for trial in found.trials]
            errors.errorbar(at, shown, yerr=spread, fmt="o", ms=3, color=COLORS[number], label=label)
        errors.set_yscale("symlog", linthresh=0.1)
        errors.axhline(0.0, color="black", lw=0.6)
        errors.set(xlabel="seed and start", ylabel="error [%]")
        errors.set_xticks(np.arange(len(found.trials)), [f"{t.seed}\n{t.off:g}" for t in found.trials], fontsize=6)
        errors.legend()

    return figure(path, draw, size=(10.0, 3.6), grid=(1, 2))

"""How fast a soft worm crawls on sand and on hard ground, against its wave, friction and the depth of the bed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import shapes, springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation
from annelid.scenes.sandworm import Sandworm
from annelid.studies.support.plots import COLORS, figure

_AXES: dict[str, tuple[float, ...]] = {
    "amplitude": (0.05, 0.1, 0.15, 0.2, 0.25),
    "frequency": (0.5, 1.0, 2.0, 3.0, 4.0),
    "friction": (0.1, 0.3, 0.5, 0.7, 0.9),
    "depth": (0.05, 0.075, 0.1, 0.15),
}
_QUICK: dict[str, tuple[float, ...]] = {
    "amplitude": (0.1, 0.2),
    "frequency": (1.0, 2.0),
    "friction": (0.1, 0.5),
    "depth": (0.05, 0.08),
}
_LABELS = {
    "amplitude": "swelling of a segment",
    "frequency": "waves a second [Hz]",
    "friction": "friction of grains or ground",
    "depth": "depth of the bed [m]",
}
_SETTLING = 0.5  # waves that pass before the speed is taken


@dataclass(frozen=True)
class Trial:
    """A worm on a ground: "sand" or "hard", one parameter of it, and its value."""

    ground: str
    parameter: str
    value: float

    @property
    def name(self) -> str:
        """Name of the trial, such as sand-amplitude-0.2."""
        return f"{self.ground}-{self.parameter}-{self.value:g}"


@dataclass(frozen=True, eq=False)
class Found:
    """What the worms did.

    Attributes:
        trials: The trials.
        speeds: Speed of each [m/s], shape [trials].
        inside: Grains inside the worm at the end of each, shape [trials].
    """

    trials: list[Trial]
    speeds: np.ndarray
    inside: np.ndarray

    def curve(self, ground: str, parameter: str) -> tuple[np.ndarray, np.ndarray]:
        """Values of a parameter and the speeds at them [m/s]."""
        chosen = [n for n, t in enumerate(self.trials) if (t.ground, t.parameter) == (ground, parameter)]
        return np.array([self.trials[n].value for n in chosen]), self.speeds[chosen]

    def speed(self, ground: str, parameter: str, value: float) -> float:
        """Speed in one trial [m/s]."""
        values, speeds = self.curve(ground, parameter)
        return float(speeds[np.argmin(np.abs(values - value))])


@dataclass(frozen=True)
class LocomotionOnSand(Checked):
    """A worm crawls on sand and on hard ground: speed against amplitude, frequency, friction and depth."""

    name: ClassVar[str] = "locomotion-on-sand"

    quick: bool = parameter(False, "A small worm on large grains, two values of each parameter, and short runs.")
    seconds: float = parameter(4.0, "Time over which a speed is taken [s].", unit="s", above=0.0)

    @property
    def axes(self) -> dict[str, tuple[float, ...]]:
        """Values of each parameter."""
        return _QUICK if self.quick else _AXES

    @property
    def worm(self) -> Sandworm:
        """The worm from which trials differ in one parameter."""
        if self.quick:
            return Sandworm(length=0.4, depth=0.05, grain_radius=0.014, run_up=0.15)
        return Sandworm()

    def trials(self) -> list[Trial]:
        """All trials; the depth of the bed matters on sand alone."""
        return [
            Trial(ground, parameter, value)
            for parameter, values in self.axes.items()
            for ground in ("sand", "hard")
            for value in values
            if (ground, parameter) != ("hard", "depth")
        ]

    def _changed(self, trial: Trial) -> Sandworm:
        change: dict[str, Any] = {trial.parameter: trial.value}
        return replace(self.worm, **change)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Let them crawl, one after the other."""
        trials = self.trials()
        cases = [(trial.ground, self._changed(trial)) for trial in trials]
        results: dict[tuple[str, Sandworm], tuple[float, int]] = {}
        for trial, case in zip(trials, cases, strict=True):
            if case not in results:  # several trials are those of the same worm
                results[case] = self.crawl(*case, device, threads)
                progress.say(f"{trial.name}: {1000.0 * results[case][0]:.1f} mm/s")
        speeds, inside = np.array([results[case] for case in cases]).T
        return Found(trials, speeds, inside.astype(int))

    def crawl(self, ground: str, worm: Sandworm, device: wp.Device, threads: int | None) -> tuple[float, int]:
        """Speed of a worm on a ground [m/s], and grains inside it at the end."""
        simulation: Any = (
            _on_hard_ground(worm, device, threads)
            if ground == "hard"
            else worm.build(device=str(device), threads=threads)
        )
        simulation.run(_SETTLING / worm.frequency)
        start, begin = _place(simulation), simulation.time
        waves = max(1, round((1.0 if self.quick else self.seconds) * worm.frequency))
        simulation.run(waves / worm.frequency)
        moved = _place(simulation) - start
        inside = len(simulation.solver.readout.grains_inside(simulation.state)) if ground == "sand" else 0
        return moved / (simulation.time - begin), inside

    def measure(self, found: Found) -> list[Measurement]:
        """All speeds; what must hold is that no grain got in, and that stronger waves are faster on sand."""
        values, speeds = found.curve("sand", "amplitude")
        rise = float(speeds[np.argmax(values)] - speeds[np.argmin(values)])
        numbers = [
            Measurement(f"speed-{t.name}", float(v), "m/s") for t, v in zip(found.trials, found.speeds, strict=True)
        ]
        return [
            *numbers,
            Measurement("gain-by-amplitude-on-sand", rise, "m/s", 0.0, bound="at-least"),
            Measurement("grains-inside", int(found.inside.sum()), reference=0.0, tolerance=0.0),
        ]

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Speed against each parameter."""
        names = list(self.axes)

        def draw(axes: Any) -> None:
            for axis, name in zip(axes.ravel(), names, strict=False):
                _curves(axis, found, name)
            for axis in axes.ravel()[len(names) :]:
                axis.set_axis_off()

        rows = -(-len(names) // 2)
        return [figure(folder / f"{self.name}.png", draw, size=(8.0, 3.0 * rows), grid=(rows, 2))]


def _curves(axis: Any, found: Found, parameter: str) -> None:
    for soil, color in zip(("sand", "hard"), COLORS, strict=False):
        values, speeds = found.curve(soil, parameter)
        if len(values):
            axis.plot(values, 1000.0 * speeds, "o-", color=color, label=f"{soil} ground" if soil == "hard" else soil)
    axis.axhline(0.0, color="#888888", linewidth=0.8)
    axis.set_xlabel(_LABELS[parameter])
    axis.set_ylabel("speed [mm/s]")
    axis.legend()


def _place(simulation: Simulation[Any]) -> float:
    """Where the worm is along x [m], in sand or on hard ground."""
    summary = simulation.summary()
    return float(summary.parts.get("springs", summary).center_of_mass[0])


def _on_hard_ground(worm: Sandworm, device: wp.Device, threads: int | None) -> Any:
    """The same worm on a plane."""
    body = worm.body()
    lowest = float(body.bounds()[0][2])
    plane = shapes.ground(worm.friction, stiffness=200.0)
    return springs.simulation(
        body.moved((0.0, 0.0, -lowest)), obstacles=[plane], dt=1.0e-4, device=device, threads=threads
    )

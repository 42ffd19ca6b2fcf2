"""Natural frequencies from mass and stiffness matrix against the spectrum of the simulation (Cronos, Fig. 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import material
from annelid.shapes import beam
from annelid.springs.equilibrium import equilibrium
from annelid.springs.modes import modes
from annelid.springs.quasi import quasi_lattice
from annelid.studies.support.beams import Cantilever, watch, whole_steps
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.signals import peak_frequency, spectrum

_PAPER = "predicted by mass and stiffness matrix; Cronos found 0.56 % at large deformation"
_SAMPLES_A_PERIOD = 64
_TAP = 1e-4  # amplitude, as a part of the length


@dataclass(frozen=True)
class Case:
    """A body, what bends it, and how well prediction and simulation must agree.

    Attributes:
        name: Name.
        build: Makes the body, held at its low end along its longest axis.
        gravity: Gravity that deforms it [m/s²]; none for a body at rest.
        tolerance: Accepted difference [%].
    """

    name: str
    build: Callable[[], springs.Body]
    gravity: float
    tolerance: float


@dataclass(frozen=True, eq=False)
class Found:
    """What a case gave.

    Attributes:
        case: The case.
        sag: Displacement of the tip at equilibrium, over the length.
        predicted: The two lowest frequencies of the matrices [Hz].
        simulated: The two lowest frequencies of the simulation [Hz].
        times: Moments of the record [s], shape [t].
        motion: Displacement of the tip along the two directions across the beam [m], shape [t, 2].
    """

    case: Case
    sag: float
    predicted: np.ndarray
    simulated: np.ndarray
    times: np.ndarray
    motion: np.ndarray


@dataclass(frozen=True)
class NaturalFrequency(Checked):
    """Natural frequencies of bodies at rest and deformed, from their matrices and from their motion."""

    name: ClassVar[str] = "natural-frequency"

    quick: bool = parameter(False, "Coarser bodies and shorter records.")

    def cases(self) -> list[Case]:
        """The 10 m cantilever of the paper, sagging a little and hanging; and a rod without any order, at rest."""
        cells = 4 if self.quick else 6
        return [
            Case("beam-10m-small", lambda: self._beam("nylon", cells), 9.81, 0.1),
            Case("beam-10m-large", lambda: self._beam("soft", cells), 9.81, 0.5),
            Case("quasi-uniform-rod", self._rod, 0.0, 0.1),
        ]

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Found]:
        """Predict and simulate every case."""
        results = []
        for case in self.cases():
            results.append(self._case(case, device, threads))
            progress.say(f"{case.name}: {results[-1].predicted} Hz predicted, {results[-1].simulated} Hz simulated")
        return results

    def measure(self, found: list[Found]) -> list[Measurement]:
        """Predicted and simulated frequencies of the first two modes."""
        rows = []
        for result in found:
            case = result.case
            rows.append(Measurement(f"{case.name}-sag", 100 * result.sag, "%", source="of the length, at equilibrium"))
            pairs = zip(result.predicted.tolist(), result.simulated.tolist(), strict=True)
            for mode, (true, seen) in enumerate(pairs, start=1):
                allowed = 0.01 * case.tolerance * true
                rows.append(Measurement(f"{case.name}-mode-{mode}", seen, "Hz", true, allowed, _PAPER))
                difference = 100 * abs(seen / true - 1)
                rows.append(
                    Measurement(f"{case.name}-mode-{mode}-difference", difference, "%", case.tolerance, bound="at-most")
                )
        return rows

    def plot(self, found: list[Found], folder: Path) -> list[Path]:
        """Fig. 8: spectra with the predicted frequencies as lines."""
        size = (9.0, 2.6 * len(found))
        return [figure(folder / "natural-frequency.png", lambda a: _draw(a, found), size=size, grid=(len(found), 2))]

    def _beam(self, matter: str, cells: int) -> springs.Body:
        """10 m long, 1 m high, a little narrower; of nylon, or so soft that it hangs down."""
        stuff = material("tpu").with_(youngs_modulus=30e6) if matter == "soft" else material(matter)
        return Cantilever(stuff, 10.0, 1.0, cells, 3 * cells // 4).body()

    def _rod(self) -> springs.Body:
        """Wider than high, so that its two modes lie along y and z as far as chance lets them."""
        spacing = 0.0065 if self.quick else 0.005
        rod = quasi_lattice(beam(0.3, 0.045, 0.03), spacing, "dragon-skin-30")
        return rod.fix(lambda p: p[:, 0] < spacing).group("tip", lambda p: p[:, 0] > 0.3 - spacing)

    def _case(self, case: Case, device: wp.Device, threads: int | None) -> Found:
        body = case.build()
        gravity = (0.0, 0.0, -case.gravity)
        still = equilibrium(body, gravity=gravity) if case.gravity else body.positions
        predicted = modes(body, 2, positions=still)
        tip, length = body.groups["tip"], float(np.ptp(body.positions[:, 0]))
        sag = float(np.linalg.norm((still - body.positions)[tip].mean(axis=0))) / length
        tapped = body.copy()
        tapped.positions = still
        push = 2 * np.pi * predicted.frequencies[0] * _TAP * length
        tapped.velocities[:, 1:] = push * (body.positions[:, :1] / length) ** 2
        tapped.velocities[body.fixed] = 0.0
        every = 1 / (_SAMPLES_A_PERIOD * predicted.frequencies[-1])
        world: dict[str, Any] = {"integrator": "verlet", "precision": "float64", "gravity": gravity}
        world["dt"] = whole_steps(body, device, every=every, **world)
        simulation = springs.simulation(tapped, device=device, threads=threads, **world)
        seconds = (10 if self.quick else 15) / predicted.frequencies[0]
        axes = _across(still, body)
        times, motion = watch(simulation, lambda p: axes @ (p[tip, :3].mean(axis=0)), seconds, every)
        simulated = np.sort([peak_frequency(times, component) for component in motion.T])
        return Found(case, sag, predicted.frequencies, simulated, times, motion)


def _across(still: np.ndarray, body: springs.Body) -> np.ndarray:
    """Two directions across the tip: y, and the other one in the plane in which it hangs, shape [2, 3]."""
    along = body.positions[:, 0]
    outer = along > along.min() + 0.8 * np.ptp(along)
    slope = np.polyfit(along[outer], still[outer], 1)[0]
    normal = np.cross(slope / np.linalg.norm(slope), [0.0, 1.0, 0.0])
    return np.stack([[0.0, 1.0, 0.0], normal])


def _draw(axes: Any, found: list[Found]) -> None:
    for row, result in zip(axes, found, strict=True):
        for axis, component, label in zip(row, result.motion.T, ("sideways", "up and down"), strict=True):
            frequencies, amplitudes = spectrum(result.times, component)
            shown = frequencies < 2.0 * result.predicted[-1]
            axis.plot(frequencies[shown], 1e3 * amplitudes[shown], color=COLORS[0], label="simulated, tip " + label)
            for mode, value in enumerate(result.predicted, start=1):
                axis.axvline(value, color=COLORS[1], linestyle=":", label="predicted" if mode == 1 else None)
            axis.set(xlabel="frequency [Hz]", ylabel="amplitude [mm]", title=result.case.name)
            axis.legend(loc="upper right", fontsize=7)

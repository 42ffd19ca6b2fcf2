"""Conservation of energy after a cantilever is released (Cronos, Fig. 7)."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.errors import SimulationDiverged, StepTooLong
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.studies.support.beams import DAMPING_PER_STEP, FREE, SAMPLE, SETTLING, Cantilever, in_state, whole_steps
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.signals import peak_frequency

INTEGRATORS = ("symplectic", "verlet", "rk4")
_GRAVITY = (0.0, 0.0, -9.81)
_LOAD = 0.02  # deflection of the tip under its load, as a part of the length
_LIMIT = 0.5  # accepted drift [% of the peak kinetic energy in 1 s]


@dataclass(frozen=True, eq=False)
class Record:
    """Energies over time.

    Attributes:
        times: Moments [s], shape [t]; the release is at 0.
        elastic: Energy of the springs [J], shape [t].
        kinetic: Energy of motion [J], shape [t].
        gravitational: Potential energy [J], 0 at the release, shape [t].
    """

    times: np.ndarray
    elastic: np.ndarray
    kinetic: np.ndarray
    gravitational: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Sum [J], shape [t]."""
        return self.elastic + self.kinetic + self.gravitational

    def after_release(self) -> Record:
        """The free part."""
        free = self.times >= 0.0
        return Record(self.times[free], self.elastic[free], self.kinetic[free], self.gravitational[free])

    def drift(self) -> float:
        """Change of the total, averaged over whole periods, in 1 s, over the peak kinetic energy."""
        free = self.after_release()
        period = 1.0 / peak_frequency(free.times, free.gravitational)
        count = max(1, int(0.5 * free.times[-1] / period))  # periods in each half
        window = count * period
        early, late = (_mean(free.times, free.total, begin, window) for begin in (0.0, free.times[-1] - window))
        return float((late - early) / (free.times[-1] - window) / free.kinetic.max())


@dataclass(frozen=True, eq=False)
class Growth:
    """What forward Euler does to the released beam: its record, and when it ended, with the time step [s]."""

    record: Record
    lifetime: float
    dt: float


@dataclass(frozen=True, eq=False)
class Found:
    """Records by integrator, and forward Euler at several steps."""

    records: dict[str, Record]
    growth: list[Growth]


@dataclass(frozen=True)
class Energy(Checked):
    """Elastic, kinetic and gravitational energy of a beam that is loaded, damped, released and left alone."""

    name: ClassVar[str] = "energy"

    quick: bool = parameter(False, "A coarser beam.")

    def beam(self) -> Cantilever:
        """The base beam of the study of frequencies."""
        cells = 4 if self.quick else 6
        return Cantilever(material("tpu"), 0.32, 0.032, cells, cells // 2)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Run all integrators."""
        beam = self.beam()
        body = beam.body().push("tip", (0.0, 0.0, -beam.load_for(_LOAD * beam.length)))
        records, released = {}, body
        for name in INTEGRATORS:
            records[name], released = self._protocol(body, name, device, threads)
            progress.say(f"{name}: drift {100 * records[name].drift():.3g} % of the peak kinetic energy in 1 s")
        stable = whole_steps(body, device, precision="float64")
        growth = [self._forward_euler(released, stable / part, device, threads) for part in (1, 10, 100)]
        return Found(records, growth)

    def measure(self, found: Found) -> list[Measurement]:
        """Drifts, and how long forward Euler lasts."""
        rows = []
        for name, record in found.records.items():
            value = 100 * abs(record.drift())
            rows.append(
                Measurement(f"drift-{name}", value, "%", _LIMIT, bound="at-most", source="of peak kinetic in 1 s")
            )
            swing = np.ptp(record.after_release().total) / record.after_release().kinetic.max()
            rows.append(Measurement(f"ripple-{name}", 100 * float(swing), "%", source="of peak kinetic, peak to peak"))
        for growth in found.growth:
            name = f"forward-euler-lifetime-{round(1e9 * growth.dt)}ns"
            rows.append(
                Measurement(name, 1e3 * growth.lifetime, "ms", source="until the total has doubled; Cronos, eq. 4")
            )
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Fig. 7, with forward Euler beside it."""
        return [figure(folder / "energy.png", lambda axes: _draw(axes, found), size=(10.0, 6.5), grid=(2, 2))]

    def _protocol(
        self, body: springs.Body, integrator: str, device: wp.Device, threads: int | None
    ) -> tuple[Record, springs.Body]:
        """Load and damp, release, watch; also the body at the release."""
        world: dict[str, Any] = {"integrator": integrator, "precision": "float64", "gravity": _GRAVITY}
        world["dt"] = whole_steps(body, device, **world)
        damping = DAMPING_PER_STEP / world["dt"]
        loaded = springs.simulation(body, device=device, threads=threads, velocity_damping=damping, **world)
        before = _watch_energy(loaded, SETTLING, SAMPLE)
        released = in_state(body, loaded)
        after = _watch_energy(springs.simulation(released, device=device, threads=threads, **world), FREE, SAMPLE)
        rows = np.concatenate([before[:-1] - [SETTLING, 0, 0, 0], after])
        rows[:, 3] -= after[0, 3]
        return Record(*rows.T), released

    def _forward_euler(self, released: springs.Body, dt: float, device: wp.Device, threads: int | None) -> Growth:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepTooLong)
            world: dict[str, Any] = {"integrator": "euler", "precision": "float64", "gravity": _GRAVITY, "dt": dt}
            simulation = springs.simulation(released, device=device, threads=threads, **world)
        rows = _watch_energy(simulation, 0.1, max(dt, 2e-5))
        rows[:, 3] -= rows[0, 3]
        record = Record(*rows.T)
        doubled = np.abs(record.total - record.total[0]) > record.after_release().elastic[0]
        end = record.times[np.argmax(doubled)] if doubled.any() else record.times[-1]
        return Growth(record, float(end), dt)


def _watch_energy(simulation: Simulation[springs.Solver], seconds: float, every: float) -> np.ndarray:
    """Time, elastic, kinetic and gravitational energy in columns, up to the end or to a divergence."""
    rows: list[tuple[float, ...]] = []

    def read(sim: Simulation[springs.Solver]) -> None:
        summary = sim.summary()
        rows.append((sim.time, summary.elastic, summary.kinetic, summary.gravitational))

    read(simulation)
    simulation.observe(read, every=every)
    with suppress(SimulationDiverged):
        simulation.run(seconds)
    return np.array(rows)


def _mean(times: np.ndarray, values: np.ndarray, begin: float, length: float) -> float:
    """Mean over a window whose ends are interpolated."""
    fine = np.linspace(begin, begin + length, 20 * len(times))
    return float(np.trapezoid(np.interp(fine, times, values), fine) / length)


def _draw(axes: Any, found: Found) -> None:
    record = found.records["verlet"]
    parts = {"elastic": record.elastic, "kinetic": record.kinetic, "gravitational": record.gravitational}
    for (name, values), color in zip(parts.items(), COLORS, strict=False):
        axes[0, 0].plot(record.times, 1e3 * values, color=color, linewidth=0.9, label=name)
    axes[0, 0].plot(record.times, 1e3 * record.total, color="0.1", label="total")
    axes[0, 0].set(xlabel="time after release [s]", ylabel="energy [mJ]", title="verlet")
    for (name, other), color in zip(found.records.items(), COLORS, strict=False):
        axes[0, 1].plot(other.times, 1e3 * other.total, color=color, linewidth=0.9, label=name)
        free = other.after_release()
        relative = 100 * (free.total - free.total.mean()) / free.kinetic.max()
        axes[1, 0].plot(free.times, relative, color=color, linewidth=0.6, label=name)
    axes[0, 1].set(xlabel="time after release [s]", ylabel="total [mJ]", title="total of each integrator")
    axes[1, 0].set(
        xlabel="time after release [s]", ylabel="total − mean [% of peak kinetic]", title="after the release"
    )
    for growth, color in zip(found.growth, COLORS, strict=False):
        start = growth.record.elastic[0]
        steady = np.clip(growth.record.total - growth.record.total[0] + start, 0.0, 10 * start)
        label = f"dt = {1e6 * growth.dt:.3g} µs"
        axes[1, 1].plot(1e3 * growth.record.times, steady / start, color=color, label=label)
    axes[1, 1].set(
        xlabel="time after release [ms]",
        ylabel="energy / energy at release",
        title="forward Euler",
        xlim=(0.0, 1.2e3 * max(growth.lifetime for growth in found.growth)),
        ylim=(0.5, 3.0),
    )
    for axis in axes.ravel():
        axis.legend(fontsize=7)
    for axis in axes[0]:
        axis.axvline(0.0, color="0.6", linewidth=0.8)

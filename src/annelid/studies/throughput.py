"""Speed against size, integrator and step (Cronos, Tables 2 and 3 and Fig. 9; Titan, Fig. 5)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.device import device as choose_device
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.simulation import Simulation
from annelid.core.timing import steps_per_second
from annelid.studies.support.plots import COLORS, figure

INTEGRATORS: tuple[Literal["symplectic", "verlet", "rk4"], ...] = ("symplectic", "verlet", "rk4")
BODY = (321, 5, 5)
"""The body of Cronos, Table 3: 8,000 free masses and 25 held ones."""
_STEPS = (1e-5, 5e-5, 1e-4)  # time steps of Titan's figure [s]
_TITAN = {"cpu": 1573.24, "cuda": 40.01524}  # wall time of a second of 50 masses cubed in steps of 0.1 ms [s]
_SOURCE_TITAN = {"cpu": "Titan, sec. IV: i7-8700K", "cuda": "Titan, sec. IV: Titan X"}
_TABLE_2 = {"cpu": 23.38e6, "cuda": 9.11e9}
_SOURCE_2 = {"cpu": "Cronos, Table 2: i7-8700K", "cuda": "Cronos, Table 2: RTX 3090, the fastest"}
_TABLE_3 = {"chainqueen": 0.392, "flex": 3.5, "cronos": 0.216}  # time of an iteration [ms]
_DEAREST = 4.5  # a step of Runge-Kutta in steps of Euler


@dataclass(frozen=True, eq=False)
class Found:
    """Rates [steps/s] on one device.

    Attributes:
        device: Kind of device, "cpu" or "cuda".
        title: The device in words.
        sizes: Springs of each cube, shape [k].
        edges: Masses along an edge of each cube, shape [k].
        rates: Steps a second of each cube, by integrator, each of shape [k].
        body: Steps a second of the body of Table 3, by integrator.
        costs: Time of a step of the largest cube, by integrator, in steps of Euler.
        whole: Masses along an edge of a cube that was simulated for a whole second, and the wall time of that [s].
    """

    device: str
    title: str
    sizes: np.ndarray
    edges: np.ndarray
    rates: dict[str, np.ndarray]
    body: dict[str, float]
    costs: dict[str, float]
    whole: tuple[int, float]


@dataclass(frozen=True)
class Throughput(Checked):
    """Springs per second against size, for three integrators, on the devices of this machine."""

    name: ClassVar[str] = "throughput"

    quick: bool = parameter(False, "Fewer sizes, and less time for each.")
    chosen_only: bool = parameter(False, "Do not measure the CPU beside a CUDA device.")
    largest: int = parameter(
        200,
        "Most masses along the edge of a cube: fewer where time or memory is short (200 are 104 million springs).",
        limits=(5, 1000),
    )

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Found]:
        """Measure the chosen device, and the CPU beside it."""
        devices = [device]
        if device.is_cuda and not self.chosen_only:
            devices.append(choose_device("cpu"))
        return [self._device(each, threads, progress) for each in devices]

    def measure(self, found: list[Found]) -> list[Measurement]:
        """Rates, their ratios, iteration times and times of a simulated second."""
        return [row for result in found for row in self._rows(result)]

    def plot(self, found: list[Found], folder: Path) -> list[Path]:
        """Fig. 9 of Cronos and Fig. 5 of Titan."""
        size = (10.0, 4.2 * len(found))
        return [figure(folder / "throughput.png", lambda a: _draw(a, found), size=size, grid=(len(found), 2))]

    def _edges(self, device: wp.Device) -> tuple[int, ...]:
        """Masses along the edges of the cubes."""
        edges: tuple[int, ...] = (5, 10, 20, 30) if self.quick else (5, 7, 10, 15, 20, 30, 40, 50)
        if device.is_cuda:
            edges = (10, 20, 50, 100) if self.quick else (5, 10, 15, 20, 30, 40, 50, 70, 100, 140, 200)
        return tuple(edge for edge in edges if edge <= self.largest) or (self.largest,)

    def _device(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        edges, seconds = self._edges(device), 0.3 if self.quick else 1.5
        rates: dict[str, list[float]] = {name: [] for name in INTEGRATORS}
        sizes = []
        for edge in edges:
            body = springs.block((edge,) * 3)
            sizes.append(body.spring_count)
            cubes = _simulations(body, device, threads)
            for name, cube in cubes.items():
                rates[name].append(steps_per_second(cube, seconds))
            best = body.spring_count * rates["symplectic"][-1]
            progress.say(f"{device.alias}, {edge}x{edge}x{edge}: {best:.3g} springs/s")
        held = springs.block(BODY).fix(lambda p: p[:, 0] == 0.0)
        body_rates = {n: steps_per_second(s, seconds) for n, s in _simulations(held, device, threads).items()}
        return Found(
            "cuda" if device.is_cuda else "cpu",
            device.name if device.is_cuda else "cpu",
            np.array(sizes, float),
            np.array(edges),
            {name: np.array(values) for name, values in rates.items()},
            body_rates,
            _costs(cubes, seconds),
            _whole_second(10 if self.quick else 20, device, threads),
        )

    def _rows(self, found: Found) -> list[Measurement]:
        kind, rows = found.device, []
        for name in INTEGRATORS:
            springs_a_second = found.sizes * found.rates[name]
            for edge, value in zip(found.edges, springs_a_second.tolist(), strict=True):
                rows.append(Measurement(f"{kind}-{edge}x{edge}x{edge}-{name}", value, "springs/s"))
            rows.append(
                Measurement(
                    f"{kind}-peak-{name}",
                    float(springs_a_second.max()),
                    "springs/s",
                    _TABLE_2[kind] if name == "symplectic" else None,
                    source=_SOURCE_2[kind] if name == "symplectic" else "",
                )
            )
        return [*rows, *self._costs(found), *self._iterations(found), *self._second(found)]

    def _costs(self, found: Found) -> list[Measurement]:
        source = f"step of Euler = 1, {found.edges[-1]} masses cubed"
        limits = {"rk4": _DEAREST}
        return [
            Measurement(f"{found.device}-cost-{name}", cost, "", limits.get(name), source=source, bound="at-most")
            for name, cost in found.costs.items()
        ]

    def _iterations(self, found: Found) -> list[Measurement]:
        ours = 1e3 / found.body["symplectic"]
        rows = [Measurement(f"{found.device}-iteration-8025-masses", ours, "ms")]
        for name, published in _TABLE_3.items():
            source = f"{name} takes {published} ms (Cronos, Table 3: GTX 1080 Ti)"
            rows.append(Measurement(f"{found.device}-faster-than-{name}", published / ours, "times", source=source))
        return rows

    def _second(self, found: Found) -> list[Measurement]:
        """Wall time of a simulated second: from the rates of all cubes, and of one that ran from beginning to end."""
        rows, kind = [], found.device
        for edge, rate in zip(found.edges.tolist(), found.rates["symplectic"].tolist(), strict=True):
            for dt in _STEPS:
                titan = edge == 50 and dt == _STEPS[-1]
                reference, source = (_TITAN[kind], _SOURCE_TITAN[kind]) if titan else (None, "from the rate of steps")
                name = f"{kind}-second-{edge}x{edge}x{edge}-{round(1e6 * dt)}us"
                rows.append(Measurement(name, 1 / (dt * rate), "s", reference, source=source))
        edge, wall = found.whole
        name = f"{kind}-whole-second-{edge}x{edge}x{edge}-{round(1e6 * _STEPS[-1])}us"
        return [*rows, Measurement(name, wall, "s", source="run from beginning to end")]


def _simulations(body: springs.Body, device: wp.Device, threads: int | None) -> dict[str, Simulation[Any]]:
    """One of each integrator."""
    return {name: springs.simulation(body, device=device, threads=threads, integrator=name) for name in INTEGRATORS}


def _whole_second(edge: int, device: wp.Device, threads: int | None) -> tuple[int, float]:
    """Wall time [s] of a cube's whole simulated second, with the longest of the steps; compilation is not counted."""
    simulation = springs.simulation(springs.block((edge,) * 3), device=device, threads=threads, dt=_STEPS[-1])
    simulation.run(100 * _STEPS[-1])
    begin = time.perf_counter()
    simulation.run(1.0)
    simulation.synchronize()
    return edge, time.perf_counter() - begin


def _costs(simulations: dict[str, Simulation[Any]], seconds: float) -> dict[str, float]:
    """Measured in turns, so that a machine that is busy for a while slows all of them down."""
    rounds = [{n: steps_per_second(s, seconds / 3) for n, s in simulations.items()} for _ in range(4)]
    best = {name: max(each[name] for each in rounds) for name in INTEGRATORS}
    return {name: best["symplectic"] / best[name] for name in INTEGRATORS if name != "symplectic"}


def _draw(axes: Any, found: list[Found]) -> None:
    for (speed, wall), result in zip(axes, found, strict=True):
        for name, color in zip(INTEGRATORS, COLORS, strict=False):
            speed.loglog(result.sizes, result.sizes * result.rates[name], "o-", color=color, markersize=4, label=name)
        speed.axhline(_TABLE_2[result.device], color="0.4", linestyle="--", label=_SOURCE_2[result.device])
        speed.set(xlabel="springs", ylabel="springs/s", title=result.title)
        for dt, color in zip(_STEPS, COLORS, strict=False):
            label = f"dt = {1e6 * dt:.3g} µs"
            wall.loglog(
                result.sizes, 1 / (dt * result.rates["symplectic"]), "o-", color=color, markersize=4, label=label
            )
        wall.axhline(1.0, color="0.4", linestyle="--", label="real time")
        wall.set(xlabel="springs", ylabel="wall time of 1 simulated second [s]", title=result.title)
        for axis in (speed, wall):
            axis.legend(fontsize=7)

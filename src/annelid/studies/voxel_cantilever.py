"""Bending of cantilevers of voxels, static and dynamic (Medvet et al., sec. 2.8.1, Fig. 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import warp as wp

from annelid import voxels
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement

_SOURCE = "2D-VSR-Sim 1.0.0, load × 59/60"
_FREQUENCIES = (4, 8, 10, 15, 20, 25, 30)
_SCAFFOLDINGS = {"all": "EIXC", "ec": "EC", "eic": "EIC", "eix": "EIX"}
_STATIC = {
    "5x2": {4: -8.3515, 8: -2.0150, 15: -0.58320, 30: -0.14602},
    "10x4": {4: -8.9207, 8: -2.3944, 15: -0.68448, 30: -0.17119},
}
"""Displacement of the free end of the original at 60 s [m], with all springs."""
_DYNAMIC = {"10x4": {8: -4.536}}
"""Largest displacement of the original [m], with all springs."""


@dataclass(frozen=True)
class Options:
    """Options of `annelid study voxel-cantilever`."""

    load: float = 29.5
    """Force on the free end in the static cases [N]; the original loses 1/60 of its 30 N."""
    push: float = 786.667
    """Force in the dynamic cases [N]; the original loses 1/60 of its 800 N."""
    push_seconds: float = 0.1
    """How long it lasts [s]."""
    seconds: float = 60.0
    """Simulated time of the static cases [s]; the dynamic ones take a quarter of it."""
    sizes: tuple[str, ...] = ("5x2", "10x2", "10x4")
    """Width and height of the cantilevers in voxels."""
    preset: Literal["v1", "paper"] = "v1"
    """Voxels of the original program or of the paper."""


@dataclass(frozen=True)
class Case:
    """A cantilever: size in voxels, frequency of its springs [Hz] and its scaffolding."""

    size: str
    frequency: int
    scaffolding: str

    @property
    def name(self) -> str:
        """Name of the case, such as 10x4-8hz-all."""
        return f"{self.size}-{self.frequency}hz-{self.scaffolding}"

    def robot(self, force: float, seconds: float, preset: str) -> voxels.Robot:
        """The cantilever, held at its left end, with the force on the right masses of its right voxels."""
        width, height = _cells(self.size)
        make = voxels.Voxel.v1 if preset == "v1" else voxels.Voxel.paper
        material = make(frequency=float(self.frequency), scaffolding=_SCAFFOLDINGS[self.scaffolding])
        forces = np.zeros((width, height, 4, 2))
        forces[-1, :, 1:3, 1] = -force / (2 * height)
        beam = voxels.box(width, height, material).fix(lambda x, y, corner: (x == 0) & (corner % 3 == 0))
        return beam.push(forces, seconds)


def cases(sizes: Sequence[str]) -> list[Case]:
    """All cases of the two figures: frequencies with all springs, scaffoldings at 8 Hz."""
    return [
        *(Case(size, f, "all") for size in sizes for f in _FREQUENCIES),
        *(Case(size, 8, name) for size in sizes for name in _SCAFFOLDINGS if name != "all"),
    ]


def study(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Displacements of the free end, beside those of the original."""
    every = cases(options.sizes)
    judged = options.preset == "v1"
    final, _ = bend(every, options.load, float("inf"), options.seconds, options.preset, device, threads)
    for case, value in zip(every, final, strict=True):
        known = _STATIC.get(case.size, {}).get(case.frequency) if case.scaffolding == "all" and judged else None
        share = 0.01 if (case.size, case.frequency) == ("5x2", 4) else 0.005
        yield _measurement(f"static-{case.name}", value, known, share, options.load == 29.5)
    seconds = 0.25 * options.seconds
    _, lowest = bend(every, options.push, options.push_seconds, seconds, options.preset, device, threads)
    for case, value in zip(every, lowest, strict=True):
        known = _DYNAMIC.get(case.size, {}).get(case.frequency) if case.scaffolding == "all" and judged else None
        yield _measurement(f"dynamic-{case.name}", value, known, 0.05, abs(options.push - 786.667) < 15.0)


def bend(
    every: Sequence[Case],
    force: float,
    push_seconds: float,
    seconds: float,
    preset: str,
    device: str | wp.Device,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Displacement of the free ends at the end, and the lowest on the way [m], shape [cases]."""
    robots = [case.robot(force, push_seconds, preset) for case in every]
    simulation = voxels.simulation(robots, gravity=0.0, precision="float64", device=device, threads=threads)
    start = _free_ends(simulation)
    lowest, now = np.zeros(len(robots)), np.zeros(len(robots))
    dense = np.isfinite(push_seconds)  # every step where something happens fast
    steps = round(seconds / simulation.time_step)
    while simulation.step_count < steps:
        simulation.step(1 if dense else min(60, steps - simulation.step_count))
        now = _free_ends(simulation) - start
        lowest = np.minimum(lowest, now)
    return now, lowest


def _free_ends(simulation: Any) -> np.ndarray:
    """Mean height of the voxels of the right column of each robot [m]."""
    model = simulation.solver.model
    heights = simulation.solver.readout.masses(simulation.state).mean(axis=1)[:, 1]
    right = np.concatenate([robot.cells[:, 0] == robot.cells[:, 0].max() for robot in model.robots])
    owner, count = model.robot_of_voxel[right], len(model.robots)
    return np.bincount(owner, heights[right], count) / np.bincount(owner, minlength=count)


def _measurement(name: str, value: float, known: float | None, share: float, comparable: bool) -> Measurement:
    if known is None or not comparable:
        return Measurement(name, float(value), "m")
    return Measurement(name, float(value), "m", known, share * abs(known), _SOURCE)


def _cells(size: str) -> tuple[int, int]:
    parts = size.split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InvalidValue(f"a size must be written WIDTHxHEIGHT in voxels, such as 10x4, not {size!r}.")
    return int(parts[0]), int(parts[1])

"""Bending of cantilevers of voxels, static and dynamic (Medvet et al., sec. 2.8.1, Fig. 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import warp as wp

from annelid import voxels
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.plots import COLORS, figure

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
class Case:
    """A cantilever: size in voxels, frequency of its springs [Hz] and its scaffolding."""

    size: str
    frequency: int
    scaffolding: str

    @property
    def name(self) -> str:
        """Name of the case, such as 10x4-8hz-all."""
        return f"{self.size}-{self.frequency}hz-{self.scaffolding}"

    def known(self, table: dict[str, dict[int, float]]) -> float | None:
        """The number of the original for this case [m], if there is one."""
        return table.get(self.size, {}).get(self.frequency) if self.scaffolding == "all" else None

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


@dataclass(frozen=True, eq=False)
class Found:
    """Displacements of the free ends [m].

    Attributes:
        cases: The cantilevers.
        final: Under the standing load, at its end, shape [cases].
        lowest: After the push, the lowest, shape [cases].
        times: Moments after the push [s], shape [t].
        paths: Displacements at these moments, shape [t, cases].
    """

    cases: list[Case]
    final: np.ndarray
    lowest: np.ndarray
    times: np.ndarray
    paths: np.ndarray


@dataclass(frozen=True)
class VoxelCantilever(Checked):
    """Cantilevers of voxels bend under a load and swing after a push, beside the numbers of the original."""

    name: ClassVar[str] = "voxel-cantilever"

    quick: bool = parameter(False, "Only the smallest cantilever, and half the time.")
    load: float = parameter(
        29.5, "Force on the free end in the static cases [N]; the original loses 1/60 of its 30 N.", unit="N", least=0.0
    )
    push: float = parameter(
        786.667, "Force in the dynamic cases [N]; the original loses 1/60 of its 800 N.", unit="N", least=0.0
    )
    push_seconds: float = parameter(0.1, "How long the push lasts [s].", unit="s", above=0.0)
    sizes: tuple[str, ...] = parameter(("5x2", "10x2", "10x4"), "Width and height of the cantilevers in voxels.")
    preset: Literal["v1", "paper"] = parameter("v1", "Voxels of the original program or of the paper.")

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Bend all cantilevers at once, then push them all at once."""
        every = cases(self.sizes[:1] if self.quick else self.sizes)
        seconds = 30.0 if self.quick else 60.0
        standing = bend(every, self.load, float("inf"), seconds, self.preset, device, threads)
        progress.say(f"{len(every)} cantilevers under {self.load:g} N")
        pushed = bend(every, self.push, self.push_seconds, 0.25 * seconds, self.preset, device, threads)
        progress.say(f"{len(every)} cantilevers after {self.push:g} N for {self.push_seconds:g} s")
        times = (1 + np.arange(len(pushed))) / 60.0
        return Found(every, standing[-1], pushed.min(axis=0), times, pushed)

    def measure(self, found: Found) -> list[Measurement]:
        """Displacements beside those of the original, where it was run."""
        judged = self.preset == "v1"
        rows = []
        for case, value in zip(found.cases, found.final, strict=True):
            share = 0.01 if (case.size, case.frequency) == ("5x2", 4) else 0.005  # where ropes act
            comparable = judged and self.load == 29.5
            rows.append(_measurement(f"static-{case.name}", value, case.known(_STATIC), share, comparable))
        for case, value in zip(found.cases, found.lowest, strict=True):
            comparable = judged and abs(self.push - 793.0) < 8.0 and self.push_seconds == 0.1
            rows.append(_measurement(f"dynamic-{case.name}", value, case.known(_DYNAMIC), 0.05, comparable))
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Fig. 5 and 6."""
        return [figure(folder / "voxel-cantilever.png", lambda axes: _draw(axes, found), size=(10.0, 6.5), grid=(2, 2))]


def bend(
    every: Sequence[Case],
    force: float,
    push_seconds: float,
    seconds: float,
    preset: str,
    device: str | wp.Device,
    threads: int | None = None,
) -> np.ndarray:
    """Displacement of the free ends [m], shape [t, cases]: each step after a push, each second under a load."""
    robots = [case.robot(force, push_seconds, preset) for case in every]
    simulation = voxels.simulation(robots, gravity=(0.0, 0.0, 0.0), precision="float64", device=device, threads=threads)
    start = _free_ends(simulation)
    rows: list[np.ndarray] = []
    every_time = simulation.dt if np.isfinite(push_seconds) else 1.0
    simulation.observe(lambda sim: rows.append(_free_ends(sim) - start), every=every_time)
    simulation.run(seconds)
    return np.array(rows)


def _free_ends(simulation: Any) -> np.ndarray:
    """Mean height of the voxels of the right column of each robot [m]."""
    model = simulation.solver.model
    heights = simulation.solver.readout.mass_positions(simulation.state).mean(axis=1)[:, 1]
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


def _draw(axes: Any, found: Found) -> None:
    sizes = list(dict.fromkeys(case.size for case in found.cases))
    for size, color in zip(sizes, COLORS, strict=False):
        picks = [i for i, case in enumerate(found.cases) if case.size == size and case.scaffolding == "all"]
        x = [found.cases[i].frequency for i in picks]
        axes[0, 0].plot(x, found.final[picks], "o-", color=color, label=size)
        if size in _STATIC:
            axes[0, 0].plot(*zip(*_STATIC[size].items(), strict=True), "kx", label=None)
        picks = [i for i, case in enumerate(found.cases) if case.size == size and case.frequency == 8]
        axes[0, 1].plot([found.cases[i].scaffolding for i in picks], found.final[picks], "o-", color=color, label=size)
    shown = [i for i, case in enumerate(found.cases) if case.size == sizes[-1]]
    for i in shown:
        case = found.cases[i]
        if case.scaffolding == "all":
            axes[1, 0].plot(found.times, found.paths[:, i], linewidth=0.9, label=f"{case.frequency} Hz")
        if case.frequency == 8:
            axes[1, 1].plot(found.times, found.paths[:, i], linewidth=0.9, label=case.scaffolding)
    titles = (
        "static, all springs (× original)",
        "static, 8 Hz",
        f"dynamic, {sizes[-1]}, all springs",
        f"dynamic, {sizes[-1]}, 8 Hz",
    )
    for axis, title, label in zip(axes.ravel(), titles, ("f [Hz]", "scaffolding", "time [s]", "time [s]"), strict=True):
        axis.set(title=title, xlabel=label, ylabel="displacement [m]")
        axis.legend(fontsize=7)

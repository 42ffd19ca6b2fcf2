"""Blocks that drop into grains in the usual step and in half of it: how deep they come must not depend on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.block_drops import CASES, PLACES, Case, Depths, Drops
from annelid.studies.support.plots import COLORS, figure

_QUICK = 3  # the case of the quick form: few large grains, and a block that comes in deep
_ALLOWED = 0.03  # what halving the step may change, of the depth


@dataclass(frozen=True, eq=False)
class Found:
    """Depths of all drops, case by case."""

    cases: tuple[Case, ...]
    depths: list[list[Depths]]

    def ratio(self, number: int, upper: str, lower: str) -> tuple[float, float]:
        """Ratio of two mean depths of a case, and its standard error over the drops."""
        above, below = (np.array([getattr(one, name) for one in self.depths[number]]) for name in (upper, lower))
        ratio = float(above.sum() / below.sum())
        left, count = above - ratio * below, len(above)
        spread = math.sqrt(left @ left * count / max(1, count - 1))
        return ratio, float(spread / abs(below.sum()))


@dataclass(frozen=True)
class SandSteps(Checked):
    """Blocks dropped into eleven kinds of beds, as lattices and rigid, in the usual step and in half of it."""

    name: ClassVar[str] = "sand-steps"

    quick: bool = parameter(False, "One block into one bed of few grains; it is then reported, not judged.")
    beds: int = parameter(3, "Beds of each kind; each is dropped into at three places.", least=1)
    only: int = parameter(-1, "Number of the one kind to drop, from 0 on; -1 takes all.", limits=(-1, len(CASES) - 1))

    def cases(self) -> tuple[Case, ...]:
        """The kinds of drops."""
        if self.quick:
            return (CASES[_QUICK],)
        return CASES if self.only < 0 else (CASES[self.only],)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Settle the beds and drop the blocks, one after the other."""
        depths = []
        for case in self.cases():
            depths.append(
                [
                    one
                    for seed in range(1, 1 + (1 if self.quick else self.beds))
                    for one in self._dropped(Drops(case, seed, device, threads))
                ]
            )
            progress.say(f"{case.label}: {len(depths[-1])} drops")
        return Found(self.cases(), depths)

    def _dropped(self, drops: Drops) -> list[Depths]:
        bed = drops.bed()
        return [drops.depths(bed, place) for place in range(1 if self.quick else len(PLACES))]

    def measure(self, found: Found) -> list[Measurement]:
        """What halving the step changes, of a lattice and of a rigid block, and how the two compare."""
        allowed, rows = None if self.quick else _ALLOWED, []
        for number, case in enumerate(found.cases):
            depth = float(np.mean([one.lattice for one in found.depths[number]]))
            rows.append(Measurement(f"{case.label}-depth", 1e3 * depth, "mm", source="lattice"))
            for name, upper, lower in (
                ("lattice-halved", "lattice_halved", "lattice"), ("rigid-halved", "rigid_halved", "rigid"),
            ):  # fmt: skip
                ratio, error = found.ratio(number, upper, lower)
                source = f"± {error:.3f} over {len(found.depths[number])} drops"
                rows.append(Measurement(f"{case.label}-{name}", ratio, "", 1.0, allowed, source))
            rows.append(Measurement(f"{case.label}-lattice-over-rigid", found.ratio(number, "lattice", "rigid")[0]))
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Each drop in half of the step against itself in the usual one."""
        path = folder / f"{self.name}.png"
        return [figure(path, lambda axes: _draw(axes[0, 0], found), size=(5.0, 4.0), grid=(1, 1))]


def _draw(axes: Any, found: Found) -> None:
    for kind, usual, halved, color in (
        ("lattice", "lattice", "lattice_halved", COLORS[0]), ("rigid", "rigid", "rigid_halved", COLORS[1]),
    ):  # fmt: skip
        every = [one for drops in found.depths for one in drops]
        across, up = ([1e3 * getattr(one, name) for one in every] for name in (usual, halved))
        axes.plot(across, up, "o", color=color, markersize=3, label=kind)
    ends = np.array(axes.get_xlim())
    axes.plot(ends, ends, "k--", linewidth=1.0)
    axes.set(xlabel="depth in the usual step [mm]", ylabel="depth in half of it [mm]")
    axes.legend()

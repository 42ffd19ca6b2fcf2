"""Boxes of grains compressed until they shear: their angle of friction, and the resistance that it predicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.shapes.resistive.law import resistance_of
from annelid.studies.support.compression import Compression, Sheared
from annelid.studies.support.plots import COLORS, figure

_AGARWAL = "Agarwal, Goldman and Kamrin 2023"
_SLIPPERY = {"loose": 0.5, "close": 0.1}  # friction while grains are pressed together
_RANGE = 0.3, 0.9  # of the stress ratio for which the resistance is known


@dataclass(frozen=True)
class SandStrength(Checked):
    """Grains in a box that is pressed from above while its sides give way: how much shear they bear."""

    name: ClassVar[str] = "sand-strength"

    quick: bool = parameter(False, "One small box.")
    packing: Literal["loose", "close"] = parameter(
        "close", "How grains lie: pressed together with friction, or with little and then given it."
    )
    friction: float = parameter(0.5, "Coulomb friction of the grains.", least=0.0)
    rolling: float = parameter(0.1, "Rolling resistance of the grains.", least=0.0)
    slippery: float = parameter(
        -1.0,
        "Friction while they are pressed together; -1 takes 0.1 for close packing, and the friction for loose.",
        least=-1.0,
    )
    seeds: int = parameter(3, "Boxes.", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if -1.0 < self.slippery < 0.0:
            raise InvalidValue(f"--slippery must be 0 or more, or -1, not {self.slippery}.")

    def box(self, seed: int) -> Compression:
        """A box of grains."""
        grain = grains.Grain(density=2650.0, friction=self.friction, rolling=self.rolling)
        slippery = _SLIPPERY[self.packing] if self.slippery < 0.0 else self.slippery
        if self.quick:
            return Compression(sides=(7.0, 6.0, 10.0), strain=0.12, grain=grain, slippery=slippery, seed=seed)
        return Compression(grain=grain, slippery=slippery, seed=seed)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Sheared]:
        """Compress the boxes, one after the other."""
        found = []
        for seed in range(1, 1 + (1 if self.quick else self.seeds)):
            found.append(self.box(seed).run(device, threads))
            progress.say(f"box {seed}: {found[-1].grains} grains, packing {found[-1].packing:.3f}")
        return found

    def measure(self, found: list[Sheared]) -> list[Measurement]:
        """Angles at the peak and at the end, and what the law in space predicts from the peak."""
        peak, end = (float(np.mean([getattr(one, name) for one in found])) for name in ("peak", "end"))
        packing = float(np.mean([one.packing for one in found]))
        rows = [
            Measurement("grains", found[0].grains),
            Measurement("packing", packing, source="away from walls"),
            Measurement("peak-ratio", peak, source="shear over mean stress"),
            Measurement("peak-angle", math.degrees(math.asin(peak)), "°"),
            Measurement("end-ratio", end),
            Measurement("end-angle", math.degrees(math.asin(end)), "°"),
            Measurement("swelling", float(np.mean([one.swelling[-1] - one.swelling.min() for one in found]))),
            Measurement("mean-overlap", max(one.overlap for one in found), source="of a diameter"),
        ]
        if _RANGE[0] <= peak <= _RANGE[1]:
            # In plane strain without swelling, shear over mean stress is what that law calls internal friction.
            predicted = resistance_of(packing * 2650.0, peak) / 1e6
            rows.append(Measurement("predicted-resistance", predicted, "N/cm³", source=_AGARWAL))
        return rows

    def plot(self, found: list[Sheared], folder: Path) -> list[Path]:
        """Stress ratios and swelling against the compression."""
        path = folder / f"{self.name}.png"
        return [figure(path, lambda axes: _draw(axes[0], found), size=(9.0, 3.6), grid=(1, 2))]


def _draw(axes: Any, found: list[Sheared]) -> None:
    for one, color in zip(found, (*COLORS, *COLORS), strict=False):
        axes[0].plot(one.strains, one.ratios, color=color)
        axes[1].plot(one.strains, one.swelling, color=color, label=f"packing {one.packing:.3f}")
    axes[0].set(xlabel="compression", ylabel="shear over mean stress")
    axes[1].set(xlabel="compression", ylabel="swelling")
    axes[1].legend()

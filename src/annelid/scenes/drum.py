"""A drum that turns about a level axis: grains climb on one side and run down in a thin layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import grains
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.filling import fill
from annelid.shapes import Cylinder, Rigid, Surface

_PACKED = 0.6  # of a poured bed


@dataclass(frozen=True)
class Drum(Checked):
    """A slice of a long drum turns; large grains gather at the wall, small ones in the middle."""

    name: ClassVar[str] = "drum"
    duration: ClassVar[float] = 6.0

    radius: float = parameter(0.15, "Radius of the drum", unit="m", range=(0.05, 1.0), limits=(0.01, 100.0))
    length: float = parameter(
        0.08, "Length of the slice, after which everything repeats", unit="m", range=(0.04, 1.0), limits=(0.01, 100.0)
    )
    filling: float = parameter(0.45, "Part of the drum that is filled", range=(0.1, 0.7), limits=(0.01, 0.7))
    diameter: float = parameter(
        0.01, "Diameter of the small grains", unit="m", range=(0.002, 0.05), limits=(1e-4, 10.0)
    )
    ratio: float = parameter(
        1.5, "Diameter of the large grains over that of the small", range=(1.0, 3.0), limits=(1.0, 5.0)
    )
    spin: float = parameter(1.5, "Speed of rotation", unit="rad/s", range=(-10.0, 10.0), limits=(-100.0, 100.0))
    friction: float = parameter(0.6, "Coulomb friction of grains and wall", range=(0.0, 1.5), limits=(0.0, 100.0))
    rolling: float = parameter(0.05, "Rolling resistance of grains and wall", range=(0.0, 1.0), limits=(0.0, 10.0))
    seed: int = parameter(1, "Seed of sizes and places", limits=SEEDS)

    def bed(self) -> grains.Bed:
        """Small and large grains, half of the volume each, at random places all over the drum: they fall at first."""
        large = 1.0 / (1.0 + self.ratio**3)  # of the grains: half of the volume

        def sizes(generator: np.random.Generator, count: int) -> np.ndarray:
            return 0.5 * self.diameter * np.where(generator.random(count) < large, self.ratio, 1.0)

        region = Cylinder(self.radius, self.length, axis="y", center=(0.0, 0.5 * self.length, 0.0))
        positions, radii = fill(region, sizes, _PACKED * self.filling, seed=self.seed)
        return grains.Bed(positions, radii, grains.Grain(friction=self.friction, rolling=self.rolling))

    def wall(self) -> Rigid:
        """The drum; its ends lie beyond the slice."""
        middle = (0.0, 0.5 * self.length, 0.0)
        # The ends are out of reach of the slice.
        shape = Cylinder(self.radius, self.length + 4.0 * self.ratio * self.diameter, axis="y", center=middle)
        return Rigid(
            shape,
            Surface(friction=max(self.friction, 0.8), rolling=self.rolling),
            motion="driven",
            spin=(0.0, self.spin, 0.0),
            inside=True,
            name="drum",
        )

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """The drum, at full speed from the beginning."""
        period = (0.0, self.length, 0.0)
        return grains.simulation(self.bed(), obstacles=[self.wall()], period=period, device=device, threads=threads)

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """How far the bed is tilted, and how far the sizes have parted."""
        readout, bed = simulation.solver.readout, simulation.solver.model.bed
        x = readout.positions(simulation.state)
        center = bed.masses @ x / bed.masses.sum()
        away = np.hypot(x[:, 0], x[:, 2]) / self.radius
        large = bed.radii > bed.radii.min()
        parted = float(away[large].mean() - away[~large].mean()) if large.any() and not large.all() else 0.0
        return [
            Measurement("grains", len(bed)),
            Measurement("tilt", math.degrees(math.atan2(-center[0], -center[2])) * math.copysign(1, self.spin), "deg"),
            Measurement("froude-number", self.spin**2 * self.radius / 9.81),
            Measurement("large-further-out", parted, "radii"),
            Measurement("overlap-largest", readout.overlap(simulation.state).largest),
        ]

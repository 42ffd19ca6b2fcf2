"""A thermal actuator: a strip bends because one half of its thickness expands (Cronos, Fig. 1a)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation


@dataclass(frozen=True)
class Heater(Checked):
    """A strip of silicone, clamped at one end, whose lower half swells slowly and bends it upwards."""

    name: ClassVar[str] = "heater"
    duration: ClassVar[float] = 1.2

    expansion: float = parameter(0.05, "Expansion of the heated half at the end", range=(0.0, 0.15), limits=(0.0, 0.5))
    length: float = parameter(0.1, "Length of the strip", unit="m", range=(0.05, 0.2), limits=(0.02, 10.0))
    thickness: int = parameter(4, "Cells across the thickness, an even number", range=(2, 8), limits=(2, 40))

    def body(self) -> springs.Body:
        """The strip along x, 8 mm thick and 20 mm wide."""
        pitch = 0.008 / self.thickness
        strip = springs.beam(self.length, 0.02, 0.008, pitch, "dragon-skin-30")
        heated = strip.springs_of(lambda x: x[:, 2] < 0.01 * pitch)
        strip.fix(lambda x: x[:, 0] < 0.5 * pitch)
        # A quarter of a slow sine is a smooth way from cold to hot.
        return strip.actuate(springs.expand_contract(self.expansion, 0.25 / self.duration), heated)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The strip, cold."""
        body = self.body()
        return springs.simulation(
            body, dt=4e-5, gravity=(0.0, 0.0, 0.0), velocity_damping=20.0, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Curvature beside that of a bilayer of equal halves, kappa = 3/2 strain / thickness (Timoshenko, 1925)."""
        body, now = simulation.solver.model.body, simulation.state.positions.numpy()[:, :3].astype(float)
        heat = self.expansion * math.sin(0.5 * math.pi * min(simulation.time / self.duration, 1.0))
        middle = np.abs(body.positions[:, 1]) < 0.3 * self.length
        ends = [now[middle & (body.positions[:, 0] > f * self.length)].mean(axis=0) for f in (0.999, 0.899)]
        slope = math.atan2(*(ends[0] - ends[1])[[2, 0]])
        curvature = slope / (0.945 * self.length)
        reference = 1.5 * heat / 0.008
        return [
            Measurement("tip-height", float(ends[0][2]), "m"),
            Measurement("curvature", curvature, "1/m", reference, 0.15 * reference, "bilayer, Timoshenko 1925"),
        ]

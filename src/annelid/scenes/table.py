"""A table of 3-D voxels that walks: four legs and a top that grow and shrink, the rear a quarter of a wave ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import ground

_ORIGINAL = 0.1824 / 10.0  # m/s, of the original without its small-angle branch


@dataclass(frozen=True)
class Table(Checked):
    """A table of 23 soft cubes walks by a wave from its rear to its front legs."""

    name: ClassVar[str] = "table"
    duration: ClassVar[float] = 10.0

    amplitude: float = parameter(0.14, "Relative change of the length of voxels", range=(0.0, 0.3), limits=(0.0, 0.9))
    frequency: float = parameter(4.0, "Waves a second", unit="Hz", range=(0.5, 8.0), limits=(0.01, 100.0))
    lead: float = parameter(0.25, "By how much of a wave the front is ahead", range=(-0.5, 0.5), limits=(-1.0, 1.0))
    ramp: float = parameter(0.5, "Time in which the wave grows", unit="s", range=(0.0, 2.0), limits=(0.0, 100.0))
    modulus: float = parameter(1.0e5, "Young's modulus", unit="Pa", range=(3e4, 1e6), limits=(1e3, 1e9))
    links: Literal["balanced", "compatible"] = parameter(
        "balanced", "Links that conserve angular momentum, or as in the original"
    )
    precision: Literal["float32", "float64"] = parameter("float32", "Numbers to compute with")

    def robot(self) -> voxels3d.Robot:
        """The table: a full layer on four columns of two."""
        grid = np.full((5, 3, 3), -1)
        grid[:, :, 2] = 0
        grid[::4, ::2] = 0
        phase = np.where(np.arange(5) < 2, 0.0, self.lead)[:, None, None] * np.ones(grid.shape)
        material = voxels3d.Voxel(youngs_modulus=self.modulus)
        return voxels3d.Robot(
            grid, (material,), 0.01, amplitude=self.amplitude / material.expansion, frequency=self.frequency,
            phase=phase, ramp=self.ramp,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The table at rest on the ground."""
        return voxels3d.simulation(
            self.robot(), gravity=(0.0, 0.0, -9.80665), obstacles=[ground(1.0, sliding_friction=0.5)], links=self.links,
            precision=self.precision, device=device, threads=threads,
        )  # fmt: skip

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """How far it walked, and how straight."""
        readout, solver = simulation.solver.readout, simulation.solver
        x, y, _ = (readout.centers(simulation.state) - readout.centers(solver.initial_state()))[0].tolist()
        speed = x / max(simulation.time, simulation.dt)
        whole = (
            self == Table(links="compatible", precision=self.precision) and abs(simulation.time - self.duration) < 0.1
        )
        judged = (_ORIGINAL, 0.01 * _ORIGINAL, "Voxelyze, aligned branch, 10 s") if whole else ()
        return [
            Measurement("distance", x, "m"),
            Measurement("sideways", y, "m"),
            Measurement("velocity", speed, "m/s", *judged),
        ]

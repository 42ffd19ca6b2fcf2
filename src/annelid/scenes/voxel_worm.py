"""A voxel worm that crawls by a wave of shrinking and growing voxels (Medvet et al., sec. 2.8.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from annelid import control, voxels
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation


@dataclass(frozen=True)
class VoxelWorm(Checked):
    """Voxel worms crawl over ground of a chosen kind by a wave along their bodies."""

    name: ClassVar[str] = "voxel-worm"
    duration: ClassVar[float] = 20.0

    length: int = parameter(8, "Voxels along the body", range=(2, 45), limits=(1, 1000))
    height: int = parameter(2, "Voxels across the body", range=(1, 6), limits=(1, 100))
    frequency: float = parameter(1.0, "Waves a second", unit="Hz", range=(0.2, 3.0), limits=(0.0, 100.0))
    waves: float = parameter(1.0, "Waves along the body", range=(0.0, 3.0), limits=(-100.0, 100.0))
    stiffness: float = parameter(8.0, "Frequency of the springs", unit="Hz", range=(4.0, 30.0), limits=(0.1, 100.0))
    terrain: str = parameter("hilly-1-10-0", "Ground: flat, uneven-H, hilly-H-W-SEED, steppy-H-W-SEED, uphill-DEGREES")
    preset: Literal["paper", "v1"] = parameter("paper", "Voxels as in the paper, or as its program really made them")
    robots: int = parameter(
        1, "Number of worms, each in a world of its own; the others are slower", range=(1, 16), limits=(1, 4096)
    )

    def worm(self, frequency: float) -> voxels.Robot:
        """A worm with its wave, which travels from head to tail."""
        preset = voxels.Voxel.paper if self.preset == "paper" else voxels.Voxel.v1
        body = voxels.worm(self.length, preset(frequency=self.stiffness), height=self.height)
        phases = 2.0 * math.pi * self.waves * body.cells[:, 0] / self.length
        return body.with_controller(control.PhasedSines(phases, frequency=frequency))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels.Solver]:
        """The worms just above the ground."""
        worms = [self.worm(self.frequency * (1.0 - i / self.robots)) for i in range(self.robots)]
        return voxels.simulation(worms, obstacles=[voxels.terrain(self.terrain)], device=device, threads=threads)

    def measure(self, simulation: Simulation[voxels.Solver]) -> list[Measurement]:
        """How far the first worm came."""
        readout, solver = simulation.solver.readout, simulation.solver
        moved = float((readout.centers(simulation.state) - readout.centers(solver.initial_state()))[0, 0])
        time = max(simulation.time, simulation.dt)
        return [
            Measurement("distance", moved, "m"),
            Measurement("velocity", moved / time, "m/s"),
            Measurement("relative-velocity", moved / time / max(solver.model.robots[0].size), "1/s"),
        ]

"""Listing 1 of the paper: a robot of two materials that performs locomotion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from annelid import control, voxels
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.voxels.tasks import Locomotion


@dataclass(frozen=True)
class VoxelListing(Checked):
    """A 4×2 robot with a hard bottom and a soft top walks on flat ground (Listing 1 of the paper)."""

    name: ClassVar[str] = "voxel-listing"
    duration: ClassVar[float] = 60.0

    hard: float = parameter(
        25.0, "Frequency of the springs at the bottom", unit="Hz", range=(4.0, 30.0), limits=(0.1, 100.0)
    )
    soft: float = parameter(
        5.0, "Frequency of the springs at the top", unit="Hz", range=(4.0, 30.0), limits=(0.1, 100.0)
    )

    def robot(self) -> voxels.Robot:
        """The robot, in as many lines as it takes."""
        hard = voxels.Voxel.paper(frequency=self.hard)
        soft = voxels.Voxel.paper(frequency=self.soft, scaffolding="EC")
        body = voxels.Robot.from_text("ssss\nhhhh", {"h": hard, "s": soft})
        return body.with_controller(control.PhasedSines(math.pi * body.cells[:, 0] / 4, frequency=-1.0))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels.Solver]:
        """The robot at the start of its task."""
        return Locomotion(seconds=60.0, terrain="flat").simulation(self.robot(), device=device, threads=threads)

    def measure(self, simulation: Simulation[voxels.Solver]) -> list[Measurement]:
        """The two measures of the listing."""
        solver = simulation.solver
        task = Locomotion(seconds=max(simulation.time, simulation.dt))
        result = task.judge(solver, simulation.state, solver.readout.centers(solver.initial_state()))
        return [
            Measurement("travel-velocity", float(result.velocity[0]), "m/s"),
            Measurement("squared-control", float(result.control[0])),
        ]

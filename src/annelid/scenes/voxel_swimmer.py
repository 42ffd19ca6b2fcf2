"""A fish of 3-D voxels: a wave of bending runs from its head to its tail, and water pushes on its sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation

_EXPANSION = 0.01
_SIDE = 0.01


@dataclass(frozen=True)
class Swimmer(Checked):
    """A fish of soft cubes with muscles on both flanks swims by a wave that runs along its body."""

    name: ClassVar[str] = "swimmer"
    duration: ClassVar[float] = 6.0

    length: int = parameter(14, "Length of the body in cells of 1 cm", range=(6, 30), limits=(4, 200))
    amplitude: float = parameter(0.14, "Relative change of the length of muscle", range=(0.0, 0.3), limits=(0.0, 0.9))
    frequency: float = parameter(1.5, "Strokes a second", unit="Hz", range=(0.2, 4.0), limits=(0.01, 100.0))
    waves: float = parameter(0.8, "Waves along the body, head first; below 0: tail first", range=(-2.0, 2.0),
                             limits=(-20.0, 20.0))  # fmt: skip
    water: float = parameter(1000.0, "Density of the water times the drag coefficient of faces", unit="kg/m³",
                             range=(0.0, 2000.0), limits=(0.0, 2e4))  # fmt: skip
    skin: Literal["blocky", "smooth"] = parameter("blocky", "Whether pictures show cubes or round them off")

    def robot(self) -> voxels3d.Robot:
        """The fish: two cells across, three high, with a tail fin of five; its head, at low x, does not move itself."""
        skin = voxels3d.Voxel(name="skin", expansion=0.0, youngs_modulus=5e4, global_damping=0.0,
                              color=(0.85, 0.55, 0.25))  # fmt: skip
        muscle = voxels3d.Voxel(name="muscle", expansion=_EXPANSION, youngs_modulus=5e4, global_damping=0.0,
                                color=(0.82, 0.30, 0.28))  # fmt: skip
        grid = np.full((self.length, 2, 5), -1)
        grid[:, :, 1:4] = 1
        grid[:2] = np.where(grid[:2] >= 0, 0, -1)
        grid[-3:] = 0
        x, y, _ = np.indices(grid.shape)
        return voxels3d.Robot(
            grid, (skin, muscle), _SIDE, amplitude=self.amplitude / _EXPANSION, frequency=self.frequency,
            phase=0.5 * y - self.waves * x / self.length, ramp=0.5,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The fish at rest, as heavy as the water."""
        return voxels3d.simulation(
            self.robot(), gravity=(0.0, 0.0, 0.0), fluid=self.water, skin=self.skin, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """How far it swam, ahead and in lengths of its body."""
        readout, solver = simulation.solver.readout, simulation.solver
        x, y, z = (readout.centers(simulation.state) - readout.centers(solver.initial_state()))[0].tolist()
        return [
            Measurement("ahead", -x, "m"),
            Measurement("sideways", float(np.hypot(y, z)), "m"),
            Measurement("lengths-a-second", -x / (self.length * _SIDE) / max(simulation.time, simulation.dt), "1/s"),
        ]

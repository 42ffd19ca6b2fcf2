"""A tower of soft cubes in a gust of wind: low ones come back, high ones buckle under their own weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import ground

_GRAVITY = 9.81
_SIDE = 0.01
_ACROSS = 3
_GREENHILL = 7.837  # of a clamped column: A. G. Greenhill, Proc. Cambridge Phil. Soc. 4, 65 (1881)


@dataclass(frozen=True)
class Tower(Checked):
    """A tower of 3×3 soft cubes a floor sways in a gust of wind and comes back; build it too high and it buckles."""

    name: ClassVar[str] = "tower"
    duration: ClassVar[float] = 5.0

    floors: int = parameter(14, "Floors of 1 cm", range=(4, 40), limits=(1, 500))
    modulus: float = parameter(1.0e5, "Young's modulus", unit="Pa", range=(3e4, 1e6), limits=(1e3, 1e9))
    wind: float = parameter(0.05, "Force of the wind on the top floor", unit="N", range=(0.0, 0.3), limits=(0.0, 1e3))
    gust: float = parameter(0.6, "Time for which the wind blows", unit="s", range=(0.0, 3.0), limits=(0.0, 1e3))

    def robot(self) -> voxels3d.Robot:
        """The tower, and what the wind does to its top."""
        grid = np.zeros((_ACROSS, _ACROSS, self.floors), int)
        material = voxels3d.Voxel(youngs_modulus=self.modulus, name="rubber", color=(0.93, 0.75, 0.32))
        tower = voxels3d.Robot(grid, (material,), _SIDE)
        return tower.push(lambda x, y, z: z == z.max(), (self.wind, 0.0, 0.0), end=self.gust)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The tower on the ground, not yet pressed by its weight."""
        return voxels3d.simulation(
            self.robot(),
            gravity=(0.0, 0.0, -_GRAVITY),
            obstacles=[ground(1.0, sliding_friction=0.5)],
            device=device,
            threads=threads,
        )

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """Where the top is: it settles by ρ g H²/2 E where the tower stands upright."""
        readout, solver = simulation.solver.readout, simulation.solver
        moved = readout.positions(simulation.state) - readout.positions(solver.initial_state())
        top = moved[solver.model.robots[0].cells[:, 2] == self.floors - 1].mean(axis=0)
        density, height = solver.model.robots[0].materials[0].density, self.floors * _SIDE
        width = _ACROSS * _SIDE
        highest = (_GREENHILL * self.modulus * width**2 / (12.0 * density * _GRAVITY)) ** (1.0 / 3.0)
        settling = density * _GRAVITY * height**2 / (2.0 * self.modulus)
        stands = height < 0.9 * highest and simulation.time > self.gust + 3.0
        judged = (settling, 0.02 * settling, "ρ g H² / 2 E") if stands else ()
        return [
            Measurement("settling", -float(top[2]), "m", *judged),
            Measurement("lean", float(np.hypot(*top[:2])), "m"),
            Measurement("height", height, "m"),
            Measurement("highest", highest, "m"),
        ]

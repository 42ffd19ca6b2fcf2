"""The workshop for 3-D voxels: a robot of one's own, painted in the browser, or one from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.scenes.support.voxel_brush import SWING
from annelid.scenes.support.voxel_canvas import VoxelCanvas, require_room

_STEP = 0.75  # of the recommended one: with the 0.9 of the original large blocks that swell on a floor diverge

MATERIALS = (
    voxels3d.Voxel(name="muscle", static_friction=1.0, kinetic_friction=0.5, expansion=0.01, color=(0.83, 0.36, 0.30)),
    voxels3d.Voxel(
        name="counter-muscle", static_friction=1.0, kinetic_friction=0.5, expansion=-0.01, color=(0.40, 0.68, 0.42)
    ),
    voxels3d.Voxel(name="soft", static_friction=1.0, kinetic_friction=0.5, expansion=0.0, color=(0.42, 0.72, 0.86)),
    voxels3d.Voxel(
        name="stiff",
        static_friction=1.0,
        kinetic_friction=0.5,
        youngs_modulus=1e6,
        expansion=0.0,
        color=(0.25, 0.36, 0.60),
    ),
)
"""The palette of a new robot: two muscles that grow in turn, and two that are passive."""


@dataclass(frozen=True)
class VoxelWorkshop(Checked):
    """A robot of soft cubes of your own; in the browser it is painted, played and saved as a .vxa file."""

    name: ClassVar[str] = "voxel-workshop"
    duration: ClassVar[float] = 2.0

    file: str = parameter("", "A .vxa, .vxd or .vxc file to begin with, instead of a table on a new lattice")
    x: int = parameter(8, "Cells of a new lattice along x", range=(1, 20), limits=(1, 200))
    y: int = parameter(6, "Cells along y", range=(1, 20), limits=(1, 200))
    z: int = parameter(6, "Cells along z, upwards", range=(1, 20), limits=(1, 200))
    side: float = parameter(0.01, "Side of a cell", unit="m", range=(0.001, 0.1), limits=(1e-4, 10.0))
    links: Literal["balanced", "compatible"] = parameter(
        "compatible", "Links as in the original, or links that conserve angular momentum"
    )

    def canvas(self, *, device: Any = "auto", threads: int | None = None) -> VoxelCanvas:
        """What is painted on: the file, or a table at the corner of a lattice."""
        vxa = voxels3d.Vxa.read(self.file) if self.file else self._new()
        return VoxelCanvas(vxa, links=self.links, device=device, threads=threads)

    def build(self, *, device: Any = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The robot on the floor; what is painted on is attached to the simulation."""
        return self.canvas(device=device, threads=threads).simulation(largest=True)[0]

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """Size of the robot, and how far it walked."""
        readout, model = simulation.solver.readout, simulation.solver.model
        x, y, _ = (readout.centers(simulation.state) - readout.centers(simulation.solver.initial_state()))[0].tolist()
        return [
            Measurement("voxels", float(model.voxel_count)),
            Measurement("x", x, "m"),
            Measurement("y", y, "m"),
        ]

    def _new(self) -> voxels3d.Vxa:
        """A table, or as much of one as the lattice has room for, whose front is a quarter of a wave ahead."""
        require_room((self.x, self.y, self.z))
        length, width, height = min(self.x, 5), min(self.y, 3), min(self.z, 3)
        grid = np.full((self.x, self.y, self.z), -1)
        grid[:length, :width, height - 1] = 0
        grid[:length:4, :width:2, :height] = 0
        phase = np.where(np.arange(self.x) < 2, 0.0, 0.25)[:, None, None] * np.ones(grid.shape)
        robot = voxels3d.Robot(grid, MATERIALS, self.side, amplitude=SWING, frequency=4.0, phase=phase)
        vxa = voxels3d.vxa_of(robot, name="robot")
        return replace(vxa, simulator=replace(vxa.simulator, dt_fraction=_STEP))

"""A hand of 3-D voxels: four fingers curl below a block, and the hand lifts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import ground

_SIDE = 0.01
_EXPANSION = 0.01
_ACROSS = 11  # cells of the palm
_WIDE = 3  # of a finger


@dataclass(frozen=True)
class Hand(Checked):
    """A soft hand closes four fingers below a block, which it touches but does not rub, and lifts it off the ground."""

    name: ClassVar[str] = "hand"
    duration: ClassVar[float] = 3.0

    fingers: int = parameter(9, "Length of the fingers in cells of 1 cm", range=(5, 12), limits=(3, 40))
    curl: float = parameter(0.2, "Relative change of the length of muscle", range=(0.0, 0.3), limits=(0.0, 0.5))
    block: int = parameter(3, "Side of the block in cells", range=(1, 5), limits=(1, _ACROSS - 6))
    lift: float = parameter(0.06, "How far the palm is lifted", unit="m", range=(0.0, 0.1), limits=(0.0, 1.0))
    skin: Literal["blocky", "smooth"] = parameter("blocky", "Whether pictures show cubes or round them off")

    def robots(self) -> list[voxels3d.Robot]:
        """The hand, two layers of muscle in each finger of which the outer grows and the inner shrinks; the block."""
        palm = voxels3d.Voxel(name="palm", expansion=0.0, youngs_modulus=1e5, color=(0.86, 0.66, 0.52))
        outer = voxels3d.Voxel(name="outer", expansion=_EXPANSION, youngs_modulus=1e5, color=(0.36, 0.66, 0.72))
        inner = voxels3d.Voxel(name="inner", expansion=-_EXPANSION, youngs_modulus=1e5, color=(0.82, 0.30, 0.28))
        cargo = voxels3d.Voxel(name="cargo", youngs_modulus=1e5, density=300.0, color=(0.93, 0.75, 0.32))
        grid = np.full((_ACROSS, _ACROSS, self.fingers + 1), -1)
        grid[:, :, -1] = 0
        low, high = (_ACROSS - _WIDE) // 2, (_ACROSS + _WIDE) // 2
        for depth, material in ((0, 1), (1, 2)):
            for at in (depth, _ACROSS - 1 - depth):
                grid[at, low:high, :-1] = material
                grid[low:high, at, :-1] = material
        # Waves that stand at their crest for all the time of a run: what is left of them is how they grow.
        hand = voxels3d.Robot(
            grid, (palm, outer, inner), _SIDE, amplitude=self.curl / _EXPANSION, frequency=1e-6, phase=0.25, ramp=1.0
        )
        hand = hand.drive(lambda x, y, z: z == z.max(), (0.0, 0.0, self.lift), begin=1.5, duration=1.0)
        return [hand, voxels3d.Robot(np.zeros((self.block,) * 3, int), (cargo,), _SIDE)]

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The open hand over the block; its fingers close in a second, then it is lifted."""
        middle = 0.5 * _SIDE * (_ACROSS - self.block)
        return voxels3d.simulation(
            self.robots(), obstacles=[ground(1.0, sliding_friction=0.5)], collisions="all",
            skin=self.skin, device=device, threads=threads,
            positions=[(0.0, 0.0, 0.5 * _SIDE), (middle, middle, 0.0)],
        )  # fmt: skip

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """How high the block and the palm are."""
        solver = simulation.solver
        moved = solver.readout.positions(simulation.state) - solver.readout.positions(solver.initial_state())
        block = solver.model.robot_of_voxel == 1
        palm = ~block & (solver.model.places[:, 2] > solver.model.places[~block, 2].max() - 0.5 * _SIDE)
        return [
            Measurement("block", float(moved[block, 2].mean()), "m"),
            Measurement("palm", float(moved[palm, 2].mean()), "m"),
            Measurement("sideways", float(np.hypot(*moved[block, :2].mean(axis=0))), "m"),
        ]

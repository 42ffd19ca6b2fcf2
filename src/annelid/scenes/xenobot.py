"""A walker in the manner of xenobots: passive skin cells over contractile heart cells, two legs and a notch between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import ground

_SHAPE = (8, 7, 6)
_EXPANSION = 0.01


@dataclass(frozen=True)
class Xenobot(Checked):
    """A dome of passive skin on two legs of heart muscle, whose cells beat each in its own time, drifts along."""

    name: ClassVar[str] = "xenobot"
    duration: ClassVar[float] = 5.0

    amplitude: float = parameter(0.2, "Relative change of the length of muscle", range=(0.0, 0.3), limits=(0.0, 0.9))
    frequency: float = parameter(2.0, "Beats a second", unit="Hz", range=(0.5, 6.0), limits=(0.01, 100.0))
    lead: float = parameter(0.5, "By how much of a beat the front is ahead", range=(-1.0, 1.0), limits=(-10.0, 10.0))
    scatter: float = parameter(
        0.1, "Spread of the beats of single cells, in beats", range=(0.0, 0.5), limits=(0.0, 1.0)
    )
    seed: int = parameter(0, "Seed of the scatter", limits=SEEDS)
    skin: Literal["blocky", "smooth"] = parameter("blocky", "Whether pictures show cubes or round them off")

    def robot(self) -> voxels3d.Robot:
        """The body: the upper part of an ellipsoid, legs at both ends along x."""
        skin = voxels3d.Voxel(name="skin", expansion=0.0, youngs_modulus=5e4, color=(0.36, 0.66, 0.72))
        heart = voxels3d.Voxel(name="heart", expansion=_EXPANSION, youngs_modulus=5e4, color=(0.82, 0.30, 0.28))
        x, y, z = np.indices(_SHAPE)
        across = [(at - 0.5 * (n - 1)) / (0.5 * n) for at, n in zip((x, y), _SHAPE, strict=False)]
        dome = across[0] ** 2 + across[1] ** 2 + (z / _SHAPE[2]) ** 2 <= 1.0
        notch = (np.abs(x - 0.5 * (_SHAPE[0] - 1)) < 1.6) & (z < 2)
        grid = np.where(dome & ~notch, np.where(z < 3, 1, 0), -1)
        own = np.random.default_rng(self.seed).uniform(-0.5, 0.5, _SHAPE)
        phase = self.lead * x / _SHAPE[0] + self.scatter * own
        return voxels3d.Robot(
            grid, (skin, heart), 0.01, amplitude=self.amplitude / _EXPANSION, frequency=self.frequency, phase=phase,
            ramp=0.5,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The robot at rest on the ground."""
        return voxels3d.simulation(
            self.robot(), obstacles=[ground(1.0, sliding_friction=0.5)], skin=self.skin, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """How far it came, in all and along x."""
        readout, solver = simulation.solver.readout, simulation.solver
        x, y, _ = (readout.centers(simulation.state) - readout.centers(solver.initial_state()))[0].tolist()
        return [
            Measurement("voxels", float(solver.model.voxel_count)),
            Measurement("x", x, "m"),
            Measurement("distance", float(np.hypot(x, y)), "m"),
        ]

"""A trunk of silicone wraps round a pole as its cables are pulled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.trunk import trunk_parts
from annelid.shapes import Capsule, Rigid, Surface

_UPPER, _WHOLE = 0.4, 0.9  # how long the tensions of both cables grow [s]
_RADII, _LAYERS = (0.01, 0.008), 28  # of the trunk [m], and cells along it
_BESIDE, _BELOW = 0.014, 0.07  # from the axis of the trunk to the pole, and from its base down to the pole [m]


@dataclass(frozen=True)
class TrunkWrap(Checked):
    """A hanging trunk, pulled on one side by two cables, curls round a pole beside it."""

    name: ClassVar[str] = "trunk-wrap"
    duration: ClassVar[float] = 1.2

    tension: float = parameter(5.0, "Tension of the cable to the tip", unit="N", range=(0.0, 8.0), limits=(0.0, 50.0))
    base_tension: float = parameter(
        5.5, "Tension of the cable to the middle", unit="N", range=(0.0, 8.0), limits=(0.0, 50.0)
    )
    pole: float = parameter(0.03, "Radius of the pole", unit="m", range=(0.025, 0.04), limits=(0.01, 0.1))
    length: float = parameter(0.28, "Length of the trunk", unit="m", range=(0.2, 0.3), limits=(0.1, 1.0))
    friction: float = parameter(0.4, "Coulomb friction of trunk and pole", range=(0.0, 1.5), limits=(0.0, 10.0))
    modulus: float = parameter(300e3, "Young's modulus", unit="Pa", range=(200e3, 600e3), limits=(1e4, 1e9))

    @property
    def middle(self) -> np.ndarray:
        """Middle of the pole, which lies along y [m]."""
        return np.array([_BESIDE + self.pole, 0.0, -_BELOW])

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.Solver]:
        """The trunk beside the pole; the cable is being pulled from the beginning."""
        surface = Surface(friction=self.friction)
        solid, cables = trunk_parts(
            tension=50.0, modulus=self.modulus, length=self.length, radii=_RADII, layers=_LAYERS, surface=surface
        )
        x, y, z = self.middle.tolist()
        pole = Rigid(Capsule(self.pole, 0.1, axis="y"), surface, position=(x, y, z), name="pole")
        simulation = fem.simulation(solid, obstacles=[pole], actuators=cables, dt=0.01, device=device, threads=threads)
        # The upper half first, so that the tip is not caught before it has come round.
        simulation.controls.command({"short-right": self.base_tension}, ramp=_UPPER)
        simulation.controls.command({"long-right": self.tension}, ramp=_WHOLE)
        return simulation

    def measure(self, simulation: Simulation[fem.Solver]) -> list[Measurement]:
        """Angle of the pole that the trunk touches, and how hard it holds it."""
        state = simulation.state
        steps = max(int(state.clock.numpy()[0]), 1)
        forces = np.linalg.norm(simulation.solver.readout.contact_forces(state)[:, 0], axis=1)
        return [
            Measurement("wrapped", self.wrapped(simulation), "°"),
            Measurement("squeezed", float(forces.sum()), "N"),
            Measurement("nodes-touching", float(np.count_nonzero(forces))),
            Measurement("nodes", float(len(forces))),
            Measurement("steps-cut", float(state.touch.cut.numpy()[0]) / steps),
            Measurement("unsettled", float(state.unsettled.numpy()[0]) / steps),
        ]

    def wrapped(self, simulation: Simulation[fem.Solver]) -> float:
        """Angle between the first and the last touch along the trunk, seen from the pole [°]."""
        nodes, solver = simulation.positions(), simulation.solver
        touching = solver.readout.contact_forces(simulation.state)[:, 0].any(axis=1)
        if not touching.any():
            return 0.0
        depth = -solver.model.solid.nodes[:, 2]
        levels = np.unique(depth[touching].round(9))
        middles = np.array([nodes[np.isclose(depth, level)].mean(axis=0) for level in levels]) - self.middle
        angles = np.unwrap(np.arctan2(middles[:, 2], middles[:, 0]))
        return float(np.degrees(np.ptp(angles)))

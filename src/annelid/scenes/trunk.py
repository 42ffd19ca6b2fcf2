"""A tapering trunk that eight cables bend: four to its middle, four to its tip."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.simulation import Simulation
from annelid.robots.trunk import trunk
from annelid.scenes.support.reaching import Reaching, largest_miss, recorded, write_actuation


@dataclass(frozen=True)
class Trunk(Reaching):
    """A hanging trunk whose tip follows a circle, by the pull of eight cables."""

    name: ClassVar[str] = "trunk"
    duration: ClassVar[float] = 6.0

    radius: float = parameter(0.03, "Radius of the circle", unit="m", range=(0.0, 0.06), limits=(0.0, 1.0))
    tension: float = parameter(
        8.0, "Highest tension of a cable", unit="N", range=(0.5, 20.0), limits=(1e-3, 1e3), live=True
    )
    modulus: float = parameter(300e3, "Young's modulus", unit="Pa", range=(100e3, 600e3), limits=(1e3, 1e9))

    def robot(self, *, device: Any = "auto", threads: int | None = None) -> fem.Robot:
        """The trunk, hanging from its base, with its cables."""
        return trunk(tension=self.tension, modulus=self.modulus, device=device, threads=threads)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.InverseSolver]:
        """The trunk at rest; its target winds out to a circle and goes around it."""
        robot = self.robot(device=device, threads=threads)
        simulation = recorded(fem.inverse_simulation(robot, dt=1.0 / 30.0))
        begin = simulation.solver.targets(simulation.state)["tip"]

        def script(time: float) -> dict[str, Any]:
            out, angle = min(3.0 * time / self.duration, 1.0), 2.0 * math.pi * time / self.duration
            radius = self.radius * out
            lift = 0.15 * radius  # a bent trunk is shorter
            return {"tip": begin + np.array([radius * math.cos(angle), radius * math.sin(angle), lift])}

        simulation.solver.script = script
        return simulation

    def adjust(self, simulation: Simulation[fem.InverseSolver], name: str, value: Any) -> None:
        """Change the highest tension while it runs."""
        for cable in simulation.solver.robot.names:
            limits = fem.Limits.of(f"tension of {cable}", (0.0, value))
            simulation.solver.limit(simulation.state, cable, effort=limits)

    def measure(self, simulation: Simulation[fem.InverseSolver]) -> list[Measurement]:
        """How near the tip was to its target, and how hard cables pulled."""
        steps: list[fem.Step] = simulation.attachments["steps"]
        tension = max((max(step.efforts.values()) for step in steps), default=0.0)
        return [
            Measurement("cables", float(len(simulation.solver.robot.drives))),
            Measurement("largest-miss", largest_miss(simulation), "m"),
            Measurement("largest-tension", tension, "N"),
        ]

    def outputs(self, simulation: Simulation[fem.InverseSolver], folder: Path) -> list[Path]:
        """The actuation of every step."""
        return [write_actuation(simulation, folder)]

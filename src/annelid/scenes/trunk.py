"""A tapering trunk that eight cables bend: four to its middle, four to its tip."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.scenes.reaching import Reaching, largest_miss, recorded, write_actuation
from annelid.scenes.scene import parameter
from annelid.shapes import TetMesh, tet_trunk

_LENGTH, _BASE, _TIP = 0.2, 0.016, 0.008
_LAYERS = 16
_SIDES = {"right": 0, "back": 1, "left": 2, "front": 3}


def cable_nodes(mesh: TetMesh, side: int, length: float) -> list[int]:
    """Nodes of the surface along a side, from the base on; every second layer up to a length [m]."""
    angle = 0.5 * math.pi * side
    along = np.linspace(0.0, _LENGTH, _LAYERS + 1)[::2]
    along = along[along <= length + 1e-9]
    radius = np.interp(along, [0.0, _LENGTH], [_BASE, _TIP])
    points = np.column_stack([radius * math.cos(angle), radius * math.sin(angle), -along])
    return [int(node) for node in mesh.nearest(points)]


@dataclass(frozen=True)
class Trunk(Reaching):
    """A hanging trunk whose tip follows a circle, by the pull of eight cables."""

    name: ClassVar[str] = "trunk"
    duration: ClassVar[float] = 6.0

    radius: float = parameter(0.03, "Radius of the circle", unit="m", range=(0.0, 0.06))
    tension: float = parameter(8.0, "Highest tension of a cable", unit="N", range=(0.5, 20.0), live=True)
    modulus: float = parameter(300e3, "Young's modulus", unit="Pa", range=(100e3, 600e3))

    def robot(self, *, device: Any = "auto", threads: int | None = None) -> fem.Robot:
        """The trunk, hanging from its base, with its cables."""
        mesh = tet_trunk(_BASE, _TIP, _LENGTH, cells=2, layers=_LAYERS, axis=(0.0, 0.0, -1.0))
        silicone = material("ecoflex-00-30").with_(youngs_modulus=self.modulus, poisson_ratio=0.45)
        solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 2] > -1e-9)
        cables = [
            fem.Cable(
                name=f"{length}-{side}", tension=(0.0, self.tension),
                through=cable_nodes(mesh, number, _LENGTH if length == "long" else 0.5 * _LENGTH),
            )
            for length in ("long", "short")
            for side, number in _SIDES.items()
        ]  # fmt: skip
        tip = fem.Point(name="tip", at=(0.0, 0.0, -_LENGTH))
        return fem.Robot(solid, cables, [tip], device=device, threads=threads)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.ControlSolver]:
        """The trunk at rest; its target winds out to a circle and goes around it."""
        robot = self.robot(device=device, threads=threads)
        simulation = recorded(fem.controlled(robot, settings=fem.InverseSettings(seconds=1.0 / 30.0)))
        begin = simulation.solver.targets(simulation.state)["tip"]

        def script(time: float) -> dict[str, Any]:
            out, angle = min(3.0 * time / self.duration, 1.0), 2.0 * math.pi * time / self.duration
            radius = self.radius * out
            lift = 0.15 * radius  # a bent trunk is shorter
            return {"tip": begin + np.array([radius * math.cos(angle), radius * math.sin(angle), lift])}

        simulation.solver.script = script
        return simulation

    def adjust(self, simulation: Simulation[fem.ControlSolver], name: str, value: Any) -> None:
        """Change the highest tension while it runs."""
        for cable in simulation.solver.robot.names:
            simulation.solver.robot.limit(cable, effort=fem.Limits.of(f"tension of {cable}", (0.0, value)))

    def measure(self, simulation: Simulation[fem.ControlSolver]) -> list[Measurement]:
        """How near the tip was to its target, and how hard cables pulled."""
        steps: list[fem.Step] = simulation.attachments["steps"]
        tension = max((max(step.efforts.values()) for step in steps), default=0.0)
        return [
            Measurement("cables", float(len(simulation.solver.robot.drives))),
            Measurement("largest-miss", largest_miss(simulation), "m"),
            Measurement("largest-tension", tension, "N"),
        ]

    def outputs(self, simulation: Simulation[fem.ControlSolver], folder: Path) -> list[Path]:
        """The actuation of every step."""
        return [write_actuation(simulation, folder)]

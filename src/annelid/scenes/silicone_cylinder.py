"""A hollow silicone cylinder, held at one end, filled with air or water and inflated (Rodríguez et al., Fig. 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import tet_hollow_cylinder

_LENGTH, _RADIUS, _WALL, _CAP = 0.12, 0.014, 3e-3, 4e-3
_FILLINGS: tuple[Literal["air", "water"], ...] = ("air", "water")


@dataclass(frozen=True)
class SiliconeCylinder(Checked):
    """A hollow cylinder that sags under its weight and that of its filling; 15 ml more change its tip angle little."""

    name: ClassVar[str] = "silicone-cylinder"
    duration: ClassVar[float] = 1.0

    filling: Literal["air", "water"] = parameter("water", "What fills the cylinder that is shown")
    extra: float = parameter(
        15e-6, "Volume that is pumped in beyond that at rest", unit="m³", range=(0.0, 25e-6), limits=(0.0, 1e-3)
    )
    modulus: float = parameter(180e3, "Young's modulus", unit="Pa", range=(100e3, 600e3), limits=(1e3, 1e9))

    def robot(self, *, device: Any = "auto", threads: int | None = None) -> fem.Robot:
        """The cylinder along x, 388 nodes, its chamber held at the volume that it has at rest."""
        mesh = tet_hollow_cylinder(_RADIUS, _LENGTH, wall=_WALL, cap=_CAP, layers=6, axis="x")
        silicone = material("ecoflex-00-30").with_(youngs_modulus=self.modulus)
        solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 0] < 1e-9)
        kind = fem.Hydraulic if self.filling == "water" else fem.Pneumatic
        tip = [
            fem.Point(name="tip", at=(_LENGTH, 0.0, 0.0)),
            fem.Point(name="cap", at=(_LENGTH - 0.9 * _CAP, 0.0, 0.0)),
        ]
        return fem.Robot(solid, [kind(name="chamber", growth=0.0)], tip, device=device, threads=threads)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.ForwardSolver]:
        """The filled cylinder at rest; what is extra is pumped in evenly."""
        script = lambda time: {"chamber": self.extra * min(time / self.duration, 1.0)}  # noqa: E731
        return fem.forward_simulation(self.robot(device=device, threads=threads), script, dt=0.1)

    def measure(self, simulation: Simulation[fem.ForwardSolver]) -> list[Measurement]:
        """Tip angles of the four cases of the paper, and the pressure that what is extra needs."""
        device, threads = simulation.solver.device, simulation.solver.robot.model.crew.threads
        results = []
        for case, scene in self.cases().items():
            robot = scene.settled(device=device, threads=threads)
            results.append(Measurement(f"tip-angle-{case}", tip_angle(robot), "deg"))
            if scene.extra:
                results.append(Measurement(f"pressure-{case}", float(robot.efforts[0]), "Pa"))
        return results

    def cases(self) -> dict[str, SiliconeCylinder]:
        """Air and water, each as at rest and with what is extra."""
        found: dict[str, SiliconeCylinder] = {}
        for filling in _FILLINGS:
            found[filling] = replace(self, filling=filling, extra=0.0)
            if self.extra:
                found[f"{filling}-{1e6 * self.extra:g}ml"] = replace(self, filling=filling)
        return found

    def settled(self, **machine: Any) -> fem.Robot:
        """The robot with all that is extra in it, in equilibrium."""
        robot = self.robot(**machine)
        robot.hold("chamber", self.extra)
        fem.Forward(robot).settle()
        return robot

    def outputs(self, simulation: Simulation[fem.ForwardSolver], folder: Path) -> list[Path]:
        """A picture of the four cases."""
        from annelid.view.picture import Painter, save_picture

        cases, shots = self.cases(), []
        for case in cases.values():
            each = case.build(device=str(simulation.solver.device))
            each.run(case.duration)
            shots.append(each.snapshot())
        painter = Painter(size=(1000, 720), columns=2, names=list(cases), name=None, device=simulation.solver.device)
        save_picture(painter.paint(shots), folder / "cases.png")
        return [folder / "cases.png"]


def tip_angle(robot: fem.Robot) -> float:
    """Angle of the free end above the horizontal [deg]."""
    tip, cap = robot.places()
    along = np.asarray(tip - cap)
    return math.degrees(math.atan2(along[2], math.hypot(along[0], along[1])))

"""A robot with four soft legs on hinges that motors turn, and a body of stiffer material (Cronos, Fig. 1c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.runner import LEGS, LENGTH, runner
from annelid.shapes import ground


@dataclass(frozen=True)
class Runner(Checked):
    """Motors turn four soft legs, each pair across the body a quarter of a turn behind the other; it runs."""

    name: ClassVar[str] = "runner"
    duration: ClassVar[float] = 2.0

    motor_speed: float = parameter(12.0, "Speed of the motors", unit="rad/s", range=(-20.0, 20.0), limits=(-1e3, 1e3))
    torque: float = parameter(0.15, "Largest torque of a motor", unit="N m", range=(0.01, 0.5), limits=(1e-6, 100.0))
    friction: float = parameter(0.9, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0))

    def body(self) -> springs.Body:
        """A plate of TPU with a leg of PDMS at each corner."""
        return runner()

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The robot on its legs."""
        plane = ground(self.friction, stiffness=300.0, restitution=0.2)
        motors = [springs.Motor(f"{name}-hinge", speed=self.motor_speed, limit=self.torque) for name in LEGS]
        return springs.simulation(
            self.body(), dt=4e-5, obstacles=[plane], motors=motors, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """How far it ran."""
        body = simulation.solver.model.body
        moved = simulation.summary().center_of_mass - body.center_of_mass
        return [
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / LENGTH),
            Measurement("sideways", float(moved[1]), "m"),
        ]

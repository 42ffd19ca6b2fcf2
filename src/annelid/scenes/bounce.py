"""A lattice dropped on a plane (Austin et al., sec. IV-A)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import Rigid, ground


@dataclass(frozen=True)
class Bounce(Checked):
    """A cube of masses falls, bounces and comes to rest."""

    name: ClassVar[str] = "bounce"
    duration: ClassVar[float] = 3.0

    masses: int = parameter(12, "Masses along an edge of the cube", range=(3, 40), limits=(2, 500))
    height: float = parameter(1.0, "Height of the fall", unit="m", range=(0.1, 5.0), limits=(1e-3, 1e3))
    tilt: float = parameter(
        0.4, "Angle by which the cube is turned before it falls", unit="rad", range=(0.0, 1.5), limits=(-10.0, 10.0)
    )
    damping: float = parameter(5.0, "Dashpot of a spring", unit="N s/m", range=(0.0, 30.0), limits=(0.0, 1e6))
    restitution: float = parameter(0.6, "Restitution of the ground", range=(0.0, 1.0), limits=(0.0, 1.0), live=True)
    friction: float = parameter(0.5, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0), live=True)

    def ground(self) -> Rigid:
        """The plane below."""
        return ground(self.friction, restitution=self.restitution, stiffness=1e4)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The cube in the air."""
        body = springs.block((self.masses,) * 3, 0.1, damping=self.damping)
        body = body.rotated((1.0, 1.0, 0.0), self.tilt)
        body = body.moved((0.0, 0.0, self.height - body.bounds()[0][2]))
        return springs.simulation(body, dt=1e-4, obstacles=[self.ground()], device=device, threads=threads)

    def adjust(self, simulation: Simulation[springs.Solver], name: str, value: Any) -> None:
        """Change the ground while it falls."""
        model = simulation.solver.model
        plane = model.world.contacts[0].rigid
        changed = replace(plane, surface=replace(plane.surface, **{name: value}))
        model.set_world(replace(model.world, obstacles=[changed]))

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Where it is, and what is left of its energy."""
        summary = simulation.summary()
        model = simulation.solver.model
        fallen = float(model.body.masses.sum()) * 9.81 * self.height
        return [
            Measurement("center-height", float(summary.center_of_mass[2]), "m"),
            Measurement("kinetic-energy", summary.kinetic, "J"),
            Measurement("kinetic-share-of-fall", summary.kinetic / fallen),
        ]

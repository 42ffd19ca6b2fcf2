"""The workshop: a body of one's own, made of a primitive or of a file, that can be changed in the browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.scenes.support.design import Design
from annelid.scenes.support.workpiece import Workpiece


@dataclass(frozen=True)
class Workshop(Design):
    """A body of your own shape and material; in the browser parts of it can be fixed, cut, painted, moved, pulled."""

    name: ClassVar[str] = "workshop"
    duration: ClassVar[float] = 1.0

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The body above the ground; the workpiece, which can be worked on, is attached to the simulation."""
        return Workpiece(self, device=device, threads=threads).build()

    def adjust(self, simulation: Simulation[springs.Solver], name: str, value: Any) -> None:
        """Change friction or gravity while it runs."""
        simulation.attachments["workpiece"].change(replace(self, **{name: value}))

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Size of the body, and how far it came down."""
        model = simulation.solver.model
        fallen = model.body.center_of_mass - simulation.summary().center_of_mass
        return [
            Measurement("masses", float(model.body.mass_count)),
            Measurement("springs", float(model.spring_count)),
            Measurement("mass", float(model.body.masses.sum()), "kg"),
            Measurement("time-step", model.dt, "s"),
            Measurement("fall", float(fallen[2]), "m"),
        ]

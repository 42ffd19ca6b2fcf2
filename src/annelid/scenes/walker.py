"""A pneumatic quadruped of silicone in the manner of Shepherd et al. (2011): five striped groups of actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.quadruped import quadruped
from annelid.shapes import ground

_PHASES = {"spine": 0.81, "front-left": 0.6, "front-right": 0.6, "hind-left": 0.0, "hind-right": 0.0}
"""When each limb is inflated, in cycles."""


@wp.func
def inflate(time: Any, parameters: Any) -> Any:
    """Pressure that comes and goes smoothly: 1 + c sin²(pi (f t - phase)). Parameters: c, f [Hz], phase, unused."""
    wave = wp.sin(type(time)(3.141592653589793) * (parameters[1] * time - parameters[2]))
    return type(time)(1.0) + parameters[0] * wave * wave


@dataclass(frozen=True)
class Walker(Checked):
    """A quadruped of silicone whose limbs curl as stripes of their upper half are inflated in turn."""

    name: ClassVar[str] = "walker"
    duration: ClassVar[float] = 4.0

    inflation: float = parameter(0.7, "Expansion of the inflated stripes", range=(0.0, 0.9), limits=(0.0, 0.95))
    ripple: float = parameter(
        -6.0, "Delay of inflation towards the hind end", unit="cycles/m", range=(-20.0, 20.0), limits=(-1e3, 1e3)
    )
    frequency: float = parameter(2.5, "Steps a second", unit="Hz", range=(0.5, 4.0), limits=(0.0, 100.0))
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0))

    def body(self) -> springs.Body:
        """A body with two legs forwards and two backwards, each with its own group of actuators."""
        body = quadruped()
        for name, phase in _PHASES.items():
            chosen = body.springs_of(name)
            delay = self.ripple * body.distance_along((-1.0, 0.0, 0.0))[chosen]
            body.actuate(springs.Signal(inflate, (self.inflation, self.frequency, phase + delay)), chosen)
        return body

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The quadruped at rest on the ground."""
        plane = ground(self.friction, stiffness=100.0, restitution=0.2)
        return springs.simulation(
            self.body(), dt=6e-5, obstacles=[plane], velocity_damping=2.0, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """How far it walked."""
        body = simulation.solver.model.body
        moved = simulation.summary().center_of_mass - body.center_of_mass
        length = float(np.ptp(body.positions[:, 0]))
        return [
            Measurement("actuator-groups", len(body.groups)),
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / length),
        ]

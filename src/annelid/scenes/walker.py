"""A pneumatic quadruped of silicone in the manner of Shepherd et al. (2011): five striped groups of actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.simulation import Simulation
from annelid.scenes.scene import parameter
from annelid.shapes import Box, Union

_PITCH = 0.004
_LIMBS = {  # size and centre of each limb [m], and when it is inflated, in cycles
    "spine": ((0.040, 0.056, 0.012), (0.0, 0.0, 0.006), 0.81),
    "front-left": ((0.048, 0.016, 0.012), (0.044, 0.020, 0.006), 0.6),
    "front-right": ((0.048, 0.016, 0.012), (0.044, -0.020, 0.006), 0.6),
    "hind-left": ((0.048, 0.016, 0.012), (-0.044, 0.020, 0.006), 0.0),
    "hind-right": ((0.048, 0.016, 0.012), (-0.044, -0.020, 0.006), 0.0),
}


@wp.func
def inflate(time: Any, parameters: Any) -> Any:
    """Pressure that comes and goes smoothly: 1 + c sin²(pi (f t - phase)). Parameters: c, f [Hz], phase, unused."""
    wave = wp.sin(type(time)(3.141592653589793) * (parameters[1] * time - parameters[2]))
    return type(time)(1.0) + parameters[0] * wave * wave


@dataclass(frozen=True)
class Walker:
    """A quadruped of silicone whose limbs curl as stripes of their upper half are inflated in turn."""

    name: ClassVar[str] = "walker"
    duration: ClassVar[float] = 4.0

    inflation: float = parameter(0.7, "Expansion of the inflated stripes", range=(0.0, 0.9))
    ripple: float = parameter(-6.0, "Delay of inflation towards the hind end", unit="cycles/m", range=(-20.0, 20.0))
    frequency: float = parameter(2.5, "Steps a second", unit="Hz", range=(0.5, 4.0))
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5))

    def body(self) -> springs.Body:
        """A body with two legs forwards and two backwards, each with its own group of actuators."""
        parts = {name: Box(size, center=center) for name, (size, center, _) in _LIMBS.items()}
        sole = lambda x: x[:, 2] < _PITCH  # noqa: E731 (a stiffer sole makes the limbs bend rather than stretch)
        body = springs.lattice(Union(tuple(parts.values())), _PITCH, "ecoflex-00-30", inserts=[(sole, "pdms")])
        for name, (_, _, phase) in _LIMBS.items():
            x, _, z = body.positions.T
            striped = np.floor(x / (2 * _PITCH) + 0.5) % 2 == 0
            body.group(name, parts[name].contains(body.positions) & striped & (z > 0.5 * _PITCH))
            chosen = body.springs_of(name)
            delay = self.ripple * body.distance_along((-1.0, 0.0, 0.0))[chosen]
            body.actuate(springs.Signal(inflate, (self.inflation, self.frequency, phase + delay)), chosen)
        return body

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The quadruped at rest on the ground."""
        ground = springs.Plane(static_friction=self.friction, stiffness=100.0, restitution=0.2)
        return springs.simulation(
            self.body(), dt=6e-5, obstacles=[ground], velocity_damping=2.0, device=device, threads=threads
        )

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """How far it walked."""
        body = simulation.solver.model.body
        moved = simulation.solver.summary(simulation.state).center_of_mass - body.center_of_mass
        length = float(np.ptp(body.positions[:, 0]))
        return [
            Measurement("actuator-groups", len(body.groups)),
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / length),
        ]

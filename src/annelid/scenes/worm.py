"""A soft worm that crawls by a travelling wave of expansion (Austin et al., sec. IV-B)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.shapes import Rigid, ground


@dataclass(frozen=True)
class Worm(Checked):
    """A soft worm crawls by a wave of expansion, on a level plane with equal friction in all directions."""

    name: ClassVar[str] = "worm"
    duration: ClassVar[float] = 10.0

    amplitude: float = parameter(
        0.2, "Expansion of a spring as a fraction of its length", range=(0.0, 0.3), limits=(0.0, 0.9), live=True
    )
    frequency: float = parameter(2.0, "Waves a second", unit="Hz", range=(0.5, 5.0), limits=(1e-3, 1e3), live=True)
    wavelength: float = parameter(
        0.5, "Length of a wave in body lengths", range=(0.25, 2.0), limits=(0.01, 100.0), live=True
    )
    direction: Literal["forward", "backward"] = parameter("forward", "Where the wave travels")
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0), live=True)
    gravity: float = parameter(9.81, "Gravity", unit="m/s²", range=(0.0, 20.0), limits=(0.0, 1e3), live=True)
    segments: int = parameter(16, "Masses along the body", range=(8, 64), limits=(2, 100_000))
    wave: Literal["smooth", "titan"] = parameter("smooth", "A smooth wave, or that of the paper as printed")

    def body(self) -> springs.Body:
        """The worm lying along x."""
        body = springs.block((self.segments, 5, 5), 0.1, damping=20.0)
        length = body.bounds()[1][0]
        distance = body.distance_along((1.0 if self.direction == "forward" else -1.0, 0.0, 0.0))
        if self.wave == "titan":
            return body.actuate(springs.titan_wave(self.amplitude, offset=distance))
        speed = self.wavelength * length * self.frequency
        return body.actuate(springs.wave(self.amplitude, self.frequency, distance / speed))

    def ground(self) -> Rigid:
        """The plane that it crawls on."""
        return ground(self.friction, stiffness=1e4)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The worm at rest on the plane."""
        gravity = (0.0, 0.0, -self.gravity)
        simulation = springs.simulation(
            self.body(), dt=1e-4, obstacles=[self.ground()], gravity=gravity, device=device, threads=threads
        )
        simulation.attachments["worm"] = self
        return simulation

    def adjust(self, simulation: Simulation[springs.Solver], name: str, value: Any) -> None:
        """Change the wave, friction or gravity while it crawls."""
        model, changed = simulation.solver.model, replace(simulation.attachments["worm"], **{name: value})
        if name in ("amplitude", "frequency", "wavelength"):
            model.set_actuation(changed.body())
        elif name == "friction":
            model.set_world(replace(model.world, obstacles=[changed.ground()]))
        else:
            model.set_world(replace(model.world, gravity=(0.0, 0.0, -changed.gravity)))
        simulation.attachments["worm"] = changed

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """How far it came."""
        body = simulation.solver.model.body
        moved = simulation.summary().center_of_mass - body.center_of_mass
        length = float(body.bounds()[1][0] - body.bounds()[0][0])
        return [
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / length),
            Measurement("sideways", float(moved[1]), "m"),
            Measurement("speed", float(moved[0]) / max(simulation.time, simulation.dt), "m/s"),
        ]

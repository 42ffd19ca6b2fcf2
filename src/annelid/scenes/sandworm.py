"""A soft worm that crawls through the surface of a bed of grains, half buried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from annelid import coupling, springs
from annelid.core.measurement import Measurement
from annelid.core.scene import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.sand_worm import BuriedWorm


@dataclass(frozen=True)
class Sandworm(Checked):
    """A worm of soft flesh lies half buried in sand and crawls by a travelling wave of swelling."""

    name: ClassVar[str] = "sandworm"
    duration: ClassVar[float] = 5.0

    amplitude: float = parameter(
        0.2, "Swelling of a segment as a fraction of its size", range=(0.0, 0.3), limits=(0.0, 0.9), live=True
    )
    frequency: float = parameter(2.0, "Waves a second", unit="Hz", range=(0.5, 5.0), limits=(1e-3, 1e3), live=True)
    wavelength: float = parameter(
        0.5, "Length of a wave in body lengths", range=(0.25, 2.0), limits=(0.01, 100.0), live=True
    )
    length: float = parameter(0.6, "Length of the worm", unit="m", range=(0.3, 1.2), limits=(0.05, 20.0))
    depth: float = parameter(0.10, "Depth of the bed", unit="m", range=(0.05, 0.3), limits=(0.01, 10.0))
    buried: float = parameter(
        0.5, "Part of the worm below the surface at the start", range=(0.0, 1.0), limits=(0.0, 1.0)
    )
    friction: float = parameter(0.5, "Coulomb friction of the grains", range=(0.0, 1.0), limits=(0.0, 100.0))
    grain_radius: float = parameter(0.012, "Radius of the grains", unit="m", range=(0.009, 0.03), limits=(1e-3, 0.2))
    spacing: float = parameter(0.4, "Distance of the worm's masses, in its radii", range=(0.2, 0.6), limits=(0.05, 1.0))
    run_up: float = parameter(0.5, "Room before the worm", unit="m", range=(0.1, 3.0), limits=(0.0, 100.0))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def worm(self) -> BuriedWorm:
        """The worm without its wave, and its box."""
        names = ("length", "spacing", "depth", "buried", "friction", "grain_radius", "run_up", "seed")
        return BuriedWorm(swelling=self.amplitude, **{name: getattr(self, name) for name in names})

    def body(self) -> springs.Body:
        """The worm as it crawls along x, its middle at the origin."""
        body = self.worm.body()
        speed = self.wavelength * self.length * self.frequency
        return body.actuate(springs.wave(self.amplitude, self.frequency, body.distance_along((1.0, 0.0, 0.0)) / speed))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[coupling.Solver]:
        """The worm at rest in the sand."""
        simulation = self.worm.simulation(self.body(), device=device, threads=threads)
        simulation.attachments["sandworm"] = self
        return simulation

    def adjust(self, simulation: Simulation[coupling.Solver], name: str, value: Any) -> None:
        """Change the wave while it crawls."""
        changed = replace(simulation.attachments["sandworm"], **{name: value})
        simulation.solver.model.springs.set_actuation(changed.body())
        simulation.attachments["sandworm"] = changed

    def measure(self, simulation: Simulation[coupling.Solver]) -> list[Measurement]:
        """How far it came, and whether grains stayed out of it."""
        solver, state = simulation.solver, simulation.state
        start = solver.model.springs.body.center_of_mass
        moved = simulation.summary().parts["springs"].center_of_mass - start
        inside = len(solver.readout.grains_inside(state))
        return [
            Measurement("grains", len(solver.model.bed)),
            Measurement("springs", solver.model.springs.spring_count),
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / self.length),
            Measurement("sideways", float(moved[1]), "m"),
            Measurement("sinking", -float(moved[2]), "m"),
            Measurement("speed", float(moved[0]) / max(simulation.time, simulation.dt), "m/s"),
            Measurement("fastest-grain", float(np.abs(solver.readout.grain_velocities(state)).max()), "m/s"),
            Measurement("grains-inside", inside, reference=0.0, tolerance=0.0),
        ]

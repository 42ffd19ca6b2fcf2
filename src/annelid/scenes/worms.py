"""A hundred worms in one simulation (Austin et al., sec. IV-B, Fig. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.scenes.worm import Worm


@dataclass(frozen=True)
class Worms(Checked):
    """Many worms crawl side by side; they cost no more than one body of as many springs."""

    name: ClassVar[str] = "worms"
    duration: ClassVar[float] = 2.0

    count: int = parameter(100, "Number of worms", range=(1, 400), limits=(1, 100_000))
    amplitude: float = parameter(
        0.2, "Expansion of a spring as a fraction of its length", range=(0.0, 0.3), limits=(0.0, 0.9)
    )
    frequency: float = parameter(2.0, "Waves a second", unit="Hz", range=(0.5, 5.0), limits=(1e-3, 1e3))
    friction: float = parameter(0.8, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The worms in rows of ten."""
        worm = Worm(amplitude=self.amplitude, frequency=self.frequency, friction=self.friction)
        number = np.arange(self.count)
        places = np.stack([2.0 * (number // 10), 0.8 * (number % 10), np.zeros(self.count)], axis=1)
        body = worm.body().replicated(places)
        return springs.simulation(body, dt=1e-4, obstacles=[worm.ground()], device=device, threads=threads)

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Number of worms and their mean displacement."""
        model = simulation.solver.model
        moved = simulation.summary().center_of_mass - model.body.center_of_mass
        return [
            Measurement("springs", model.spring_count, "", 339_200, bound="at-least", source="Titan, sec. IV-B"),
            Measurement("mean-distance", float(moved[0]), "m"),
        ]

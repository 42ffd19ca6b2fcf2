"""A hundred loosely coupled, actuated cubes (Austin et al., sec. IV-C, Fig. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import ground
from annelid.shapes.lattice import Lattice
from annelid.springs.stiffness import round_area


@dataclass(frozen=True)
class Swarm(Checked):
    """Cubes of thin bars, joined by thinner ones at their tops and bottoms, swell in turn and move as a whole."""

    name: ClassVar[str] = "swarm"
    duration: ClassVar[float] = 2.0

    side: int = parameter(10, "Cubes along a side of the swarm", range=(2, 12), limits=(1, 1000))
    amplitude: float = parameter(
        0.15, "Expansion of a spring as a fraction of its length", range=(0.0, 0.25), limits=(0.0, 0.9)
    )
    frequency: float = parameter(2.0, "Swellings a second", unit="Hz", range=(0.5, 5.0), limits=(1e-3, 1e3))
    friction: float = parameter(0.6, "Coulomb friction of the ground", range=(0.0, 1.5), limits=(0.0, 100.0))

    def body(self) -> springs.Body:
        """Cubes of 10 x 10 x 10 masses, 1 cm apart."""
        pitch, matter = 0.01, material("pdms")
        cube = springs.bars(Lattice.block((10, 10, 10), pitch), matter, 1.0e-3)
        spots = np.stack(np.meshgrid(*[np.arange(self.side) * 10 * pitch] * 2, [0.0], indexing="ij"), axis=-1)
        cubes = cube.replicated(spots.reshape(-1, 3))
        ends = cubes.group("ends", lambda x: (x[:, 2] < 0.1 * pitch) | (x[:, 2] > 8.9 * pitch))
        pairs = cubes.near(1.5 * pitch, "ends")
        weak = matter.youngs_modulus * round_area(0.4e-3) / pitch
        swarm = ends.linked(pairs, stiffness=weak, diameters=0.4e-3)
        swarm.damping = 5.0e-5 * swarm.stiffness
        speed = 10 * pitch * self.side * self.frequency
        return swarm.actuate(springs.wave(self.amplitude, self.frequency, swarm.distance_along((1, 0, 0)) / speed))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The swarm at rest on the ground."""
        plane = ground(self.friction, stiffness=50.0)
        return springs.simulation(self.body(), dt=1e-4, obstacles=[plane], device=device, threads=threads)

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """Number of robots and their displacement."""
        model = simulation.solver.model
        moved = simulation.summary().center_of_mass - model.body.center_of_mass
        full = self.side >= 10
        return [
            Measurement("masses", model.mass_count, "", 100_000 if full else None, bound="at-least", source="Titan"),
            Measurement("springs", model.spring_count, "", 784_000 if full else None, bound="at-least", source="Titan"),
            Measurement("distance", float(moved[0]), "m"),
        ]

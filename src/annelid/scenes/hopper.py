"""A silo that empties through a hole in its bottom (Beverloo et al. 1961)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.filling import fill
from annelid.shapes import Cylinder, Plane, Rigid, Surface, hopper

_LOOSE = 0.57  # packing at the start
_EVERY = 0.02  # time between two looks at the outflow [s]
_PACKED = 0.59  # of a poured bed
LOST = 1.45
"""Grain diameters of an opening that do not count, in the law of Beverloo."""


@dataclass(frozen=True)
class Hopper(Checked):
    """Grains run out of a silo through a round hole, at a rate that does not ask how many are left above it."""

    name: ClassVar[str] = "hopper"
    duration: ClassVar[float] = 2.0

    opening: float = parameter(12.0, "Diameter of the hole in grain diameters", range=(4.0, 30.0), limits=(0.1, 1e3))
    width: float = parameter(32.0, "Diameter of the silo in grain diameters", range=(12.0, 80.0), limits=(2.0, 1e3))
    filling: float = parameter(24.0, "Height of the filling in grain diameters", range=(5.0, 100.0), limits=(1.0, 1e4))
    slope: float = parameter(
        35.0, "Slope of the bottom; 0 for a flat one", unit="deg", range=(0.0, 70.0), limits=(0.0, 80.0)
    )
    diameter: float = parameter(0.01, "Diameter of a grain", unit="m", range=(0.001, 0.1), limits=(1e-4, 10.0))
    friction: float = parameter(0.5, "Coulomb friction of grains and walls", range=(0.0, 1.5), limits=(0.0, 100.0))
    rolling: float = parameter(0.1, "Rolling resistance of grains and walls", range=(0.0, 1.0), limits=(0.0, 10.0))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    def obstacles(self) -> list[Rigid]:
        """The silo, its hole at z = 0, and the ground below, where a heap grows."""
        self._check()
        d, surface = self.diameter, Surface(friction=self.friction, rolling=self.rolling)
        angle = math.radians(self.slope)
        shape = hopper(
            0.5 * self.width * d, (self.filling + 4.0) * d, 0.5 * self.opening * d, angle=angle, wall=2.0 * d
        )
        silo = Rigid(shape, surface, cells=self._cells(), name="silo")
        return [Rigid(Plane(point=(0.0, 0.0, -1.2 * self.width * d)), surface), silo]

    def bed(self) -> grains.Bed:
        """Grains at random places above the bottom."""
        d = self.diameter
        bottom = 0.5 * (self.width - self.opening) * d * math.tan(math.radians(self.slope))
        height = self.filling * d
        # A little away from the wall, whose corners the grid of distances rounds.
        region = Cylinder((0.5 * self.width - 0.2) * d, height, center=(0.0, 0.0, bottom + 0.4 * d + 0.5 * height))
        positions, radii = fill(region, 0.5 * d, _LOOSE, seed=self.seed)
        return grains.Bed(positions, radii, grains.Grain(friction=self.friction, rolling=self.rolling))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """The silo just opened; how much has left it is written down as it runs."""
        obstacles = self.obstacles()  # before the bed, which takes its time: a silo that cannot be is refused at once
        simulation = grains.simulation(self.bed(), obstacles=obstacles, device=device, threads=threads)
        rows: list[tuple[float, float]] = []
        simulation.attachments["outflow"] = rows

        def look(sim: Simulation[grains.Solver]) -> None:
            below = sim.solver.readout.positions(sim.state)[:, 2] < -2.0 * self.diameter
            rows.append((sim.time, float(sim.solver.model.bed.masses[below].sum())))

        simulation.observe(look, every=_EVERY)
        return simulation

    def outflow(self, simulation: Simulation[grains.Solver]) -> float:
        """Steady rate [kg/s]: the slope of what has left, from a tenth to six tenths of the filling."""
        rows = np.array(simulation.attachments["outflow"]).reshape(-1, 2)
        total = float(simulation.solver.model.bed.masses.sum())
        steady = (rows[:, 1] > 0.1 * total) & (rows[:, 1] < 0.6 * total)
        if steady.sum() < 3:
            steady = rows[:, 1] > 0.0
        return float(np.polyfit(rows[steady, 0], rows[steady, 1], 1)[0]) if steady.sum() >= 2 else 0.0

    def beverloo(self, constant: float = 0.58, lost: float = LOST) -> float:
        """Rate of a flat-bottomed silo [kg/s]: C ρ_b √g (D − k d)^(5/2)."""
        density = _PACKED * grains.Grain().density
        free = max(self.opening - lost, 0.0) * self.diameter
        return constant * density * math.sqrt(9.81) * free**2.5

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """The rate beside that of Beverloo, and what has left."""
        rate = self.outflow(simulation)
        below = simulation.solver.readout.positions(simulation.state)[:, 2] < 0.0
        law = self.beverloo()
        return [
            Measurement("grains", simulation.solver.model.count),
            Measurement("outflow", rate, "kg/s", law, source="Beverloo et al. 1961, flat bottom"),
            Measurement("outflow-over-beverloo", rate / law if law > 0.0 else 0.0),
            Measurement("share-outside", float(below.mean())),
            Measurement("overlap-largest", simulation.solver.readout.overlap(simulation.state).largest),
        ]

    def _check(self) -> None:
        if not self.opening < self.width:
            raise InvalidValue(
                f"the opening of a hopper must be below its width of {self.width:g} grain diameters, not "
                f"{self.opening:g}."
            )

    def _cells(self) -> int:
        """Two and a half cells a grain diameter, so that the edge of the hole is sharp."""
        longest = max(self.width + 4.0, self.filling + 6.0 + 0.5 * self.width * math.tan(math.radians(self.slope)))
        return int(min(2.5 * longest, 220))

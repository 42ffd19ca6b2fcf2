"""A column of grains whose wall is lifted: it collapses into a heap (Lube et al. 2004)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import grains
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.filling import fill
from annelid.scenes.support.heaps import Heap, heap
from annelid.shapes import Cylinder, Rigid, Surface, ground, tube

_WALL = 0.12  # thickness of the wall over the radius of the column
_LOOSE = 0.52  # packing of the column before it settles
_SETTLED = 0.60  # and after, about
_SOURCE = "Lube et al. 2004"


@dataclass(frozen=True)
class Column(Checked):
    """A column of grains stands in a tube; the tube is lifted, and the column collapses."""

    name: ClassVar[str] = "column"
    duration: ClassVar[float] = 1.4

    aspect: float = parameter(2.0, "Height of the column over its radius", range=(0.2, 10.0), limits=(0.05, 100.0))
    width: float = parameter(12.0, "Radius of the column in grain diameters", range=(5.0, 40.0), limits=(1.0, 1e3))
    diameter: float = parameter(0.01, "Diameter of a grain", unit="m", range=(0.001, 0.1), limits=(1e-4, 10.0))
    friction: float = parameter(0.5, "Coulomb friction of grains and ground", range=(0.0, 1.5), limits=(0.0, 100.0))
    rolling: float = parameter(0.15, "Rolling resistance of grains and ground", range=(0.0, 1.0), limits=(0.0, 10.0))
    pause: float = parameter(
        0.2, "Time to settle before the tube is lifted", unit="s", range=(0.0, 2.0), limits=(0.0, 1e3)
    )
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def radius(self) -> float:
        """Radius of the column [m]."""
        return self.width * self.diameter

    @property
    def height(self) -> float:
        """Height of the settled column, about [m]."""
        return self.aspect * self.radius

    def obstacles(self) -> list[Rigid]:
        """The ground, and the tube, which is smooth so that it drags nothing along."""
        loose = self.height * _SETTLED / _LOOSE
        speed = 8.0 * math.sqrt(9.81 * self.height)
        shape = tube(self.radius, (1.0 + _WALL) * self.radius, 1.1 * loose + 2.0 * self.diameter)

        def lifted(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            up = np.clip(speed * (times - self.pause), 0.0, 1.1 * loose)
            return up[:, None] * [0.0, 0.0, 1.0], np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))

        cells = int(np.clip(6.0 * (1.0 + _WALL) / _WALL * max(1.0, 0.5 * self.aspect), 48, 160))
        wall = Rigid(shape, Surface(friction=0.0), motion=lifted, cells=cells, name="tube")
        return [ground(friction=self.friction, rolling=self.rolling), wall]

    def bed(self) -> grains.Bed:
        """Grains at random places inside the tube."""
        loose = self.height * _SETTLED / _LOOSE
        region = Cylinder(self.radius - 0.1 * self.diameter, loose, center=(0.0, 0.0, 0.5 * loose))
        positions, radii = fill(region, 0.5 * self.diameter, _LOOSE, seed=self.seed)
        return grains.Bed(positions, radii, grains.Grain(friction=self.friction, rolling=self.rolling))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """The column in its tube."""
        obstacles = self.obstacles()  # before the bed, which takes its time: a tube that cannot be is refused at once
        return grains.simulation(self.bed(), obstacles=obstacles, skin=0.5, device=device, threads=threads)

    def deposit(self, simulation: Simulation[grains.Solver]) -> Heap:
        """The heap as it is now."""
        solver = simulation.solver
        return heap(solver.readout.positions(simulation.state), solver.model.bed.radii)

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """How far it ran, and how high it is, beside Lube's laws."""
        found, solver = self.deposit(simulation), simulation.solver
        summary = simulation.summary()
        rest = (summary.kinetic - summary.rotational) / (summary.mass * 9.81 * 0.5 * self.diameter)
        return [
            Measurement("grains", solver.model.count),
            Measurement("run-out", found.radius / self.radius - 1.0, "", run_out_law(self.aspect), source=_SOURCE),
            Measurement("final-height", found.height / self.radius, "", height_law(self.aspect), source=_SOURCE),
            Measurement("final-height-of-beads", bead_height_law(self.aspect), source="Lajeunesse et al. 2005"),
            Measurement("slope", math.degrees(found.angle), "deg"),
            Measurement("strays", found.strays),
            Measurement("overlap-largest", solver.readout.overlap(simulation.state).largest),
            Measurement("kinetic-energy", rest, "m g R a grain"),
        ]


def run_out_law(aspect: float) -> float:
    """Growth of the radius over the radius, of a column of an aspect ratio (Lube et al. 2004)."""
    return 1.24 * aspect if aspect < 1.7 else 1.6 * math.sqrt(aspect)


def height_law(aspect: float) -> float:
    """Final height over the radius of sand, sugar and rice (Lube et al. 2004); low columns keep a flat top."""
    return min(aspect, 0.88 * aspect ** (1.0 / 6.0))


def bead_height_law(aspect: float) -> float:
    """The same of glass beads, whose heaps all end as high (Lajeunesse et al. 2005)."""
    return min(aspect, 0.74)

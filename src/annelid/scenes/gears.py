"""A tower of turning helical gears through which grains run, for ever: what leaves below comes back on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.filling import MOST_GRAINS, jittered_lattice
from annelid.robots import GearTower, gear_tower
from annelid.robots.gear_tower import MOST_GEARS
from annelid.shapes import Cylinder, Rigid, Surface

_COLORS = ((0.30, 0.45, 0.62), (0.70, 0.36, 0.28))


@dataclass(frozen=True)
class Gears(Checked):
    """Grains fall through pairs of helical gears in a cylinder whose top is its bottom."""

    name: ClassVar[str] = "gears"
    duration: ClassVar[float] = 2.0

    gears: int = parameter(6, "Number of gears", range=(1, 20), limits=(1, MOST_GEARS))
    count: int = parameter(6000, "Number of grains", range=(100, 100_000), limits=(1, MOST_GRAINS))
    radius: float = parameter(0.02, "Radius of a grain", unit="m", range=(0.004, 0.03), limits=(1e-3, 0.1))
    spin: float = parameter(3.0, "Largest speed of a gear", unit="rad/s", range=(0.0, 20.0), limits=(0.0, 200.0))
    friction: float = parameter(0.5, "Coulomb friction of grains and gears", range=(0.0, 1.5), limits=(0.0, 100.0))
    cells: int = parameter(64, "Cells of the grid of distances along a gear", range=(16, 200), limits=(8, 400))
    seed: int = parameter(1, "Seed of speeds and places", limits=SEEDS)

    def tower(self) -> GearTower:
        """Where the gears are."""
        return gear_tower(
            self.gears, clearance=5.0 * self.radius, headroom=8.0 * self.radius, speed=self.spin, seed=self.seed
        )

    def obstacles(self, tower: GearTower) -> list[Rigid]:
        """The gears, and the cylinder, whose ends lie far beyond the period."""
        turning = [
            Rigid(
                tower.meshes[kind],
                Surface(friction=self.friction),
                position=tuple(place),
                rotation=tuple(turn),
                motion="driven",
                spin=tuple(spin),
                cells=self.cells,
                name="gear",
                color=_COLORS[kind],
            )
            for kind, place, turn, spin in zip(
                tower.kinds, tower.positions, tower.orientations, tower.angular_velocities, strict=True
            )
        ]
        hull = tower.container
        shape = Cylinder(hull.radius, 3.0 * hull.length, center=hull.center)
        return [*turning, Rigid(shape, Surface(friction=self.friction), inside=True, name="tower", hidden=True)]

    def bed(self, tower: GearTower) -> grains.Bed:
        """Grains on a loose lattice in the free space of the tower, from above."""
        hull, pitch = tower.container, 2.1 * self.radius
        layers = max(int(hull.length / pitch), 1)
        pitch_z = hull.length / layers
        across = int(2.0 * hull.radius / pitch)
        corner = (-0.5 * across * pitch, -0.5 * across * pitch, 0.5 * (pitch_z - pitch))
        spots = jittered_lattice(
            (across, across, layers), pitch, jitter=0.02 * self.radius, corner=corner, seed=self.seed
        )
        spots[:, 2] *= pitch_z / pitch
        spots = spots[np.hypot(spots[:, 0], spots[:, 1]) < hull.radius - 1.05 * self.radius]
        for mesh in tower.placed():
            low, high = mesh.bounds()
            near = ((spots > low - 2.0 * self.radius) & (spots < high + 2.0 * self.radius)).all(axis=1)
            blocked = np.zeros(len(spots), bool)
            blocked[near] = mesh.signed_distance(spots[near]) < 1.3 * self.radius  # the grid rounds teeth
            spots = spots[~blocked]
        if len(spots) < self.count:
            raise InvalidValue(f"only {len(spots)} grains fit between the gears, not {self.count}: use smaller ones.")
        top = np.argsort(-spots[:, 2], kind="stable")[: self.count]
        return grains.Bed(spots[top], self.radius, grains.Grain(friction=self.friction))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """The tower, its grains still in the air."""
        tower = self.tower()
        dt = 1.8e-4 * float(np.sqrt(self.radius / 0.01))
        return grains.simulation(
            self.bed(tower),
            obstacles=self.obstacles(tower),
            dt=dt,
            skin=0.5,
            period=(0.0, 0.0, tower.container.length),
            device=device,
            threads=threads,
        )

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """Speeds, torques and overlaps at the end."""
        readout, state = simulation.solver.readout, simulation.state
        velocities = readout.velocities(state)
        torques = [np.linalg.norm(readout.torque(state, number)) for number in range(self.gears)]
        return [
            Measurement("grains", simulation.solver.model.count),
            Measurement("falling-speed", -float(velocities[:, 2].mean()), "m/s"),
            Measurement("fastest", float(np.linalg.norm(velocities, axis=1).max()), "m/s"),
            Measurement("torque-largest", float(max(torques)), "N m"),
            Measurement("overlap-largest", readout.overlap(state).largest),
        ]

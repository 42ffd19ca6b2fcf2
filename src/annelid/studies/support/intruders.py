"""Plates that are pulled through a bed of grains, each in a world of its own, and the stress that they feel."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import BedTooSmall, InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Rigid, Surface, box_walls, turned_about

ROOM, NARROW = 3.0, 10.0
"""Plate widths that should be between a plate and walls and floor; grain diameters that it should be wide."""

_SPREAD = 0.1  # radii of grains differ by that much from their mean, or they would lie in rows
_POURED = 0.5  # packing before grains settle
_SLIPPERY = 0.1  # friction of grains that settle closely, to 0.63; without any they would lie closer than sand does
_LEAD = 0.4  # part of the way after which a force counts: before, the bed closes around the plate
_LOOKS = 120  # moments at which forces are read


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """A bed in a box and a plate in it.

    Attributes:
        plate: Side of the plate in mean grain diameters.
        room: Plate widths between plate and walls, beside and behind it.
        ahead: The same before it, where sand rises in a long wedge; None takes `room`.
        below: Plate widths between the lowest place of the plate and the floor.
        shallow: Depth where plates begin or end, in widths.
        deep: The same of the deepest place.
        speed: Speed of a plate in √(g w); the stress does not depend on it far below 1.
        diameter: Mean diameter of the grains [m].
        grain: What they are made of.
        close: Whether the bed is packed closely: it settles with little friction, and is given its own afterwards.
        harder: How many times shorter steps are than those of the bed alone; contacts are stiffer with the square.
        seed: Seed of the places of the grains.
    """

    plate: float = 10.0
    room: float = 3.0
    ahead: float | None = None
    below: float = 3.0
    shallow: float = 1.0
    deep: float = 2.5
    speed: float = 0.05
    diameter: float = 0.01
    grain: grains.Grain = grains.SAND
    close: bool = True
    harder: float = 4.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("plate", "room", "ahead", "below", "shallow", "speed", "diameter", "harder"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} of an experiment with plates must be above 0, not {value}.")
        if not self.deep > self.shallow:
            raise InvalidValue(f"plates move between two depths, and deep={self.deep} is not below {self.shallow}.")

    @property
    def width(self) -> float:
        """Side of the plate [m]."""
        return self.plate * self.diameter

    @property
    def sides(self) -> tuple[float, float]:
        """Sides of the box along x and y [m]; the plate moves along x by what lies between the two depths."""
        along = 1.0 + self.room + self._before + self.deep - self.shallow
        return self.width * along, self.width * (1.0 + 2.0 * self.room)

    @property
    def _before(self) -> float:
        """Plate widths before it."""
        return self.room if self.ahead is None else self.ahead

    @property
    def depth(self) -> float:
        """Depth of the bed that is wanted [m]."""
        return self.width * (self.deep + self.below)

    def warn_of_size(self) -> None:
        """Warn where walls or grains are too close to the size of the plate."""
        for what, value, least, unit in (
            ("walls", self.room, ROOM, "plate widths away"),
            ("the floor", self.below, ROOM, "plate widths below it"),
            ("a plate", self.plate, NARROW, "grain diameters wide"),
        ):
            if value < least:
                warnings.warn(
                    f"{what} {'is' if what != 'walls' else 'are'} {value:g} {unit}, less than the {least:g} from which "
                    "on stresses no longer depend on it: take the map for what this bed does.",
                    BedTooSmall,
                    stacklevel=4,
                )

    def settled(self, device: wp.Device, threads: int | None) -> Settled:
        """The bed at rest."""
        (length, width), radius = self.sides, 0.5 * self.diameter
        tall = self.depth * 0.6 / _POURED
        region = Box((length, width, tall), center=(0.0, 0.0, 0.5 * tall))
        sizes = (radius * (1.0 - _SPREAD), radius * (1.0 + _SPREAD))
        positions, radii = grains.fill(region, sizes, _POURED, seed=self.seed, device=device)
        smooth = replace(self.grain, friction=min(_SLIPPERY, self.grain.own_friction), rolling=0.0)
        for material in (smooth, self.grain) if self.close else (self.grain,):
            bed = grains.Bed(positions, radii, material)
            simulation = grains.simulation(
                bed, obstacles=self._walls(0, tall), overlapping="allow", device=device, threads=threads
            )
            simulation.run(2.0 * math.sqrt(2.0 * tall / 9.81))
            positions = simulation.positions()
        top = float(np.quantile(positions[:, 2] + radii, 0.97))
        margin = min(3.0 * self.diameter, 0.25 * top, 0.25 * width)
        packing = simulation.solver.readout.packing(simulation.state, region, margin=margin, top=top)
        return Settled(bed.copy(positions=positions), top, packing, simulation.dt)

    def _walls(self, world: int, tall: float) -> list[Rigid]:
        (length, width), surface = self.sides, Surface(friction=self.grain.friction)
        low, high = (-0.5 * length, -0.5 * width, 0.0), (0.5 * length, 0.5 * width, 2.0 * tall)
        return box_walls(low, high, surface, world=world)

    def pull(self, settled: Settled, angles: np.ndarray, device: wp.Device, threads: int | None) -> list[Pulled]:
        """Pull a plate through a copy of the bed for each pair of angles, side by side.

        Args:
            settled: The bed.
            angles: Tilt beta and direction gamma of each plate [rad], shape [n, 2].
            device: Where to compute.
            threads: CPU threads; None takes all cores.
        """
        ways = [self._way(settled.top, gamma) for gamma in angles[:, 1]]
        plates = [
            Rigid(
                Box((self.width, self.width, self.diameter)), Surface(friction=self.grain.friction), motion="driven",
                position=way.start, rotation=turned_about("y", -beta), velocity=way.velocity, world=world,
            )
            for world, ((beta, _), way) in enumerate(zip(angles, ways, strict=True))
        ]  # fmt: skip
        beds = [self._around(settled.bed, plate) for plate in plates]
        walls = [wall for world in range(len(angles)) for wall in self._walls(world, settled.top)]
        bed = grains.Bed(
            np.concatenate([one.positions for one in beds]), np.concatenate([one.radii for one in beds]), self.grain
        )
        simulation = grains.simulation(
            bed, obstacles=[*plates, *walls], dt=settled.dt / self.harder, overlapping="allow", device=device,
            world_of=np.repeat(np.arange(len(beds)), [len(one) for one in beds]), threads=threads,
        )  # fmt: skip
        return _watched(simulation, plates, ways, settled.top, self.width**2)

    def _way(self, top: float, gamma: float) -> Way:
        """As far as shallow and deep are apart, through the middle between both."""
        reach, speed = (self.deep - self.shallow) * self.width, self.speed * math.sqrt(9.81 * self.width)
        velocity = speed * np.array([math.cos(gamma), 0.0, -math.sin(gamma)])
        back = 0.5 * (self._before - self.room) * self.width
        middle = np.array([-back, 0.0, top - 0.5 * (self.deep + self.shallow) * self.width])
        start = middle - 0.5 * reach * velocity / speed
        return Way(tuple(start.tolist()), tuple(velocity.tolist()), reach / speed)

    def _around(self, bed: grains.Bed, plate: Rigid) -> grains.Bed:
        """The bed without the grains that the plate would be in."""
        local = plate.turn.inv().apply(bed.positions - np.asarray(plate.position))
        half = 0.5 * np.array([self.width, self.width, self.diameter])
        outside = np.linalg.norm(np.maximum(np.abs(local) - half, 0.0), axis=1)
        keep = outside > 0.9 * bed.radii
        return grains.Bed(bed.positions[keep], bed.radii[keep], self.grain)


@dataclass(frozen=True, eq=False)
class Settled:
    """A bed at rest: its grains, height of its surface [m], packing, and its own time step [s]."""

    bed: grains.Bed
    top: float
    packing: float
    dt: float


@dataclass(frozen=True)
class Way:
    """Where a plate starts [m], its velocity [m/s], and for how long it moves [s]."""

    start: tuple[float, float, float]
    velocity: tuple[float, float, float]
    seconds: float


@dataclass(frozen=True, eq=False)
class Pulled:
    """What a plate felt.

    Attributes:
        depths: Depths of its middle [m], shape [t].
        stresses: Forces over its area against its motion and upwards [Pa], shape [t, 2].
        overlap: Largest overlap of grains at the end, of a diameter.
    """

    depths: np.ndarray
    stresses: np.ndarray
    overlap: float

    @property
    def per_depth(self) -> np.ndarray:
        """Stress per depth [N/m³], against the motion and upwards, shape [2], once the bed has closed around it."""
        later = slice(int(_LEAD * len(self.depths)), None)
        depths = self.depths[later]
        return np.asarray(depths @ self.stresses[later] / (depths @ depths))


def _watched(
    simulation: Simulation[grains.Solver], plates: Sequence[Rigid], ways: Sequence[Way], top: float, area: float
) -> list[Pulled]:
    """Run until the last plate has arrived; those that come earlier go on, and are no longer read."""
    rows: list[np.ndarray] = []
    seconds = max(way.seconds for way in ways)
    every = max(1, round(seconds / _LOOKS / simulation.dt)) * simulation.dt

    def look(sim: Any) -> None:
        readout, state = sim.solver.readout, sim.state
        rows.append(np.array([[*readout.body_position(state, p), *readout.force(state, p)] for p in plates]))

    simulation.observe(look, every=every)
    simulation.run(seconds)
    tracks, overlap = np.array(rows), simulation.solver.readout.overlap(simulation.state).largest
    found = []
    for number, way in enumerate(ways):
        last = max(2, int(way.seconds / seconds * len(tracks)))
        track = tracks[:last, number]
        stresses = np.stack([-track[:, 3], track[:, 5]], axis=1) / area
        found.append(Pulled(top - track[:, 2], stresses, overlap))
    return found

"""Grains in a box of smooth walls that is pressed from above while its sides give way: how much they resist shear.

Plane strain: two walls stand still, two are moved so that the stress on them stays what it is, and the last two come
closer at a given rate. There is no gravity, so that stresses are the same everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Rigid, Surface
from annelid.shapes.values import as_vector

_SPREAD = 0.1  # radii of grains differ by that much from their mean, as in beds with plates
_POURED = 0.5  # packing before grains are pressed together
_LOOSER = 1.06  # sides of the box then, of those that are wanted
_DEEP = 15.0  # stress on the walls, in weights of a layer of one diameter
_SOONEST, _LATEST = 0.1, 0.6  # when grains may count as pressed together, and when they do [s]
_CALM, _NEAR = 2e-3, 0.05  # speed of walls [m/s] and error of stresses at which they do
_EAGER, _FASTEST = 0.6, 0.25  # how fast walls follow the stress, in speeds of sound; at most [m/s]
_CHUNK = 20  # steps between two looks at the stress
_KEPT = 0.7  # part of the last look in a stress
_MARGIN = 2.0  # diameters to the walls within which packing is not measured
_WINDOW = 13  # looks over which stresses are averaged


@dataclass(frozen=True, kw_only=True)
class Compression:
    """A box of grains that is compressed.

    Attributes:
        sides: Sides of the box in mean diameters, along the walls that give way, those that stand, and the height.
        diameter: Mean diameter [m].
        grain: What grains are made of.
        slippery: Friction of the grains while they are pressed together; without any they pack closest.
        rate: Rate of the compression [1/s].
        strain: Compression at the end.
        dt: Time step [s]; contacts are the stiffer the shorter it is.
        seed: Seed of the places of the grains.
    """

    sides: tuple[float, float, float] = (14.0, 10.0, 20.0)
    diameter: float = 0.01
    grain: grains.Grain = grains.SAND
    slippery: float = 0.1
    rate: float = 0.3
    strain: float = 0.16
    dt: float = 5e-5
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("diameter", "rate", "strain", "dt"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} of a compression must be above 0, not {value}.")

    @property
    def pressure(self) -> float:
        """Stress on the walls that give way [Pa]."""
        return self.grain.density * 9.81 * self.diameter * _DEEP

    def run(self, device: wp.Device, threads: int | None) -> Sheared:
        """Press grains together, give them their friction, and compress them."""
        size = np.array(self.sides) * self.diameter * _LOOSER
        radius = 0.5 * self.diameter
        radii = (radius * (1.0 - _SPREAD), radius * (1.0 + _SPREAD))
        positions, sizes = grains.fill(Box(tuple(size.tolist())), radii, _POURED, seed=self.seed, device=device)
        smooth = replace(self.grain, friction=min(self.slippery, self.grain.own_friction), rolling=0.0)
        for material in (smooth, self.grain):
            cell = _Cell(grains.Bed(positions, sizes, material), size, self, device, threads)
            cell.squeeze()
            positions, size = cell.simulation.positions(), cell.size
        packing = cell.packing()
        height, volume = size[2], float(np.prod(size))
        cell.compress(height)
        track = np.array(cell.track)
        return Sheared(
            strains=np.log(height / track[:, 2]),
            swelling=np.log(track[:, :3].prod(axis=1) / volume),
            stresses=_smoothed(track[:, 3:]),
            packing=packing,
            grains=len(sizes),
            overlap=cell.simulation.solver.readout.overlap(cell.simulation.state).mean,
        )


@dataclass(frozen=True, eq=False)
class Sheared:
    """What the walls felt.

    Attributes:
        strains: Compression so far, shape [t].
        swelling: How much larger the volume is than at the beginning, its logarithm, shape [t].
        stresses: On the walls that give way, on those that stand, and on those that come closer [Pa], shape [t, 3].
        packing: Part of the box that grains filled at the beginning, away from walls.
        grains: Number of grains.
        overlap: Mean overlap of grains at the end, of a diameter.
    """

    strains: np.ndarray
    swelling: np.ndarray
    stresses: np.ndarray
    packing: float
    grains: int
    overlap: float

    @property
    def ratios(self) -> np.ndarray:
        """Shear stress over mean stress in the plane, the sine of the angle of friction, shape [t]."""
        side, down = self.stresses[:, 0], self.stresses[:, 2]
        return np.asarray((down - side) / (down + side))

    @property
    def peak(self) -> float:
        """Largest of them."""
        return float(self.ratios.max())

    @property
    def end(self) -> float:
        """Their mean over the last fifth of the way."""
        return float(self.ratios[self.strains > 0.8 * self.strains[-1]].mean())


class _Cell:
    """The box in motion."""

    def __init__(
        self, bed: grains.Bed, size: np.ndarray, how: Compression, device: wp.Device, threads: int | None
    ) -> None:
        self.size, self.how = size.copy(), how
        self._walls = _walls(size, 4.0 * how.diameter)
        self.simulation: Simulation[grains.Solver] = grains.simulation(
            bed, obstacles=list(self._walls.values()), gravity=(0.0, 0.0, 0.0), dt=how.dt, overlapping="allow",
            device=device, threads=threads,
        )  # fmt: skip
        self._stress: np.ndarray | None = None
        self.track: list[np.ndarray] = []

    def squeeze(self) -> None:
        """Until the stress on all walls is what it should be, and they stand."""
        wanted, speeds = self.how.pressure, np.full(3, np.inf)
        while self.simulation.time < _LATEST:
            stress = self._look()
            settled = np.abs(stress / wanted - 1.0).max() < _NEAR and np.abs(speeds).max() < _CALM
            if settled and self.simulation.time > _SOONEST:
                break
            speeds = self._following(stress)
            self._go(speeds)

    def compress(self, height: float) -> None:
        """Two walls come closer, two give way; what is looked at is kept."""
        while math.log(height / self.size[2]) < self.how.strain:
            stress = self._look()
            self.track.append(np.concatenate([self.size, stress]))
            self._go(np.array([self._following(stress)[0], 0.0, -self.how.rate * self.size[2]]))

    def packing(self) -> float:
        """Part of the box that grains fill, away from walls."""
        readout, state = self.simulation.solver.readout, self.simulation.state
        margin = min(_MARGIN * self.how.diameter, 0.25 * float(self.size.min()))
        return readout.packing(state, Box(tuple(self.size.tolist())), margin=margin, top=0.5 * float(self.size[2]))

    def _look(self) -> np.ndarray:
        """Mean stresses on the three pairs of walls [Pa]."""
        readout, state = self.simulation.solver.readout, self.simulation.state
        pushes = np.zeros(3)
        for (axis, _), wall in self._walls.items():
            pushes[axis] += 0.5 * abs(float(readout.force(state, wall)[axis]))
        now = pushes * self.size / float(np.prod(self.size))
        self._stress = now if self._stress is None else _KEPT * self._stress + (1.0 - _KEPT) * now
        return self._stress

    def _following(self, stress: np.ndarray) -> np.ndarray:
        """Speeds of pairs of walls apart from each other at which the stress becomes what it should be [m/s]."""
        wanted = self.how.pressure
        sound = math.sqrt(wanted / self.how.grain.density)
        return np.asarray(np.clip(_EAGER * sound * (stress / wanted - 1.0), -_FASTEST, _FASTEST))

    def _go(self, speeds: np.ndarray) -> None:
        simulation = self.simulation
        for (axis, side), wall in self._walls.items():
            velocity = np.zeros(3)
            velocity[axis] = 0.5 * side * speeds[axis]
            simulation.solver.drive(simulation.state, wall, velocity=velocity)
        simulation.run(_CHUNK * simulation.dt)
        self.size += speeds * (_CHUNK * simulation.dt)


def _walls(size: np.ndarray, thick: float) -> dict[tuple[int, int], Rigid]:
    """Smooth walls around a box, by axis and side; they overlap at the edges, where no grain can leave."""
    found = {}
    for axis in range(3):
        for side in (-1, 1):
            sides, place = size + 2.0 * thick, np.zeros(3)
            sides[axis], place[axis] = thick, side * 0.5 * (size[axis] + thick)
            found[axis, side] = Rigid(
                Box(tuple(sides.tolist())),
                Surface(friction=0.0),
                motion="driven",
                position=as_vector("position", place),
            )
    return found


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Means over a window, of fewer values at the ends, column by column."""
    window = np.ones(min(_WINDOW, len(values)))
    counts = np.convolve(np.ones(len(values)), window, "same")
    return np.stack([np.convolve(column, window, "same") / counts for column in values.T], axis=1)

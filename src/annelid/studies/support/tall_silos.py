"""Tall silos, whose walls bear most of what is in them (Janssen 1895)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp
from scipy.optimize import brentq

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Cylinder, Rigid, Surface

_RADIUS = 0.005  # of a grain, mean [m]
_SPREAD = 0.1  # radii differ by that much from their mean, or grains would lie in rows along the wall
_LOOSE = 0.55  # packing at the start
_POURED = 0.6  # and at rest, about
_SETTLING, _RESTING = 0.5, 0.2  # times before and after the floor goes down [s]
_SINKS, _SINKING = 0.003, 0.01  # the floor goes down by this [m], that fast [m/s]: the walls then bear all they can
_LOOKED = 0.1  # time at the end over which forces are averaged [s]


@dataclass(frozen=True, eq=False)
class Pressures:
    """What the floors of silos of several heights bear.

    Attributes:
        radius: Of the silos [m].
        friction: Of their walls.
        heights: Of the fillings [m], shape [h].
        shares: Of the weight, that the floor bears, shape [h].
    """

    radius: float
    friction: float
    heights: np.ndarray
    shares: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Λ in F/W = (1 − exp(−h/Λ)) Λ/h, from each filling [m], shape [h]."""

        def off(x: float, share: float) -> float:
            return (1.0 - math.exp(-x)) / x - share

        depths = np.array([brentq(off, 1e-6, 1e3, (share,)) for share in self.shares])
        return np.asarray(self.heights / depths)

    @property
    def redirected(self) -> float:
        """K in Λ = R/(2 μ K): pressure on the wall over that downwards."""
        return self.radius / (2.0 * self.friction * float(self.lengths.mean()))


def silo_pressures(
    heights: Sequence[float], *, width: float = 6.0, friction: float = 0.5, device: str | wp.Device,
    threads: int | None,
) -> Pressures:  # fmt: skip
    """Fill silos, lower their floors a little, and weigh what these bear.

    Args:
        heights: Of the fillings, in grain diameters.
        width: Radius of the silos in grain diameters.
        friction: Of grains, walls and floors.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """
    found = [_filled(height, width, friction, device, threads) for height in heights]
    tops, shares = np.array(found).T
    return Pressures(2.0 * _RADIUS * width, friction, tops, shares)


def _filled(
    height: float, width: float, friction: float, device: str | wp.Device, threads: int | None
) -> tuple[float, float]:  # fmt: skip
    """Height of one filling [m], and the share of its weight that the floor bears."""
    d = 2.0 * _RADIUS
    radius, loose = width * d, height * d * _POURED / _LOOSE
    surface = Surface(friction=friction)
    wall = Rigid(Cylinder(radius, 3.0 * loose, center=(0.0, 0.0, 0.5 * loose)), surface, inside=True, name="wall")
    slab = Box((3.0 * radius, 3.0 * radius, 4.0 * d), center=(0.0, 0.0, -2.0 * d))

    def sunk(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        down = np.clip(_SINKING * (times - _SETTLING), 0.0, _SINKS)
        return -down[:, None] * [0.0, 0.0, 1.0], np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))

    floor = Rigid(slab, surface, motion=sunk, name="floor")
    region = Cylinder(radius - 0.1 * d, loose, center=(0.0, 0.0, 0.5 * loose))
    sizes = (_RADIUS * (1.0 - _SPREAD), _RADIUS * (1.0 + _SPREAD))
    positions, radii = grains.fill(region, sizes, _LOOSE, seed=1)
    bed = grains.Bed(positions, radii, grains.Grain(friction=friction))
    simulation = grains.simulation(bed, obstacles=[floor, wall], device=device, threads=threads)
    simulation.run(_SETTLING + _SINKS / _SINKING + _RESTING - _LOOKED)
    forces: list[float] = []

    def weigh(sim: Simulation[grains.Solver]) -> None:
        forces.append(-float(sim.solver.readout.force(sim.state, floor)[2]))

    simulation.observe(weigh, every=0.05 * _LOOKED)
    simulation.run(_LOOKED)
    top = float((simulation.positions()[:, 2] + radii).max()) + _SINKS
    return top, float(np.mean(forces)) / (9.81 * float(bed.masses.sum()))

"""A gas of grains without gravity, which cools because collisions take energy (Haff 1983)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice

_RADIUS = 0.01
_SPEED = 1.0  # root mean square of each component at first [m/s]
_LOOKS = 20


@dataclass(frozen=True, eq=False)
class Cooling:
    """How a gas of smooth spheres cooled.

    Attributes:
        restitution: Of its collisions.
        times: Moments [s], shape [t].
        temperatures: Mean square of a component of the velocities, of that at first, shape [t].
        rate: At which the root of the inverse temperature should grow [1/s].
    """

    restitution: float
    times: np.ndarray
    temperatures: np.ndarray
    rate: float

    @property
    def found(self) -> float:
        """Rate at which it grew [1/s], by a straight line."""
        return float(np.polyfit(self.times, self.temperatures**-0.5, 1)[0])

    @property
    def bend(self) -> float:
        """Largest distance from that line, of the value there."""
        roots = self.temperatures**-0.5
        line = np.polyval(np.polyfit(self.times, roots, 1), self.times)
        return float(np.abs(line / roots - 1.0).max())


def cooling(
    restitution: float, *, side: int = 12, filled: float = 0.1, cooled: float = 5.0, seed: int = 1,
    device: str | wp.Device, threads: int | None,
) -> Cooling:  # fmt: skip
    """Let a gas cool in a box that repeats on all sides.

    Args:
        restitution: Of its collisions.
        side: Grains along a side at first.
        filled: Part of the volume that they fill.
        cooled: What the root mean square velocity falls by, as a factor.
        seed: Of places and velocities.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """
    pitch = 2.0 * _RADIUS * (math.pi / 6.0 / filled) ** (1.0 / 3.0)
    spots = jittered_lattice((side, side, side), pitch, jitter=0.45 * (pitch - 2.0 * _RADIUS), seed=seed)
    velocities = np.random.default_rng(seed).normal(size=spots.shape)
    velocities -= velocities.mean(axis=0)
    velocities *= _SPEED / np.sqrt(np.square(velocities).mean())
    material = grains.Grain(friction=0.0, restitution=restitution)
    simulation = grains.simulation(
        grains.Bed(spots, _RADIUS, material, velocities=velocities), gravity=(0.0, 0.0, 0.0),
        period=(side * pitch,) * 3, device=device, threads=threads,
    )  # fmt: skip
    rate = _enskog_rate(restitution, filled)
    seconds = (cooled - 1.0) / rate
    rows: list[tuple[float, float]] = []

    def look(sim: Simulation[grains.Solver]) -> None:
        rows.append((sim.time, float(np.square(sim.velocities()).mean()) / _SPEED**2))

    simulation.observe(look, every=seconds / _LOOKS)
    simulation.run(seconds)
    times, temperatures = np.array(rows).T
    return Cooling(restitution, times, temperatures, rate)


def _enskog_rate(restitution: float, filled: float) -> float:
    """Half of the rate at which a gas cools at first [1/s]: (1 − e²)/6 of the collisions that each sphere has."""
    density = filled / (4.0 / 3.0 * math.pi * _RADIUS**3)
    at_contact = (1.0 - 0.5 * filled) / (1.0 - filled) ** 3
    collisions = 16.0 * math.sqrt(math.pi) * density * _RADIUS**2 * at_contact * _SPEED
    return (1.0 - restitution**2) * collisions / 6.0

"""Small soft bodies that are squeezed at random: by jaws with corners, a ball, fingers, plates about a curled strip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.materials import Material
from annelid.shapes import Box, Path, Rigid, Sphere, Surface, TetMesh, ground, tet_beam

_SOFT = Material("soft", 1000.0, 1e5, 0.3, 1.0, 0.0, "of no real silicone")
_WAVES, _SLOWEST, _QUICKEST = 3, 0.5, 3.0  # of a random motion: how many, and their frequencies [1/s]
_BEGIN = 0.3  # time over which a motion begins [s]


class Wave:
    """A random motion between 0 and 1, smooth, which begins at 0.

    Args:
        rng: Where its frequencies and phases come from.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._speeds = 2.0 * np.pi * rng.uniform(_SLOWEST, _QUICKEST, _WAVES)
        self._phases, shares = rng.uniform(0.0, 2.0 * np.pi, _WAVES), rng.uniform(0.2, 1.0, _WAVES)
        self._shares = shares / shares.sum()

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Where it is at times [s], shape as times."""
        waves = np.sin(np.multiply.outer(times, self._speeds) + self._phases)
        return np.asarray((0.5 + 0.5 * waves @ self._shares) * np.clip(times / _BEGIN, 0.0, 1.0))


def wandering(rng: np.random.Generator, start: Any, moves: Any, turns: Any = (0.0, 0.0, 0.0)) -> Path:
    """A path from a place [m] by up to some moves along the axes [m], turning by up to so much about them [rad]."""
    waves = [Wave(rng) for _ in range(6)]
    begin, along, about = (np.asarray(each, float) for each in (start, moves, turns))

    def at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = np.stack([wave(times) for wave in waves], axis=1)
        turned = about * np.sin(np.pi * parts[:, 3:])
        return begin + along * parts[:, :3], Rotation.from_rotvec(turned).as_quat()

    return at


def jaws(rng: np.random.Generator, threads: int | None) -> Simulation[fem.Solver]:
    """A block on the ground between two boxes that turn, so that corners and edges press into it."""
    solid = _solid(tet_beam(0.08, 0.06, 0.05, cells=(4, 3, 2)).moved((0.0, 0.0, 0.03)), rng)
    sides = []
    for side in (-1.0, 1.0):
        path = wandering(rng, (0.04 + side * 0.07, 0.0, 0.04), (-side * 0.02, 0.01, 0.01), 0.5 * rng.uniform(-1, 1, 3))
        sides.append(Rigid(Box((0.03, 0.05, 0.04)), Surface(friction=rng.uniform(0.0, 1.0)), motion=path))
    return fem.simulation(solid, obstacles=[ground(0.5), *sides], dt=0.01, device="cpu", threads=threads)


def ball(rng: np.random.Generator, threads: int | None) -> Simulation[fem.Solver]:
    """A block on the ground, into which a ball is pressed here and there."""
    solid = _solid(tet_beam(0.08, 0.08, 0.04, cells=(5, 5, 3)).moved((0.0, 0.0, 0.025)), rng)
    path = wandering(rng, (0.03, -0.02, 0.078), (0.03, 0.04, -0.025), (1.0, 1.0, 1.0))
    pressed = Rigid(Sphere(0.025), Surface(friction=rng.uniform(0.0, 1.0)), motion=path)
    return fem.simulation(solid, obstacles=[ground(0.5), pressed], dt=0.01, device="cpu", threads=threads)


def fingers(rng: np.random.Generator, threads: int | None) -> Simulation[fem.Solver]:
    """Two fingers, carried by their upper ends, squeeze a loose ball and each other."""
    upright = tet_beam(0.09, 0.016, 0.02, cells=(9, 2, 2)).rotated((0.0, 1.0, 0.0), 0.5 * np.pi)
    low = upright.nodes.min(axis=0)
    one, two = (upright.moved(np.array([at, -0.008, 0.004]) - low) for at in (-0.044, 0.024))
    solid = _solid(one + two, rng)
    for side in (-1.0, 1.0):
        ends = np.flatnonzero((solid.nodes[:, 2] > 0.0935) & (solid.nodes[:, 0] * side > 0.0))
        inwards = -side * 0.014, 0.004, 0.002  # with the turn about the origin, not so far that the ends would meet
        solid.fix(ends, motion=wandering(rng, (0.0, 0.0, 0.0), inwards, (0.0, -side * 0.1, 0.1)))
    held = Rigid(Sphere(0.015), Surface(friction=0.6), motion="free", mass=0.02, position=(0.0, 0.0, 0.02))
    return fem.simulation(solid, obstacles=[ground(0.5), held], dt=0.01, device="cpu", threads=threads)


def curl(rng: np.random.Generator, threads: int | None) -> Simulation[fem.Solver]:
    """A strip curled to a ring, which two plates press upon itself."""
    strip = tet_beam(1.0, 0.015, 0.008, cells=(16, 1, 1))
    along, across, up = (strip.nodes - strip.nodes.min(axis=0)).T
    angle, radius = 0.4 + (2.0 * np.pi - 0.8) * along, 0.03 + up
    nodes = np.stack([radius * np.cos(angle), across, -radius * np.sin(angle)], axis=1)
    solid = _solid(TetMesh(nodes, strip.tetrahedra, cells=strip.cells), rng)
    plates = []
    for side in (-1.0, 1.0):
        path = wandering(rng, (0.0, 0.0075, side * 0.0455), (0.005, 0.0, -side * 0.03), (0.0, 0.2, 0.0))
        plates.append(Rigid(Box((0.12, 0.05, 0.01)), Surface(friction=rng.uniform(0.0, 0.8)), motion=path))
    return fem.simulation(
        solid, obstacles=plates, gravity=(0.0, 0.0, 0.0), velocity_damping=5.0, contact=fem.Contact(itself=True),
        dt=0.01, device="cpu", threads=threads,
    )  # fmt: skip


CASES: dict[str, Callable[[np.random.Generator, int | None], Simulation[fem.Solver]]] = {
    "jaws": jaws, "ball": ball, "fingers": fingers, "curl": curl
}  # fmt: skip
"""What is squeezed, by name: makes a simulation out of random numbers, on so many threads."""


def _solid(mesh: TetMesh, rng: np.random.Generator) -> fem.Solid:
    return fem.Solid(mesh, _SOFT, surface=Surface(friction=rng.uniform(0.0, 1.0)))

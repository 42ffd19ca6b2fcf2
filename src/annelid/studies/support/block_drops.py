"""Blocks that drop into a bed at rest, as lattices of springs and as rigid cubes: how deep they are a moment later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid import coupling, grains, robots, springs
from annelid.shapes import Box, Rigid, Surface

SIDE, PITCH = 0.06, 0.01
"""Side of a block, and distance of the masses of a lattice [m]."""

_MASSES = round(SIDE / PITCH) + 1  # along an edge
_STIFF = 8.5e5  # stiffness of a spring over the mass at its end [N/m/kg]: a stable step of 0.055 ms
_DAMPED = 410.0  # damping of a spring over that mass [1/s]
_SKIN = Surface(friction=0.5)
_WIDE, _DEEP, _SETTLING = 0.15, 0.09, 0.6  # box [m], and time until its bed is at rest [s]
_WATCHED = 0.05  # time from the start to the depth that counts, by when a block has lost most of its speed [s]
_ABOVE = 0.003  # where the block starts, above the highest grain [m]
PLACES = ((0.0, 0.0), (0.012, -0.009), (-0.01, 0.011))
"""Where blocks drop, from the middle of the box [m]."""


SMOOTH, MEDIUM, SAND = (
    grains.Grain(density=2650.0, friction=friction, rolling=rolling)
    for friction, rolling in ((0.2, 0.02), (0.3, 0.05), (0.5, 0.1))
)


@dataclass(frozen=True)
class Case:
    """Grains and the block that drops into them.

    Attributes:
        name: What the grains are called.
        grain: What they are made of.
        radius: Their radius [m].
        mass: Mass of the block [kg].
        speed: How fast it comes down [m/s].
    """

    name: str
    grain: grains.Grain
    radius: float
    mass: float
    speed: float

    @property
    def label(self) -> str:
        """Its name in tables, such as sand-6mm-2.5kg-1.5ms."""
        return f"{self.name}-{1e3 * self.radius:g}mm-{self.mass:g}kg-{self.speed:g}ms"


CASES = tuple(
    Case(name, grain, radius, mass, speed)
    for name, grain, radius, mass, speed in (
        ("smooth", SMOOTH, 0.006, 2.5, 1.5),
        ("smooth", SMOOTH, 0.006, 0.6, 1.5),
        ("smooth", SMOOTH, 0.006, 0.3, 1.0),
        ("smooth", SMOOTH, 0.010, 2.5, 2.0),
        ("smooth", SMOOTH, 0.010, 2.5, 1.0),
        ("medium", MEDIUM, 0.006, 1.0, 1.5),
        ("medium", MEDIUM, 0.008, 2.5, 1.0),
        ("sand", SAND, 0.006, 2.5, 1.5),
        ("sand", SAND, 0.006, 0.6, 1.5),
        ("sand", SAND, 0.008, 1.0, 1.0),
        ("sand", SAND, 0.010, 2.5, 1.5),
    )
)
"""Eleven kinds of drops, from blocks that come in by half of their height to ones that hardly leave a mark."""


@dataclass(frozen=True)
class Depths:
    """How deep a block is, below the median of the highest grains [m].

    Attributes:
        lattice: A stiff lattice of springs, in the step that is chosen for it.
        lattice_halved: The same in half of that step, and of that of its springs.
        rigid: A rigid cube of its mass and size, in the step of the lattice.
        rigid_halved: The same in half of it.
    """

    lattice: float
    lattice_halved: float
    rigid: float
    rigid_halved: float


@dataclass(frozen=True)
class Drops:
    """Drops of one case into one bed.

    Attributes:
        case: Grains and block.
        seed: Seed of the places of the grains.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    case: Case
    seed: int
    device: wp.Device
    threads: int | None = None

    @property
    def box(self) -> robots.Sandbox:
        """The box of the bed."""
        return robots.Sandbox(
            length=_WIDE, width=_WIDE, depth=_DEEP, radius=self.case.radius, grain=self.case.grain, seed=self.seed
        )

    def bed(self) -> grains.Bed:
        """The bed at rest."""
        bed = self.box.bed()
        simulation = grains.simulation(bed, obstacles=self.box.walls(), device=self.device, threads=self.threads)
        simulation.run(_SETTLING)
        return bed.copy(positions=simulation.positions())

    def depths(self, bed: grains.Bed, place: int) -> Depths:
        """Depths at one of the places."""
        body = _lattice(self.case, bed, place)
        walls = self.box.walls()
        usual = coupling.Model(
            body, bed, world=coupling.World(obstacles=walls, grains={"converge": True}, skin=_SKIN), device=self.device
        )
        surface = float(body.positions[:, 2].min()) - _standoff(self.case) - _surface(bed)
        soft = [self._soft(body, bed, usual, parts) - surface for parts in (1, 2)]
        hard = [self._hard(body, bed, usual, parts) - surface for parts in (1, 2)]
        return Depths(*soft, *hard)

    def _soft(self, body: springs.Body, bed: grains.Bed, usual: coupling.Model, parts: int) -> float:
        """How far the lattice comes down [m]."""
        simulation = coupling.simulation(
            body, bed, obstacles=self.box.walls(), skin=_SKIN, dt=usual.dt / parts,
            spring_dt=usual.springs.dt / parts, grains={"converge": True}, device=self.device,
            threads=self.threads,
        )  # fmt: skip
        simulation.run(_WATCHED)
        ends = simulation.solver.readout.body_positions(simulation.state)
        return float((body.positions - ends)[:, 2].mean())

    def _hard(self, body: springs.Body, bed: grains.Bed, usual: coupling.Model, parts: int) -> float:
        """How far the rigid cube comes down [m]."""
        middle = body.positions.mean(axis=0)
        cube = Rigid(
            Box((SIDE + 2.0 * _standoff(self.case),) * 3), _SKIN, position=tuple(middle.tolist()), motion="free",
            mass=self.case.mass, velocity=(0.0, 0.0, -self.case.speed),
        )  # fmt: skip
        simulation = grains.simulation(
            bed, obstacles=[*self.box.walls(), cube], dt=usual.dt / parts, contact_step=usual.grains.contact_step,
            converge=True, device=self.device, threads=self.threads,
        )  # fmt: skip
        simulation.run(_WATCHED)
        return float(middle[2] - simulation.solver.readout.body_position(simulation.state, cube)[2])


def _block(mass: float) -> springs.Body:
    each = mass / _MASSES**3
    return springs.block((_MASSES,) * 3, PITCH, mass=each, stiffness=_STIFF * each, damping=_DAMPED * each)


def _standoff(case: Case) -> float:
    """How far outside of its masses grains meet the lattice [m]."""
    return coupling.standoff(_block(case.mass), case.radius)


def _lattice(case: Case, bed: grains.Bed, place: int) -> springs.Body:
    """The lattice as it starts."""
    x, y = PLACES[place]
    top = float((bed.positions[:, 2] + bed.radii).max())
    body = _block(case.mass).moved((x - 0.5 * SIDE, y - 0.5 * SIDE, top + _standoff(case) + _ABOVE))
    body.velocities[:, 2] = -case.speed
    return body


def _surface(bed: grains.Bed) -> float:
    """The median of the highest grains a diameter apart [m]."""
    spots, diameter = bed.positions, 2.0 * float(bed.radii.max())
    columns = np.floor((spots[:, :2] - spots[:, :2].min(axis=0)) / diameter).astype(int)
    tops = np.zeros(columns.max(axis=0) + 1)
    np.maximum.at(tops, (columns[:, 0], columns[:, 1]), spots[:, 2] + bed.radii)
    return float(np.median(tops[1:-1, 1:-1]))

"""How deep a block has dropped into a bed when it has lost most of its speed: like a rigid one, whatever the steps."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from annelid import coupling, grains, robots, springs
from annelid.core.errors import StepTooLong
from annelid.shapes import Box, Rigid, Surface

from .conftest import RADIUS, SKIN, block

MASS, MASSES, PITCH, TIME = 2.5, 5, 0.015, 0.05
SIDE = PITCH * (MASSES - 1)
BLOCK = block(MASSES, PITCH, mass=MASS, stiffness=6000.0)
STANDOFF = coupling.standoff(BLOCK, RADIUS)
SMOOTH = grains.Grain(density=2650.0, friction=0.2, rolling=0.02)
ROUGH = grains.Grain(density=2650.0, friction=0.3, rolling=0.05)


@dataclass(frozen=True)
class Drop:
    """A block that falls into a bed.

    Attributes:
        grain: What the bed is made of.
        speed: How fast the block starts, a little above it [m/s].
    """

    grain: grains.Grain
    speed: float

    @property
    def box(self) -> robots.Sandbox:
        """The box of the bed."""
        return robots.Sandbox(length=0.16, width=0.16, depth=0.1, radius=RADIUS, grain=self.grain)

    @property
    def start(self) -> float:
        """Height of the lowest masses of the block [m]."""
        return float(_bed(self.box).positions[:, 2].max()) + RADIUS + STANDOFF + 0.003

    @property
    def fall(self) -> float:
        """Way of the block to the surface of the bed, the median of the highest grains a diameter apart [m]."""
        spots = _bed(self.box).positions
        columns = np.floor((spots[:, :2] - spots[:, :2].min(axis=0)) / (2.0 * RADIUS)).astype(int)
        tops = np.zeros(columns.max(axis=0) + 1)
        np.maximum.at(tops, (columns[:, 0], columns[:, 1]), spots[:, 2] + RADIUS)
        return self.start - STANDOFF - float(np.median(tops[1:-1, 1:-1]))


@functools.cache
def _bed(box: robots.Sandbox) -> grains.Bed:
    """The bed at rest; it settles with a number of its world, as those of environments do, whose kernels it shares."""
    bed = box.bed()
    worlds = np.zeros(len(bed), np.int32)
    simulation = grains.simulation(bed, obstacles=box.walls(), world_of=worlds, device="cpu", threads=1)
    simulation.run(0.5)
    return bed.copy(positions=simulation.solver.readout.positions(simulation.state))


def _body(drop: Drop) -> springs.Body:
    """The lattice as it starts."""
    body = BLOCK.moved((0.0, 0.0, drop.start))
    body.damping[:] = 3.0
    body.velocities[:, 2] = -drop.speed
    return body


@functools.cache
def _usual(drop: Drop, converge: bool = True) -> coupling.Model:
    """The lattice and the bed with the steps that are chosen for them."""
    world = coupling.World(obstacles=drop.box.walls(), grains={} if converge else {"converge": False}, skin=SKIN)
    return coupling.Model(_body(drop), _bed(drop.box), world=world, device="cpu")


@functools.cache
def _soft_depth(drop: Drop, parts: int = 1, longer: int = 1, converge: bool = True) -> float:
    """How deep the stiff lattice drops into the bed [m].

    Args:
        drop: The drop.
        parts: How many times shorter steps are than usual.
        longer: How many times longer those of the grains are.
        converge: Whether they converge, or take plain sweeps.
    """
    body, usual = _body(drop), _usual(drop, converge)
    bed, walls = _bed(drop.box), drop.box.walls()
    steps = {"dt": longer * usual.dt / parts, "spring_dt": usual.springs.world.dt / parts}
    options = {} if converge else {"grains": {"converge": False}}
    simulation = coupling.simulation(body, bed, obstacles=walls, skin=SKIN, device="cpu", threads=1, **steps, **options)
    simulation.run(TIME)
    return float((body.positions - simulation.solver.readout.body_positions(simulation.state))[:, 2].mean()) - drop.fall


def _rigid_depth(drop: Drop) -> float:
    """How deep a rigid block of its mass and shape does [m]."""
    place = (0.0, 0.0, drop.start + 0.5 * SIDE)
    solid = Rigid(
        Box((SIDE + 2.0 * STANDOFF,) * 3),
        Surface(friction=SKIN.friction),
        position=place,
        motion="free",
        mass=MASS,
        velocity=(0.0, 0.0, -drop.speed),
    )
    obstacles, chosen = [*drop.box.walls(), solid], _usual(drop)
    simulation = grains.simulation(
        _bed(drop.box),
        obstacles=obstacles,
        dt=chosen.dt,
        contact_step=chosen.grains.contact_step,
        device="cpu",
        threads=1,
    )
    simulation.run(TIME)
    return place[2] - float(simulation.solver.readout.body_position(simulation.state, solid)[2]) - drop.fall


@pytest.mark.parametrize(("grain", "least"), [(SMOOTH, 1.2 * RADIUS), (ROUGH, 0.5 * RADIUS)])
def test_a_stiff_lattice_drops_as_deep_as_a_rigid_body(grain: grains.Grain, least: float) -> None:
    drop = Drop(grain, 2.0)
    soft = _soft_depth(drop)
    assert soft > least
    assert soft == pytest.approx(_rigid_depth(drop), rel=0.05)


def test_shorter_steps_lead_to_the_same_depth() -> None:
    drop = Drop(SMOOTH, 2.0)
    assert _soft_depth(drop, parts=2) == pytest.approx(_soft_depth(drop), rel=0.02)


def test_plain_steps_that_are_too_long_for_the_fall_take_more_sweeps() -> None:
    drop = Drop(SMOOTH, 2.0)
    with pytest.warns(StepTooLong):
        long = _soft_depth(drop, longer=8, converge=False)
    assert long == pytest.approx(_soft_depth(drop, converge=False), rel=0.04)


def test_steps_that_are_too_long_for_the_fall_are_told_and_lead_near() -> None:
    drop = Drop(SMOOTH, 2.0)
    with pytest.warns(StepTooLong, match="it may sink too deep or not deep enough"):
        long = _soft_depth(drop, longer=5)
    assert long == pytest.approx(_soft_depth(drop), rel=0.1)

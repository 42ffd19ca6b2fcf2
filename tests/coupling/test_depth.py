"""How deep a block drops into a bed: like a rigid one, and whatever the steps."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from annelid import coupling, grains
from annelid.shapes import Box

from .conftest import RADIUS, SKIN, block

MASS, MASSES, PITCH, SPEED, TIME = 2.5, 7, 0.01, 1.2, 0.12
SHIFTS = ((0.0, 0.0), (0.004, 0.001), (-0.003, 0.006))
SIDE = PITCH * (MASSES - 1)
SAND = coupling.Sandbox(
    length=0.16, width=0.16, depth=0.1, radius=RADIUS, grain=grains.Grain(density=2650.0, friction=0.2, rolling=0.02)
)
BLOCK = block(MASSES, PITCH, mass=MASS, stiffness=4000.0)
STANDOFF = coupling.standoff(BLOCK, RADIUS)


@functools.cache
def _bed() -> grains.Bed:
    """The bed at rest."""
    simulation = grains.simulation(SAND.bed(), SAND.walls(), device="cpu", threads=1)
    simulation.run(0.5)
    return SAND.bed().copy(positions=simulation.solver.readout.positions(simulation.state))


def _start() -> float:
    """Height of the lowest masses of the block, a little above the bed [m]."""
    return float(_bed().positions[:, 2].max()) + RADIUS + STANDOFF + 0.003


@functools.cache
def _fall() -> float:
    """Way of the block to the surface of the bed, the median of the highest grains a diameter apart [m]."""
    spots = _bed().positions
    columns = np.floor((spots[:, :2] - spots[:, :2].min(axis=0)) / (2.0 * RADIUS)).astype(int)
    tops = np.zeros(columns.max(axis=0) + 1)
    np.maximum.at(tops, (columns[:, 0], columns[:, 1]), spots[:, 2] + RADIUS)
    return _start() - STANDOFF - float(np.median(tops[1:-1, 1:-1]))


@functools.cache
def _soft_depth(shift: tuple[float, float], parts: int = 1) -> float:
    """How deep the stiff lattice drops into the bed, in steps that are so many times shorter than usual [m]."""
    body = BLOCK.moved((*shift, _start()))
    body.damping[:] = 3.0
    body.velocities[:, 2] = -SPEED
    usual = coupling.Model(body, _bed(), SAND.walls(), skin=SKIN, device="cpu")
    steps = {"dt": usual.springs.world.dt / parts, "grain_dt": usual.time_step / parts}
    simulation = coupling.simulation(body, _bed(), SAND.walls(), skin=SKIN, device="cpu", threads=1, **steps)
    simulation.run(TIME)
    return float((body.positions - simulation.solver.readout.masses(simulation.state))[:, 2].mean()) - _fall()


def _rigid_depth(shift: tuple[float, float]) -> float:
    """How deep a rigid block of its mass and shape does [m]."""
    place = (*shift, _start() + 0.5 * SIDE)
    solid = grains.Rigid(
        shape=Box((SIDE + 2.0 * STANDOFF,) * 3), position=place, motion="free", mass=MASS, friction=SKIN.friction,
        velocity=(0.0, 0.0, -SPEED),
    )  # fmt: skip
    simulation = grains.simulation(_bed(), [*SAND.walls(), solid], device="cpu", threads=1)
    simulation.run(TIME)
    return place[2] - float(simulation.solver.readout.body_position(simulation.state, solid)[2]) - _fall()


def test_a_stiff_lattice_drops_as_deep_as_a_rigid_body() -> None:
    soft, rigid = (np.mean([depth(shift) for shift in SHIFTS]) for depth in (_soft_depth, _rigid_depth))
    assert soft > RADIUS
    assert soft == pytest.approx(rigid, rel=0.1)


@pytest.mark.parametrize("shift", SHIFTS)
def test_shorter_steps_lead_to_the_same_depth(shift: tuple[float, float]) -> None:
    assert _soft_depth(shift, parts=2) == pytest.approx(_soft_depth(shift), rel=0.05)

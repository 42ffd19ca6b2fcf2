"""How deep a block drops into a bed: like a rigid one, and whatever the steps."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from annelid import coupling, grains
from annelid.shapes import Box

from .conftest import RADIUS, SKIN, block, dropped, height

MASS, MASSES, PITCH, TIME = 2.5, 7, 0.01, 0.45
SHIFTS = ((0.0, 0.0), (0.003, 0.001))
SURFACE = 0.132  # where the bed comes to rest [m]
SIDE = PITCH * (MASSES - 1)
START = 0.36
SMOOTH = grains.Grain(density=2650.0, friction=0.2, rolling=0.02)


def _sand() -> coupling.Sandbox:
    return coupling.Sandbox(length=0.18, width=0.18, depth=0.14, radius=RADIUS, grain=SMOOTH)


STANDOFF = coupling.standoff(block(MASSES, PITCH), RADIUS)
FREE_FALL = START - STANDOFF - SURFACE


@functools.cache
def _soft_depth(shift: tuple[float, float], halve: bool = False) -> float:
    """How deep the stiff lattice drops into the bed [m]."""
    body = block(MASSES, PITCH, mass=MASS, stiffness=600.0).moved((*shift, START))
    body.damping[:] = 3.0
    steps = {"dt": 2e-5, "grain_dt": 8e-5} if halve else {"dt": 4e-5, "grain_dt": 1.6e-4}
    simulation = dropped(body, _sand(), **steps)
    begin = height(simulation)
    simulation.run(TIME)
    return begin - height(simulation) - FREE_FALL


def _rigid_depth(shift: tuple[float, float]) -> float:
    """How deep a rigid block of its mass and shape does [m]."""
    side = SIDE + 2.0 * STANDOFF
    place = (*shift, START + 0.5 * SIDE)
    solid = grains.Rigid(shape=Box((side,) * 3), position=place, motion="free", mass=MASS, friction=SKIN.friction)
    sand = _sand()
    simulation = grains.simulation(sand.bed(), [*sand.walls(), solid], dt=1.6e-4, device="cpu", threads=1)
    simulation.run(TIME)
    return place[2] - float(simulation.solver.readout.body_position(simulation.state, solid)[2]) - FREE_FALL


def test_a_stiff_lattice_drops_as_deep_as_a_rigid_body() -> None:
    soft = np.mean([_soft_depth(shift) for shift in SHIFTS])
    rigid = np.mean([_rigid_depth(shift) for shift in SHIFTS])
    assert soft > 2.0 * RADIUS
    assert soft == pytest.approx(rigid, rel=0.1)

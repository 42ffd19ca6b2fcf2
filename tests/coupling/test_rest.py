"""A block at rest on a bed: the grains bear its weight, and nothing moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annelid import coupling, grains
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Rigid, Surface

from .conftest import block, box, dropped, height, kinetic_per_grain


def test_the_grains_bear_the_weight_and_lie_still(resting: Simulation[coupling.Solver]) -> None:
    resting.run(0.35)
    readout = resting.solver.readout
    forces = []
    for _ in range(10):
        resting.run(0.005)
        forces.append(readout.contact_force(resting.state))
    weight = resting.solver.model.springs.body.masses.sum() * 9.81
    assert np.mean(forces, axis=0)[2] == pytest.approx(weight, rel=0.01)
    assert forces[-1][2] == pytest.approx(weight, rel=0.01)
    assert kinetic_per_grain(resting) <= 1e-4
    assert len(readout.grains_inside(resting.state)) == 0
    tolerance = resting.solver.model.grains.parameters.tolerance
    assert 0.0 < resting.solver.residual(resting.state) < tolerance


def test_a_block_on_a_rigid_box_on_a_bed(device: str) -> None:
    sand = box(side=0.13, depth=0.05)
    lid = Rigid(Box((0.1, 0.1, 0.02)), Surface(friction=0.5), position=(0.0, 0.0, 0.07), motion="free", mass=0.5)
    simulation = dropped(block().moved((0.0, 0.0, 0.1)), sand, obstacles=[*sand.walls(), lid], device=device)
    simulation.run(0.35)
    bed = simulation.state.grains
    body = simulation.solver.model.springs.body
    guests, masses = simulation.solver.model.guests, simulation.solver.readout.body_positions(simulation.state)
    points = guests.points.division.mixed(masses)[guests.points.division.mixed(body.positions)[:, 2] < 0.101]
    top = simulation.solver.grains.readout.body_position(bed, lid)[2] + 0.01
    assert points[:, 2].mean() - top == pytest.approx(guests.radii.max(), abs=1e-4)  # the lid may lie at a slant
    force = simulation.solver.readout.contact_force(simulation.state)[2]
    assert force == pytest.approx(body.masses.sum() * 9.81, rel=0.03)
    assert height(simulation) > top


def test_a_heavy_body_comes_deeper_than_a_light_one() -> None:
    """Resistance comes out of contacts: nobody told the bed how much to yield."""
    heights, smooth = [], grains.Grain(density=2650.0, friction=0.2, rolling=0.02)
    for mass in (0.2, 4.0):
        body = block(stiffness=600.0 * mass, mass=mass).moved((0.0, 0.0, 0.11))
        body.damping[:] = mass
        body.velocities[:, 2] = -1.5
        simulation = dropped(body, replace(box(side=0.13, depth=0.09), grain=smooth))
        simulation.run(0.08)
        heights.append(height(simulation))
    assert heights[0] > heights[1] + 0.005

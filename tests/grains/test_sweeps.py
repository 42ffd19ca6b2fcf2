"""Any number of sweeps a step brings a grain out of the floor that it was pressed into, and leaves a bed at rest."""

import numpy as np
import pytest

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.shapes import Plane

from .conftest import RADIUS


@pytest.mark.parametrize("sweeps", [1, 2, 3, 6])
def test_deep_grain_comes_out(sweeps: int, device: str) -> None:
    bed = grains.Bed(np.array([[0.0, 0.0, 0.007]]), 0.02, grains.Grain(friction=0.5), velocities=[[0.0, 0.0, -0.4]])
    world = grains.World(dt=2.5e-3, iterations=sweeps, correction=0.1, obstacles=[Plane()])
    model = grains.Model(bed, world=world, overlapping="allow", device=device)
    solver = grains.Solver(model, threads=1)
    state = solver.initial_state()
    heights = []
    for _ in range(40):
        solver.advance(state, 5)
        heights.append(float(state.positions.numpy()[0, 2]))
    assert min(heights) > 0.005
    assert heights[-1] == pytest.approx(0.02, abs=4e-4)


@pytest.mark.parametrize("sweeps", [20, 50])
def test_a_bed_at_rest_is_not_thrown_apart(sweeps: int, settled: Simulation[grains.Solver]) -> None:
    """A new state knows of no contacts: each would push with the whole mass of its grains, in sweep after sweep."""
    places = settled.solver.readout.positions(settled.state)
    walls = settled.solver.model.world.obstacles[:-1]
    bed = grains.Bed(places, RADIUS, grains.Grain(friction=0.5))
    again = grains.simulation(bed, obstacles=walls, dt=2.5e-4, iterations=sweeps, device="cpu", threads=1)
    for _ in range(4):
        again.step()
        assert np.abs(again.velocities()).max() < 0.1

"""Any number of sweeps a step brings a grain that was pressed into the floor out of it again."""

import numpy as np
import pytest

from annelid import grains
from annelid.shapes import Plane


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

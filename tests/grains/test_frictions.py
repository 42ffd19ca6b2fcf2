"""What grains make of frictions that some of them state and others do not."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.shapes import ground

RADIUS = 0.01
PAIRS = [(None, 0.3, 0.3), (0.1, 0.4, 0.2), (None, None, 0.5), (0.0, None, 0.0)]


@pytest.mark.parametrize("method", ["nonsmooth", "paper"])
def test_grains_that_graze_each_other_rub_by_what_they_state(device: str, method: str) -> None:
    """Sliding all the while, the impulse along is the friction times that across."""
    beds = []
    for number, (one, other, _) in enumerate(PAIRS):
        places = np.array([[0.1 * number, 0.0, 0.0]]), np.array([[0.1 * number, 0.0, 2.0001 * RADIUS]])
        beds.append(grains.Bed(places[0], RADIUS, grains.Grain(friction=one)))
        beds.append(grains.Bed(places[1], RADIUS, grains.Grain(friction=other), velocities=[[0.4, 0.0, -0.1]]))
    bed = sum(beds[1:], beds[0])
    simulation = grains.simulation(bed, gravity=(0.0, 0.0, 0.0), method=method, dt=1e-5, device=device, threads=1)
    simulation.run(2e-4)
    hit = simulation.velocities()[0::2]
    assert (hit[:, 2] < -0.01).all()
    np.testing.assert_allclose(-hit[:, 0] / hit[:, 2], [each for *_, each in PAIRS], rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("method", ["nonsmooth", "hertz", "paper"])
def test_grains_that_slide_on_the_ground_slow_by_what_both_state(device: str, method: str) -> None:
    kinds = [grains.Grain(), grains.Grain(friction=0.1)]
    parts = [
        grains.Bed([[0.0, 0.1 * number, RADIUS]], RADIUS, kind, velocities=[[2.0, 0.0, 0.0]])
        for number, kind in enumerate(kinds)
    ]
    simulation = grains.simulation(
        parts[0] + parts[1], obstacles=[ground(0.4)], method=method, dt=1e-4, device=device, threads=1
    )
    simulation.run(0.05)
    np.testing.assert_allclose(2.0 - simulation.velocities()[:, 0], 0.05 * 9.81 * np.array([0.4, 0.2]), rtol=0.05)

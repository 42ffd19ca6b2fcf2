"""A body that falls into sand: in grains and without them."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import BedTooSmall, InvalidValue
from annelid.scenes.intruder import Intruder

SMALL = Intruder(shape="ball", size=0.04, room=0.6, grain_radius=0.008, height=0.05)


def test_without_grains_it_falls_deeper_from_higher_up_and_blunt_ones_less_deep() -> None:
    depths = {
        (shape, height): -np.diff(Intruder(shape=shape, height=height).without_grains(0.1).positions[[0, -1], 2])[0]
        for shape, height in (("cone", 0.02), ("cone", 0.1), ("cube", 0.02))
    }
    assert depths["cube", 0.02] < depths["cone", 0.02] < depths["cone", 0.1]


def test_grains_stop_a_ball() -> None:
    with pytest.warns(BedTooSmall, match="walls and floor are 0.6 widths of the body away: closer than 1 they bear"):
        simulation = SMALL.build(device="cpu", threads=1)
    simulation.run(0.1)
    rows = {row.name: row.value for row in SMALL.measure(simulation)}
    assert rows["speed"] == pytest.approx(np.sqrt(2.0 * 9.81 * 0.05))
    assert 0.002 < rows["depth"] < 0.03
    falling = simulation.solver.readout.body_velocity(simulation.state, "intruder")[2]  # it may roll about in its dent
    assert abs(falling) < 0.1 * rows["speed"]
    beside = -np.diff(SMALL.without_grains(0.1).positions[[0, -1], 2])[0]
    assert rows["resistive-depth"] == pytest.approx(beside, rel=1e-3)
    assert rows["resistive-over-grains"] == rows["resistive-depth"] / rows["depth"]


def test_a_body_too_small_for_its_grains_is_refused() -> None:
    with pytest.raises(InvalidValue, match="a bed 0.03 m wide is too narrow for grains with a radius of 0.006 m"):
        Intruder(size=0.01)

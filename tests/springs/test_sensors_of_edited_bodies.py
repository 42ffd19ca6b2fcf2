"""Sensors of bodies that were edited: of what is left, never of what has taken its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import InvalidValue


@pytest.fixture
def block(device: str) -> Any:
    """27 masses, 0.1 m apart, without gravity; index 9 x + 3 y + z."""
    simulation = springs.simulation(springs.block((3, 3, 3), 0.1), gravity=(0.0, 0.0, 0.0), device=device)
    simulation.sensors.add("pair", springs.position_of([0, 2]))
    simulation.sensors.add("all", springs.position_of())
    simulation.sensors.add("turn", springs.orientation_of([0, 2, 6]))
    simulation.sensors.add("strain", springs.strain_of([0, 1]))
    return simulation


def removed(simulation: Any, masses: list[int]) -> None:
    with simulation.edit() as edit:
        edit.remove_masses(masses, with_springs=True)


def test_masses_that_are_gone_are_left_out(block: Any) -> None:
    np.testing.assert_allclose(block.sensors["pair"], [[0.0, 0.0, 0.1]], atol=1e-7)
    removed(block, [0])
    np.testing.assert_allclose(block.sensors["pair"], [[0.0, 0.0, 0.2]], atol=1e-7)
    np.testing.assert_allclose(block.sensors["all"], [block.positions().mean(axis=0)], atol=1e-6)
    assert np.isnan(block.sensors["turn"]).all()  # of two masses
    assert np.isnan(block.sensors["strain"]).all()


def test_masses_in_their_slots_are_not_read(block: Any) -> None:
    removed(block, [0, 2])
    with block.edit() as edit:
        edit.add_masses([[0.0, 0.0, 100.0]] * 2, 1.0)
    block.step(2)
    assert np.isnan(block.sensors["pair"]).all()
    assert block.sensors["all"][0, 2] < 0.2
    block.reset()
    np.testing.assert_allclose(block.sensors["pair"], [[0.0, 0.0, 0.1]], atol=1e-7)
    np.testing.assert_allclose(block.sensors["turn"], [[0.0, 0.0, 0.0, 1.0]], atol=1e-6)
    np.testing.assert_allclose(block.sensors["strain"], 0.0, atol=1e-6)


@pytest.mark.parametrize("masses", [[0], [0, 1], [0, 1, 2], [3, 3, 3]])
def test_points_on_a_line_have_no_orientation(masses: list[int]) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    with pytest.raises(InvalidValue, match=rf"not all on one line, which the {len(masses)} chosen here are not"):
        simulation.sensors.add("turn", springs.orientation_of(masses))

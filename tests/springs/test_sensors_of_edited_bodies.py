"""Sensors of bodies that were edited: of what is left, never of what has taken its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import control, springs
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


def test_masses_and_lengths_that_were_changed_count(block: Any) -> None:
    block.sensors.add("energy", springs.energy_of(kind="kinetic"))
    with block.edit() as edit:
        edit.change_masses([0, 1, 2], masses=5.0, velocities=(0.0, 0.0, 2.0))
    np.testing.assert_allclose(block.sensors["energy"], [[3 * 0.5 * 5.0 * 2.0**2]])
    np.testing.assert_allclose(block.sensors["energy"], block.summary().kinetic)
    first, second = block.solver.model.one.springs[0]
    block.sensors.add("one", springs.strain_of([first, second]))
    length = block.solver.model.one.rest_lengths[0]
    with block.edit() as edit:
        edit.change_springs([0], rest_lengths=0.8 * length)
    np.testing.assert_allclose(block.sensors["one"], 1.0 / 0.8 - 1.0, rtol=1e-5)
    block.reset()
    np.testing.assert_allclose(block.sensors["one"], 0.0, atol=1e-6)
    np.testing.assert_array_equal(block.sensors["energy"], 0.0)


@pytest.mark.parametrize("masses", [[0], [0, 1], [0, 1, 2], [3, 3, 3]])
def test_points_on_a_line_have_no_orientation(masses: list[int]) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), device="cpu")
    with pytest.raises(InvalidValue, match=rf"not all on one line, which the {len(masses)} chosen here are not"):
        simulation.sensors.add("turn", springs.orientation_of(masses))


def test_what_breaks_is_read_at_once_whenever_the_host_looks(device: str) -> None:
    body = springs.block((4, 2, 2), 0.1, damping=5.0).control("all", low=0.5, high=1.5)
    body.yield_strains[::3] = 0.05

    def seen(steps: int) -> list[float]:
        simulation, found = springs.simulation(body, dt=1e-4, device=device, threads=1), []
        simulation.sensors.add("strain", springs.strain_of())
        control.connect(simulation, lambda time, readings: found.append(readings[0, 0]) or [1.3], every=1e-3)
        for _ in range(60 // steps):
            simulation.step(steps)
        assert simulation.events
        return found

    assert seen(60) == seen(1)

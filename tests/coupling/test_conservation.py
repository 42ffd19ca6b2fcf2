"""What a body loses the grains gain: momentum and angular momentum of a closed system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annelid import grains, robots
from annelid.shapes import Box, Plane, Rigid, Surface

from .conftest import above_a_bed, block, box, dropped

FAR = [Rigid(Plane(point=(0.0, 0.0, -50.0)), Surface(friction=0.5, rolling=0.1))]


def _thrown(
    sand: robots.Sandbox | None = None, **options: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    body = block(stiffness=1000.0).moved((0.02, 0.0, 0.11)).rotated((1.0, 1.0, 0.0), 0.4)
    body.velocities[:] = [0.7, 0.2, -1.5]
    body.velocities += np.cross([2.0, 5.0, 3.0], body.positions - body.center_of_mass)
    obstacles = [*FAR, *options.pop("obstacles", [])]  # type: ignore[misc]
    simulation = dropped(body, sand or box(), obstacles=obstacles, gravity=(0.0, 0.0, 0.0), inside="remove", **options)
    before = simulation.summary()
    simulation.run(0.1)
    after = simulation.summary()
    lost = float(np.linalg.norm(after.parts["springs"].momentum - before.parts["springs"].momentum))
    return before.momentum, after.momentum, before.angular_momentum, after.angular_momentum, lost


def test_momentum_and_angular_momentum_of_a_closed_system(device: str) -> None:
    before, after, turning_before, turning_after, lost = _thrown(device=device)
    assert lost > 0.5  # it did hit the bed
    assert np.linalg.norm(after - before) <= 1e-5 * np.linalg.norm(before)
    assert np.linalg.norm(turning_after - turning_before) <= 1e-3 * np.linalg.norm(turning_before)


def test_the_same_with_a_rigid_body_in_between(device: str) -> None:
    lid = Rigid(Box((0.08, 0.08, 0.02)), Surface(friction=0.5), position=(0.02, 0.0, 0.092), motion="free", mass=0.3)
    before, after, turning_before, turning_after, lost = _thrown(device=device, obstacles=[lid], overlapping="push")
    assert lost > 0.3
    assert np.linalg.norm(after - before) <= 1e-5 * np.linalg.norm(before)
    assert np.linalg.norm(turning_after - turning_before) <= 1e-3 * np.linalg.norm(turning_before)


def test_the_same_where_grains_stick_to_the_body(device: str) -> None:
    sticky = replace(box(), grain=grains.Grain(friction=0.5, cohesion=1.0))
    before, after, turning_before, turning_after, lost = _thrown(
        sticky, skin=Surface(friction=0.5, cohesion=1.0), device=device
    )
    assert lost > 0.3
    assert np.linalg.norm(after - before) <= 1e-5 * np.linalg.norm(before)
    assert np.linalg.norm(turning_after - turning_before) <= 1e-3 * np.linalg.norm(turning_before)


def test_both_sides_of_a_contact_find_the_same_impulse(device: str) -> None:
    """To the last bit, between grains and beside guests: rows and places of impulses are those of a state."""
    simulation = above_a_bed(device)
    simulation.run(0.03)
    state, rows = simulation.state.grains, simulation.solver.grains.model.count
    places = len(state.neighbours) // rows
    neighbours = state.neighbours.numpy().reshape(rows, places)
    impulses = state.impulses.numpy().reshape(rows, places // 4, 3, 4).transpose(0, 1, 3, 2).reshape(rows, places, 3)
    listed = (np.arange(places) < state.counts.numpy()[:, :1]) & (neighbours < rows)
    own, place = np.nonzero(listed)
    others, found = neighbours[own, place], impulses[own, place]
    there, back = np.lexsort((others, own)), np.lexsort((own, others))
    assert (own[there] == others[back]).all()
    assert (others[there] == own[back]).all()
    assert np.abs(found).max() > 0.0
    assert (found[there] == -found[back]).all()


def test_a_contact_force_is_felt_by_both_sides() -> None:
    simulation = dropped(block().moved((0.0, 0.0, 0.11)), box())
    body_start = simulation.summary().parts["springs"].momentum
    impulse, dt = np.zeros(3), simulation.dt
    for _ in range(100):
        simulation.step()
        impulse += simulation.solver.readout.contact_force(simulation.state) * dt
    weight = np.array([0.0, 0.0, -9.81]) * simulation.solver.model.springs.body.masses.sum()
    gained = simulation.summary().parts["springs"].momentum - body_start
    assert gained == pytest.approx(impulse + weight * simulation.time, abs=2e-6)


def test_momentum_is_kept_while_lists_grow() -> None:
    """A fast oblique blow on a small heap: lists of guests and grains become too short in the middle of it."""
    body = block(6, 0.012, mass=0.4, stiffness=300.0).rotated((1.0, 1.0, 1.0), 0.5).moved((0.015, -0.01, 0.13))
    body.velocities[:] = [0.2, -0.5, -2.5]
    sand = box(side=0.12, depth=0.07)
    sums = []
    for room in (None, 64):
        simulation = dropped(body, sand, obstacles=FAR, gravity=(0.0, 0.0, 0.0), inside="remove")
        before = simulation.summary()
        if room is not None:
            simulation.solver.reserve(simulation.state, room, 8)
        simulation.run(0.06)
        after = simulation.summary()
        assert np.linalg.norm(after.momentum - before.momentum) <= 1e-6 * np.linalg.norm(before.momentum)
        turned = np.linalg.norm(after.angular_momentum - before.angular_momentum)
        assert turned <= 1e-4 * np.linalg.norm(before.angular_momentum)
        sums.append(np.concatenate([after.momentum, after.parts["springs"].momentum]))
    assert np.array_equal(sums[0], sums[1])  # nothing is forgotten

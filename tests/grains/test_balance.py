"""Forces and momenta balance: weights on walls, Newton's third law, energies that only fall."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.grains.model import is_free
from annelid.shapes import Box, Plane, Rigid

from .conftest import RADIUS, SIDE, bed_with_ball, momentum_of

Settled = Simulation[grains.Solver]


def weight_of(simulation: Settled) -> float:
    model = simulation.solver.model
    return 9.81 * (float(model.bed.masses.sum()) + model.bodies[-1].weight[0])  # type: ignore[union-attr]


def test_every_impulse_is_accounted_for() -> None:
    """Momentum of bed and ball changes by gravity and walls alone, while the ball comes to rest in the bed."""
    simulation = bed_with_ball("cpu")
    solver, walls = simulation.solver, range(5)
    start, impulse = momentum_of(simulation), np.zeros(3)
    mass = weight_of(simulation) / 9.81
    for _ in range(1200):
        solver.advance(simulation.state, 1)
        push = sum(solver.readout.force(simulation.state, wall) for wall in walls)
        impulse += simulation.dt * (mass * np.array([0.0, 0.0, -9.81]) - push)
    ball = solver.model.bodies[-1].weight[0]  # type: ignore[union-attr]
    assert np.abs(momentum_of(simulation) - start - impulse).max() < 1e-3 * ball * 1.0
    assert np.linalg.norm(solver.readout.body_velocity(simulation.state, len(walls))) < 0.05


def test_the_floor_bears_the_weight(settled: Settled) -> None:
    readout, state = settled.solver.readout, settled.state
    forces = np.array([readout.force(state, number) for number in range(5)])
    assert -forces[0, 2] == pytest.approx(weight_of(settled) - (-forces[1:, 2].sum()), rel=2e-3)
    assert forces[:, 0].sum() == pytest.approx(0.0, abs=5e-3 * weight_of(settled))


def test_the_ball_is_borne_by_the_grains(settled: Settled) -> None:
    (ball,) = (body.source for body in settled.solver.model.bodies if is_free(body))
    assert isinstance(ball, Rigid)
    force = settled.solver.readout.force(settled.state, ball)
    assert force[2] == pytest.approx(9.81 * ball.total_mass, rel=0.02)
    assert np.abs(settled.solver.readout.torque(settled.state, ball)).max() < 0.02 * force[2] * 0.03


def test_contacts_are_mutual_and_carry_the_grains(settled: Settled) -> None:
    """Neighbours push each grain up by its weight, apart from what walls and ball do."""
    solver, state = settled.solver, settled.state
    contacts = solver.readout.contacts(state)
    assert (contacts.pairs[:, 0] < contacts.pairs[:, 1]).all()
    assert len(np.unique(contacts.pairs, axis=0)) == len(contacts.pairs)
    total = np.zeros((solver.model.count, 3))
    np.add.at(total, contacts.pairs[:, 0], contacts.forces)
    np.add.at(total, contacts.pairs[:, 1], -contacts.forces)
    x = solver.readout.positions(state)
    edge = 2.1 * RADIUS * SIDE
    place = solver.readout.body_position(state, 5)
    inner = ((x > 1.3 * RADIUS) & (x < [edge - 1.3 * RADIUS, edge - 1.3 * RADIUS, 1.0])).all(axis=1)
    inner &= np.linalg.norm(x - place, axis=1) > 0.03 + 1.3 * RADIUS
    assert inner.sum() > 50
    weight = 9.81 * solver.model.bed.masses[0]
    assert np.median(total[inner, 2]) == pytest.approx(weight, rel=0.02)


def test_the_bed_lies_still_without_deep_overlaps(settled: Settled) -> None:
    solver = settled.solver
    overlap, summary = solver.readout.overlap(settled.state), solver.readout.summary(settled.state)
    assert 0.0 < overlap.mean < overlap.largest < 0.04
    assert overlap.count > 500
    assert summary.kinetic < 1e-3 * weight_of(settled) * RADIUS
    speeds = np.linalg.norm(solver.readout.velocities(settled.state), axis=1)
    assert np.quantile(speeds, 0.95) < 0.01
    fastest = solver.readout.largest_speed(settled.state)
    assert fastest < 0.02
    assert fastest == pytest.approx(speeds.max())
    x = solver.readout.positions(settled.state)
    assert x[:, 2].min() > 0.95 * RADIUS
    edge = 2.1 * RADIUS * SIDE
    packing = solver.readout.packing(settled.state, Box((edge, edge, 1.0), (edge / 2, edge / 2, 0.5)), margin=0.02)
    assert 0.52 < packing < 0.64


def test_order_of_the_bed(settled: Settled) -> None:
    """Grains are sorted by cells on the device; whoever reads them gets them as they were given."""
    state, bed = settled.state, settled.solver.model.bed
    names = state.names.numpy()[:, 0]
    assert not np.array_equal(names, np.arange(len(bed)))
    x = settled.solver.readout.positions(state)
    assert np.array_equal(np.sort(names), np.arange(len(bed)))
    assert np.allclose(x[names], state.positions.numpy()[:-1, :3])
    assert np.allclose(settled.solver.readout.points(state).numpy(), x)
    assert np.linalg.norm((x - bed.positions)[:, :2], axis=1).max() < 0.06


def test_what_does_not_exist_is_refused(settled: Settled) -> None:
    readout = settled.solver.readout
    with pytest.raises(InvalidValue, match="there is no body 17"):
        readout.force(settled.state, 17)
    with pytest.raises(InvalidValue, match="is a plane"):
        readout.torque(settled.state, 0)
    with pytest.raises(InvalidValue, match="does not belong"):
        readout.force(settled.state, Plane())

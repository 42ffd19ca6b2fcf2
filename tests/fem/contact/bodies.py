"""Solids for tests of contact: blocks, belts and parts of balls, of one soft material."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.materials import Material
from annelid.shapes import Rigid, Surface, TetMesh, tet_beam

SOFT = Material("soft", 1000.0, 1e5, 0.3, 1.0, 0.0, "test")


def block(
    size: tuple[float, float, float] = (0.08, 0.08, 0.04),
    cells: tuple[int, int, int] = (2, 2, 1),
    *,
    at: tuple[float, float, float] = (0.0, 0.0, 0.0),
    friction: float = 0.5,
) -> fem.Solid:
    """A block whose lowest corner is at a place."""
    mesh = tet_beam(*size, cells=cells)
    mesh = mesh.moved(np.array(at) - mesh.nodes.min(axis=0))
    return fem.Solid(mesh, SOFT, surface=Surface(friction=friction))


def octant(cells: int, crowding: float) -> TetMesh:
    """An eighth of a ball of radius 1 that stands on its pole at the origin, with smaller cells there."""
    places = np.linspace(0.0, 1.0, cells + 1) ** crowding
    cube = tet_beam(1.0, 1.0, 1.0, cells=(cells, cells, cells))
    i = np.rint((cube.nodes - cube.nodes.min(axis=0)) * cells).astype(int)
    x, y, z = places[i[:, 0]], places[i[:, 1]], places[i[:, 2]] - 1.0
    xx, yy, zz = x * x, y * y, z * z
    ball = [
        x * np.sqrt(1.0 - yy / 2 - zz / 2 + yy * zz / 3),
        y * np.sqrt(1.0 - zz / 2 - xx / 2 + zz * xx / 3),
        z * np.sqrt(1.0 - xx / 2 - yy / 2 + xx * yy / 3),
    ]
    return TetMesh(np.stack(ball, axis=1) + np.array([0.0, 0.0, 1.0]), cube.tetrahedra, cells=cube.cells)


def least_gap(simulation: Simulation[Any]) -> float:
    """Least gap between an outer node and an obstacle [m]."""
    contacts = simulation.solver.contacts
    contacts.now.set(simulation.state.touch.places.numpy(), simulation.state.touch.turns.numpy())
    return float(contacts.nodes.gaps(simulation.state.positions, contacts.now.device_pose).min())


def turning_of(simulation: Simulation[Any], body: Rigid, row: int = 0) -> tuple[np.ndarray, float]:
    """Angular momentum about its centre [kg m²/s] and energy of rotation [J] of the free body in a row of the state."""
    touch = simulation.state.touch
    turn, spin = Rotation.from_quat(touch.turns.numpy()[row]).as_matrix(), touch.spins.numpy()[row]
    momentum = turn @ (body.unit.inertia * body.total_mass / body.unit.mass) @ turn.T @ spin
    return momentum, 0.5 * float(spin @ momentum)


def velocity(simulation: Simulation[Any]) -> np.ndarray:
    """Velocity of the centre of mass [m/s]."""
    summary = simulation.summary()
    return np.asarray(summary.momentum / summary.mass)


def angular_momentum(simulation: Simulation[Any]) -> np.ndarray:
    """Of the solid and its free bodies, about the origin [kg m²/s]."""
    bodies, touch = simulation.solver.contacts.bodies, simulation.state.touch
    found = simulation.summary().angular_momentum.copy()
    for body, number in enumerate(bodies.numbers):
        place, velocity, spin = (each.numpy()[number] for each in (touch.places, touch.velocities, touch.spins))
        turn = Rotation.from_quat(touch.turns.numpy()[number]).as_matrix()
        found += bodies.masses[body] * np.cross(place, velocity) + turn @ bodies.inertias[body] @ turn.T @ spin
    return np.asarray(found)


def turning(simulation: Simulation[Any]) -> np.ndarray:
    """Take a step; the angular momentum that forces have made in it [kg m²/s].

    Backward Euler itself changes it by dt Σ m v⁺ × v, v⁺ the velocities after the step and v those before, since
    forces act where nodes and centres of bodies are after it: that is left out.
    """
    bodies, weights = simulation.solver.contacts.bodies, simulation.solver.model.solid.weights()
    masses = np.concatenate([weights, bodies.masses])

    def velocities() -> np.ndarray:
        return np.concatenate([simulation.velocities(), simulation.state.touch.velocities.numpy()[bodies.numbers]])

    before, was = angular_momentum(simulation), velocities()
    simulation.step()
    lost = simulation.solver.dt * masses @ np.cross(velocities(), was)
    return np.asarray(angular_momentum(simulation) - before - lost)

"""A crawling block that tests of gradients share: the same features, so that kernels are compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid import Simulation, Track, springs
from annelid.shapes import Box, HeightField, Plane, Rigid, Sphere, Surface

HEIGHTS = np.random.default_rng(3).uniform(-0.02, 0.01, (14, 14)).astype(np.float32)


def crawler(shape: tuple[int, int, int] = (6, 4, 3)) -> springs.Body:
    """A block that a wave and a command move, held and guided in places, not at rest."""
    body, rng = springs.block(shape, damping=2.0, stiffness=1e3), np.random.default_rng(0)
    body.positions += 0.003 * rng.standard_normal(body.positions.shape)
    body.velocities[:] = 0.1 * rng.standard_normal(body.positions.shape)
    front = np.flatnonzero(body.positions[body.springs].mean(axis=1)[:, 0] < 0.25)
    # Delays lie between two steps: at the beginning of a wave its rate by the delay jumps.
    body.actuate(springs.wave(0.1, 3.0, 0.2 * body.distance_along("y")[front] + 1.3e-4), front)
    body.control("back", lambda middles: middles[:, 0] >= 0.25)
    body.materials, body.spring_materials[::3] = ("soft", "stiff"), 1
    body.push(np.array([3]), (0.5, 0.2, 0.1))
    body.guide(np.array([0, 1, 12]), "plane", (0.1, 1.0, 0.2)).guide(np.array([20]), "line", (1.0, 0.3, 0.0))
    return body.fix(np.array([body.mass_count - 1]))


def obstacles() -> list[Rigid]:
    """One of each kind, and two at once in the corner of two planes."""
    return [
        Rigid(Plane(point=(0.0, 0.0, -0.003)), Surface(friction=0.8, stiffness=1e4)),
        Rigid(Plane(point=(-0.01, 0.0, 0.0), normal=(1.0, 0.2, 0.3)), Surface(friction=0.3, stiffness=1e4)),
        Rigid(Sphere(0.5), Surface(friction=0.5, stiffness=1e4), position=(0.4, 0.1, -0.5)),
        Rigid(
            Box((0.3, 0.3, 0.2)),
            Surface(friction=0.4, sliding_friction=0.3, stiffness=1e4),
            position=(0.6, 0.3, -0.098),
        ),
        Rigid(HeightField(HEIGHTS, 0.1), Surface(friction=0.5, stiffness=1e4), position=(-0.2, -0.4, -0.004)),
    ]


def crawling(body: springs.Body | None = None, **world: Any) -> Simulation[springs.Solver]:
    options = {"dt": 5e-4, "precision": "float64", "velocity_damping": 5.0, "drag": 0.02, "obstacles": obstacles()}
    return springs.simulation(body or crawler(), **{**options, **world})


def mixed(track: Track) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A loss of positions and velocities of all masses at all looks, the same in all worlds."""
    rng, shape = np.random.default_rng(5), (track.shape[0], 1, *track.shape[2:])
    places, speeds = rng.standard_normal(shape), 0.1 * rng.standard_normal(shape)
    x, v = track.positions, track.velocities
    parts = places * x + 0.5 * x * x + speeds * v
    value = [np.ascontiguousarray(parts[:, w]).sum() for w in range(x.shape[1])]  # the order of sums depends on shapes
    return np.array(value), {"positions": places + x, "velocities": np.broadcast_to(speeds, x.shape)}

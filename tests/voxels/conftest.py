"""Robots and readings that several tests of the voxels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annelid import Simulation, voxels

Sim = Simulation[voxels.Solver]


@pytest.fixture
def simulate(device: str) -> Callable[..., Sim]:
    """`voxels.simulation` in double precision and without gravity unless told otherwise, on the device under test."""

    def make(robots: Any, **world: Any) -> Sim:
        return voxels.simulation(robots, device=device, **{"precision": "float64", "gravity": (0.0, 0.0, 0.0), **world})

    return make


@pytest.fixture
def level() -> voxels.Terrain:
    """Level ground at height 0 with the friction of the original."""
    return voxels.Terrain([[-500.0, 0.0], [500.0, 0.0]])


@pytest.fixture
def calm() -> Callable[..., voxels.Voxel]:
    """A voxel whose masses keep their speed: no damping but that of the springs."""

    def make(**changes: Any) -> voxels.Voxel:
        return voxels.Voxel.v1(**{"linear_damping": 0.0, "angular_damping": 0.0, **changes})

    return make

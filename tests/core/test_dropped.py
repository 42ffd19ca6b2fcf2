"""Whoever drops a simulation has its memory back at once: Python's collector does not see the memory of a GPU."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import control, coupling, envs, fem, grains, springs, voxels, voxels3d
from annelid.core.simulation import Simulation
from annelid.core.state import state_arrays
from annelid.shapes import Rigid, Sphere, ground, tet_beam

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _block() -> springs.Body:
    return springs.block((3, 3, 3), 0.02, mass=0.01, stiffness=100.0)


def _bed() -> grains.Bed:
    return grains.Bed(grains.jittered_lattice((2, 2, 2), 0.021, corner=(0.0, 0.0, 0.011)), 0.01)


def _springs() -> Simulation[Any]:
    return springs.simulation(_block(), obstacles=[ground()], **CPU)


def _grains() -> Simulation[Any]:
    ball = Rigid(Sphere(0.01), position=(0.0, 0.0, 1.0), motion="free", mass=0.1)
    return grains.simulation(_bed(), obstacles=[ground(), ball], **CPU)


def _coupled() -> Simulation[Any]:
    return coupling.simulation(_block().moved((0.0, 0.0, 0.3)), _bed(), dt=1e-4, **CPU)


def _finger() -> Simulation[Any]:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(4, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-6)
    cable = fem.Cable(name="cable", through=[2, 18], tension=(0.0, 1.0))
    simulation = fem.simulation(solid, actuators=[cable], device="cpu", threads=1)
    simulation.sensors.add("tip", fem.position_of([18]))
    control.connect(simulation, lambda time, readings: 0.1 * readings[:, :1], every=0.02)
    return simulation


def _voxels() -> Simulation[Any]:
    return voxels.simulation(voxels.Robot.from_text("hh\nhh", {"h": voxels.Voxel()}), **CPU)


def _voxels3d() -> Simulation[Any]:
    return voxels3d.simulation(voxels3d.Robot.from_array(np.ones((2, 2, 2), int)), **CPU)


def _environment() -> Simulation[Any]:
    worlds = envs.make_worlds("WormCrawl", 2, **CPU)
    worlds.restart()
    worlds.step(np.zeros((2, worlds.action_size)))
    return worlds.simulation


@pytest.mark.parametrize("make", [_springs, _grains, _coupled, _finger, _voxels, _voxels3d, _environment])
def test_memory_is_free_when_the_last_reference_goes(make: Callable[[], Simulation[Any]], tmp_path: Path) -> None:
    """After steps here and in a thread, pictures, recordings, observers and breakpoints."""
    simulation = make()
    simulation.observe(lambda sim: sim.positions(), every=simulation.dt)
    with simulation.record(tmp_path / "run.rec", every=simulation.dt):
        simulation.step(2)
    simulation.breakpoint(when=lambda sim: sim.step_count > 3)
    simulation.start()
    simulation.wait()
    parts = [simulation, simulation.solver, simulation.sensors, *state_arrays(simulation.state).values()]
    left = [weakref.ref(part) for part in parts]
    del simulation, parts
    assert not [part() for part in left if part() is not None]

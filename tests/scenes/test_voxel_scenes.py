"""Scenes of 3-D voxels: they do what they are told to, and water pushes as its law says."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.scenes.tower import Tower
from annelid.scenes.voxel_hand import Hand
from annelid.scenes.voxel_swimmer import Swimmer
from annelid.scenes.xenobot import Xenobot


def after(scene: Swimmer | Tower | Xenobot | Hand, seconds: float) -> dict[str, float]:
    simulation = scene.build(device="cpu", threads=1)
    simulation.run(seconds)
    results = scene.measure(simulation)
    assert not any(result.passed is False for result in results)
    return {result.name: result.value for result in results}


def test_fish_swim_against_their_wave() -> None:
    assert after(Swimmer(), 2.0)["ahead"] > 0.015
    assert after(Swimmer(waves=-0.8), 2.0)["ahead"] < -0.015


def test_towers_settle_and_xenobots_drift() -> None:
    assert after(Tower(floors=6, gust=0.1), 3.2)["lean"] < 1e-4
    assert after(Xenobot(), 1.0)["distance"] > 0.003


def test_hands_reach_below_their_block() -> None:
    assert after(Hand(), 0.75)["block"] > 1e-3


def test_water_slows_open_faces_by_the_square_of_their_speed() -> None:
    robot = voxels3d.Robot(np.zeros((3, 1, 1), int), (voxels3d.Voxel(global_damping=0.0),))
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), fluid=500.0, device="cpu", threads=1)
    speed, rate = 0.4, 0.5 * 500.0 * 0.01**2 / (3.0 * 1000.0 * 0.01**3)  # one face of three voxels, along x
    simulation.state.velocities.assign(np.tile([speed, 0.0, 0.0], (3, 1)))
    simulation.run(0.2)
    center = simulation.solver.readout.velocities(simulation.state).mean(axis=0)
    assert center == pytest.approx([speed / (1.0 + speed * rate * 0.2), 0.0, 0.0], rel=5e-3, abs=1e-6)
    with pytest.raises(InvalidValue, match="fluid"):
        voxels3d.simulation(robot, fluid=-1.0, device="cpu")

"""Robots of voxels in ground that resists: they sink as deep as the law says, stay there, and are slowed down in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import annelid
from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.shapes import ResistiveGround
from annelid.shapes.resistive.ground import Law

SIDE, MASS = 0.06, 0.3
SAND = ResistiveGround("poppy-loose")


def cube(count: int = 3, **more: Any) -> voxels3d.Robot:
    """A stiff cube of 6 cm and 0.3 kg."""
    voxel = voxels3d.Voxel(youngs_modulus=1e6, density=MASS / SIDE**3, internal_damping=1.0, global_damping=0.0, **more)
    return voxels3d.Robot(np.zeros((count,) * 3, int), (voxel,), SIDE / count)


def simulated(height: float, velocity: tuple[float, float, float], **options: Any) -> annelid.Simulation[Any]:
    """The cube, its lower face at a height, moving."""
    options = {"obstacles": [SAND], "precision": "float64", **options}
    simulation = voxels3d.simulation(cube(), positions=(0.0, 0.0, height), device="cpu", threads=1, **options)
    start = np.tile(velocity, (simulation.solver.model.voxel_count, 1))
    simulation.state.velocities.assign(start)
    return simulation


def center(simulation: annelid.Simulation[Any]) -> np.ndarray:
    """Centre of the cube [m]."""
    return np.asarray(simulation.solver.readout.centers(simulation.state)[0])


@pytest.mark.parametrize(("law", "speed"), [("3d", 0.0), ("2d", 0.5)])
def test_a_cube_sinks_until_its_energy_is_spent_and_stays_there(law: Law, speed: float) -> None:
    simulation = simulated(1e-6, (0.0, 0.0, -speed), obstacles=[replace(SAND, law=law)])
    start = center(simulation)
    simulation.run(0.08)
    # Both laws press a flat face that goes straight down by 0.254 N/cm³: m v²/2 + m g z = k z²/2.
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    wanted = (weight + np.sqrt(weight**2 + k * MASS * speed**2)) / k
    sunk = (start - center(simulation))[2]
    assert sunk == pytest.approx(wanted, rel=0.005)
    simulation.run(0.04)
    assert (start - center(simulation))[2] == pytest.approx(sunk, abs=1e-6), "no creep under its weight"


def test_it_drags_a_cube_to_rest() -> None:
    """Ground before it slows it down, by what a plate feels at the depth of the middle of what is below."""
    simulation = simulated(-0.02, (0.3, 0.0, 0.0), obstacles=[replace(SAND, buried=True)])
    start = center(simulation)
    simulation.run(0.12)
    assert 0.001 < (center(simulation) - start)[0] < 0.03
    assert np.abs(simulation.solver.readout.velocities(simulation.state)).max() < 1e-2


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"9 of 27 voxels start below the ResistiveGround, the deepest by 0.01 m"):
        simulated(-0.01, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match=r"hollows below 3-D voxels are not kept yet, .* has repose=30"):
        simulated(0.0, (0.0, 0.0, 0.0), obstacles=[replace(SAND, repose=30.0)])
    simulation = simulated(0.0, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="touch_of cannot tell what a ResistiveGround does yet"):
        simulation.sensors.add("touch", voxels3d.touch_of())
    with pytest.raises(InvalidValue, match=r"ground that resists \(ResistiveGround\) cannot be run back"):
        annelid.Rollout(simulation, 10)
    assert simulation.snapshot().parts[0].name == "sand"

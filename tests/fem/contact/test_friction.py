"""Friction of solids: a block on an incline, a belt over a cylinder, a plate that carries along."""

import numpy as np
import pytest

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.materials import Material
from annelid.shapes import Box, Cylinder, Rigid, Surface, TetMesh, ground, tet_beam

from .bodies import block, velocity

G = 9.81


def on_incline(degrees: float) -> Simulation[fem.Solver]:
    angle = np.radians(degrees)
    pull = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    return fem.simulation(block(), obstacles=[ground(friction=0.5)], gravity=pull, dt=0.01, device="cpu", threads=1)


def test_a_block_sticks_on_an_incline_below_the_angle_of_friction_and_does_not_creep() -> None:
    simulation = on_incline(26.0)
    simulation.step(60)  # it has come to rest
    before = simulation.positions()
    simulation.step(40)
    assert np.abs(simulation.positions() - before).max() / 0.4 < 1e-8
    touch = simulation.state.touch
    pull = np.array(simulation.solver.model.gravity) * simulation.solver.model.solid.mass
    np.testing.assert_allclose(touch.forces.numpy().sum(axis=0), -pull, atol=1e-5 * np.linalg.norm(pull))


def test_a_block_slides_above_it_as_fast_as_coulomb_says() -> None:
    simulation = on_incline(27.5)
    simulation.step(40)
    before = velocity(simulation)
    simulation.step(20)
    angle = np.radians(27.5)
    expected = G * (np.sin(angle) - 0.5 * np.cos(angle))
    assert (velocity(simulation) - before)[0] / 0.2 == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("friction", [0.2, 0.4])
def test_a_belt_over_a_cylinder_pulls_by_the_formula_of_the_capstan(friction: float) -> None:
    radius, thickness, width, modulus = 0.05, 0.002, 0.005, 1e6
    rubber = Material("rubber", 1000.0, modulus, 0.3, 1.0, 0.0, "test")
    straight = tet_beam(np.pi * radius, width, thickness, cells=(30, 1, 1))
    along, across, up = np.array(straight.nodes).T
    angle, reach = along / radius, 0.5 * thickness
    far = radius + 0.95 * reach + 0.5 * thickness + up
    bent = np.stack([far * np.cos(angle), far * np.sin(angle), across], axis=1)
    belt = fem.Solid(TetMesh.repaired(bent, straight.tetrahedra), rubber, surface=Surface(friction=friction))
    slack, pulled = np.flatnonzero(along < 1e-9), np.flatnonzero(along > along.max() - 1e-9)
    tension = 0.003 * modulus * thickness * width
    belt.pull(slack, (0.0, -tension, 0.0)).fix(pulled, axes="y").fix(across < 1e-9 - 0.5 * width, axes="z")
    post = Rigid(Cylinder(radius, 0.1), Surface(friction=friction))
    simulation = fem.simulation(
        belt, dynamic=False, obstacles=[post], gravity=(0.0, 0.0, 0.0), contact=fem.Contact(reach=reach),
        device="cpu", threads=1,
    )  # fmt: skip
    for part in np.linspace(0.0, 1.0, 3):
        offsets = np.zeros_like(belt.nodes)
        offsets[pulled, 1] = -part * (0.8e-3 if friction < 0.3 else 2e-3)
        simulation.solver.model.set_offsets(offsets)
        simulation.step()
    carried = simulation.state.touch.forces.numpy().sum(axis=0)[1]
    assert carried / tension - 1.0 == pytest.approx(np.exp(friction * np.pi), rel=0.05)


def test_a_driven_plate_carries_a_block_along_by_friction() -> None:
    plate = Rigid(Box((0.4, 0.4, 0.02)), motion="driven", position=(0.04, 0.04, -0.01), velocity=(0.05, 0.0, 0.0))
    simulation = fem.simulation(block(), obstacles=[plate], dt=0.01, device="cpu", threads=1)
    simulation.step(40)
    assert velocity(simulation)[0] == pytest.approx(0.05, abs=1e-4)
    assert simulation.state.touch.places.numpy()[0, 0] == pytest.approx(0.04 + 0.05 * 0.4)

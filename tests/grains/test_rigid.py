"""Bodies turn about their centre of mass, and grains meet them where their surface is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import grains
from annelid.core.simulation import Simulation
from annelid.shapes import Box, Capsule, Cylinder, Rigid, Surface, turned_about
from annelid.shapes.extrusion import prism

OUTLINE = [(0.0, 0.0), (0.1, 0.0), (0.1, 0.03), (0.03, 0.03), (0.03, 0.1), (0.0, 0.1)]
CENTER = (0.003 * 0.05 + 0.0021 * 0.015) / 0.0051, (0.003 * 0.015 + 0.0021 * 0.065) / 0.0051  # of a bar and the rest


@pytest.mark.parametrize("motion", ["free", "driven", "fixed"])
def test_the_place_of_a_body_is_its_centre_of_mass(motion: str) -> None:
    body = Rigid(prism(OUTLINE, 0.05), motion=motion, position=(1.0, 2.0, 3.0))
    assert body.place[[0, 2]] == pytest.approx(np.array([1.0 + CENTER[0], 3.0 + CENTER[1]]))
    arms = np.array(OUTLINE) - CENTER
    assert body.reach == pytest.approx(np.sqrt((arms**2).sum(axis=1).max() + 0.025**2))


def _flying(*bodies: Rigid) -> Simulation[grains.Solver]:
    """Bodies in flight without gravity, and a grain that rests far away."""
    bed = grains.Bed([[0.0, 0.0, 9.0]], 0.01)
    return grains.simulation(bed, obstacles=bodies, gravity=(0.0, 0.0, 0.0), dt=5e-4, device="cpu", threads=1)


@pytest.mark.parametrize("spin", [(1.0, 60.0, 2.0), (40.0, 5.0, 40.0), (-3.0, 2.0, 50.0)])
def test_a_body_in_flight_keeps_its_angular_momentum_and_its_energy(spin: tuple[float, float, float]) -> None:
    plate = Rigid(Box((0.1, 0.02, 0.005)), motion="free", spin=spin)
    angle = Rigid(prism(OUTLINE, 0.05), motion="free", spin=spin, position=(0.5, 0.0, 0.0))
    for body in (plate, angle):
        simulation = _flying(body)
        before = simulation.summary()
        simulation.run(1.0)
        after = simulation.summary()
        size = np.linalg.norm(before.angular_momentum)
        np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=2e-4 * size)
        assert after.kinetic == pytest.approx(before.kinetic, rel=1e-3)


def test_a_rod_in_flight_precesses_as_euler_says() -> None:
    """Its axis goes round the angular momentum at the rate of that over the moment of inertia across the axis."""
    rod = Rigid(Box((0.02, 0.02, 0.1)), motion="free", spin=(6.0, 0.0, 20.0))
    simulation, seconds = _flying(rod), 0.8
    momentum = simulation.summary().angular_momentum
    simulation.run(seconds)
    across = rod.total_mass * (0.02**2 + 0.1**2) / 12.0
    wanted = Rotation.from_rotvec(np.array(momentum) / across * seconds).apply([0.0, 0.0, 1.0])
    turn = Rotation.from_quat(simulation.solver.readout.body_turn(simulation.state, rod))
    np.testing.assert_allclose(turn.apply([0.0, 0.0, 1.0]), wanted, atol=3e-3)


@pytest.mark.parametrize("axis", ["x", "z", (1.0, 2.0, -1.0)])
@pytest.mark.parametrize("shape", [Capsule, Cylinder])
def test_the_turn_of_a_rod_is_that_of_its_frame_wherever_its_axis_points(shape: Any, axis: Any) -> None:
    rod = Rigid(shape(0.01, 0.05, axis=axis), motion="driven", rotation=turned_about("y", 0.3), spin=(0.0, 2.0, 0.0))
    simulation = _flying(rod)
    simulation.sensors.add("turn", grains.orientation_of(rod))
    for angle in (0.3, 0.5):
        turn = simulation.solver.readout.body_turn(simulation.state, rod)
        wanted = np.array(turned_about("y", angle))
        np.testing.assert_allclose(turn * np.sign(turn @ wanted), wanted, atol=1e-5)
        np.testing.assert_allclose(np.abs(simulation.sensors["turn"][0]), np.abs(turn), atol=1e-6)
        simulation.run(0.1)


@pytest.mark.parametrize("beside", [0.0, 0.02, 0.029, 0.035])
def test_grains_meet_a_mesh_where_they_meet_the_same_box(beside: float) -> None:
    """Also where their centres are outside the grid of its baked distances, which ends two cells from the mesh."""
    box, apart = Box((0.06, 0.06, 0.06)), 0.3
    smooth, away = Surface(friction=0.0), (0.0, apart, 0.0)
    bodies = [Rigid(box, smooth), Rigid(box.surface(), smooth, position=away)]
    radii = np.array([0.001, 0.004, 0.01])
    start = np.column_stack([np.full(3, beside), [-0.019, -0.009, 0.013], 0.03 + 1.02 * radii])
    material = grains.Grain(density=2650.0, friction=0.0)
    bed = grains.Bed(np.concatenate([start, start + np.array(away)]), np.tile(radii, 2), material)
    simulation = grains.simulation(bed, obstacles=bodies, device="cpu", threads=1, dt=1e-4)
    simulation.run(0.01)
    on_box, on_mesh = np.split(simulation.solver.readout.positions(simulation.state), 2)
    assert (np.abs(on_mesh - np.array(away) - on_box).max(axis=1) < 0.01 * radii).all()
    assert (on_box[:, 2] < start[:, 2]).all()

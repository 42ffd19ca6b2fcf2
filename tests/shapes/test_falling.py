"""Rigid bodies that move freely in ground that resists: as deep as the law says, and then at rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Capsule, ResistiveGround, Rigid, Sphere, turned_about
from annelid.shapes.resistive.falling import fall
from annelid.shapes.resistive.pieces import pieces_of
from annelid.shapes.resistive.sinking import simulation

SIDE, MASS = 0.06, 0.3
SAND = ResistiveGround("poppy-loose")


def cube(speed: float) -> Rigid:
    """A cube just above the ground, falling."""
    start = (0.0, 0.0, 0.5 * SIDE + 1e-6)
    return Rigid(Box((SIDE,) * 3), motion="free", mass=MASS, position=start, velocity=(0.0, 0.0, -speed))


@pytest.mark.parametrize("speed", [0.0, 0.5])
def test_a_cube_sinks_until_its_energy_is_spent_and_stays_there(speed: float) -> None:
    found = fall(SAND, cube(speed), seconds=0.1)
    # The law presses a flat face that goes straight down by 0.254 N/cm³: m v²/2 + m g z = k z²/2.
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    wanted = (weight + np.sqrt(weight**2 + k * MASS * speed**2)) / k
    sunk = found.positions[0, 2] - found.positions[:, 2]
    assert sunk[-1] == pytest.approx(wanted, rel=2e-3)
    assert sunk[150] == sunk[-1], "no creep under its weight"
    assert found.forces[-1] == pytest.approx([0.0, 0.0, weight], abs=1e-9), "the ground carries it"


def test_a_rod_that_flies_in_askew_comes_to_rest_the_same_in_steps_half_as_long() -> None:
    rod = Rigid(
        Capsule(0.02, 0.1, axis="x"), motion="free", density=2000.0, position=(0.0, 0.0, 0.05),
        velocity=(0.3, 0.0, -1.0), rotation=turned_about("y", 0.4),
    )  # fmt: skip
    ends = []
    for dt in (5e-4, 2.5e-4):
        found = fall(SAND, rod, seconds=0.15, dt=dt)
        assert (found.velocities[-1] == 0.0).all()
        assert (found.spins[-1] == 0.0).all()
        assert np.linalg.norm(found.rotations[-1]) == pytest.approx(1.0)
        ends.append(found.positions[-1])
    assert ends[0] == pytest.approx(ends[1], abs=2e-4)
    assert ends[0][2] < 0.02, "its lower side is below the surface"


@pytest.mark.parametrize("spin", [(1.0, 60.0, 2.0), (200.0, 3.0, 60.0)])
def test_a_plate_that_tumbles_above_the_ground_keeps_its_angular_momentum(spin: tuple[float, float, float]) -> None:
    plate = Rigid(Box((0.1, 0.02, 0.005)), motion="free", position=(0.0, 0.0, 30.0), spin=spin)
    flying = simulation(SAND, [plate], device="cpu")
    before = flying.summary()
    flying.run(1.0)
    after = flying.summary()
    size = np.linalg.norm(before.angular_momentum)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, atol=1e-9 * size)


def test_pieces_have_the_area_of_the_surface_and_close() -> None:
    normals, arms, areas = pieces_of(Rigid(Box((0.1, 0.2, 0.3))))
    assert areas.sum() == pytest.approx(0.22)
    assert normals.T @ areas == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert (normals * arms).sum(axis=1) @ areas / 3.0 == pytest.approx(0.006), "its volume"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidValue, match="only a free body falls into a ResistiveGround, not one that is fixed"):
        fall(SAND, Rigid(Sphere(0.1)), seconds=0.1)
    with pytest.raises(InvalidValue, match="pieces of the surface start below the ResistiveGround"):
        fall(SAND, Rigid(Sphere(0.1), motion="free"), seconds=0.1)
    with pytest.raises(InvalidValue, match="seconds"):
        fall(SAND, cube(0.0), seconds=0.0)


def test_bodies_are_simulated_saved_and_gone_on_with(tmp_path: Path) -> None:
    """A cube falls, a plate beside it is dragged along; both as by themselves."""
    plate = Rigid(
        Box((0.01, 0.06, 0.06)), motion="driven", mass=1.0, position=(0.0, 0.3, 0.0), velocity=(0.2, 0.0, 0.0),
        name="plate",
    )  # fmt: skip
    sand = replace(SAND, buried=True)
    running = simulation(sand, [cube(0.5), plate], device="cpu")
    running.run(0.04)
    wanted = fall(SAND, cube(0.5), seconds=0.04)
    assert running.positions()[0] == pytest.approx(wanted.positions[-1], abs=1e-12)
    assert running.positions()[1] == pytest.approx([0.008, 0.3, 0.0], abs=1e-12)
    # Of its half that is in the ground: stress of an upright plate per depth, times the integral of the depth.
    against, up = (SAND.of.resistance * stress * 0.06 * 0.03**2 / 2.0 for stress in (0.1918, 0.0746))
    assert running.solver.forces(running.state)[1] == pytest.approx([-against, 0.0, up], rel=1e-3, abs=1e-9)
    running.save(tmp_path / "sand.npz")
    running.run(0.02)
    again = simulation(sand, [cube(0.5), plate], device="cpu")
    again.load(tmp_path / "sand.npz")
    again.run(0.02)
    assert np.array_equal(again.positions(), running.positions())
    assert again.summary().mass == pytest.approx(1.3)
    assert [part.name for part in again.snapshot().parts] == ["sand", "body-0", "plate"]
    again.reset()
    assert again.positions()[0] == pytest.approx(cube(0.5).place)


def test_bodies_that_cannot_move_are_refused() -> None:
    with pytest.raises(InvalidValue, match="is fixed"):
        simulation(SAND, [Rigid(Sphere(0.1), position=(0.0, 0.0, 1.0))], device="cpu")
    with pytest.raises(InvalidValue, match="at least one"):
        simulation(SAND, [], device="cpu")

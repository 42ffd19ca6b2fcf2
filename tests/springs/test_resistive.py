"""Bodies of springs in ground that resists: they sink as deep as the law says, stay there, and come out the same.

All of them use the kernels of one combination of features.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import annelid
from annelid import grains, springs
from annelid.core.errors import InvalidValue
from annelid.shapes import ResistiveGround
from annelid.shapes.resistive.ground import Law

SIDE, MASS = 0.06, 0.3


def cube(speed: float = 0.0, *, masses: int = 4) -> springs.Body:
    """A stiff cube just above the ground, falling."""
    each = MASS / masses**3
    body = springs.block((masses,) * 3, SIDE / (masses - 1), mass=each, stiffness=2000.0, damping=1.0)
    body.velocities[:] = (0.0, 0.0, -speed)
    return body.moved((0.0, 0.0, 1e-6))


def depth_of(simulation: annelid.Simulation[springs.Solver]) -> float:
    """How far the centre of mass has come down [m]."""
    return float(simulation.solver.model.body.center_of_mass[2] - simulation.summary().center_of_mass[2])


@pytest.mark.parametrize(("law", "speed"), [("3d", 0.0), ("3d", 0.5), ("2d", 0.5)])
def test_a_cube_sinks_until_its_energy_is_spent_and_stays_there(law: Law, speed: float) -> None:
    sand = ResistiveGround("poppy-loose", law=law)
    simulation = springs.simulation(cube(speed), obstacles=[sand], device="cpu", threads=1)
    simulation.run(0.1)
    # Both laws press a flat face that goes straight down by 0.254 N/cm³: m v²/2 + m g z = k z²/2.
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    wanted = (weight + np.sqrt(weight**2 + k * MASS * speed**2)) / k
    sunk = depth_of(simulation)
    assert sunk == pytest.approx(wanted, rel=0.02)
    simulation.run(0.1)
    assert depth_of(simulation) == pytest.approx(sunk, abs=1e-7), "no creep under its weight"


def test_a_light_cube_is_held_and_a_loaded_one_sinks() -> None:
    sand = ResistiveGround("poppy-loose", buried=True)
    depths = []
    for pull in (9.81, 43.0):
        body = cube().moved((0.0, 0.0, -0.01))
        simulation = springs.simulation(body, obstacles=[sand], gravity=(0.0, 0.0, -pull), device="cpu", threads=1)
        simulation.run(0.1)
        depths.append(depth_of(simulation))
    assert abs(depths[0]) < 1e-4, "at 1 cm the ground carries three times its weight"
    assert depths[1] > 1e-3, "under 12.9 N the 9.1 N at 1 cm are too little"


def test_it_drags_a_cube_to_rest() -> None:
    """A cube that moves ahead in it: ground before it slows it down, ground behind does not push."""
    body = cube().moved((0.0, 0.0, -0.02))
    body.velocities[:] = (0.3, 0.0, 0.0)
    simulation = springs.simulation(
        body, obstacles=[ResistiveGround("poppy-loose", buried=True)], device="cpu", threads=1
    )
    simulation.run(0.15)
    assert 0.001 < simulation.summary().center_of_mass[0] - body.center_of_mass[0] < 0.03
    assert np.abs(simulation.velocities()).max() < 2e-3


def test_a_long_step_leads_where_a_short_one_does() -> None:
    """The direction of motion, on which the law depends, is that with resistance, not that of what pushes."""
    body = cube()
    body.velocities[:] = (0.4, 0.0, -0.4)
    ground = ResistiveGround("poppy-loose", law="2d")
    stable = springs.simulation(body, obstacles=[ground], device="cpu", threads=1).solver.stable_step()
    ends = []
    for share in (0.8, 0.1):
        simulation = springs.simulation(body, obstacles=[ground], dt=share * stable, device="cpu", threads=1)
        simulation.run(0.15)
        ends.append(simulation.summary().center_of_mass - body.center_of_mass)
    assert ends[0][[0, 2]] == pytest.approx(ends[1][[0, 2]], rel=0.01)


def test_sand_does_not_follow_a_face_that_was_lifted() -> None:
    """A cube is thrown up by half a millimetre within the ground: it falls back to where it was and further, as the law
    says, or onto fresh sand."""
    rises, hollows = [], []
    for repose in (None, 30.0):
        body = cube().moved((0.0, 0.0, -0.01))
        body.velocities[:] = (0.0, 0.0, 0.1)
        sand = ResistiveGround("poppy-loose", buried=True, repose=repose)
        simulation = springs.simulation(body, obstacles=[sand], device="cpu", threads=1)
        simulation.run(0.01)  # at the top of its flight, v²/2g
        hollows.append(simulation.state.hollows.numpy().copy())
        simulation.run(0.04)
        rises.append(-depth_of(simulation))
    assert len(hollows[0]) == 0
    assert hollows[1].max() == pytest.approx(5.1e-4, rel=0.1)
    assert rises[0] > 2e-4
    beyond = 0.5 * MASS * 0.1**2 / (0.254e6 * SIDE**2 * 0.01 - MASS * 9.81)  # m v²/2 over what brakes it at 1 cm
    assert rises[1] == pytest.approx(-beyond, rel=0.15)


def test_sand_that_gives_carries_a_cube_by_its_weight() -> None:
    """Weight over area over stiffness, far below what the law could bear; and back there after it was thrown up."""
    sand = ResistiveGround("sand-close", buried=True, stiffness=1e6)
    for speed in (0.0, 0.05):
        body = cube().moved((0.0, 0.0, -0.01))
        body.velocities[:] = (0.0, 0.0, speed)
        simulation = springs.simulation(body, obstacles=[sand], velocity_damping=60.0, device="cpu", threads=1)
        simulation.run(0.25)
        assert depth_of(simulation) == pytest.approx(MASS * 9.81 / SIDE**2 / 1e6, rel=0.02)


def test_sand_that_gives_yields_where_the_law_does() -> None:
    """Hard sand is the law itself: a cube that flies in spends its energy in it, m v²/2 + m g z = k z²/2."""
    sand = ResistiveGround("poppy-loose", stiffness=1e8)
    simulation = springs.simulation(cube(0.5), obstacles=[sand], device="cpu", threads=1)
    simulation.run(0.1)
    k, weight = 0.254e6 * SIDE**2, MASS * 9.81
    wanted = (weight + np.sqrt(weight**2 + k * MASS * 0.5**2)) / k
    assert depth_of(simulation) == pytest.approx(wanted, rel=0.02)


def test_weight_holds_a_cube_by_friction_and_the_law_alone_by_all_that_sand_could_bear() -> None:
    """A slope as steep as half the friction, and one three times as steep, once the cube has sunk in by its weight."""
    slid = {}
    for stiffness in (None, 1e6):
        for share in (0.5, 3.0):
            sand = ResistiveGround("sand-close", buried=True, friction=0.3, stiffness=stiffness)
            simulation = springs.simulation(
                cube().moved((0.0, 0.0, -0.002)), obstacles=[sand], gravity=(share * 0.3 * 9.81, 0.0, -9.81),
                velocity_damping=60.0, device="cpu", threads=1,
            )  # fmt: skip
            places = []
            for seconds in (0.0, 0.1, 0.2, 0.1):
                simulation.run(seconds)
                places.append(float(simulation.summary().center_of_mass[0]))
            slid[stiffness, share] = places[1] - places[0], places[3] - places[2]
    assert abs(slid[None, 3.0][0]) < 1e-4, "the law alone holds it, since sand could bear ten times its weight"
    assert abs(slid[1e6, 0.5][1]) < 1e-6
    assert slid[1e6, 3.0][0] > 1e-3


def test_threads_change_no_bit_and_constants_change_while_it_runs() -> None:
    ends = []
    for threads in (1, 2):
        sand = ResistiveGround("poppy-loose", repose=30.0)
        body = cube(0.5, masses=11)
        simulation = springs.simulation(body, obstacles=[sand], device="cpu", threads=threads)
        simulation.step(40)
        model = simulation.solver.model
        model.set_world(replace(model.world, obstacles=[replace(sand, medium="glass")]))
        simulation.step(40)
        ends.append(simulation.positions().copy())
    assert (ends[0] == ends[1]).all()
    assert [part.name for part in simulation.snapshot().parts] == ["sand", "body"]
    with pytest.raises(
        InvalidValue, match="whether sand has an angle of repose, a stiffness or a furrow cannot change"
    ):
        model.set_world(replace(model.world, obstacles=[replace(sand, repose=None)]))


def test_what_cannot_be_is_refused() -> None:
    sand = ResistiveGround("sand-loose")
    with pytest.raises(
        InvalidValue, match=r"16 of 56 masses .* start below the ResistiveGround, the deepest by 0.01 m"
    ):
        springs.simulation(cube().moved((0.0, 0.0, -0.01)), obstacles=[sand], device="cpu")
    with pytest.raises(InvalidValue, match="the body has no surface that a ResistiveGround could act on"):
        springs.simulation(replace(cube(), triangles=None), obstacles=[sand], device="cpu")
    with pytest.raises(InvalidValue, match="springs can move through one ResistiveGround, and obstacles hold 2"):
        springs.World(obstacles=[sand, sand])
    with pytest.raises(InvalidValue, match=r"hollows below a body \(repose=30 .* are not kept by integrator='rk4'"):
        springs.simulation(cube(), obstacles=[replace(sand, repose=30.0)], integrator="rk4", device="cpu")
    with pytest.raises(InvalidValue, match="repose of resistive ground must be an angle between 0 and 90 degrees"):
        ResistiveGround("glass", repose=90.0)
    with pytest.raises(
        InvalidValue, match=r"\(stiffness=1e\+06 .* are not kept by integrator='verlet'.* stiffness=None"
    ):
        springs.simulation(cube(), obstacles=[replace(sand, stiffness=1e6)], integrator="verlet", device="cpu")
    with pytest.raises(InvalidValue, match="stiffness of resistive ground must be a number above 0"):
        ResistiveGround("glass", stiffness=0.0)
    with pytest.raises(InvalidValue, match=r"keeps the hollows of all faces .* leave repose=None"):
        ResistiveGround("glass", stiffness=1e6, repose=30.0)
    with pytest.raises(InvalidValue, match="grains cannot move through a ResistiveGround yet, and obstacle 0 is one"):
        grains.simulation(grains.Bed([[0.0, 0.0, 0.1]], 0.01), obstacles=[ResistiveGround("glass")])

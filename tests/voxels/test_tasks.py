"""Every task against an answer known in advance."""

import numpy as np
import pytest

from annelid import control, voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.voxels import Terrain, Voxel
from annelid.voxels.tasks import Balancing, Carrying, Jumping, Locomotion

LEVEL = Terrain([[-500.0, 0.0], [500.0, 0.0]])


def steady(body: voxels.Robot, value: float = 0.0) -> voxels.Robot:
    return body.with_controller(control.PhasedSines(np.zeros(body.voxel_count), amplitude=0.0, offset=value))


def test_a_passive_robot_goes_nowhere(device: str) -> None:
    robots = [voxels.worm(4, Voxel.v1()), voxels.box(2, 3, Voxel.v1())]
    outcome = Locomotion(seconds=5.0, terrain=LEVEL)(robots, device=device)
    np.testing.assert_allclose(outcome.velocity, 0.0, atol=2e-3)
    np.testing.assert_allclose(outcome.control, 0.0)
    assert outcome.mean_height[0] == pytest.approx(1.5, abs=0.25)
    assert outcome.mean_height[1] == pytest.approx(4.5, abs=0.5)


def test_mean_squared_control(device: str) -> None:
    """Constant 0.5 in four voxels: 4 × 0.25; sines: half a voxel."""
    body = voxels.worm(4, Voxel.v1())
    sines = body.with_controller(control.PhasedSines([0.0, 1.0, 2.0, 3.0]))
    outcome = Locomotion(seconds=4.0)([steady(body, 0.5), sines], device=device)
    np.testing.assert_allclose(outcome.control, [1.0, 2.0], rtol=1e-5)


def test_a_thrown_robot_has_its_speed() -> None:
    """Without gravity and damping the travel velocity is the speed at which it flies."""
    task = Locomotion(seconds=2.0, gravity=(0.0, 0.0, 0.0), precision="float64", terrain=LEVEL)
    simulation = task.simulation(voxels.box(2, 1, Voxel.v1(linear_damping=0.0)), device="cpu")
    velocities = simulation.state.velocities.numpy()
    velocities[:, 0] = 1.5
    simulation.state.velocities.assign(velocities)
    outcome = task.run(simulation)
    assert outcome.velocity[0] == pytest.approx(1.5)
    assert outcome.relative_velocity[0] == pytest.approx(0.25)


def test_downhill_is_the_way_that_things_slide() -> None:
    slick = Voxel.v1(friction=0.0)
    down, up = (
        Locomotion(seconds=3.0, terrain=name)(voxels.worm(3, slick), device="cpu").velocity[0]
        for name in ("downhill-10", "uphill-10")
    )
    assert down > 0.5
    assert up < 0.0


def test_energy_of_one_sudden_contraction(device: str) -> None:
    """At rest, full control lifts the elastic energy by Σ ½ k (L - L')²; later calls change nothing."""
    material = Voxel.v1()
    task = Locomotion(seconds=1.0 / 60.0, gravity=(0.0, 0.0, 0.0), energy=True, precision="float64")
    outcome = task(steady(voxels.box(1, 1, material), 1.0), device=device)
    shrunk, rest, _ = material.rest_lengths()
    k = np.array([102.31, 64.87, 255.79])
    expected = 0.5 * (np.array([8, 8, 2]) * k * (rest - shrunk) ** 2).sum()
    assert outcome.energy[0] == pytest.approx(expected, rel=1e-3)


def test_energy_is_not_measured_unless_asked_for() -> None:
    assert np.isnan(Locomotion(seconds=0.1)(voxels.worm(2), device="cpu").energy[0])


def test_random_phases_move_as_in_the_original() -> None:
    """30 draws, flat, 30 s of the 60 s: medians near 0, maxima between 0.05 and 0.25, and nobody far backwards."""
    rng = np.random.default_rng(0)
    for make in (voxels.worm, voxels.biped, voxels.tripod):
        body = make(material=Voxel.v1())
        robot = body.with_controller(control.PhasedSines(np.zeros(body.voxel_count)))
        phases = rng.uniform(-np.pi, np.pi, (30, body.voxel_count))
        speed = Locomotion(seconds=30.0).evaluate(robot, phases).relative_velocity
        assert abs(np.median(speed)) < 0.03
        assert 0.05 < speed.max() < 0.25
        assert speed.min() > -0.02


def test_a_trial_is_the_task(device: str) -> None:
    body = voxels.worm(3, Voxel.v1())
    robot = body.with_controller(control.PhasedSines(np.zeros(3)))
    phases = np.random.default_rng(0).uniform(-3.0, 3.0, (4, 3))
    task = Locomotion(seconds=2.0)
    trial = task.trial(robot, 4, device=device)
    trial(phases[::-1])
    again = trial(phases).velocity
    np.testing.assert_array_equal(again, task([robot.with_parameters(row) for row in phases], device=device).velocity)
    np.testing.assert_array_equal(trial(phases[1:3]).velocity, again[1:3])
    with pytest.raises(InvalidValue, match="1 to 4 rows, not 5"):
        trial(phases[[0, 1, 2, 3, 0]])


def test_a_robot_that_diverges_does_not_spoil_the_others() -> None:
    wild = voxels.worm(3, Voxel.v1(mass=1e-12, frequency=30.0, max_force=1e30, actuation="force"))
    outcome = Locomotion(seconds=1.0)([steady(voxels.worm(3, Voxel.v1())), steady(wild, 1.0)], device="cpu")
    assert np.isfinite(outcome.velocity[0])
    assert np.isnan(outcome.velocity[1])


def test_passive_robots_do_not_jump(device: str) -> None:
    outcome = Jumping(seconds=1.0)(voxels.box(2, 2, Voxel.v1()), device=device)
    assert outcome.height[0] == pytest.approx(0.0, abs=0.01)
    assert outcome.air_time[0] < 0.05


def test_a_ballistic_jump_has_its_height(device: str) -> None:
    """Thrown up with v, the centre rises by v²/2g and is off the ground for 2v/g."""
    task = Jumping(seconds=2.0, precision="float64")
    simulation = task.simulation(voxels.box(2, 2, Voxel.v1(linear_damping=0.0)), device=device)
    velocities = simulation.state.velocities.numpy()
    velocities[:, 1] = 6.0
    simulation.state.velocities.assign(velocities)
    outcome = task.run(simulation)
    assert outcome.height[0] == pytest.approx(36.0 / 19.6, rel=0.02)
    assert outcome.air_time[0] >= 12.0 / 9.8 / 2.0 - 0.05


def test_expansion_makes_robots_jump() -> None:
    body = voxels.box(2, 2, Voxel.v1(frequency=15.0))
    kick = body.with_controller(control.TimeFunctions([lambda t: np.where(t < 1.0, 1.0, -1.0)] * 4))
    assert Jumping(seconds=3.0)(kick, device="cpu").height[0] > 0.3


def test_a_level_plank_stays_level_under_a_robot_in_its_middle(device: str) -> None:
    outcome = Balancing(seconds=2.0, precision="float64")(voxels.worm(4, Voxel.v1()), device=device)
    assert outcome.mean_angle[0] < 0.01
    assert outcome.off_ground[0] == 1.0


def test_a_plank_tips_until_it_meets_the_ground(device: str) -> None:
    task = Balancing(seconds=8.0, offset=8.0, precision="float64")
    outcome = task(voxels.worm(3, Voxel.v1()), device=device)
    assert outcome.final_angle[0] == pytest.approx(-task.largest_angle, abs=0.02)


def test_an_empty_swing_turns_at_its_spin() -> None:
    task = Balancing(seconds=0.5, spin=0.2, gravity=(0.0, 0.0, 0.0), precision="float64", offset=500.0)
    outcome = task(voxels.worm(2, Voxel.v1()), device="cpu")
    assert outcome.final_angle[0] == pytest.approx(0.1, rel=1e-6)
    assert outcome.mean_angle[0] == pytest.approx(0.1 * 31 / 60, rel=1e-6)  # of 30 steps


def test_a_box_on_a_passive_robot_stays(device: str) -> None:
    outcome = Carrying(seconds=3.0)([voxels.worm(4, Voxel.v1()), voxels.box(3, 2, Voxel.v1())], device=device)
    np.testing.assert_allclose(outcome.velocity, 0.0, atol=0.05)
    np.testing.assert_allclose(outcome.carried, 1.0)
    assert np.all(np.abs(outcome.drop) < 0.6)


def test_a_box_too_wide_for_a_tower_falls() -> None:
    """A box whose middle is beyond the robot's edge cannot be carried."""
    task = Carrying(seconds=4.0, box=(2.0, 1.0))
    simulation = task.simulation(voxels.box(1, 2, Voxel.v1()), device="cpu")
    p = simulation.state.positions.numpy()
    p[-1, 0] += 2.0
    simulation.state.positions.assign(p)
    outcome = task.run(simulation)
    assert outcome.carried[0] < 0.9
    assert outcome.drop[0] > 3.0


def test_bad_durations() -> None:
    with pytest.raises(InvalidValue, match="duration"):
        Locomotion(seconds=0.0)
    with pytest.raises(InvalidValue, match="angle"):
        Balancing(largest_angle=2.0)
    with pytest.raises(InvalidValue, match="duration of a task must be a positive time, not 'long'"):
        Locomotion(seconds="long")
    with pytest.raises(UnknownName, match="Did you mean 'seconds'"):
        Jumping(second=3.0)
    with pytest.raises(InvalidValue, match="at least one robot"):
        Carrying(seconds=0.1)([], device="cpu")

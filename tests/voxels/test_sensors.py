"""Every sensor against an answer known in advance."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import control, voxels
from annelid.core.errors import InvalidValue, UnknownName
from annelid.voxels import Box, Robot, Sensor, Terrain, Voxel, sensors

FAR = Terrain([[-900.0, -900.0], [900.0, -900.0]]), Box(size=(1.0, 1.0), position=(800.0, 800.0), held="fixed")


@pytest.fixture
def simulate(simulate: Callable[..., Any]) -> Callable[..., Any]:
    """As elsewhere, but there is always ground and an object, far away if need be, so that one kernel serves all."""

    def make(robots: Any, *, obstacles: Any = (), **world: Any) -> Any:
        far = [thing for thing in FAR if not any(isinstance(obstacle, type(thing)) for obstacle in obstacles)]
        if "positions" not in world and FAR[0] in far:
            world["positions"] = np.zeros((1 if isinstance(robots, Robot) else len(robots), 2))
        return simulate(robots, obstacles=[*obstacles, *far], **world)

    return make


def first_inputs(
    simulation: Any, velocities: np.ndarray | None = None, turn: float = 0.0, steps: int = 1
) -> np.ndarray:
    """Inputs of the controllers at the first call, with the robot moving and turned about the origin."""
    state = simulation.state
    if velocities is not None:
        v = state.velocities.numpy()
        v[:, : velocities.shape[-1]] = velocities
        state.velocities.assign(v)
    if turn:
        p = state.positions.numpy()
        c, s = np.cos(turn), np.sin(turn)
        x, y = p[:, 0].copy(), p[:, 1].copy()
        p[:, 0], p[:, 1], p[:, 2], p[:, 3] = c * x - s * y, s * x + c * y, c, s
        state.positions.assign(p)
    simulation.step(steps)
    return simulation.solver.inputs()


def passive(robot: Robot) -> Robot:
    """A controller that listens and does nothing."""
    return robot.with_controller(control.PhasedSines(np.zeros(robot.voxel_count), amplitude=0.0))


def one(*plan: Sensor, **options: Any) -> Robot:
    return passive(voxels.box(1, 1, Voxel.v1(), sensors=plan, **options))


def test_motion(simulate: Callable[..., Any]) -> None:
    """A voxel that moves with (3, 4) m/s, turned by 30°."""
    plan = [
        sensors.velocity(), sensors.velocity("x"), sensors.velocity("y"), sensors.velocity("x", rotated=True),
        sensors.velocity("y", rotated=True), sensors.angle(),
    ]  # fmt: skip
    turn = math.radians(30.0)
    c, s = math.cos(turn), math.sin(turn)
    values = first_inputs(simulate(one(*plan)), np.array([3.0, 4.0]), turn)
    np.testing.assert_allclose(values, [5.0, 3.0, 4.0, 3 * c + 4 * s, 4 * c - 3 * s, turn], atol=1e-12)


def test_angle_when_upside_down(simulate: Callable[..., Any]) -> None:
    assert abs(first_inputs(simulate(one(sensors.angle())), turn=math.pi)[0]) == pytest.approx(math.pi)


def test_area_ratio_at_rest_and_stretched(simulate: Callable[..., Any]) -> None:
    simulation = simulate(one(sensors.area_ratio()))
    assert first_inputs(simulation)[0] == pytest.approx(1.0)
    p = simulation.state.positions.numpy()
    p[:, 0] += np.where(p[:, 0] > p[:, 0].mean(), 0.6, 0.0)  # 3 m become 3.6 m
    simulation.state.positions.assign(p)
    simulation.step(2)
    assert simulation.solver.inputs()[0] == pytest.approx(1.2, abs=0.25)  # it began to swing back


def test_area_ratio_settles_at_the_control(simulate: Callable[..., Any]) -> None:
    body = voxels.box(1, 1, Voxel.paper(), sensors=[sensors.area_ratio(), sensors.applied_force()])
    simulation = simulate(body.with_controller(control.PhasedSines([0.0], amplitude=0.0, offset=0.5)))
    simulation.step(201)
    np.testing.assert_allclose(simulation.solver.inputs(), [0.9, 0.5], atol=1e-6)


def test_touching_tells_which_voxels(simulate: Callable[..., Any], level: Terrain) -> None:
    robot = passive(voxels.box(2, 2, Voxel.v1(), sensors=[sensors.touching()]))
    simulation = simulate(robot, obstacles=[level], gravity=(0.0, 0.0, -9.8))
    assert first_inputs(simulation).tolist() == [0.0] * 4
    simulation.step(300)
    assert simulation.solver.inputs().tolist() == [1.0, 0.0, 1.0, 0.0]  # (0,0), (0,1), (1,0), (1,1)


def test_touching_an_object(simulate: Callable[..., Any]) -> None:
    wall = Box(size=(1.0, 20.0), position=(6.4, 3.0), held="fixed")
    robot = passive(voxels.box(2, 1, Voxel.v1(), sensors=[sensors.touching()]))
    simulation = simulate(robot, obstacles=[wall], positions=[[0.0, 0.0]])
    values = first_inputs(simulation, np.array([0.0, 0.0]), steps=3)
    assert values.tolist() == [0.0, 1.0]


def test_crumpling(simulate: Callable[..., Any]) -> None:
    """Masses closer than 0.6 m: two of six pairs when both left masses are moved onto the right ones."""
    simulation = simulate(one(sensors.crumpling()))
    p = simulation.state.positions.numpy()
    p[:, 0] = p[:, 0].mean() + np.where(p[:, 0] > p[:, 0].mean(), 0.2, -0.2)
    simulation.state.positions.assign(p)
    assert first_inputs(simulation)[0] == pytest.approx(2.0 / 6.0)


@pytest.mark.parametrize(
    ("direction", "distance"), [(-90.0, 5.0), (-45.0, 5.0 * math.sqrt(2.0)), (0.0, 20.0), (90.0, 20.0)]
)
def test_lidar_to_level_ground(simulate: Callable[..., Any], level: Terrain, direction: float, distance: float) -> None:
    robot = one(sensors.lidar(math.radians(direction), 20.0))
    simulation = simulate(robot, obstacles=[level], positions=[[0.0, 3.5]])  # centre 5 m up
    assert first_inputs(simulation)[0] == pytest.approx(distance / 20.0)


def test_lidar_meets_a_slope_and_an_object(simulate: Callable[..., Any]) -> None:
    hill = Terrain([[-100.0, 0.0], [10.0, 0.0], [20.0, 10.0]])
    plan = [sensors.lidar(0.0, 30.0), sensors.lidar(math.pi, 30.0)]
    box = Box(size=(2.0, 4.0), position=(-6.0, 4.0), held="fixed")
    simulation = simulate(one(*plan), obstacles=[hill, box], positions=[[-1.5, 2.5]])  # centre (0, 4)
    np.testing.assert_allclose(first_inputs(simulation), [14.0 / 30.0, 5.0 / 30.0], atol=1e-12)


def test_lidar_turns_with_the_voxel(simulate: Callable[..., Any], level: Terrain) -> None:
    simulation = simulate(one(sensors.lidar(0.0, 20.0)), obstacles=[level], positions=[[-1.5, 3.5]])
    p = simulation.state.positions.numpy()
    p[:, 0], p[:, 1] = p[:, 1] - 5.0, -p[:, 0] + 5.0  # a quarter turn clockwise about the centre
    p[:, 2], p[:, 3] = 0.0, -1.0
    simulation.state.positions.assign(p)
    assert first_inputs(simulation)[0] == pytest.approx(5.0 / 20.0)


def test_time_function(simulate: Callable[..., Any]) -> None:
    simulation = simulate(one(sensors.time_function(frequency=0.5, phase=0.3, amplitude=2.0)))
    simulation.step(61)  # the last call was at t = 1 s
    assert simulation.solver.inputs()[0] == pytest.approx(2.0 * math.sin(math.pi * 1.0 + 0.3))


def test_noise_has_its_spread_and_its_seed(simulate: Callable[..., Any]) -> None:
    robots = [one(*[sensors.time_function(amplitude=0.0).noisy(0.5)] * 400, seed=seed) for seed in (1, 2)]
    simulation = simulate([*robots, robots[0]])
    values = first_inputs(simulation).reshape(3, 400)
    assert values[0].std() == pytest.approx(0.5, rel=0.1)
    assert abs(values[0].mean()) < 0.08
    assert not np.array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


def test_worlds_may_differ_in_noise(simulate: Callable[..., Any]) -> None:
    robot = one(*[sensors.time_function(amplitude=0.0).noisy(0.5)] * 20)
    plain, varied = simulate([robot, robot, robot]), simulate([robot, robot, robot])
    varied.parameters["noise"] = [1.0, 0.0, 3.0]
    noise = first_inputs(plain).reshape(3, 20)
    found = first_inputs(varied).reshape(3, 20)
    np.testing.assert_array_equal(found[:2], [noise[0], 0.0 * noise[1]])
    np.testing.assert_allclose(found[2], 3.0 * noise[2], rtol=1e-6)


def test_windows(simulate: Callable[..., Any]) -> None:
    """Mean and difference of a known function over the last readings, also while there are few of them."""
    wave = sensors.time_function(frequency=0.7)
    simulation = simulate(one(wave, wave.mean(5), wave.difference(5)))
    period, readings = 2.0 / 60.0, []
    for call in range(12):
        simulation.step(2)
        readings.append(math.sin(2.0 * math.pi * 0.7 * call * period))
        last = readings[-5:]
        expected = [last[-1], np.mean(last), last[-1] - last[0]]
        np.testing.assert_allclose(simulation.solver.inputs(), expected, atol=1e-12)


def test_unknown_sensor() -> None:
    with pytest.raises(UnknownName, match="smell"):
        Sensor("smell")
    with pytest.raises(InvalidValue, match="noise"):
        sensors.angle().noisy(-1.0)
    with pytest.raises(InvalidValue, match="reach"):
        sensors.lidar(0.0, 0.0)

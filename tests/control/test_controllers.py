"""Every controller against its formula, evaluated here in NumPy, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import control, voxels
from annelid.control import MLP, Development, DistributedMLP, HostController, PhasedSines, Sine, TimeFunctions
from annelid.control.networks import weight_count
from annelid.core.errors import InvalidValue, UnknownName
from annelid.voxels import Robot, Voxel, sensors

PERIOD = 2.0 / 60.0
"""Time between two calls [s]."""


def run(robots: Any, calls: int, device: str = "cpu") -> list[np.ndarray]:
    """Control values after each call."""
    simulation = voxels.simulation(robots, gravity=(0.0, 0.0, 0.0), precision="float64", device=device)
    values = []
    for _ in range(calls):
        simulation.step(2)
        values.append(simulation.state.controls.numpy().copy())
    return values


def clocks(body: Robot, count: int = 1) -> Robot:
    """The body with sensors whose readings are known: sin(2π (i + 1) t / 4)."""
    plan = [sensors.time_function(frequency=0.25 * (i + 1)) for i in range(count)]
    return Robot(body.grid, body.materials, sensors=plan)


def reading(call: int, number: int) -> float:
    return math.sin(2.0 * math.pi * 0.25 * (number + 1) * call * PERIOD)


def test_phased_sines(device: str) -> None:
    phases = np.array([0.0, 1.0, -2.0])
    robot = voxels.worm(3).with_controller(PhasedSines(phases, frequency=[1.0, -0.5, 2.0], amplitude=0.7, offset=0.1))
    for call, values in enumerate(run(robot, 20, device)):
        turn = 2.0 * math.pi * np.array([1.0, -0.5, 2.0]) * call * PERIOD
        np.testing.assert_allclose(values, 0.7 * np.sin(turn + phases) + 0.1, atol=1e-12)


def test_controls_are_clipped(device: str) -> None:
    robot = voxels.worm(2).with_controller(PhasedSines([0.0, 0.0], amplitude=0.0, offset=[3.0, -2.0]))
    assert run(robot, 1, device)[0].tolist() == [1.0, -1.0]


def test_development_drifts(device: str) -> None:
    parameters = np.array([0.3, -0.4, 0.6, 1.0, 0.2, -0.8])
    robot = voxels.worm(2).with_controller(Development(parameters, duration=10.0))
    phase, start, end = parameters.reshape(2, 3).T
    for call, values in enumerate(run(robot, 20, device)):
        t = call * PERIOD
        expected = np.sin(2.0 * math.pi * t + phase) + start + t / 10.0 * (end - start)
        np.testing.assert_allclose(values, np.clip(expected, -1.0, 1.0), atol=1e-12)


def test_time_functions_in_both_forms(device: str) -> None:
    each = voxels.worm(2).with_controller(TimeFunctions([np.cos, lambda t: 0.1 * t]))
    both = voxels.worm(2).with_controller(TimeFunctions(lambda t: np.stack([np.cos(t), 0.1 * t], axis=1)))
    for call, values in enumerate(run([each, both], 10, device)):
        t = call * PERIOD
        np.testing.assert_allclose(values, [math.cos(t), 0.1 * t] * 2, atol=1e-12)


def test_time_functions_beyond_one_table(device: str) -> None:
    robot = voxels.worm(1).with_controller(TimeFunctions([lambda t: np.sin(t)]))
    simulation = voxels.simulation(robot, gravity=(0.0, 0.0, 0.0), precision="float64", device=device)
    simulation.step(2 * 700 + 1)
    assert simulation.state.controls.numpy()[0] == pytest.approx(math.sin(700 * PERIOD))


def test_weight_counts_of_the_paper() -> None:
    """280 for the example of sec. 2.3; 104, 228 and 400 for worm, biped and tripod."""

    def plan(x: int, y: int) -> list[voxels.Sensor]:
        seen = [sensors.area_ratio(), sensors.velocity("x", rotated=True), sensors.velocity("y", rotated=True)]
        return [sensor.mean(5) for sensor in seen] + ([sensors.touching()] if y == 0 else [])

    biped = voxels.biped(sensors=plan)
    network = MLP([0.0] * 280, hidden=(10,))
    assert network.weights_needed(biped.voxel_count, biped.input_counts.tolist()) == 280
    for body, needed in ((voxels.worm(), 104), (voxels.biped(), 228), (voxels.tripod(), 400)):
        robot = Robot(body.grid, body.materials, sensors=voxels.talamini_sensors())
        assert MLP([]).weights_needed(robot.voxel_count, robot.input_counts.tolist()) == needed


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
@pytest.mark.parametrize("driving", [Sine(), None, Sine(0.5, 0.2, 0.7), lambda t: np.cos(3.0 * t)])
@pytest.mark.parametrize("bias_all", [False, True])
def test_network_computes_what_numpy_computes(hidden: tuple[int, ...], driving: Any, bias_all: bool) -> None:
    robot = clocks(voxels.worm(3), 2)
    count = weight_count((6, *hidden, 3), driven=driving is not None, bias_all=bias_all)
    network = MLP(np.random.default_rng(0).normal(0, 1, count), hidden=hidden, driving=driving, bias_all=bias_all)
    for call, values in enumerate(run(robot.with_controller(network), 5)):
        inputs = np.tile([reading(call, 0), reading(call, 1)], 3)
        np.testing.assert_allclose(values, network.act(call * PERIOD, inputs, 3), atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("hidden", [(), (3,)])
def test_distributed_network_hears_its_neighbours(shared: bool, hidden: tuple[int, ...], device: str) -> None:
    """Two voxels side by side, one signal each way, against a loop in NumPy."""
    robot = clocks(voxels.worm(2), 1)
    network = DistributedMLP([], signals=1, hidden=hidden, driving=Sine(), shared=shared)
    needed = network.weights_needed(2, [1, 1])
    weights = np.random.default_rng(1).normal(0, 1, needed)
    sizes, heard = [*hidden, 5], np.zeros((2, 4))
    for call, values in enumerate(run(robot.with_controller(network.with_parameters(weights)), 8, device)):
        said, outputs = np.zeros((2, 4)), np.zeros(2)
        for voxel in range(2):
            incoming = np.zeros(4)
            if voxel == 0:
                incoming[1] = heard[1, 3]  # from the east, what it sent to the west
            else:
                incoming[3] = heard[0, 1]
            x = np.array([reading(call, 0), *incoming, math.sin(2.0 * math.pi * call * PERIOD), 1.0])
            w = weights if shared else weights.reshape(2, -1)[voxel]
            for size in sizes:
                block, w = w[: size * len(x)].reshape(size, len(x)), w[size * len(x) :]
                x = np.tanh(block @ x)
            outputs[voxel], said[voxel] = x[0], x[1:]
        heard = said
        np.testing.assert_allclose(values, outputs, atol=1e-12)


def test_host_controller_sees_all_robots_at_once(device: str) -> None:
    calls = []

    def think(time: float, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        calls.append((time, inputs.shape))
        return 0.5 * inputs + parameters

    robots = [clocks(voxels.worm(2)).with_controller(HostController(think, [0.1 * i, 0.0])) for i in range(3)]
    for call, values in enumerate(run(robots, 4, device)):
        half = 0.5 * reading(call, 0)
        np.testing.assert_allclose(values, [half, half, half + 0.1, half, half + 0.2, half], atol=1e-12)
    assert calls[1] == (pytest.approx(PERIOD), (3, 2))


@wp.func
def halved(
    time: wp.float64, channel: int, inputs: wp.array[wp.float64], first_input: int, count: int,
    parameters: wp.array[wp.float64], first_parameter: int,
) -> wp.float64:  # fmt: skip
    return parameters[first_parameter] * inputs[first_input + channel] + wp.float64(0.01) * wp.float64(channel)


def test_warp_controller(device: str) -> None:
    robots = [clocks(voxels.worm(2)).with_controller(control.WarpController(halved, [gain])) for gain in (0.5, -1.0)]
    for call, values in enumerate(run(robots, 4, device)):
        r = reading(call, 0)
        np.testing.assert_allclose(values, [0.5 * r, 0.5 * r + 0.01, -r, -r + 0.01], atol=1e-12)


def test_wrong_number_of_weights_says_how_many() -> None:
    robot = voxels.worm(4, sensors=voxels.talamini_sensors()).with_controller(MLP(np.zeros(100)))
    with pytest.raises(InvalidValue, match="104 weights are needed.*not 100"):
        voxels.simulation(robot, device="cpu")
    with pytest.raises(InvalidValue, match="3 phases are needed"):
        voxels.simulation(voxels.worm(3).with_controller(PhasedSines([0.0])), device="cpu")


def test_nan_control_names_the_voxel(device: str) -> None:
    robot = voxels.worm(3).with_controller(TimeFunctions([np.sin, lambda t: np.where(t > 0.1, np.nan, 0.0), np.sin]))
    with pytest.raises(InvalidValue, match=r"voxel \(1, 0\) of robot 0"):
        voxels.simulation(robot, device=device, precision="float64").step(20)
    by_hand = voxels.simulation(voxels.worm(2, Voxel.v1()), device=device)
    with pytest.raises(InvalidValue, match=r"voxel \(1, 0\)"):
        by_hand.solver.set_controls(by_hand.state, np.array([0.0, np.nan]))
    hosted = voxels.worm(2).with_controller(HostController(lambda t, x, p: np.full((1, 2), np.nan)))
    with pytest.raises(InvalidValue, match=r"voxel \(0, 0\)"):
        voxels.simulation(hosted, device=device).step(1)


def test_distributed_network_needs_equal_voxels() -> None:
    robot = voxels.worm(2, sensors=lambda x, y: [sensors.angle()] * (1 + x))
    with pytest.raises(InvalidValue, match="same number of sensors"):
        voxels.simulation(robot.with_controller(DistributedMLP([])), device="cpu")


def test_parameters_are_flat_and_finite() -> None:
    assert PhasedSines([[1.0, 2.0], [3.0, 4.0]]).parameters.shape == (4,)
    with pytest.raises(InvalidValue, match="weight number 1"):
        MLP([0.0, float("inf")])


@pytest.mark.parametrize(
    "controller",
    [
        PhasedSines([1.0, 2.0], frequency=0.5),
        Development([1.0, 2.0, 3.0], duration=5.0),
        MLP([1.0, 2.0], hidden=(3,), driving=None),
        DistributedMLP([1.0], signals=2, driving=Sine(2.0)),
    ],
)
def test_dictionaries(controller: control.Controller) -> None:
    assert control.controller_from_dict(controller.to_dict()).to_dict() == controller.to_dict()
    with pytest.raises(UnknownName):
        control.controller_from_dict({"kind": "cat"})

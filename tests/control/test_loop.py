"""Closed loops: from sensors to controls, by functions and by controllers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import control, springs
from annelid.core.errors import InvalidValue, UnknownName
from annelid.shapes import ground


def hanging(device: str, worlds: int = 1) -> Any:
    """A mass on a spring that hangs from a fixed one; its length takes commands."""
    body = springs.Body(
        positions=[[0, 0, 0], [0, 0, -1]], masses=1.0, springs=[[0, 1]], rest_lengths=1.0, stiffness=400.0, damping=20.0
    )
    body.fixed[0] = True
    body.groups["bob"] = np.array([1])
    body.control("length", low=0.5, high=1.5)
    far = ground(height=-9.0)  # with which the kernels are those of other tests
    simulation = springs.simulation(body, dt=1e-3, obstacles=[far], worlds=worlds, device=device)
    simulation.sensors.add("bob", springs.position_of("bob"))
    simulation.sensors.add("speed", springs.velocity_of("bob"))
    return simulation


def held_at(height: float) -> Any:
    """A controller that brings the bob to a height: the spring gives way by g m / k."""
    return lambda time, readings: np.array([-height - 9.81 / 400.0 + 0.5 * (readings[:, 2] - height)]).T


def test_a_function_closes_the_loop(device: str) -> None:
    simulation = hanging(device)
    control.connect(simulation, held_at(-1.2), every=0.02)
    simulation.run(3.0)
    assert simulation.sensors["bob"][0, 2] == pytest.approx(-1.2, abs=1e-3)


def test_it_acts_at_the_same_steps_after_a_load_and_in_pieces(device: str, tmp_path: Path) -> None:
    whole, pieces = hanging(device), hanging(device)
    for simulation in (whole, pieces):
        control.connect(simulation, held_at(-1.3), every=0.007, ramp=True)
    whole.run(0.5)
    for seconds in (0.003, 0.1, 0.05):
        pieces.run(seconds)
    pieces.save(tmp_path / "state.npz")
    pieces.run(0.2)
    pieces.load(tmp_path / "state.npz")
    pieces.run(0.5 - 0.153)
    assert pieces.state_hash() == whole.state_hash()


def test_channels_are_left_to_sliders_while_one_says_so() -> None:
    simulation, hands = hanging("cpu"), [False]
    control.connect(simulation, lambda time, readings: [1.2], every=0.01, unless=lambda: hands[0])
    simulation.run(0.02)
    assert simulation.controls["length"] == pytest.approx(1.2)
    hands[0] = True
    simulation.controls["length"] = 0.9
    simulation.run(0.02)
    assert simulation.controls["length"] == pytest.approx(0.9)


def test_each_world_has_its_own_readings(device: str) -> None:
    simulation = hanging(device, worlds=3)
    simulation.controls["length"] = [0.8, 1.0, 1.2]
    simulation.run(0.5)
    control.connect(simulation, lambda time, readings: 1.0 + 0.2 * np.sign(readings[:, 2:3] + 1.02), every=0.5)
    simulation.run(0.25)
    np.testing.assert_allclose(simulation.controls["length"], [1.2, 0.8, 0.8], rtol=1e-6)


def test_controllers_span_the_limits_of_channels(device: str) -> None:
    """A network without hidden neurons is a weighted sum of its readings; -1 to 1 is 0.5 to 1.5."""
    simulation = hanging(device, worlds=2)
    weights = [0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.1]
    control.connect(simulation, control.MLP(weights, driving=None), every=0.05)
    simulation.step(1)
    z = -1.0
    expected = 1.0 + 0.5 * np.tanh(-0.5 * z + 0.1)
    np.testing.assert_allclose(simulation.controls["length"], expected, rtol=1e-6)


def test_a_sine_drives_a_channel(device: str) -> None:
    simulation = hanging(device)
    control.connect(simulation, control.PhasedSines([0.0], frequency=1.0, amplitude=1.0), every=0.05, sensors=[])
    simulation.run(0.26)
    assert simulation.controls["length"][0] == pytest.approx(1.0 + 0.5 * np.sin(2.0 * np.pi * 0.25), abs=1e-6)


def test_pytorch_reads_and_commands_without_a_copy(device: str) -> None:
    torch = pytest.importorskip("torch")
    simulation, seen = hanging(device, worlds=2), []

    def policy(time: float, readings: Any) -> Any:
        seen.append(readings)
        return torch.full((2, 1), 1.25, device=readings.device)

    control.connect(simulation, policy, every=0.1, arrays="torch")
    simulation.run(0.15)
    assert simulation.controls["length"].tolist() == [1.25, 1.25]
    assert seen[0].data_ptr() == seen[1].data_ptr()
    assert seen[0].shape == (2, 6)


def test_warp_functions_are_called_with_warp_arrays(device: str) -> None:
    simulation = hanging(device)
    values = wp.full((1, 1), 0.75, dtype=wp.float64, device=device)
    control.connect(simulation, lambda time, readings: values, every=0.1, arrays="warp")
    simulation.step(1)
    assert simulation.controls["length"].tolist() == [0.75]


def test_bad_loops_are_refused() -> None:
    simulation = hanging("cpu")
    with pytest.raises(UnknownName, match="Did you mean 'bob'"):
        control.connect(simulation, held_at(-1.0), every=0.1, sensors=["bop"])
    with pytest.raises(UnknownName, match="Did you mean 'length'"):
        control.connect(simulation, held_at(-1.0), every=0.1, controls=["lenght"])
    with pytest.raises(InvalidValue, match="every must be at least one time step"):
        control.connect(simulation, held_at(-1.0), every=0.0)
    with pytest.raises(InvalidValue, match="must be a Controller, one for each world, or a function"):
        control.connect(simulation, 3, every=0.1)  # type: ignore[arg-type]
    control.connect(simulation, lambda time, readings: np.zeros(4), every=0.1)
    with pytest.raises(InvalidValue, match=r"must return values of shape \[1, 1\], not \[4\]"):
        simulation.run(0.1)
    passive = springs.simulation(springs.block((2, 2, 2), 0.1), device="cpu")
    with pytest.raises(InvalidValue, match="has no controls"):
        control.connect(passive, held_at(0.0), every=0.1)


def test_what_is_not_a_number_is_reported_with_its_time() -> None:
    simulation = hanging("cpu")
    control.connect(simulation, lambda time, readings: [np.nan if time > 0.15 else 1.0], every=0.1)
    with pytest.raises(InvalidValue, match=r"at 0\.2 s the controller returned \[nan\] for world 0"):
        simulation.run(0.5)


def test_sensors_may_come_and_go_under_a_controller(device: str) -> None:
    """Columns of the others move when one is removed; reading where they were would read foreign memory."""
    simulation, seen = hanging(device), []

    def policy(time: float, readings: np.ndarray) -> list[float]:
        seen.append(readings.copy())
        return [1.0]

    control.connect(simulation, policy, every=1e-3, sensors=["speed"])
    simulation.step(20)
    speed = simulation.sensors["speed"]
    simulation.sensors.remove("bob")
    simulation.step(1)
    np.testing.assert_array_equal(seen[-1], speed)
    simulation.sensors.remove("speed")
    with pytest.raises(UnknownName, match="no sensor named 'speed'"):
        simulation.step(1)
    simulation.sensors.add("speed", springs.position_of())
    simulation.sensors.add("bob", springs.position_of())
    speed = simulation.sensors["speed"]
    simulation.step(1)
    np.testing.assert_array_equal(seen[-1], speed)


@pytest.mark.parametrize(
    "said", ["left", [[1.0], [2.0, 3.0]], object(), 1j, None, pytest.param(10**400, id="huge"), wp.zeros(3)]
)
def test_what_a_function_says_must_be_numbers(said: Any) -> None:
    simulation = hanging("cpu")
    control.connect(simulation, lambda time, readings: said, every=1e-3)
    with pytest.raises(InvalidValue):
        simulation.step(1)


def test_one_row_on_the_device_commands_all_worlds(device: str) -> None:
    simulation = hanging(device, worlds=3)
    row = wp.array([1.25], dtype=wp.float32, device=device)
    control.connect(simulation, lambda time, readings: row, every=0.01, arrays="warp")
    simulation.step(1)
    np.testing.assert_array_equal(simulation.controls["length"], 3 * [1.25])


@pytest.mark.parametrize("every", [np.nan, np.inf, "often", None, 0.0])
def test_a_controller_is_called_at_some_time(every: Any) -> None:
    for controller in (lambda time, readings: [1.0], control.PhasedSines([0.0], frequency=1.0)):
        with pytest.raises(InvalidValue, match="every must be"):
            control.connect(hanging("cpu"), controller, every=every)
    with pytest.raises(InvalidValue, match="needs a channel"):
        control.connect(hanging("cpu"), control.PhasedSines([0.0], frequency=1.0), every=0.1, controls=[])

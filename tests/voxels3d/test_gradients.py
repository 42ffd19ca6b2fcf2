"""Rollouts of 3-D voxels: gradients against central differences, the same bits however they are computed, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import Rollout, Simulation, Track, Travel, voxels3d
from annelid.core.errors import InvalidValue
from annelid.shapes import Plane, Sphere

STEPS = 240
SOFT = voxels3d.Voxel(youngs_modulus=6e4, internal_damping=0.2, global_damping=0.05)
Sim = Simulation[voxels3d.Solver]


def body(shape: tuple[int, int, int], seed: int, frequency: float = 0.0) -> voxels3d.Robot:
    rng = np.random.default_rng(seed)
    grid = voxels3d.largest_connected(np.where(rng.random(shape) < 0.6, 0, -1))
    return voxels3d.Robot(
        grid, (SOFT,), 0.1, amplitude=rng.uniform(10.0, 20.0, shape), frequency=frequency, phase=rng.random(shape)
    )


def standing(robots: list[voxels3d.Robot], device: str, **options: Any) -> Sim:
    given = {"dt": 0.003, "precision": "float64", "obstacles": [Plane()], **options}
    return voxels3d.simulation(robots, device=device, **given)


def mixed(track: Track) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A loss that weights all coordinates of places and velocities differently."""
    rng = np.random.default_rng(3)
    by = {"positions": rng.standard_normal(track.shape), "velocities": 0.1 * rng.standard_normal(track.shape)}
    value = (by["positions"] * track.positions + by["velocities"] * track.velocities).sum(axis=(0, 2, 3))
    return value, by


@pytest.mark.parametrize("frequency", [0.0, 2.0])
def test_every_rate_agrees_with_central_differences(frequency: float, device: str) -> None:
    """Robots of different shape side by side, which fall on a floor, bounce and slide."""
    robots = [body((3, 2, 2), 3, frequency), body((4, 3, 2), 5, frequency)]
    rollout = Rollout(standing(robots, device), STEPS, looks=[100, STEPS])
    rng = np.random.default_rng(1)
    given = {name: rollout.value(name) for name in rollout.names}
    assert set(given) - {"amplitude", "stiffness", "positions", "velocities", "gravity"} == (
        {"frequency", "phase"} if frequency else {"controls"}
    )
    if "controls" in given:
        given["controls"] = rng.uniform(-0.9, 0.9, (2, 20, given["controls"].shape[2]))
    given["stiffness"] = rng.uniform(0.8, 1.2, given["stiffness"].shape)
    given["velocities"] = 0.3 * rng.standard_normal(given["velocities"].shape)
    _, rates = rollout.gradient(mixed, given)
    for name, value in given.items():
        along = rng.standard_normal(value.shape) * max(1.0, float(np.abs(value).max()))
        exact, found = float((rates[name] * along).sum()), []
        for step in (1e-6, 1e-7):
            low, high = (
                float(mixed(rollout.forward({**given, name: value + s * along}))[0].sum()) for s in (-step, step)
            )
            found.append((high - low) / (2.0 * step))
        assert min(abs(each - exact) for each in found) < 1e-6 * abs(exact), name


def test_a_beam_that_is_held_has_the_rates_of_differences(device: str) -> None:
    """It moves as in a plain simulation, and what is held neither moves nor hands rates on."""
    beam = voxels3d.Robot(np.zeros((4, 1, 1), int), (SOFT,), 0.1, amplitude=15.0).fix(lambda x, y, z: x == 0)
    simulation = standing([beam], device, obstacles=())
    rollout = Rollout(simulation, STEPS)
    table = np.random.default_rng(8).uniform(-0.9, 0.9, (12, 4))
    along = np.random.default_rng(9).standard_normal(table.shape)
    _, rates = rollout.gradient(mixed, {"controls": table})
    low, high = (mixed(rollout.forward({"controls": table + s * along}))[0][0] for s in (-1e-6, 1e-6))
    assert (high - low) / 2e-6 == pytest.approx(float((rates["controls"] * along).sum()), rel=1e-6)
    for row in table:
        for number, value in enumerate(row):
            simulation.controls[f"voxel {number},0,0"] = value
        simulation.step(STEPS // 12)
    places = simulation.solver.model.places + simulation.state.displacements.numpy()
    np.testing.assert_allclose(rollout.forward({"controls": table}).positions[0, 0], places, atol=1e-13)


def test_bits_depend_neither_on_threads_nor_checkpoints_nor_others(device: str) -> None:
    robots = [body((3, 2, 2), 3), body((4, 3, 2), 5)]
    found = []
    for threads, every in ((1, STEPS), (2, 33)):
        rollout = Rollout(standing(robots, device, threads=threads), STEPS, every=every)
        table = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 8, rollout.value("controls").shape[2]))
        found.append(rollout.gradient(Travel("x"), {"controls": table}))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1]["controls"], found[1][1]["controls"])
    alone, there = Rollout(standing(robots[:1], device), STEPS), standing(robots, device).solver.controls_there[0]
    value, rates = alone.gradient(Travel("x"), {"controls": table[0, :, there].T})
    assert value[0] == pytest.approx(found[0][0][0], rel=1e-14)
    np.testing.assert_allclose(rates["controls"], found[0][1]["controls"][0][:, there], rtol=1e-12, atol=1e-18)
    assert not found[0][1]["controls"][0][:, ~there].any()
    before = alone.forward().positions
    assert (alone.forward({"gravity": 0.0, "stiffness": 2.0}).positions != before).any()
    np.testing.assert_array_equal(
        alone.forward().positions, before
    )  # parameters of one motion are not those of the next


def test_a_free_body_moves_as_in_a_plain_simulation(device: str) -> None:
    simulation = standing([body((3, 2, 2), 3, 2.0)], device, obstacles=())
    track = Rollout(simulation, STEPS).forward()
    simulation.step(STEPS)
    places = simulation.solver.model.places + simulation.state.displacements.numpy()
    np.testing.assert_allclose(track.positions[0, 0], places, atol=1e-13)


def test_things_that_a_robot_has_not_are_its_middle(device: str) -> None:
    rollout = Rollout(standing([body((3, 2, 2), 3), body((4, 3, 2), 5)], device), 10)
    track, count = rollout.forward(), body((3, 2, 2), 3).voxel_count
    middle = track.positions[0, 0, :count].mean(axis=0)
    np.testing.assert_allclose(track.positions[0, 0, count:], np.broadcast_to(middle, (track.shape[2] - count, 3)))


@pytest.mark.parametrize(
    ("what", "robot", "options"),
    [
        ("compatible links", {}, {"links": "compatible"}),
        ("obstacles other than planes", {}, {"obstacles": [Sphere(0.1)]}),
        ("collisions between voxels", {}, {"collisions": "self"}),
        ("a fluid", {}, {"fluid": 1000.0}),
        ("materials with a Poisson's ratio", {"materials": voxels3d.Voxel(poisson_ratio=0.3)}, {"dt": "auto"}),
        ("materials that flow or break", {"materials": voxels3d.Voxel(failure_stress=1e4)}, {"dt": "auto"}),
        ("voxels that are driven, or held in some freedoms only", {"hold": True}, {"dt": "auto"}),
    ],
)
def test_what_has_no_adjoint_is_refused(what: str, robot: dict[str, Any], options: dict[str, Any]) -> None:
    given = {"materials": SOFT, **robot}
    held = given.pop("hold", False)
    made = voxels3d.Robot(np.zeros((2, 1, 1), int), side_length=0.1, **given)
    made = made.fix(lambda x, y, z: x == 0, ["x"]) if held else made
    with pytest.raises(InvalidValue, match=rf"{what}.* cannot be run back for gradients \(Rollout\): \w+"):
        Rollout(standing([made], "cpu", **options), 10)


def test_bad_parameters_are_refused() -> None:
    rollout = Rollout(standing([body((3, 2, 2), 3)], "cpu"), 10)
    with pytest.raises(InvalidValue, match="with 3 intervals does not divide the 10 steps"):
        rollout.forward({"controls": np.zeros((3, 1))})
    with pytest.raises(InvalidValue, match="between -1 and 1"):
        rollout.forward({"controls": 2.0})
    with pytest.raises(InvalidValue, match="feeds nothing here: no voxel has an expansion and a frequency"):
        rollout.forward({"phase": 0.0})
    with pytest.raises(InvalidValue, match="would shrink"):
        rollout.forward({"amplitude": 200.0})
    with pytest.raises(InvalidValue, match="cannot go on from another: voxels are turned"):
        rollout.forward({}, after=10)

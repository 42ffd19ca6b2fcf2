"""What is read of positions and velocities means the same in every physics, together and one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import fem, grains, springs, voxels, voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.state_view import Parts
from annelid.shapes import Box, Rigid, ground, tet_beam

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
STILL = (0.0, 0.0, 0.0)


def of_springs(worlds: int) -> Any:
    return springs.simulation(springs.block((3, 2, 2), 0.1), gravity=STILL, dt=1e-4, worlds=worlds, **CPU)


def of_fem(worlds: int) -> Any:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda x: x[:, 0] < 1e-6)
    return fem.simulation(solid, dt=5e-3, dynamic=True, worlds=worlds, **CPU)


def of_voxels(worlds: int) -> Any:
    return voxels.simulation(voxels.biped(4), obstacles=[voxels.terrain("flat")], worlds=worlds, **CPU)


def of_voxels3d(worlds: int) -> Any:
    robot = voxels3d.Robot(np.zeros((3, 2, 1), int))
    return voxels3d.simulation(robot, obstacles=[ground(0.5)], worlds=worlds, **CPU)


SIMULATED: dict[Any, Callable[[int], Any]] = {
    springs: of_springs,
    fem: of_fem,
    voxels: of_voxels,
    voxels3d: of_voxels3d,
}
NAMES = [package.__name__.rpartition(".")[2] for package in SIMULATED]


@pytest.mark.parametrize("worlds", [1, 2])
@pytest.mark.parametrize("package", SIMULATED, ids=NAMES)
def test_the_mean_is_that_of_each(package: Any, worlds: int) -> None:
    simulation = SIMULATED[package](worlds)
    for name, sensor in {"place": package.position_of, "speed": package.velocity_of}.items():
        simulation.sensors.add(name, sensor())
        simulation.sensors.add(f"{name}s", sensor(each=True))
    simulation.step(5)
    rows = simulation.positions()[:, (0, 2) if package is voxels else slice(None)].reshape(worlds, -1)
    np.testing.assert_allclose(simulation.sensors["places"], rows, rtol=1e-6, atol=1e-9)
    for name in ("place", "speed"):
        mean = simulation.sensors[name]
        each = simulation.sensors[f"{name}s"].reshape(worlds, -1, mean.shape[1])
        np.testing.assert_allclose(each.mean(axis=1), mean, rtol=1e-5, atol=1e-9)
    assert simulation.sensors["speed"].any() or package is springs


def test_all_physics_read_positions_and_velocities_alike() -> None:
    for package in (*SIMULATED, grains):
        assert package.position_of.__func__ is Parts.position_of
        assert package.velocity_of.__func__ is Parts.velocity_of
    ball = Rigid(Box((0.1, 0.1, 0.1)), motion="free", density=500.0, position=(0.0, 0.0, 0.4), name="ball")
    simulation = grains.simulation(grains.Bed([[0.0, 0.0, 0.04]], 0.03), obstacles=[ground(), ball], worlds=2, **CPU)
    simulation.sensors.add("ball", grains.position_of("ball"))
    np.testing.assert_allclose(simulation.sensors["ball"], [[0.0, 0.0, 0.4]] * 2, rtol=1e-6)


@pytest.mark.parametrize("package", [springs, fem])
def test_each_of_them_has_a_gradient(package: Any) -> None:
    simulation = SIMULATED[package](1)
    simulation.sensors.add("some", package.position_of(np.array([2, 0]), each=True))
    places = np.random.default_rng(0).normal(size=(1, len(simulation.positions()), 3))
    found = simulation.sensors.at(places, 0.0 * places)
    np.testing.assert_array_equal(np.stack(found, axis=1), places[:, [2, 0]])


def test_masses_that_are_gone_are_not_numbers() -> None:
    simulation = of_springs(1)
    simulation.sensors.add("some", springs.position_of(np.array([3, 1, 2]), each=True))
    before = simulation.sensors["some"].reshape(3, 3)
    with simulation.edit() as edit:
        edit.remove_masses([1], with_springs=True)
    after = simulation.sensors["some"].reshape(3, 3)
    assert np.isnan(after[1]).all()
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])


def test_one_of_several_robots() -> None:
    row = voxels3d.Robot(np.zeros((2, 1, 1), int))
    simulation = voxels3d.simulation([row, row], positions=[(0, 0, 0), (0.1, 0, 0)], collisions="all", **CPU)
    for name, robot in {"both": None, "first": 0, "second": 1}.items():
        simulation.sensors.add(name, voxels3d.position_of(robot=robot))
    simulation.sensors.add("cells", voxels3d.position_of(each=True, robot=1))
    first, second = simulation.sensors["first"], simulation.sensors["second"]
    np.testing.assert_allclose(second - first, [[0.1, 0.0, 0.0]], atol=1e-7)
    np.testing.assert_allclose(simulation.sensors["both"], 0.5 * (first + second), rtol=1e-6)
    np.testing.assert_allclose(simulation.sensors["cells"].reshape(2, 3).mean(axis=0), second[0], rtol=1e-6)
    with pytest.raises(InvalidValue, match="world 0 has the robots 0 to 1, not 2"):
        simulation.sensors.add("third", voxels3d.position_of(robot=2))
    with pytest.raises(InvalidValue, match="masses are not of robots: leave out robot=1"):
        springs.position_of(robot=1)
    with pytest.raises(InvalidValue, match="each must be True or False, not 'all'"):
        springs.position_of(each="all")  # type: ignore[arg-type]

"""Energies that sensors read on the device are those of the readout, in every physics and in every world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs, voxels, voxels3d
from annelid.core.energy import EnergySensor
from annelid.core.errors import InvalidValue, UnknownName
from annelid.shapes import Box, Rigid, ground, tet_beam

KINDS = ("kinetic", "rotational", "elastic", "gravitational", "total")
BALLAST = Rigid(Box((0.2, 0.1, 0.1)), motion="free", density=500.0, position=(0.0, 0.0, 0.4), name="ballast")
PRESS = Rigid(Box((0.1, 0.1, 0.1)), motion="driven", position=(0.0, 0.0, 0.9), name="press")


def of_springs(device: str, worlds: int) -> Any:
    body = springs.block((3, 2, 2), 0.1, damping=1.0).control("swell")
    far = ground(height=-1.0)  # with which the kernels are those of other tests
    return springs.simulation(body, dt=1e-4, obstacles=[far], worlds=worlds, device=device)


def of_grains(device: str, worlds: int) -> Any:
    places = np.array([[x, y, 0.04] for x in (-0.2, 0.2) for y in (-0.1, 0.0, 0.1)])
    bed = grains.Bed(places, 0.03)  # of equal grains: with kernels of other tests
    twist = grains.torque_control("twist", "ballast", "y", low=-5.0, high=5.0)
    obstacles = [ground(0.5), BALLAST, PRESS]
    return grains.simulation(bed, dt=1e-3, obstacles=obstacles, controls=[twist], worlds=worlds, device=device)


def of_voxels(device: str, worlds: int) -> Any:
    return voxels.simulation(voxels.tripod(), obstacles=[voxels.terrain("flat")], worlds=worlds, device=device)


SIMULATED = {"springs": of_springs, "grains": of_grains, "voxels": of_voxels}


def moved(physics: str, device: str, worlds: int, values: Any) -> Any:
    """A simulation that has moved by commands, with sensors of all energies."""
    simulation = SIMULATED[physics](device, worlds)
    package = {"springs": springs, "grains": grains, "voxels": voxels}[physics]
    for kind in KINDS:
        simulation.sensors.add(kind, package.energy_of(kind=kind))
    channels = simulation.controls.channels
    for channel in channels:
        simulation.controls[channel.name] = channel.low + (channel.high - channel.low) * np.asarray(values, float)
    simulation.step(20)
    return simulation


@pytest.mark.parametrize("physics", SIMULATED)
def test_energies_are_those_of_the_summary(physics: str, device: str) -> None:
    simulation = moved(physics, device, 1, [0.8])
    summary = simulation.summary()
    for kind in KINDS:
        wanted = getattr(summary, kind)
        np.testing.assert_allclose(simulation.sensors[kind], [[wanted]], rtol=2e-5, atol=1e-9)
    assert summary.kinetic > 0.0
    assert summary.elastic > 0.0 or physics == "grains"
    assert summary.rotational > 0.0 or physics == "springs"


@pytest.mark.parametrize("physics", SIMULATED)
def test_a_world_has_the_energy_that_it_has_alone(physics: str, device: str) -> None:
    many, alone = moved(physics, device, 3, [0.1, 0.5, 0.8]), moved(physics, device, 1, [0.8])
    np.testing.assert_array_equal(many.sensors.read().numpy()[2], alone.sensors.read().numpy()[0])
    assert len(np.unique(many.sensors["total"])) == 3


@pytest.mark.parametrize("physics", ["springs", "voxels"])
def test_parameters_of_worlds_count(physics: str, device: str) -> None:
    simulation = SIMULATED[physics](device, 2)
    package = {"springs": springs, "voxels": voxels}[physics]
    for kind in KINDS:
        simulation.sensors.add(kind, package.energy_of(kind=kind))
    simulation.parameters.set(
        {"gravity": [0.5, 1.5], "stiffness": [0.9, 1.0], "mass": [1.0, 1.3], "push_x": [1.0, 2.0]}
    )
    simulation.step(20)
    summary = simulation.summary()
    for kind in KINDS:
        np.testing.assert_allclose(simulation.sensors[kind].sum(), getattr(summary, kind), rtol=2e-5, atol=1e-9)


def test_parts_have_their_share(device: str) -> None:
    simulation = moved("springs", device, 1, [0.8])
    left = np.arange(simulation.solver.model.one.mass_count) < 5
    simulation.sensors.add("left", springs.energy_of(left))
    simulation.sensors.add("right", springs.energy_of(~left))
    parts = simulation.sensors["left"] + simulation.sensors["right"]
    np.testing.assert_allclose(parts, simulation.sensors["total"], rtol=1e-6)
    grainy = moved("grains", device, 1, [0.8])
    grainy.sensors.add("ballast", grains.energy_of("ballast", kind="kinetic"))
    grainy.sensors.add("grains", grains.grain_energy())
    parts = grainy.sensors["ballast"] + grainy.sensors["grains"]
    np.testing.assert_allclose(parts, grainy.sensors["kinetic"], rtol=1e-5)
    robots = moved("voxels", device, 1, [0.8])
    robots.sensors.add("robot", voxels.energy_of(0))
    np.testing.assert_array_equal(robots.sensors["robot"], robots.sensors["total"])


@pytest.mark.parametrize("worlds", [1, 2])
def test_energy_of_a_solid(worlds: int) -> None:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda x: x[:, 0] < 1e-6)
    simulation = fem.simulation(solid, dt=5e-3, dynamic=True, worlds=worlds, device="cpu", threads=1)
    for kind in KINDS:
        simulation.sensors.add(kind, fem.energy_of(kind=kind))
    simulation.step(3)
    summary = simulation.summary()
    for kind in KINDS:
        wanted = [[getattr(summary, kind) / worlds]] * worlds
        np.testing.assert_allclose(simulation.sensors[kind], wanted, rtol=1e-6, atol=1e-12)
    assert summary.kinetic > 0.0


def test_sides_of_a_coupled_world(device: str) -> None:
    body = springs.block((3, 3, 3), 0.05).moved((0.0, 0.0, 0.3))
    sand = grains.Grain(friction=0.3, rolling=0.1)  # with kernels of the tests of the coupling
    bed = grains.Bed(np.array([[0.0, 0.0, 0.05], [0.2, 0.0, 0.05]]), np.array([0.03, 0.04]), sand)
    simulation = coupling.simulation(body, bed, obstacles=[ground(0.5)], device=device, threads=1)
    simulation.sensors.add("body", springs.energy_of())
    simulation.sensors.add("bed", grains.energy_of())
    simulation.step(20)
    parts = simulation.summary().parts
    np.testing.assert_allclose(simulation.sensors["body"], [[parts["springs"].total]], rtol=1e-5)
    np.testing.assert_allclose(simulation.sensors["bed"], [[parts["grains"].total]], rtol=1e-5)


def test_all_physics_have_one_sensor_of_energy() -> None:
    for package in (springs, grains, voxels, voxels3d, fem):
        assert type(package.energy_of()) is EnergySensor


def test_energies_that_cannot_be_read_are_refused() -> None:
    for package in (springs, grains, voxels, voxels3d, fem):
        with pytest.raises(UnknownName, match="Did you mean 'kinetic'"):
            package.energy_of(kind="kinetik")
    simulation = of_grains("cpu", 1)
    with pytest.raises(InvalidValue, match="press.* is moved whatever it weighs and has no energy"):
        simulation.sensors.add("press", grains.energy_of("press"))
    with pytest.raises(InvalidValue, match="energy of masses cannot be read from a simulation of grains"):
        simulation.sensors.add("masses", springs.energy_of())
    with pytest.raises(InvalidValue, match="the robots 0 to 0, not 3"):
        of_voxels("cpu", 1).sensors.add("robot", voxels.energy_of(3))


@pytest.mark.parametrize("worlds", [None, 2])
def test_broken_springs_hold_no_energy(device: str, worlds: int | None) -> None:
    chain = springs.Body(
        positions=[[0, 0, 0], [1, 0, 0], [2, 0, 0]], masses=1.0, springs=[[0, 1], [1, 2]], rest_lengths=[0.5, 0.9],
        stiffness=50.0,
    )  # fmt: skip
    chain.yield_strains[:] = 0.2, np.inf
    simulation = springs.simulation(chain, gravity=(0, 0, 0), dt=1e-6, worlds=worlds, device=device)
    simulation.sensors.add("elastic", springs.energy_of(kind="elastic"))
    simulation.step(2)
    assert simulation.events[0].kind == "broken"
    np.testing.assert_allclose(simulation.sensors["elastic"].ravel(), 0.5 * 50.0 * 0.1**2, rtol=1e-4)
    assert simulation.summary().elastic == pytest.approx(0.25 * (worlds or 1), rel=1e-4)

"""Parameters in which worlds of solids differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Choice, LogUniform, Normal, Uniform, fem
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look, Mesh, host_array
from annelid.shapes import Plane

from .robots.robots import hollow, hollow_solid, trunk
from .solids import bar

AIR = fem.Pneumatic(name="air", pressure=(0.0, 6e4))
AT_REST = {
    "stiffness": Uniform(0.9, 1.2),
    "mass": LogUniform(0.8, 1.2),
    "gravity": Normal(1.0, 0.05),
    "slope_x": Choice([-0.1, 0.1]),
    "gain": Uniform(0.9, 1.1),
}
FIVE = {**AT_REST, "damping": Uniform(0.5, 1.5)}


def motion(**options: Any) -> Any:
    """A hollow finger along x in motion."""
    settings: dict[str, Any] = {"actuators": [AIR], "dt": 0.01, "velocity_damping": 20.0, "threads": 1, **options}
    return fem.simulation(hollow_solid(), **{"device": "cpu", **settings})


def kept(**options: Any) -> Any:
    """The same on the ground with a factor that is kept, which states carry."""
    return motion(linear="kept", obstacles=[Plane(point=(0.0, 0.0, -0.0165))], **options)


def rest(**options: Any) -> Any:
    """The same from equilibrium to equilibrium."""
    return motion(dynamic=False, ramp=0.02, **options)


def held(**options: Any) -> Any:
    """A robot whose chamber is held at the volume that is commanded, on the ground that its tip touches."""
    chamber = fem.Pneumatic(name="air", growth=(0.0, 8e-6))
    robot = hollow(chamber, obstacles=[Plane(point=(0.0, 0.0, -0.0165))])
    return fem.forward_simulation(robot, strokes=["air"], **options)


def watery(**options: Any) -> Any:
    """A robot that a liquid fills, whose weight is found by columns."""
    water = fem.Hydraulic(name="air", pressure=(0.0, 5e3), weight="columns", cells=8)
    return fem.forward_simulation(hollow(water), **options)


def full(**options: Any) -> Any:
    """The same with a potential of the weight."""
    return fem.forward_simulation(hollow(fem.Hydraulic(name="air", pressure=(0.0, 5e3))), **options)


def partly(**options: Any) -> Any:
    """The same, half filled, in motion."""
    water = fem.Hydraulic(name="air", pressure=(0.0, 5e3), fluid=fem.Fluid(volume=8e-6))
    return motion(actuators=[water], **options)


def act(simulation: Any) -> None:
    simulation.controls.command({"air": 0.05 * simulation.controls.highs[0]}, ramp=1.5 * simulation.dt)
    simulation.step(2)


def laws(simulation: Any) -> Any:
    return FIVE if "damping" in simulation.parameters else AT_REST


@pytest.mark.parametrize("make", [motion, kept, rest, held, watery, full, partly])
def test_a_world_with_its_own_parameters_is_the_one_alone(make: Callable[..., Any]) -> None:
    seeds = [5, 3]
    several = make(worlds=2)
    several.parameters.randomise(laws(several), seeds=seeds)
    act(several)
    several.reset(worlds=[1])
    act(several)
    several.parameters["push_y"] = [1.0, 0.0]
    several.step()
    places = np.split(several.positions(), 2)
    alone = make()
    for world, seed in enumerate(seeds):
        alone.reset()
        alone.parameters.set({"push_y": 0.0})
        alone.parameters.randomise(laws(alone), seeds=[seed])
        act(alone)
        if world == 1:
            alone.reset(worlds=[0])
        act(alone)
        alone.parameters["push_y"] = [1.0, 0.0][world]
        alone.step()
        np.testing.assert_array_equal(alone.parameters.values()[0], several.parameters.values()[world])
        np.testing.assert_array_equal(alone.positions(), places[world])
    assert not np.array_equal(*places)


@pytest.mark.parametrize("make", [motion, rest, full])
def test_parameters_at_rest_and_parameters_of_others_change_nothing(make: Callable[..., Any]) -> None:
    """Not to the bit, although another world has stiffened the model that they share."""
    plain, several = make(), make(worlds=2)
    several.parameters.set({"stiffness": [1.0, 3.0], "mass": [1.0, 0.5], "gravity": [1.0, 0.2]})
    for simulation in (plain, several):
        act(simulation)
    np.testing.assert_array_equal(np.split(several.positions(), 2)[0], plain.positions())


@pytest.mark.parametrize("make", [kept, watery])
def test_parameters_are_saved_with_the_state(make: Callable[..., Any], tmp_path: Path) -> None:
    simulation, other = make(worlds=2), make(worlds=2)
    simulation.parameters.randomise(laws(simulation))
    act(simulation)
    simulation.save(tmp_path / "state.npz")
    simulation.step(2)
    other.load(tmp_path / "state.npz")
    other.step(2)
    np.testing.assert_array_equal(other.parameters.values(), simulation.parameters.values())
    assert other.state_hash() == simulation.state_hash()


def test_a_falling_solid_feels_gravity_slope_and_push(device: str) -> None:
    solid = fem.Solid(bar().mesh, bar().materials[0])
    falling = fem.simulation(solid, dt=0.01, worlds=4, velocity_damping=1.0, device=device)
    falling.parameters.set(
        {
            "gravity": [1.0, 0.5, 1.0, 1.0],
            "slope_x": [0.0, 0.0, 0.3, 0.0],
            "push_y": [0.0, 0.0, 0.0, 2.0],
            "mass": [1.0, 3.0, 1.0, 1.0],
            "damping": [0.0, 0.0, 0.0, 2.0],
        }
    )
    for kind in ("kinetic", "gravitational"):
        falling.sensors.add(kind, fem.energy_of(kind=kind))
    falling.run(0.05)
    slowed = (1.0 - 1.02**-5) / 2.0  # backward Euler with a rate of 2/s
    pulls = [[0, 0, -9.81], [0, 0, -4.905], [-9.81 * np.sin(0.3), 0, -9.81 * np.cos(0.3)], [0, 2, -9.81]]
    expected = np.array(pulls) * np.array([0.05, 0.05, 0.05, slowed])[:, None]
    speeds = falling.velocities().reshape(4, -1, 3)
    np.testing.assert_allclose(speeds, np.broadcast_to(expected[:, None], speeds.shape), rtol=1e-6, atol=1e-9)
    summary, mass = falling.summary(), 1000.0 * 0.2**2
    assert summary.mass == pytest.approx(6.0 * mass)
    np.testing.assert_allclose(summary.momentum, mass * ([1.0, 3.0, 1.0, 1.0] @ expected), rtol=1e-6, atol=1e-9)
    assert float(falling.sensors["kinetic"].sum()) == pytest.approx(summary.kinetic, rel=1e-5)
    assert float(falling.sensors["gravitational"].sum()) == pytest.approx(summary.gravitational, rel=1e-5)
    assert summary.kinetic == pytest.approx(0.5 * mass * ([1.0, 3.0, 1.0, 1.0] @ (expected**2).sum(axis=1)))


def test_a_cantilever_sinks_with_its_weight_and_against_its_stiffness(device: str) -> None:
    """By little, so that it sinks in proportion; a solid twice as stiff under twice the weight is the same."""
    sinking = fem.simulation(bar(), dynamic=False, worlds=4, gravity=(0.0, 0.0, -1e-3), device=device)
    sinking.parameters.set({"gravity": [1.0, 3.0, 1.0, 2.0], "stiffness": [1, 1, 4, 2], "mass": [1, 1, 0.5, 1]})
    sinking.sensors.add("tip", fem.position_of("tip"))
    sinking.sensors.add("energy", fem.strain_energy())
    sinking.sensors.add("elastic", fem.energy_of(kind="elastic"))
    before = sinking.sensors["tip"][:, 2].copy()
    sinking.step()
    tips = np.array([p.reshape(-1, 3)[:, 2].min() for p in np.split(sinking.positions(), 4)]) + 0.1
    np.testing.assert_allclose(tips / tips[0], [1.0, 3.0, 0.125, 1.0], rtol=1e-4)
    assert (sinking.sensors["tip"][:, 2] < before).all()
    energies = sinking.sensors["energy"][:, 0]
    np.testing.assert_allclose(energies / energies[0], [1.0, 9.0, 0.0625, 2.0], rtol=1e-4)
    np.testing.assert_allclose(sinking.sensors["elastic"][:, 0], energies, rtol=1e-5)
    assert sinking.summary().elastic == pytest.approx(float(energies.sum()), rel=1e-5)


@pytest.mark.parametrize(
    "liquid",
    [{}, {"weight": "columns", "cells": 8}, {"fluid": fem.Fluid(volume=8e-6)}],
    ids=["full", "columns", "partly"],
)
def test_liquids_feel_the_pull_of_their_world(liquid: dict[str, Any]) -> None:
    """As that of a robot that was built under it."""
    pull = 1.5 * 9.81 * np.array([-np.sin(0.3), 0.0, -np.cos(0.3)]) + [0.0, 2.0, 0.0]
    water = fem.Hydraulic(name="water", pressure=(0.0, 5e3), **liquid)
    built = fem.forward_simulation(hollow(water, gravity=tuple(pull.tolist())))
    varied = fem.forward_simulation(hollow(water))
    plain = varied.positions()
    varied.parameters.set({"gravity": 1.5, "slope_x": 0.3, "push_y": 2.0})
    for simulation in (built, varied):
        simulation.step()
    assert np.abs(varied.positions() - plain).max() > 1e-3
    np.testing.assert_allclose(varied.positions(), built.positions(), atol=1e-7)
    varied.parameters.set({"gravity": 0.0, "push_y": 0.0})
    varied.step()
    np.testing.assert_allclose(varied.positions(), varied.solver.model.solid.nodes, atol=1e-7)


def test_pictures_show_the_stress_of_each_world() -> None:
    pulled = bar()
    pulled.pull("tip", (40.0, 0.0, 0.0))
    simulation = fem.simulation(pulled, dynamic=False, worlds=2, gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.parameters["stiffness"] = [1.0, 5.0]
    simulation.step()
    picture = next(p for p in simulation.snapshot(Look(fields=("von-mises",))).parts if isinstance(p, Mesh))
    first, second = np.split(host_array(picture.fields["von-mises"].values), 2)
    np.testing.assert_allclose(first, second, rtol=1e-2)  # the same force, whatever the stiffness


def test_gain_and_lag_of_controls() -> None:
    simulation = rest(worlds=3)
    simulation.parameters.set({"gain": [1.0, 0.5, 1.0], "lag": [0.0, 0.0, 0.01]})
    simulation.sensors.add("pressure", fem.effort_of("air"))
    simulation.controls["air"] = 2e3
    simulation.step()
    np.testing.assert_allclose(simulation.sensors["pressure"][:, 0], [2e3, 1e3, 2e3 * (1 - np.exp(-1))], rtol=1e-6)


def test_inverse_control_finds_what_a_stiffer_robot_needs() -> None:
    """Without gravity twice the tension holds a robot that is twice as stiff in the same place."""
    tensions = []
    for stiffness in (1.0, 2.0):
        simulation = fem.inverse_simulation(trunk())
        simulation.parameters.set({"gravity": 0.0, "stiffness": stiffness})
        simulation.solver.aim(simulation.state, {"tip": (0.149, 0.0, 0.01)})
        simulation.step(4)
        tensions.append(simulation.solver.readout.efforts(simulation.state)["up"])
    assert tensions[1] == pytest.approx(2.0 * tensions[0], rel=1e-3)


def test_inverse_control_with_an_old_stiffness_takes_a_new_one_with_new_parameters(tmp_path: Path) -> None:
    simulation, other = (fem.inverse_simulation(trunk(), refresh=3) for _ in range(2))
    simulation.solver.aim(simulation.state, {"tip": (0.149, 0.0, 0.01)})
    simulation.step(2)
    simulation.parameters.set({"gravity": 0.5, "stiffness": 2.0})
    simulation.save(tmp_path / "state.npz")
    other.load(tmp_path / "state.npz")
    for each in (simulation, other):
        each.step(2)
    assert other.state_hash() == simulation.state_hash()


def test_what_would_change_nothing_is_refused() -> None:
    undamped = fem.simulation(hollow_solid(), device="cpu")
    with pytest.raises(InvalidValue, match="velocity_damping"):
        undamped.parameters.randomise({"damping": Uniform(0.5, 2.0)})
    assert "damping" not in rest().parameters
    assert "friction" not in held().parameters
    water = hollow(fem.Hydraulic(name="water", pressure=(0.0, 5e3)), gravity=(0.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="would feel no push"):
        fem.forward_simulation(water).parameters["push_x"] = 1.0
    with pytest.raises(InvalidValue, match="'stiffness' cannot be 0"):
        undamped.parameters["stiffness"] = 0.0

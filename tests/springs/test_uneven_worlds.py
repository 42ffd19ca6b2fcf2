"""Worlds of spring bodies on ground of their own: heights as a factor says, and another part of a large field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import Uniform, springs
from annelid.core.errors import InvalidValue
from annelid.shapes import HeightField, Rigid, ground
from annelid.view import sensors

HEIGHTS = 0.05 * np.random.default_rng(3).random((12, 9))
SPACING = 0.1
LAWS = {"terrain": Uniform(0.0, 2.0), "terrain_x": Uniform(-0.3, 0.3), "terrain_y": Uniform(-0.2, 0.2)}


def simulated(device: str, worlds: int = 1, heights: Any = HEIGHTS, **where: Any) -> Any:
    """A small block that drops onto a field whose zero is 0.1 m below the origin."""
    field = Rigid(HeightField(heights, SPACING, **where), position=(0.0, 0.0, -0.1))
    body = springs.block((3, 3, 2), 0.1, damping=20.0).moved((-0.07, -0.1, 0.0))
    return springs.simulation(body, dt=2e-4, obstacles=[field], worlds=worlds, device=device)


def test_a_world_on_its_own_ground_is_the_one_alone(device: str) -> None:
    seeds = [5, 3, 8]
    several = simulated(device, 3)
    several.parameters.randomise(LAWS, seeds=seeds)
    several.run(0.1)
    several.reset([1])
    several.run(0.2)
    places = several.positions().reshape(3, -1, 3)
    assert len({row.tobytes() for row in places}) == 3
    for world, seed in enumerate(seeds):
        alone = simulated(device)
        alone.parameters.randomise(LAWS, seeds=[seed])
        alone.run(0.1)
        if world == 1:
            alone.reset([0])
        alone.run(0.2)
        np.testing.assert_array_equal(alone.parameters.values()[0], several.parameters.values()[world])
        np.testing.assert_array_equal(alone.positions(), places[world])


def test_ground_is_what_another_field_would_be(device: str) -> None:
    several = simulated(device, 4)
    several.parameters.set({"terrain": [1.0, 0.0, 2.0, 1.0], "terrain_x": [0.0, 0.0, 0.0, 0.25]})
    several.run(0.2)
    corner = HeightField(HEIGHTS, SPACING).begin
    others = [
        simulated(device),
        simulated(device, heights=0.0 * HEIGHTS),
        simulated(device, heights=2.0 * HEIGHTS),
        simulated(device, corner=(corner[0] + 0.25, corner[1])),
    ]
    for other, places in zip(others, several.positions().reshape(4, -1, 3), strict=True):
        other.run(0.2)
        np.testing.assert_allclose(other.positions(), places, atol=1e-5)


def test_sensors_feel_and_see_the_ground_of_their_world(device: str) -> None:
    hill = np.zeros((5, 5))
    hill[2, 2] = 0.2
    simulation = simulated(device, 3, heights=hill)
    simulation.parameters.set({"terrain": [1.0, 0.0, 2.0], "terrain_x": [0.0, 0.0, 0.1]})
    simulation.sensors.add("down", sensors.lidar([(0, 0, -1)], position=(0.18, 0.0, 1.0), far=9.0))
    simulation.sensors.add("touch", springs.touch_of())
    down = simulation.sensors["down"][:, 0]
    np.testing.assert_allclose(down, [1.1, 1.1, 1.1 - 0.2 * 0.4], atol=1e-5)
    assert (simulation.sensors["touch"][:, 0] > 0.0).tolist() == [True, False, True]
    simulation.parameters["terrain"] = 0.0
    np.testing.assert_allclose(simulation.sensors["down"][:, 0], 1.1, atol=1e-5)


def test_level_ground_has_no_shape_to_change() -> None:
    body = springs.block((2, 2, 2), 0.1)
    simulation = springs.simulation(body, obstacles=[ground(0.5)], device="cpu")
    with pytest.raises(InvalidValue, match="parameter 'terrain_x' needs ground with heights"):
        simulation.parameters.randomise({"terrain_x": Uniform(-1.0, 1.0)})
    assert not simulation.state.variation.there
    with pytest.raises(InvalidValue, match="'terrain' cannot be -1"):
        simulated("cpu").parameters["terrain"] = -1.0

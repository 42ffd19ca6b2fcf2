"""Worlds that are stepped together touch as they do one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.batch.choice import SteppedOneByOne, how_together
from annelid.materials import Material, NeoHooke
from annelid.shapes import Box, Plane, Rigid, Surface, ground

from ..robots.robots import hyperelastic_hollow
from .bodies import block, least_gap

G = 9.81
RUBBER = Material.hyperelastic("rubber", NeoHooke(1e5 / 2.6), density=1000.0, poisson_ratio=0.3)


def rubber_block() -> fem.Solid:
    """A block of a material with a law on the ground."""
    return fem.Solid(block().mesh, RUBBER, surface=Surface(friction=0.5))


def touching(solid: fem.Solid, *obstacles: Any, **options: Any) -> Any:
    settings: dict[str, Any] = {"worlds": 2, "together": True, "dt": 0.01, "device": "cpu", "threads": 1, **options}
    return fem.simulation(solid, obstacles=obstacles, **settings)


def mean_velocities(simulation: Any) -> np.ndarray:
    """Mean velocity of the nodes of each world [m/s], shape [worlds, 3]."""
    return np.asarray(simulation.velocities().reshape(simulation.solver.worlds, -1, 3).mean(axis=1))


def test_a_block_sticks_in_one_world_and_slides_in_another() -> None:
    simulation = touching(rubber_block(), ground(friction=0.5))
    simulation.parameters["slope_x"] = np.radians([26.0, 27.5])
    simulation.step(30)
    before, places = mean_velocities(simulation), simulation.positions()
    simulation.step(20)
    crept = np.abs(np.split(simulation.positions() - places, 2)[0]).max() / 0.2
    assert crept < 1e-5
    angle = np.radians(27.5)
    expected = G * (np.sin(angle) - 0.5 * np.cos(angle))
    gained = np.linalg.norm((mean_velocities(simulation) - before)[1]) / 0.2
    assert gained == pytest.approx(expected, rel=0.02)
    assert simulation.state.unsettled.numpy().tolist() == [0, 0]
    weight = G * simulation.solver.model.solid.mass * np.cos(angle)
    pushed = simulation.state.touch.forces.numpy().reshape(2, -1, 3).sum(axis=1)
    assert pushed[1, 2] == pytest.approx(weight, rel=1e-3)


def test_a_finger_that_hits_the_ground_moves_as_one_by_one() -> None:
    air = fem.Pneumatic(name="air", pressure=(0.0, 2e4))
    pair = [
        touching(
            hyperelastic_hollow(), Plane(point=(0.0, 0.0, -0.018)), together=how, dt=5e-3, actuators=[air],
            velocity_damping=5.0,
        )
        for how in (False, True)
    ]  # fmt: skip
    for simulation in pair:
        simulation.controls["air"] = [1e3, 4e3]
        simulation.parameters["stiffness"] = [1.0, 0.8]
        simulation.step(14)
    rest = np.tile(pair[0].solver.model.solid.nodes, (2, 1))
    one_by_one, together = (simulation.positions() for simulation in pair)
    touched = np.abs(pair[0].state.touch.forces.numpy()).reshape(2, -1).sum(axis=1)
    assert (touched > 0.01).all()
    assert np.abs(one_by_one - together).max() < 0.01 * np.abs(one_by_one - rest).max()
    assert simulation.state.touch.forces.numpy()[:, 2].sum() == pytest.approx(
        pair[0].state.touch.forces.numpy()[:, 2].sum(), rel=0.02
    )


def test_a_plate_that_is_driven_carries_a_block_along() -> None:
    plate = Rigid(Box((0.4, 0.4, 0.02)), motion="driven", position=(0.04, 0.04, -0.01), velocity=(0.05, 0.0, 0.0))
    simulation = touching(rubber_block(), plate)
    simulation.step(30)
    np.testing.assert_allclose(mean_velocities(simulation)[:, 0], 0.05, atol=2e-4)
    np.testing.assert_allclose(simulation.state.touch.places.numpy()[:, 0], 0.04 + 0.05 * 0.3, rtol=1e-9)


def test_fast_blocks_do_not_go_through_thin_plates_and_are_the_same_alone() -> None:
    """They fly up to 5 cm a step towards a plate of 5 mm."""
    plate = Rigid(Box((0.4, 0.4, 0.005)), position=(0.04, 0.04, -0.1))
    many, alone = (touching(rubber_block(), plate, gravity=(0.0, 0.0, 0.0), worlds=count) for count in (3, 1))
    speeds = np.array([-5.0, -1.0, -3.0])
    nodes = many.solver.model.node_count
    many.state.velocities.assign(np.repeat(speeds, nodes)[:, None] * [0.0, 0.0, 1.0])
    alone.state.velocities.fill_(wp.vec3d(0.0, 0.0, -3.0))
    for _ in range(8):
        many.step(1)
        alone.step(1)
        assert least_gap(alone) > 0.0
        assert many.positions()[:, 2].min() > -0.0975
    assert many.state.touch.cut.numpy()[0] >= 1
    np.testing.assert_array_equal(np.split(many.positions(), 3)[2], alone.positions())
    pairs = np.split(many.state.touch.stretches.numpy(), 3)
    np.testing.assert_array_equal(pairs[2], alone.state.touch.stretches.numpy())


def test_paths_are_refused() -> None:
    def sink(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.outer(times, [0.0, 0.0, -0.1]) - [0.0, 0.0, 0.2], np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))

    wall = Rigid(Box((0.1, 0.1, 0.1)), motion=sink)
    with pytest.raises(InvalidValue, match="obstacle 0, a Box, follows a path, drive it by velocity and spin"):
        touching(rubber_block(), wall)


def test_contacts_that_lead_conjugate_gradients_save_iterations() -> None:
    """Nine nodes on the ground: three iterations do where without their contacts they leave every step unsolved."""
    unsettled = []
    for contacts in (0, 16):
        few = fem.Together(newtons=4, gradients=3, contacts=contacts)
        simulation = touching(rubber_block(), ground(), together=few, worlds=1)
        simulation.step(10)
        unsettled.append(int(simulation.state.unsettled.numpy()[0]))
    assert unsettled[0] >= 5
    assert unsettled[1] == 0


def test_more_contacts_than_there_is_room_for_are_left_to_conjugate_gradients() -> None:
    roomy, tight = (
        touching(rubber_block(), ground(), together=fem.Together(newtons=6, gradients=16, contacts=contacts), worlds=1)
        for contacts in (16, 4)
    )
    for simulation in (roomy, tight):
        simulation.step(10)
    assert tight.state.unsettled.numpy()[0] == 0
    np.testing.assert_allclose(tight.positions(), roomy.positions(), atol=1e-6)


def test_many_worlds_on_a_gpu_that_cannot_be_stepped_together_are_warned_of() -> None:
    gpu: Any = SimpleNamespace(is_cpu=False)
    asked: dict[str, Any] = {"worlds": 64, "dynamic": True, "more": False, "itself": False}
    assert how_together("auto", rubber_block(), fem.World(), [], gpu, corners=False, **asked) is not None
    with pytest.warns(SteppedOneByOne, match="64 worlds are stepped one after the other.*corners and edges"):
        assert how_together("auto", rubber_block(), fem.World(), [], gpu, corners=True, **asked) is None
    with pytest.warns(SteppedOneByOne, match="need laws"):
        assert how_together("auto", block(), fem.World(), [], gpu, corners=False, **asked) is None

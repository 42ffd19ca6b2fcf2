"""Free rigid bodies in worlds that are stepped together: as one by one, and what one gains the other loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.materials import Material, NeoHooke
from annelid.shapes import Box, Capsule, Rigid, Shape, Sphere, Surface, ground, turned_about

from .bodies import block

G = 9.81
RUBBER = Material.hyperelastic("rubber", NeoHooke(1e5 / 2.6), density=1000.0, poisson_ratio=0.3)
PRECISE = fem.Together(newtons=8, gradients=24, rough=1e-5, fine=1e-6)
pytestmark = pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")


def rubber_block(at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> fem.Solid:
    """A block of a material with a law."""
    return fem.Solid(block(at=at).mesh, RUBBER, surface=Surface(friction=0.5))


def touching(solid: fem.Solid, *obstacles: Any, **options: Any) -> Any:
    settings: dict[str, Any] = {"worlds": 2, "together": PRECISE, "dt": 0.01, "device": "cpu", "threads": 1, **options}
    return fem.simulation(solid, obstacles=obstacles, **settings)


def momenta(simulation: Any, body: Rigid) -> np.ndarray:
    """Momentum of the solid and of the first obstacle in each world [kg m/s], shape [worlds, 3]."""
    worlds, solid = simulation.solver.worlds, simulation.solver.model.solid
    nodes = simulation.velocities().reshape(worlds, -1, 3)
    bodies = simulation.state.touch.velocities.numpy().reshape(worlds, -1, 3)[:, 0]
    return np.asarray(np.einsum("n,wni->wi", solid.weights(), nodes) + body.total_mass * bodies)


@pytest.mark.parametrize("shape", [Sphere(0.03), Capsule(0.03, 0.02, axis=(1.0, 0.5, 0.0))], ids=["ball", "capsule"])
def test_a_body_that_falls_on_a_block_moves_as_one_by_one(shape: Shape) -> None:
    solid = rubber_block().fix(lambda p: p[:, 2] < 1e-9)
    body = Rigid(shape, motion="free", position=(0.05, 0.045, 0.085), velocity=(0.1, 0.0, -0.5))
    pair = [touching(solid, body, together=how, dt=5e-3) for how in (False, PRECISE)]
    for simulation in pair:
        simulation.parameters["stiffness"] = [1.0, 0.6]
        simulation.step(10)
    one_by_one, together = (simulation.state.touch for simulation in pair)
    moved = np.abs(one_by_one.places.numpy() - pair[0].solver.contacts.first_state().places.numpy()).max()
    assert moved > 0.01
    assert np.abs(one_by_one.places.numpy() - together.places.numpy()).max() < 2e-3 * moved
    spins = one_by_one.spins.numpy()
    assert np.abs(spins).max() > 0.5
    np.testing.assert_allclose(together.spins.numpy(), spins, atol=0.02 * np.abs(spins).max())
    np.testing.assert_allclose(pair[1].positions(), pair[0].positions(), atol=1e-3 * moved)


@pytest.mark.parametrize("shape", [Sphere(0.04), Box((0.06, 0.06, 0.06))], ids=["ball", "box"])
def test_a_collision_keeps_the_momentum(shape: Shape) -> None:
    body = Rigid(
        shape, motion="free", position=(0.06, 0.05, 0.1), velocity=(0.1, 0.0, -0.5), rotation=turned_about("z", 0.4)
    )
    simulation = touching(rubber_block(), body, gravity=(0.0, 0.0, 0.0))
    simulation.parameters["stiffness"] = [1.0, 2.0]
    before, was = momenta(simulation, body), simulation.state.touch.velocities.numpy().copy()
    for _ in range(6):
        simulation.step()
        np.testing.assert_allclose(momenta(simulation, body), before, atol=2e-6 * np.abs(before).max())
    assert np.linalg.norm(simulation.state.touch.velocities.numpy() - was, axis=1).min() > 0.1


def test_a_block_on_a_box_on_the_ground_comes_to_rest_and_is_the_same_alone() -> None:
    box = Rigid(Box((0.06, 0.06, 0.06)), motion="free", position=(0.04, 0.04, 0.03), density=500.0)
    options: dict[str, Any] = {"velocity_damping": 5.0, "dt": 0.02, "together": True}
    many, alone = (touching(rubber_block((0.0, 0.0, 0.1)), ground(), box, worlds=n, **options) for n in (2, 1))
    many.parameters["push_x"] = [0.0, 0.5]
    alone.parameters["push_x"] = 0.5
    many.step(40)
    alone.step(40)
    touch, solid = many.state.touch, many.solver.model.solid
    np.testing.assert_allclose(touch.velocities.numpy(), 0.0, atol=1e-4)
    forces, points = (each.numpy().reshape(2, -1, 3).sum(axis=1) for each in (touch.forces, touch.point_forces))
    np.testing.assert_allclose(forces[:, 2], G * solid.mass, rtol=1e-3)
    np.testing.assert_allclose(points[:, 2], G * (solid.mass + box.total_mass), rtol=1e-3)
    for name in ("places", "turns", "spins", "point_stretches", "stretches"):
        here, there = (vars(simulation.state.touch)[name].numpy() for simulation in (many, alone))
        np.testing.assert_array_equal(np.split(here, 2)[1], there)
    np.testing.assert_array_equal(np.split(many.positions(), 2)[1], alone.positions())

"""Free rigid bodies in worlds that are stepped together: as one by one, and what one gains the other loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look
from annelid.materials import Material, NeoHooke
from annelid.shapes import Box, Capsule, Rigid, Shape, Sphere, Surface, ground, turned_about

from .bodies import block, turning_of

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


def test_a_plate_in_flight_keeps_its_angular_momentum_and_its_energy() -> None:
    plate = Rigid(Box((0.1, 0.02, 0.005)), motion="free", mass=0.02, position=(0.0, 0.0, 1.0), spin=(6.0, 20.0, 4.0))
    solid = rubber_block().fix(lambda p: p[:, 2] < 1e-9)
    simulation = touching(solid, plate, gravity=(0.0, 0.0, 0.0), dt=2e-3)
    before = [turning_of(simulation, plate, row) for row in range(2)]
    simulation.run(0.5)
    for row, (momentum, energy) in enumerate(before):
        later, now = turning_of(simulation, plate, row)
        np.testing.assert_allclose(later, momentum, atol=1e-5 * np.linalg.norm(momentum))
        assert now == pytest.approx(energy, rel=5e-3)


@pytest.mark.parametrize("loose", [False, True])
def test_iterations_that_nobody_asks_for_are_enough_for_a_ten_thousandth(loose: bool) -> None:
    """On a loose block a node comes to stick in one step, where iterations once went round in circles."""
    height = 0.011 if loose else 0.0
    solid, table = rubber_block((0.0, 0.0, height)), [ground()] if loose else []
    if not loose:
        solid.fix(lambda p: p[:, 2] < 1e-9)
    start = (0.05, 0.045, 0.085 + height)
    body = Rigid(Sphere(0.03), motion="free", position=start, velocity=(0.1, 0.0, -0.5))
    places = []
    for how in (False, True):
        simulation = touching(solid, *table, body, together=how, dt=0.01 if loose else 5e-3, worlds=1)
        simulation.step(16)
        places.append(np.concatenate([simulation.positions(), simulation.state.touch.places.numpy()]))
    moved = np.abs(places[0][-1] - start).max()
    assert np.abs(places[1] - places[0]).max() < 1e-4 * moved


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


def test_sizes_masses_and_frictions_of_worlds_are_as_if_bodies_were_built_so() -> None:
    solid = rubber_block().fix(lambda p: p[:, 2] < 1e-9)

    def capsule(size: float, mass: float, friction: float) -> Rigid:
        shape = Capsule(0.03 * size, 0.02 * size, axis=(1.0, 0.5, 0.0))
        options: dict[str, Any] = {"position": (0.05, 0.045, 0.085), "velocity": (0.1, 0.0, -0.5)}
        return Rigid(shape, Surface(friction=friction), motion="free", mass=mass, name="thing", **options)

    floor = ground(0.5, height=0.02)
    worlds = touching(solid, floor, capsule(1.0, 0.1, 0.5), dt=5e-3)
    worlds.parameters["body_size"] = [1.0, 0.8]
    worlds.parameters["body_mass"] = [1.0, 2.0]
    worlds.parameters["friction"] = [1.0, 0.2]
    built = capsule(0.8, 0.2, 0.02)  # with the friction of the solid, 0.1
    single = touching(solid, Rigid(floor.geometry, Surface(friction=0.02)), built, dt=5e-3, worlds=None, together=False)
    for simulation in (worlds, single):
        simulation.step(20)
    here, there = np.split(worlds.state.touch.places.numpy(), 2)[1][1], single.state.touch.places.numpy()[1]
    moved = np.abs(there - [0.05, 0.045, 0.085]).max()
    assert moved > 0.01
    assert np.abs(here - there).max() < 2e-3 * moved
    other = np.split(worlds.state.touch.places.numpy(), 2)[0][1]
    assert np.abs(other - there).max() > 0.2 * moved
    spins = single.state.touch.spins.numpy()[1]
    np.testing.assert_allclose(worlds.state.touch.spins.numpy()[3], spins, atol=0.02 * np.abs(spins).max())
    np.testing.assert_allclose(np.split(worlds.positions(), 2)[1], single.positions(), atol=2e-3 * moved)


def test_a_body_of_another_size_rests_on_the_ground() -> None:
    box = Rigid(Box((0.06, 0.06, 0.06)), motion="free", position=(0.25, 0.04, 0.05), density=500.0, name="box")
    simulation = touching(rubber_block((0.0, 0.0, 0.02)), ground(), box, velocity_damping=5.0, together=True)
    simulation.parameters["body_size"] = [1.0, 1.5]
    simulation.parameters["body_mass"] = [1.0, 1.5]
    simulation.step(30)
    reach = simulation.solver.contacts.settings.reach
    touch = simulation.state.touch
    heights = touch.places.numpy()[[1, 3], 2]
    assert (heights > [0.03, 0.045]).all()
    assert (heights < np.array([0.03, 0.045]) + reach).all()
    points = touch.point_forces.numpy().reshape(2, -1, 3).sum(axis=1)
    np.testing.assert_allclose(points[:, 2], G * box.total_mass * np.array([1.0, 1.5]), rtol=1e-3)


def test_a_ball_on_a_slope_rolls_where_friction_holds_it_and_slides_where_it_does_not() -> None:
    angle, radius = np.radians(30.0), 0.03
    beside = rubber_block((0.0, 1.0, 0.0)).fix(lambda p: p[:, 2] < 1e-9)
    ball = Rigid(Sphere(radius), Surface(friction=0.5), motion="free", position=(0.0, 0.0, 0.03))
    pull = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    simulation = touching(beside, ground(0.5), ball, gravity=pull)
    simulation.parameters["friction"] = [1.0, 0.2]
    simulation.step(10)
    touch = simulation.state.touch
    before = touch.velocities.numpy()[1::2, 0].copy(), touch.spins.numpy()[1::2, 1].copy()
    simulation.step(10)
    gains = (touch.velocities.numpy()[1::2, 0] - before[0]) / 0.1
    spun = (touch.spins.numpy()[1::2, 1] - before[1]) / 0.1
    np.testing.assert_allclose(
        gains, G * np.array([5 / 7 * np.sin(angle), np.sin(angle) - 0.1 * np.cos(angle)]), rtol=1e-4
    )
    np.testing.assert_allclose(spun * radius, G * np.array([5 / 7 * np.sin(angle), 0.25 * np.cos(angle)]), rtol=1e-4)


def test_bodies_are_placed_in_some_worlds_and_drawn_as_large_as_they_are() -> None:
    ball = Rigid(Sphere(0.03), motion="free", position=(0.25, 0.04, 0.05), name="ball")
    simulation = touching(rubber_block((0.0, 0.0, 0.02)), ball)
    simulation.parameters["body_size"] = [1.0, 2.0]
    places = wp.array([(1.0, 2.0, 3.0), (0.3, 0.1, 0.2)], dtype=wp.vec3d, device="cpu")
    turns = wp.array([(0.0, 0.0, 0.0, 1.0)] * 2, dtype=wp.quatd, device="cpu")
    mask = wp.array([False, True], dtype=wp.bool, device="cpu")
    solver = simulation.solver
    solver.place(simulation.state, "ball", places, turns, mask)
    np.testing.assert_array_equal(simulation.state.touch.places.numpy(), [(0.25, 0.04, 0.05), (0.3, 0.1, 0.2)])
    seen = solver.scenery().moving[-1].points(simulation.state).numpy().reshape(2, -1, 3)
    (ball_part,) = (part for part in solver.snapshot(simulation.state, Look()).parts if "ball" in part.name)
    drawn = np.split(ball_part.vertices, 2)
    for shown in (seen, drawn):
        np.testing.assert_allclose([0.5 * np.ptp(each[:, 2]) for each in shown], [0.03, 0.06], rtol=1e-5)
    with pytest.raises(InvalidValue, match="without obstacles"):
        fem.simulation(rubber_block(), device="cpu").solver.place(simulation.state, "ball", places, turns, mask)

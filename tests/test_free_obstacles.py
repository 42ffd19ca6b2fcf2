"""Free obstacles and driven ones that are commanded, under springs and 3-D voxels: conservation, rest, states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem, grains, springs, voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.state import state_hash
from annelid.shapes import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Obstacle,
    Rigid,
    Shape,
    Sphere,
    Surface,
    Torus,
    ground,
    tet_beam,
    turned_about,
)

from .test_incline import RUBBER

NOWHERE = (0.0, 0.0, 0.0)
DOWN = (0.0, 0.0, -9.81)
ROUGH = Surface(friction=0.5)


def spring_block(obstacles: Sequence[Obstacle], gravity: Any, *, z: float = 0.0, size: int = 4, **options: Any) -> Any:
    """A block of springs of 6 cm, above the height z."""
    side = 0.06 / (size - 1)
    body = springs.block((size, size, size), side, stiffness=300.0, damping=0.3, mass=0.27 / size**3)
    return springs.simulation(
        body.moved((-0.03, -0.03, z)), obstacles=obstacles, gravity=gravity, device="cpu", **{"threads": 1, **options}
    )


def voxel_block(obstacles: Sequence[Obstacle], gravity: Any, *, z: float = 0.0, size: int = 3, **options: Any) -> Any:
    """The same of voxels."""
    worlds = options.pop("worlds", 1)
    voxel = voxels3d.Voxel(youngs_modulus=1e5, global_damping=0.0)
    robot = voxels3d.Robot(np.zeros((size, size, size), int), (voxel,), 0.06 / size)
    positions = np.array([[-0.03, -0.03, z]] * worlds)
    return voxels3d.simulation(
        [robot] * worlds, obstacles=obstacles, gravity=gravity, positions=positions, device="cpu",
        **{"threads": 1, **options},
    )  # fmt: skip


PHYSICS: dict[str, Callable[..., Any]] = {"springs": spring_block, "voxels3d": voxel_block}
BOTH = pytest.mark.parametrize("make", PHYSICS.values(), ids=PHYSICS)


def ball(surface: Surface = ROUGH, **given: Any) -> Rigid:
    return Rigid(Sphere(0.03), surface, **{"motion": "free", "position": (0.01, 0.0, 0.12), "name": "ball", **given})


def summary(simulation: Any) -> Any:
    return simulation.solver.readout.summary(simulation.state)


def where(simulation: Any, name: str = "ball", world: int = 0) -> np.ndarray:
    return np.asarray(simulation.solver.readout.body_position(simulation.state, name, world))


def thrown(seed: int) -> Rigid:
    """A random body that is thrown at a block."""
    rng = np.random.default_rng(seed)
    shapes: list[Shape] = [
        Sphere(0.03), Box((0.05, 0.04, 0.03)), Capsule(0.015, 0.04), Cylinder(0.025, 0.03), Torus(0.03, 0.01),
        Box((0.05, 0.04, 0.03)).surface(),
    ]  # fmt: skip
    surface = Surface(friction=rng.uniform(0.0, 1.0), restitution=rng.uniform(0.0, 1.0))
    velocity, spin = (*rng.uniform(-0.2, 0.2, 2), rng.uniform(-1.5, -0.5)), tuple(rng.uniform(-10.0, 10.0, 3))
    return Rigid(
        shapes[seed % len(shapes)], surface if seed % 4 else ROUGH, motion="free", name="ball", cells=24,
        density=10.0 ** rng.uniform(1.5, 3.5), position=(*rng.uniform(-0.02, 0.02, 2), 0.12),
        rotation=turned_about("xyz"[seed % 3], rng.uniform(0.0, 3.0)), velocity=velocity, spin=spin,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@BOTH
def test_a_body_that_hits_a_block_conserves_momentum_and_gains_no_energy(make: Callable[..., Any], seed: int) -> None:
    if make is voxel_block and seed % 4:  # which have no restitution
        seed *= 4
    simulation = make([thrown(seed)], NOWHERE)
    before = summary(simulation)
    energy, speed = before.total, np.linalg.norm(before.momentum)
    for _ in range(10):
        simulation.run(0.02)
        now = summary(simulation)
        np.testing.assert_allclose(now.momentum, before.momentum, atol=3e-6 * speed)
        np.testing.assert_allclose(now.angular_momentum, before.angular_momentum, atol=1e-6 * speed)
        assert now.kinetic < (1.0 + 1e-5) * energy
    given = simulation.solver.readout.body_velocity(simulation.state, "ball")
    assert given[2] > thrown(seed).velocity[2] + 0.1


def test_the_bounce_of_a_heavy_block_off_a_body_has_the_restitution_of_the_surface() -> None:
    for restitution in (0.2, 0.8):
        for mass in (0.05, 5.0):
            plate = Rigid(
                Box((0.3, 0.3, 0.1)), Surface(friction=0.0, restitution=restitution), motion="free", mass=mass,
                position=(0.0, 0.0, 0.1), velocity=(0.0, 0.0, -0.5), name="ball",
            )  # fmt: skip
            body = springs.Body([[0.0, 0.0, 0.0]], [0.1], np.zeros((0, 2), int), [], [])
            simulation = springs.simulation(body, obstacles=[plate], gravity=NOWHERE, dt=5e-5, device="cpu", threads=1)
            simulation.run(0.5)
            apart = simulation.solver.readout.body_velocity(simulation.state, "ball") - simulation.velocities()[0]
            assert apart[2] == pytest.approx(0.5 * restitution, rel=0.05)


@BOTH
def test_a_body_in_flight_keeps_its_energy_and_its_angular_momentum(make: Callable[..., Any]) -> None:
    plate = Rigid(Box((0.1, 0.06, 0.01)), motion="free", position=(1.0, 0.0, 0.0), spin=(1.0, 30.0, 2.0), name="ball")
    simulation = make([plate], NOWHERE)
    before, upright = summary(simulation), []
    for _ in range(10):
        simulation.run(0.1)
        now = summary(simulation)
        x, _, z, _ = simulation.solver.readout.body_turn(simulation.state, "ball")
        upright.append(1.0 - 2.0 * (x * x + z * z))  # cosine of how far its y axis has turned away
        assert now.rotational == pytest.approx(before.rotational, rel=1e-3)
        np.testing.assert_allclose(now.angular_momentum, before.angular_momentum, atol=1e-9)
    assert min(upright) < -0.5  # about its middle axis a plate tumbles


@BOTH
def test_a_ball_comes_to_rest_on_a_block(make: Callable[..., Any]) -> None:
    tray = Rigid(Box((0.055, 0.055, 0.02)), ROUGH, motion="free", density=300.0, position=(0.0, 0.0, 0.09), name="ball")
    simulation = make([ground(0.5), tray], DOWN, z=0.001)
    simulation.run(1.5)
    speed = np.abs(simulation.solver.readout.body_velocity(simulation.state, "ball")).max()
    np.testing.assert_allclose(where(simulation), [0.0, 0.0, simulation.positions()[:, 2].max() + 0.01], atol=0.012)
    assert speed < 2e-2


@BOTH
def test_a_block_lands_on_a_plate_on_the_ground(make: Callable[..., Any]) -> None:
    plate = Rigid(Box((0.2, 0.2, 0.02)), ROUGH, motion="free", position=(0.0, 0.0, 0.011), name="ball")
    simulation = make([ground(0.5), plate], DOWN, z=0.05)
    before = summary(simulation).total
    simulation.run(1.0)
    np.testing.assert_allclose(where(simulation), [0.0, 0.0, 0.01], atol=1e-4)
    lowest = simulation.positions()[:, 2].min() - (0.01 if make is voxel_block else 0.0)
    assert 0.018 < lowest < 0.0205
    assert summary(simulation).total < before


@pytest.mark.parametrize("angle", [26.0, 28.0])
def test_a_free_box_slides_down_an_incline_as_everything_does(angle: float) -> None:
    slope = np.radians(angle)
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    simulation = spring_block(
        [ground(0.5), Rigid(Box((0.2, 0.2, 0.1)), ROUGH, motion="free", position=(2.0, 0.0, 0.05), name="ball")],
        gravity,
        z=1.0,
    )
    simulation.run(0.1)
    places = [where(simulation)]
    for _ in range(2):
        simulation.run(0.1)
        places.append(where(simulation))
    wanted = max(9.81 * (np.sin(slope) - 0.5 * np.cos(slope)), 0.0)
    found = np.diff([place[0] for place in places], n=2)[0] / 0.1**2
    assert found == pytest.approx(wanted, rel=0.01, abs=1e-4)
    assert angle > 27.0 or np.ptp([place[0] for place in places]) < 1e-5


def everything(paddle: Any = (0.0, 0.0, 2.0)) -> list[Obstacle]:
    """A closed mesh, a height field, a driven paddle, a free ball and a drum."""
    x = np.linspace(0.0, 3.0, 7)
    return [
        HeightField(0.004 * np.sin(x[:, None] + x), 0.1, corner=(-0.3, -0.3)),
        Rigid(Box((0.04, 0.04, 0.03)).surface(), ROUGH, position=(0.12, 0.0, 0.015), cells=16),
        Rigid(Box((0.2, 0.01, 0.04)), ROUGH, motion="driven", spin=paddle, position=(0.0, 0.14, 0.04), name="paddle"),
        ball(position=(0.0, 0.09, 0.04), density=400.0),
        Rigid(Cylinder(0.28, 0.4), ROUGH, inside=True, position=(0.0, 0.0, 0.1)),
    ]


@BOTH
def test_everything_at_once_stays_where_it_can_be(make: Callable[..., Any]) -> None:
    simulation = make(everything(), DOWN, z=0.02)
    for _ in range(5):
        simulation.run(0.1)
        place = where(simulation)
        assert np.hypot(*place[:2]) < 0.28 - 0.03 + 1e-3
        assert place[2] > 0.02
        assert np.hypot(*simulation.positions()[:, :2].T).max() < 0.282
    assert np.linalg.norm(place[:2] - [0.0, 0.09]) > 0.005  # the paddle pushed it


def test_grains_and_solids_take_the_same_list() -> None:
    """Which a ball, free under all of them, shows by where it comes to lie."""
    bed = grains.Bed([[0.0, -0.1, 0.03], [0.03, -0.1, 0.03]], 0.01)
    plate = fem.Solid(tet_beam(0.06, 0.06, 0.03, cells=(1, 1, 1)).moved((-0.03, -0.1, 0.03)), RUBBER)
    for simulation, place in (
        (grains.simulation(bed, obstacles=everything(NOWHERE), device="cpu", threads=1), "places"),
        (fem.simulation(plate, obstacles=everything(NOWHERE), dt=5e-3, device="cpu", threads=1), "touch"),
    ):
        simulation.run(0.3)
        state: Any = simulation.state
        places = (state.places if place == "places" else state.touch.places).numpy()
        np.testing.assert_allclose(places[3][:2], [0.0, 0.09], atol=0.03)
        assert 0.025 < places[3][2] < 0.045  # solids keep a distance that grows with their edges
        assert np.isfinite(simulation.positions()).all()
        assert simulation.positions()[:, 2].min() > -0.01


@BOTH
def test_the_bits_are_the_same_for_any_number_of_threads(make: Callable[..., Any]) -> None:
    size = 11
    hashes = []
    for threads in (1, 2):
        simulation = make([ball(velocity=(0.0, 0.0, -1.0)), ground(0.5)], DOWN, z=0.003, size=size, threads=threads)
        assert simulation.solver.threads == threads
        simulation.run(0.05)
        hashes.append(state_hash(simulation.state))
    assert hashes[0] == hashes[1]


@BOTH
def test_a_world_has_the_same_bits_alone_and_among_others_and_begins_again(make: Callable[..., Any]) -> None:
    obstacles = [ball(velocity=(0.0, 0.0, -1.0)), ground(0.5)]
    several, alone = make(obstacles, DOWN, z=0.003, worlds=3), make(obstacles, DOWN, z=0.003, worlds=1)
    several.step(70)
    several.reset(worlds=[1])
    several.step(230)
    alone.step(230)
    count = len(alone.positions())
    assert np.array_equal(several.positions()[count : 2 * count], alone.positions())
    assert np.array_equal(where(several, world=1), where(alone))
    assert not np.array_equal(where(several, world=0), where(alone))


@BOTH
def test_a_run_goes_on_from_a_file_to_the_bit(make: Callable[..., Any], tmp_path: Path) -> None:
    first, second = make(everything(), DOWN, z=0.02), make(everything(), DOWN, z=0.02)
    first.run(0.1)
    first.save(tmp_path / "middle.npz")
    first.run(0.1)
    second.load(tmp_path / "middle.npz")
    second.run(0.1)
    assert state_hash(first.state) == state_hash(second.state)
    second.reset()
    second.run(0.1)
    second.run(0.1)
    assert state_hash(first.state) == state_hash(second.state)


@BOTH
def test_driven_obstacles_are_commanded_while_they_run(make: Callable[..., Any]) -> None:
    simulation = make(everything(NOWHERE), DOWN, z=0.02)
    simulation.run(0.05)
    rest, begin = where(simulation, "paddle"), simulation.time
    simulation.solver.drive(simulation.state, "paddle", velocity=(0.0, -0.5, 0.0))
    simulation.run(0.05)
    middle = simulation.time
    np.testing.assert_allclose(where(simulation, "paddle") - rest, [0.0, -0.5 * (middle - begin), 0.0], atol=1e-12)
    simulation.solver.drive(simulation.state, "paddle", velocity=(0.0, 0.0, 1.0), spin=(0.0, 0.0, 3.0))
    simulation.run(0.05)
    moved = [0.0, -0.5 * (middle - begin), simulation.time - middle]
    np.testing.assert_allclose(where(simulation, "paddle") - rest, moved, atol=1e-12)
    turn = simulation.solver.readout.body_turn(simulation.state, "paddle")
    np.testing.assert_allclose(2.0 * np.arctan2(turn[2], turn[3]), 3.0 * (simulation.time - middle), rtol=1e-9)
    assert where(simulation)[1] < 0.09 - 0.005
    with pytest.raises(InvalidValue, match="named 'ball', is free: give it motion='driven'"):
        simulation.solver.drive(simulation.state, "ball", velocity=(0.0, 0.0, 0.0))


@BOTH
def test_pictures_show_free_obstacles_where_they_are(make: Callable[..., Any]) -> None:
    simulation = make([Rigid(Box((0.02, 0.02, 0.02)), motion="free", position=(0.0, 0.0, 0.5), name="ball")], DOWN)
    simulation.run(0.1)
    [shown] = [part for part in simulation.snapshot().parts if "ball" in part.name]
    np.testing.assert_allclose(shown.vertices.mean(axis=0), where(simulation), atol=1e-6)
    assert where(simulation)[2] == pytest.approx(0.5 - 0.5 * 9.81 * simulation.time**2, abs=1e-3)


@BOTH
def test_a_stiff_contact_with_a_light_body_shortens_the_step(make: Callable[..., Any]) -> None:
    steps = []
    for mass in (10.0, 1e-3):
        simulation = make([ball(mass=mass, surface=Surface(stiffness=1e5))], NOWHERE)
        simulation.run(0.01)
        steps.append(simulation.dt)
        assert np.isfinite(simulation.positions()).all()
    assert steps[1] < 0.3 * steps[0]


def test_what_integrators_cannot_do_with_free_obstacles_is_said() -> None:
    with pytest.raises(InvalidValue, match="the verlet integrator of springs has no step for obstacle 0, a Sphere"):
        spring_block([ball()], DOWN, integrator="verlet")

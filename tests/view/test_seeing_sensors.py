"""Cameras and lidars as sensors: against planes and spheres, mounted, in every physics and in every world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from annelid import coupling, fem, grains, springs, voxels
from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Plane, Rigid, Sphere, ground, tet_beam
from annelid.view import sensors
from annelid.view.camera.camera import Camera

BALL = Rigid(Sphere(0.5), position=(2.0, 0.0, 1.0))
WALL = Plane(point=(0.0, 3.0, 0.0), normal=(0.0, -1.0, 0.0))
LIDAR = {"directions": [(1, 0, 0), (0, 2, 0), (0, 0, -1), (0, 0, 1), (0, 1, -1)], "position": (0.0, 0.0, 1.0)}


def block(device: str, worlds: int = 1, **options: Any) -> Any:
    """A block far from the lidar that swells by commands."""
    body = springs.block((3, 3, 3), 0.1).moved((-3.1, -0.1, 0.5)).control("swell")
    settings: dict[str, Any] = {"dt": 1e-4, "obstacles": [ground(0.5), BALL, WALL], **options}
    return springs.simulation(body, worlds=worlds, device=device, **settings)


def bed(device: str, worlds: int = 1, *, smallest: float = 0.2) -> Any:
    """A few grains, a ball and a driven blade above the ground; those who step equal grains share kernels."""
    places = np.array([[0.0, 0.0, smallest], [0.5, 0.0, 0.2], [-0.5, 0.0, 0.2]])
    rows = grains.Bed(places, np.array([smallest, 0.2, 0.2]))
    blade = Rigid(Box((0.1, 0.4, 0.4)), position=(-2.0, 0.0, 1.0), motion="driven", name="blade")
    aside = Rigid(Sphere(0.1), position=(0.0, 90.0, 0.1), motion="free")  # out of sight: kernels of other tests serve
    push = grains.velocity_control("push", "blade", "x", low=-1.0, high=1.0)
    turn = grains.spin_control("turn", "blade", "y", low=-4.0, high=4.0)
    return grains.simulation(
        rows, dt=1e-3, obstacles=[ground(0.5), BALL, blade, aside], controls=[push, turn], worlds=worlds, device=device
    )


def test_ranges_to_planes_and_spheres(device: str) -> None:
    simulation = block(device)
    simulation.sensors.add("lidar", sensors.lidar(**LIDAR, far=20.0))
    np.testing.assert_allclose(simulation.sensors["lidar"][0], [1.5, 3.0, 1.0, 20.0, math.sqrt(2.0)], rtol=1e-5)


def test_ranges_to_a_ball_off_the_middle(device: str) -> None:
    aside = np.linspace(-0.45, 0.45, 7)
    simulation = bed(device, smallest=0.1)
    for k, y in enumerate(aside):
        simulation.sensors.add(f"ray {k}", sensors.lidar([(1, 0, 0)], position=(0.0, y, 1.0), far=9.0))
    seen = np.array([simulation.sensors[name][0, 0] for name in simulation.sensors])
    np.testing.assert_allclose(seen, 2.0 - np.sqrt(0.25 - aside**2), rtol=1e-5)
    down = sensors.lidar([(0, 0, -1)], position=(0.55, 0.0, 5.0))
    simulation.sensors.add("grain", down)
    assert simulation.sensors["grain"][0, 0] == pytest.approx(5.0 - 0.2 - math.sqrt(0.04 - 0.0025), rel=1e-5)


def test_depth_of_a_plane_is_the_same_in_every_pixel(device: str) -> None:
    simulation = block(device)
    ahead = Camera((0.0, 0.0, 1.0), (0.0, 1.0, 1.0), fov=math.radians(20.0))
    simulation.sensors.add("image", sensors.depth_image(ahead, (8, 6), far=30.0))
    assert simulation.sensors["image"].shape == (1, 6, 8)
    np.testing.assert_allclose(simulation.sensors["image"], 3.0, rtol=1e-5)
    above = Camera((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), height=4.0)
    simulation.sensors.add("sky", sensors.depth_image(above, (16, 16), far=9.0))
    seen = simulation.sensors["sky"][0]
    y, x = (np.mgrid[0:16, 0:16] + 0.5) * 0.25 - 2.0
    square = (x - 2.0) ** 2 + y**2
    wanted = np.where(square < 0.25, 3.0 - np.sqrt(np.maximum(0.25 - square, 0.0)), 4.0)
    np.testing.assert_allclose(seen, wanted, atol=1e-4)


def test_colours_are_those_of_what_is_seen(device: str) -> None:
    red = Rigid(Box((1.0, 1.0, 1.0)), position=(0.0, 0.0, 3.0), color=(0.9, 0.05, 0.05))
    simulation = block(device, obstacles=[red])
    front = Camera((0.0, -5.0, 3.0), (0.0, 0.0, 3.0), fov=math.radians(30.0))
    simulation.sensors.add("image", sensors.color_image(front, (9, 9)))
    image = simulation.sensors["image"][0]
    assert image.shape == (9, 9, 3)
    assert ((image >= 0.0) & (image <= 1.0)).all()
    middle, corner = image[4, 4], image[0, 0]
    assert middle[0] > 3.0 * middle[1:].max()
    assert np.ptp(corner) < 0.2


def test_a_mount_carries_and_turns_it(device: str) -> None:
    simulation = bed(device)
    mount = {"on": grains.position_of("blade"), "turned": grains.orientation_of("blade")}
    simulation.sensors.add("down", sensors.lidar([(0, 0, -1)], near=0.25, **mount))
    lower = Camera((0.0, 0.0, -0.25), (0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), fov=0.01)
    simulation.sensors.add("image", sensors.depth_image(lower, (1, 1), **mount))
    assert simulation.sensors["down"][0, 0] == pytest.approx(1.0, rel=1e-5)
    assert simulation.sensors["image"].item() == pytest.approx(0.75, rel=1e-5)
    simulation.controls["turn"] = 2.0
    simulation.step(250)
    simulation.sensors.add("turn", grains.orientation_of("blade"))
    tilt = 2.0 * math.atan2(simulation.sensors["turn"][0, 1], simulation.sensors["turn"][0, 3])
    assert tilt == pytest.approx(0.5, abs=0.02)
    assert simulation.sensors["down"][0, 0] == pytest.approx(1.0 / math.cos(tilt), rel=1e-4)


def test_a_body_is_not_seen_from_inside_where_it_is_near(device: str) -> None:
    simulation = block(device, obstacles=[WALL])
    mount = {"on": springs.position_of(), "turned": springs.orientation_of()}
    simulation.sensors.add("skin", sensors.lidar([(0, 1, 0)], **mount))
    simulation.sensors.add("wall", sensors.lidar([(0, 1, 0)], near=0.2, **mount))
    assert simulation.sensors["skin"][0, 0] == pytest.approx(0.1, rel=1e-4)
    assert simulation.sensors["wall"][0, 0] == pytest.approx(3.0, rel=1e-4)


def moved_block(device: str, worlds: int, values: Any) -> Any:
    simulation = block(device, worlds, gravity=(0.0, 0.0, 0.0))
    simulation.controls["swell"] = values
    simulation.step(30)
    return simulation


def moved_bed(device: str, worlds: int, values: Any) -> Any:
    simulation = bed(device, worlds)
    simulation.controls["push"] = values
    simulation.step(30)
    return simulation


@pytest.mark.parametrize("moved", [moved_block, moved_bed])
def test_a_world_sees_what_it_would_see_alone(moved: Any, device: str) -> None:
    values = np.array([0.85, 1.0, 0.95])
    many, alone = moved(device, 3, values), moved(device, 1, values[2:])
    rays = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 0.05, 0.05]
    for simulation in (many, alone):
        simulation.sensors.add("lidar", sensors.lidar(-np.abs(rays), position=(0.0, 0.0, 1.5)))
        back = Camera((0.0, -0.1, 1.5), (-3.0, 0.0, 0.8), fov=math.radians(25.0))
        simulation.sensors.add("image", sensors.depth_image(back, (12, 8)))
    seen = many.sensors.read().numpy()
    np.testing.assert_array_equal(seen[2], alone.sensors.read().numpy()[0])
    assert not np.array_equal(seen[0], seen[2])
    assert (many.sensors["image"] < 10.0).any()


def test_edits_are_seen() -> None:
    simulation = block("cpu", obstacles=[])
    simulation.sensors.add("lidar", sensors.lidar([(-1, 0, 0)], position=(0.0, 0.0, 0.6), far=9.0))
    before = simulation.sensors["lidar"][0, 0]
    with simulation.edit() as edit:
        edit.remove_masses(simulation.positions()[:, 0] > -2.95, with_springs=True)
    assert before == pytest.approx(2.9, rel=1e-4)
    assert simulation.sensors["lidar"][0, 0] == pytest.approx(3.1, rel=1e-4)  # through the hole, onto the other side


def test_solids_and_coupled_worlds_are_seen() -> None:
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda x: x[:, 0] < 1e-6)
    beam = fem.simulation(solid, dt=5e-3, dynamic=True, worlds=2, device="cpu", threads=1)
    low, high = solid.nodes.min(axis=0), solid.nodes.max(axis=0)
    middle = 0.5 * (low + high)
    beam.sensors.add("lidar", sensors.lidar([(0, 0, -1)], position=(*middle[:2].tolist(), 1.0)))
    np.testing.assert_allclose(beam.sensors["lidar"], 1.0 - high[2], rtol=1e-4)
    body = springs.block((3, 3, 3), 0.1).moved((0.0, 0.0, 0.5))
    few = grains.Bed(np.array([[1.0, 0.0, 0.1], [1.5, 0.0, 0.1]]), np.full(2, 0.1))
    both = coupling.simulation(body, few, obstacles=[ground(0.5)], worlds=2, device="cpu", threads=1)
    down = [(0, 0, -1)]
    for name, x in {"body": 0.1, "grain": 1.0, "ground": 2.5}.items():
        both.sensors.add(name, sensors.lidar(down, position=(x, 0.0 if x > 0.5 else 0.1, 2.0)))
    top = both.solver.model.springs.one.positions[:, 2].max()
    np.testing.assert_allclose(both.sensors["body"], 2.0 - top, rtol=1e-4)
    np.testing.assert_allclose(both.sensors["grain"], 1.8, rtol=1e-4)
    np.testing.assert_allclose(both.sensors["ground"], 2.0, rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: sensors.lidar([(0, 0, 0)]), "directions that are not 0"),
        (lambda: sensors.lidar([1, 0, 0]), "directions that are not 0, shape"),
        (lambda: sensors.lidar([(1, 0, 0)], position=(0, np.nan, 0)), "position of a lidar must be three numbers"),
        (lambda: sensors.lidar([(1, 0, 0)], near=2.0, far=1.0), "near of a lidar must be from 0 to less than far, 1 m"),
        (lambda: sensors.lidar([(1, 0, 0)], far=math.inf), "far of a sensor must be a distance above 0, and finite"),
        (lambda: sensors.depth_image(Camera((0, 0, 0), (1, 0, 0)), (0, 3)), "a width and a height in pixels"),
        (lambda: sensors.depth_image("front"), "an image needs a Camera"),
        (lambda: sensors.lidar([(1, 0, 0)], on="head"), "on must be a Sensor"),
        (lambda: sensors.lidar([(1, 0, 0)], turned=springs.position_of()), "turned must be a sensor of 4 or 1 numbers"),
    ],
)
def test_what_cannot_see_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        block("cpu").sensors.add("eye", make())


def test_voxel_robots_are_seen_and_carry_lidars(device: str) -> None:
    places = np.array([[30.0, 0.0]])
    box = voxels.Box(size=(2.0, 4.0), position=(50.0, 2.0), held="fixed")
    obstacles = [voxels.terrain("flat"), box]
    simulation = voxels.simulation(voxels.worm(5), obstacles=obstacles, positions=places, worlds=2, device=device)
    middle = simulation.solver.readout.centers(simulation.state)[0]
    side = simulation.solver.model.robots[0].side_length
    mount = {"on": voxels.position_of(), "turned": voxels.orientation_of()}
    simulation.sensors.add("above", sensors.lidar([(0, 0, -1)], position=(float(middle[0]), 0.0, 20.0), far=99.0))
    simulation.sensors.add("ahead", sensors.lidar([(1, 0, 0)], near=3.0 * side, far=99.0, **mount))
    simulation.sensors.add("ground", sensors.lidar([(0, 0, -1)], position=(60.0, 0.0, 5.0), far=99.0))
    np.testing.assert_allclose(simulation.sensors["above"], 20.0 - middle[1] - 0.5 * side, rtol=1e-4)
    np.testing.assert_allclose(simulation.sensors["ahead"], 49.0 - middle[0], rtol=1e-4)
    np.testing.assert_allclose(simulation.sensors["ground"], 5.0, rtol=1e-5)


def test_a_mount_in_the_plane_turns_from_x_to_z(device: str) -> None:
    """A lidar that turns with a robot by an angle sees the ground ahead of it at another distance."""
    simulation = voxels.simulation(voxels.worm(4), obstacles=[voxels.terrain("downhill-20")], device=device)
    mount = {"on": voxels.position_of(), "turned": voxels.orientation_of()}
    simulation.sensors.add("angle", voxels.orientation_of())
    simulation.sensors.add("down", sensors.lidar([(0, 0, -1)], near=1.0, far=200.0, **mount))
    simulation.run(4.0)
    ground, state = simulation.solver.model.world.terrain, simulation.state
    (x, z), angle = simulation.solver.readout.centers(state)[0], float(simulation.sensors["angle"].item())
    along = float(simulation.sensors["down"].item()) * np.array([math.sin(angle), -math.cos(angle)])
    assert abs(angle) > 0.1
    assert z + along[1] == pytest.approx(float(ground.height(x + along[0])), abs=0.02)


def test_robots_that_differ_from_world_to_world_are_refused() -> None:
    simulation = voxels.simulation([voxels.worm(3), voxels.worm(4)], device="cpu")
    with pytest.raises(InvalidValue, match="robots cannot be seen by sensors where worlds differ"):
        simulation.sensors.add("eye", sensors.lidar([(1, 0, 0)]))


def test_worlds_that_break_are_seen_as_they_were_built(device: str) -> None:
    body = springs.block((3, 3, 3), 0.1).control("swell", low=0.5, high=1.5)
    body.yield_strains[:] = 0.1

    def ranges(commands: list[float]) -> Any:
        simulation = springs.simulation(body, dt=1e-4, worlds=len(commands), gravity=(0, 0, 0), device=device)
        simulation.sensors.add("lidar", sensors.lidar([(0, 0, -1), (0.1, 0, -1)], position=(0.05, 0.05, 2.0)))
        simulation.controls["swell"] = commands
        simulation.step(30)
        assert simulation.events
        return simulation.sensors["lidar"]

    np.testing.assert_array_equal(ranges([1.5, 1.0])[0], ranges([1.5])[0])

"""The same obstacles under a spring body, a bed, a soft robot, a coupled world and a voxel robot.

Each physics takes a rigid thing, or refuses it with one sentence that names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import coupling, fem, grains, springs, voxels, voxels3d
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    HeightField,
    ImplicitSurface,
    Obstacle,
    Plane,
    Rigid,
    Shape,
    Sphere,
    Surface,
    ground,
    tet_beam,
    turned_about,
)

Make = Callable[[Sequence[Obstacle]], Any]

BED = grains.Bed([[0.0, 0.0, 0.31], [0.02, 0.0, 0.34], [0.0, 0.02, 0.37]], 0.01)
SOIL = grains.Bed(BED.positions + np.array([0.0, 0.0, 0.4]), 0.01, grains.Grain(rolling=0.1))
"""With kernels of the tests of the coupling."""


def springs_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    body = springs.block((3, 3, 3), 0.02, damping=1.0).moved((0.0, 0.0, 0.31))
    return springs.simulation(body, obstacles=obstacles, device="cpu", threads=1)


def grains_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    return grains.simulation(BED, obstacles=obstacles, device="cpu", threads=1)


def coupled_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    body = springs.block((3, 3, 3), 0.02, mass=0.01, stiffness=100.0, damping=0.1).moved((0.0, 0.0, 0.31))
    return coupling.simulation(body, SOIL, obstacles=obstacles, device="cpu", threads=1)


def robot_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    """A beam that its weight bends, above the ground."""
    mesh = tet_beam(0.1, 0.02, 0.02, cells=(4, 1, 1)).moved((0.0, 0.0, 0.35))
    solid = fem.Solid(mesh, material("ecoflex-00-30")).fix(lambda p: p[:, 0] < 1e-9)
    ends = mesh.nearest(np.array([[0.0, 0.0, 0.34], [0.1, 0.0, 0.34]]))
    robot = fem.Robot(
        solid, [fem.Cable(name="down", through=ends.tolist())], obstacles=obstacles, device="cpu", threads=1
    )
    return fem.forward_simulation(robot, lambda time: {"down": 0.05})


def solid_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    """The beam of the robot, as it swings."""
    mesh = tet_beam(0.1, 0.02, 0.02, cells=(4, 1, 1)).moved((0.0, 0.0, 0.35))
    solid = fem.Solid(mesh, material("ecoflex-00-30")).fix(lambda p: p[:, 0] < 1e-9)
    return fem.simulation(solid, obstacles=obstacles, device="cpu", threads=1)


def voxels_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    return voxels.simulation(voxels.worm(), obstacles=obstacles, device="cpu", threads=1)


def cubes_among(obstacles: Sequence[Obstacle]) -> Simulation[Any]:
    robot = voxels3d.Robot(np.zeros((2, 1, 1), int))
    return voxels3d.simulation(robot, obstacles=obstacles, positions=(0.0, 0.0, 0.31), device="cpu", threads=1)


PHYSICS: dict[str, Make] = {
    "springs": springs_among,
    "grains": grains_among,
    "coupling": coupled_among,
    "fem": solid_among,
    "voxels": voxels_among,
    "voxels3d": cubes_among,
}

WORLDS: dict[str, Callable[..., Any]] = {
    "springs": springs.World,
    "grains": grains.World,
    "coupling": coupling.World,
    "fem": fem.World,
    "voxels": voxels.World,
    "voxels3d": voxels3d.World,
}
FIVE = ("springs", "grains", "coupling", "fem", "voxels3d")


@wp.func
def floor(time: Any, position: Any):
    """The plane z = -1."""
    zero = position[2] * type(position[2])(0.0)
    return wp.vector(zero, zero, zero + type(position[2])(1.0), position[2] + type(position[2])(1.0))


def require_finite(simulation: Simulation[Any], steps: int = 3) -> None:
    simulation.step(steps)
    assert np.isfinite(simulation.positions()).all()


@pytest.mark.parametrize("physics", FIVE)
def test_one_list_under_every_physics(physics: str) -> None:
    obstacles = [
        ground(friction=0.6),
        Rigid(Sphere(0.1), position=(0.6, 0.0, 0.1), name="stone"),
        Rigid(Box((0.3, 0.3, 0.02)), position=(-0.6, 0.0, 0.1), rotation=turned_about("y", 0.2)),
        Rigid(Capsule(0.05, 0.1, axis="x"), position=(0.0, 0.8, 0.1)),
    ]
    require_finite(PHYSICS[physics](obstacles))


@pytest.mark.parametrize(
    ("obstacle", "missing"),
    [
        (Cylinder(0.1, 0.2), "soft robots cannot touch obstacle 0, a Cylinder, yet"),
        (Rigid(Sphere(0.1), motion="driven"), "soft robots cannot touch a moving obstacle yet"),
    ],
)
def test_what_soft_robots_do_not_touch_is_named(obstacle: Obstacle, missing: str) -> None:
    with pytest.raises(InvalidValue, match=missing):
        robot_among([obstacle])


def test_a_soft_robot_touches_with_the_friction_that_an_obstacle_states() -> None:
    rubbing, smooth = (robot_among([ground(friction)]).solver.robot for friction in (0.6, 0.0))
    assert (rubbing.touched is None, smooth.touched is None) == (False, True)
    np.testing.assert_allclose(rubbing.touched.nodes.frictions, 0.6)


@pytest.mark.parametrize(
    ("physics", "obstacle", "missing"),
    [
        ("springs", ground(cohesion=1.0), "springs cannot stick to a surface yet"),
        ("grains", ground(stiffness=100.0), "grains cannot take the stiffness of a surface yet"),
        ("grains", ground(0.5, sliding_friction=0.3), "grains cannot slide with a friction of their own yet"),
        ("grains", Rigid(Plane(), motion="driven"), "grains cannot touch obstacle 0, a Plane, yet while it moves"),
        ("coupling", ImplicitSurface(floor), "grains cannot touch obstacle 0, an ImplicitSurface, yet"),
        ("fem", ImplicitSurface(floor), "solids cannot touch obstacle 0, an ImplicitSurface, yet"),
        ("fem", ground(cohesion=1.0), "solids touch without cohesion yet, and obstacle 0, a Plane, has 1"),
        ("fem", ground(0.5, sliding_friction=0.3), "solids cannot slide with a friction of their own yet"),
        ("voxels3d", ImplicitSurface(floor), "3-D voxels cannot touch obstacle 0, an ImplicitSurface, yet"),
        ("voxels", Sphere(0.1), "voxel robots cannot touch obstacle 0, a Sphere, yet"),
        ("voxels", Plane(normal=(0.0, 1.0, 1.0)), "set its y to 0"),
    ],
)
def test_what_is_missing_is_named(physics: str, obstacle: Obstacle, missing: str) -> None:
    with pytest.raises(InvalidValue, match=missing):
        WORLDS[physics](obstacles=[obstacle])


@pytest.mark.parametrize("physics", PHYSICS)
def test_obstacles_are_a_list_of_rigid_things(physics: str) -> None:
    with pytest.raises(InvalidValue, match="obstacles? .*str"):
        WORLDS[physics](obstacles=["ground"])
    with pytest.raises(InvalidValue, match="obstacles .*must be a list"):
        WORLDS[physics](obstacles="ground")


def refused(physics: str, rigid: Rigid) -> str | None:
    """The sentence with which a physics refuses a rigid thing; None where it takes it."""
    try:
        WORLDS[physics](obstacles=[rigid])
    except AnnelidError as error:
        return str(error)
    return None


def shaken(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.outer(np.sin(times), [0.01, 0.0, 0.0]), np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))


def geometry(kind: int, rng: np.random.Generator) -> Geometry:
    size = rng.uniform(0.03, 0.08, 3)
    tilt = rng.uniform(-0.1, 0.1, 2) * [1.0, rng.integers(2)]
    x = np.arange(4.0)
    kinds: list[Geometry] = [
        Plane(point=(0.0, 0.0, -0.2), normal=(tilt[0], tilt[1], 1.0)),
        Sphere(size[0]),
        Box(tuple(size)),
        Capsule(size[0], size[1], axis="x"),
        Cylinder(size[0], size[1]),
        Box(tuple(size)).surface(),
        HeightField(-0.2 + 0.02 * np.sin(x[:, None] + rng.integers(2) * x), 0.5),
        HeightField(-0.2 + 0.02 * np.sin(x[:, None] + x), 0.5).block(0.2),
        ImplicitSurface(floor),
    ]
    return kinds[kind % len(kinds)]


def members(count: int, rng: np.random.Generator) -> list[Rigid]:
    """Random rigid things, side by side and away from what moves."""
    found: list[Rigid] = []
    for number in range(count):
        shape = geometry(number, rng)
        closed = isinstance(shape, Shape)
        motions: tuple[Any, ...] = ("fixed", "fixed", "driven", shaken, "free" if closed else "driven")
        surface = Surface(
            friction=[None, 0.0, 0.4][rng.integers(3)], sliding_friction=[None, None, 0.0][rng.integers(3)],
            restitution=[None, 0.0, 0.3][rng.integers(3)], rolling=[0.0, 0.1][rng.integers(2)],
            cohesion=[0.0, 0.0, 1e-3][rng.integers(3)], stiffness=[None, None, 500.0][rng.integers(3)],
        )  # fmt: skip
        found.append(
            Rigid(
                shape,
                surface if rng.integers(2) else Surface(),
                motion=motions[rng.integers(5)],
                cells=12,
                position=(2.0 + 0.3 * number, 0.0, 0.1) if closed else (0.0, 0.0, 0.0),
                rotation=turned_about("y", 0.3) if rng.integers(2) else turned_about("x", 0.0),
            )
        )
    return found


@pytest.mark.parametrize("shape", [Plane(), HeightField(np.zeros((2, 2)), 1.0), ImplicitSurface(floor)])
def test_what_has_no_end_is_not_free(shape: Geometry) -> None:
    with pytest.raises(InvalidValue, match="has no end and no mass: only a closed shape can be free"):
        Rigid(shape, motion="free")


@pytest.mark.parametrize("physics", PHYSICS)
def test_random_members_of_the_family_run_or_are_refused_by_name(physics: str) -> None:
    accepted: list[Rigid] = []
    grounds = 0
    family = members(90, np.random.default_rng(7))
    for rigid in family:
        if (refusal := refused(physics, rigid)) is not None:
            assert "obstacle 0, a" in refusal
            continue
        flat = physics == "voxels" and isinstance(rigid.geometry, (Plane, HeightField))
        grounds += flat
        if not flat or grounds == 1:  # voxel robots walk on one ground
            accepted.append(rigid)
    assert accepted
    if physics == "coupling":  # obstacles are touched by the kernels of grains, which need not be compiled twice
        assert accepted == [rigid for rigid in family if refused("grains", rigid) is None]
    else:
        if physics == "fem":  # free ones would start in the ground, and are refused by what they start in
            accepted = [rigid for rigid in accepted if rigid.moves != "free"]
        require_finite(PHYSICS[physics](accepted))

"""Bodies: builders, ready shapes, JSON, and grids that are refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from annelid import control, voxels
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.voxels import Robot, Voxel
from annelid.voxels.tables import compile_shape

HARD, SOFT = Voxel.paper(frequency=25.0), Voxel.paper(frequency=5.0, scaffolding="EC")


def test_text_function_and_array_agree() -> None:
    drawn = Robot.from_text("ss \nhhh", {"h": HARD, "s": SOFT})
    computed = Robot.from_function(3, 2, lambda x, y: HARD if y == 0 else (SOFT if x < 2 else None))
    listed = Robot.from_array([[HARD, SOFT], [HARD, SOFT], [HARD, None]])
    for robot in (computed, listed):
        assert robot.cells.tolist() == drawn.cells.tolist()
        assert [robot.materials[i] for i in robot.grid[robot.grid >= 0]] == [
            drawn.materials[i] for i in drawn.grid[drawn.grid >= 0]
        ]


@pytest.mark.parametrize(
    ("robot", "voxel_count", "size"),
    [
        (voxels.worm(), 4, (12.0, 3.0)),
        (voxels.biped(), 6, (12.0, 6.0)),
        (voxels.tripod(), 8, (15.0, 6.0)),
        (voxels.box(5, 5), 25, (15.0, 15.0)),
    ],
)
def test_ready_shapes(robot: Robot, voxel_count: int, size: tuple[float, float]) -> None:
    assert robot.voxel_count == voxel_count
    assert robot.size == size


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 1000), st.floats(0.0, 1.0))
def test_random_bodies_are_connected(width: int, height: int, seed: int, fill: float) -> None:
    assert voxels.random_body(width, height, fill=fill, seed=seed).voxel_count >= 1


@given(arrays.arrays(np.int32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(-1, 1)))
def test_largest_connected_is_one_part_of_the_grid(grid: np.ndarray) -> None:
    part = voxels.largest_connected(grid)
    assert np.all((part == grid) | (part == -1))
    if (grid >= 0).any():
        assert Robot(part, (HARD, SOFT)).voxel_count == (part >= 0).sum()


def test_empty_grid() -> None:
    with pytest.raises(InvalidValue, match="no voxels"):
        Robot.from_text("   \n . ")


def test_disconnected_grid() -> None:
    with pytest.raises(InvalidValue, match="2 parts.*largest_connected"):
        Robot.from_text("# #")
    with pytest.raises(InvalidValue, match="2 parts"):
        Robot.from_text("# \n #")  # corners do not join


def test_side_lengths_that_differ() -> None:
    with pytest.raises(InvalidValue, match=r"3\.0 and 4\.0"):
        Robot.from_array([[HARD], [Voxel.paper(side_length=4.0)]])


def test_unknown_letter() -> None:
    with pytest.raises(InvalidValue, match="'x'"):
        Robot.from_text("hx", {"h": HARD})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Robot.from_array(np.full((2, 2), -1)), r"cell \(0, 0\) of a robot is .*-1.*: give a Voxel, None or"),
        (lambda: Robot.from_array([[1, 2]]), r"cell \(0, 1\) of a robot is 2"),
        (lambda: Robot.from_array([[1]], [HARD, SOFT]), "must be one Voxel"),
        (lambda: Robot(np.array([[0.5]]), (HARD,)), "whole numbers of materials"),
        (lambda: Robot(np.zeros((1, 1), int), (3,)), "must be a voxels.Voxel, not int: 3"),
        (lambda: Robot(np.zeros((1, 1), int), HARD, controller=3), "controller of a robot must be"),
        (lambda: voxels.worm(3).with_controller(3), "controller of a robot must be"),
        (lambda: voxels.largest_connected(np.ones((2, 2), bool)), r"np.where\(mask, 0, -1\)"),
        (lambda: voxels.worm(3).push(lambda x, y: x == 0), "forces on masses must be finite, of shape"),
        (lambda: voxels.worm(2.5), "the width of a body = 2.5 cannot be used; give a whole number"),
        (lambda: voxels.biped("a"), "the length of a body = 'a'"),
        (lambda: Voxel(mass="a"), "mass of a voxel must be a finite number above 0 kg, not 'a'"),
        (lambda: Voxel(restitution=None), "restitution of a voxel must be between 0 and 1, not None"),
        (lambda: Voxel(scaffolding=3), "letters of 'EIXC', not 3"),
        (lambda: voxels.terrain([(0, 0), (1, 0)]), r"make a voxels.Terrain\(points\)"),
        (lambda: voxels.World(control_interval="a"), "control_interval .* must be a whole number .*, not 'a'"),
    ],
)
def test_bad_bodies_and_materials_are_told_in_a_sentence(make, words):
    with pytest.raises(InvalidValue, match=words):
        make()


def test_welding_of_masses() -> None:
    """A 2×2 box has 9 nodes; 16 masses; the four in the middle are one body."""
    shape = compile_shape([voxels.box(2, 2, Voxel.v1())], [], 1 / 60)
    assert shape.body_count == 9
    weights = 1.0 / shape.body_constants[:, 0]
    assert sorted((weights / 0.2025).round(9).tolist()) == [1, 1, 1, 1, 2, 2, 2, 2, 4]
    middle = int(np.argmax(weights))
    m, i = Voxel.v1().mass, Voxel.v1().inertia
    assert 1.0 / shape.body_constants[middle, 1] == pytest.approx(4 * (i + m * 2 * 0.45**2))


def test_corners_that_only_touch_are_not_welded() -> None:
    """A ring of eight voxels with a bridge missing: voxels that meet at a corner only have two bodies there."""
    ring = Robot.from_text("##\n# #\n###".replace("##\n# #", "## \n# #"), Voxel.v1())
    shape = compile_shape([ring], [], 1 / 60)
    node = np.array([2.0, 2.0]) * 3.0  # top middle voxel and right middle voxel meet there
    near = np.linalg.norm(shape.centers - node, axis=1) < 1.5
    assert near.sum() == 2


def test_contact_points_are_the_convex_corners() -> None:
    corner = compile_shape([Robot.from_text("# \n##", Voxel.v1())], [], 1 / 60)
    counts = np.diff(corner.point_begin)
    masses = np.round(1.0 / corner.body_constants[:, 0] / 0.2025).astype(int)
    assert counts[masses == 3].tolist() == [5]
    assert set(counts[masses != 3].tolist()) == {4}


def test_neighbours() -> None:
    robot = Robot.from_text("##\n# ")
    where = {tuple(cell): i for i, cell in enumerate(robot.cells.tolist())}
    north, east, south, west = robot.neighbours[where[0, 1]]
    assert (north, east, south, west) == (-1, where[1, 1], where[0, 0], -1)


def test_json_round_trip() -> None:
    body = Robot.from_text("ss\nhh", {"h": HARD, "s": SOFT}, sensors=voxels.talamini_sensors(), seed=7)
    robot = body.with_controller(control.MLP(np.linspace(-1, 1, 26 * 4)))
    back = Robot.from_json(robot.to_json())
    assert back.grid.tolist() == robot.grid.tolist()
    assert back.materials == robot.materials
    assert back.inputs == robot.inputs
    assert back.controller is not None
    assert back.controller.to_dict() == control.MLP(np.linspace(-1, 1, 26 * 4)).to_dict()
    assert back.seed == 7


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "annelid-voxel-robot-1"}', "nothing"])
def test_json_of_something_else(text: str) -> None:
    with pytest.raises((FileFormatError, json.JSONDecodeError)):
        Robot.from_json(text)


def test_json_refuses_functions() -> None:
    robot = voxels.worm().with_controller(control.TimeFunctions([np.sin] * 4))
    with pytest.raises(InvalidValue, match="function"):
        robot.to_json()

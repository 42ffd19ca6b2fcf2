"""Bodies: copies, moves, turns, sizes, joins and groups keep what they must; what cannot be simulated is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid import springs
from annelid.core.errors import InvalidMesh, InvalidValue, UnknownName
from annelid.materials import Material
from annelid.shapes import Box, TriangleMesh

Make = Callable[..., Any]

vectors = st.tuples(*[st.floats(-10.0, 10.0)] * 3)


def rich() -> springs.Body:
    """A body with something in every attribute."""
    body = springs.box(
        (0.2, 0.1, 0.1), 0.05, "tpu", inserts=[(lambda x: x[:, 0] > 0.0, "steel")], damping_frequency=5.0
    )
    body.velocities = np.random.default_rng(0).normal(size=body.positions.shape)
    body.group("left", lambda x: x[:, 0] < -0.05).group("tip", np.array([3, 4]))
    body.fix("left").guide("tip", "line", (0.0, 1.0, 1.0)).push("tip", (0.0, 0.0, 2.0))
    return body.actuate(springs.expand_contract(0.1, 2.0), np.arange(10))


def lengths(body: springs.Body) -> np.ndarray:
    ends = body.positions[body.springs]
    return np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)


def assert_equal(a: springs.Body, b: springs.Body, *, but: tuple[str, ...] = ()) -> None:
    for f in fields(springs.Body):
        if f.name in but:
            continue
        left, right = getattr(a, f.name), getattr(b, f.name)
        if f.name == "groups":
            assert left.keys() == right.keys()
            for name in left:
                np.testing.assert_array_equal(left[name], right[name])
        elif isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, err_msg=f.name)
        else:
            assert left == right


def test_a_copy_is_independent() -> None:
    body = rich()
    twin = body.copy()
    assert_equal(body, twin)
    for f in fields(springs.Body):
        value = getattr(twin, f.name)
        if isinstance(value, np.ndarray) and value.size:
            assert not np.shares_memory(value, getattr(body, f.name)), f.name
    twin.groups["tip"][0] = 7
    twin.groups["new"] = np.array([1])
    assert body.groups["tip"].tolist() == [3, 4]
    assert "new" not in body.groups


@settings(max_examples=20)
@given(vectors)
def test_moving_moves_and_nothing_else(by: tuple[float, float, float]) -> None:
    body = rich()
    moved = body.moved(by)
    np.testing.assert_allclose(moved.positions - body.positions, np.broadcast_to(by, body.positions.shape), atol=1e-12)
    assert_equal(body, moved, but=("positions",))


@settings(max_examples=20)
@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3), st.floats(-7.0, 7.0))
def test_turning_keeps_lengths_angles_and_the_centre(axis: tuple[float, float, float], angle: float) -> None:
    body = rich()
    turned = body.rotated(axis, angle)
    np.testing.assert_allclose(lengths(turned), lengths(body), rtol=1e-9)
    np.testing.assert_allclose(turned.center_of_mass, body.center_of_mass, atol=1e-9)
    for name in ("velocities", "forces", "guide_axes"):
        np.testing.assert_allclose(
            np.linalg.norm(getattr(turned, name), axis=1), np.linalg.norm(getattr(body, name), axis=1), rtol=1e-9
        )
    assert_equal(body, turned, but=("positions", "velocities", "forces", "guide_axes"))
    back = turned.rotated(axis, -angle)
    np.testing.assert_allclose(back.positions, body.positions, atol=1e-9)
    np.testing.assert_allclose(back.guide_axes, body.guide_axes, atol=1e-9)


def test_a_quarter_turn_about_a_point() -> None:
    body = springs.Body([[1.0, 0.0, 0.0]], 1.0, [], [], [], velocities=[[0.0, 1.0, 0.0]])
    turned = body.rotated((0.0, 0.0, 5.0), math.pi / 2, about=(0.0, 0.0, 0.0))
    np.testing.assert_allclose(turned.positions, [[0.0, 1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(turned.velocities, [[-1.0, 0.0, 0.0]], atol=1e-12)


@settings(max_examples=20)
@given(st.floats(0.1, 10.0))
def test_another_size_of_the_same_stuff(factor: float) -> None:
    """A larger body of the same material: k = E A / L grows as the length, masses as its cube."""
    body = rich()
    scaled = body.scaled(factor)
    np.testing.assert_allclose(lengths(scaled), factor * lengths(body), rtol=1e-9)
    np.testing.assert_allclose(scaled.rest_lengths, factor * body.rest_lengths)
    np.testing.assert_allclose(scaled.masses, factor**3 * body.masses)
    np.testing.assert_allclose(scaled.center_of_mass, body.center_of_mass, atol=1e-9)
    larger = springs.box(tuple(factor * np.array([0.2, 0.1, 0.1])), factor * 0.05, "tpu")
    same = springs.box((0.2, 0.1, 0.1), 0.05, "tpu").scaled(factor)
    np.testing.assert_allclose(same.stiffness, larger.stiffness)
    np.testing.assert_allclose(same.masses, larger.masses)
    np.testing.assert_allclose(same.volumes, larger.volumes)


def test_joining_keeps_each_body() -> None:
    first, second = rich(), springs.block((2, 2, 3)).moved((5.0, 0.0, 0.0))
    second.group("tip", np.array([1])).actuate(springs.titan_wave(offset=0.5), np.array([2]))
    whole = first + second
    n, s = first.mass_count, first.spring_count
    assert (whole.mass_count, whole.spring_count) == (n + second.mass_count, s + second.spring_count)
    np.testing.assert_array_equal(whole.positions[n:], second.positions)
    np.testing.assert_array_equal(whole.springs[s:], second.springs + n)
    np.testing.assert_array_equal(whole.triangles[len(first.triangles) :], second.triangles + n)
    assert whole.groups["tip"].tolist() == [3, 4, n + 1]
    assert whole.groups["left"].tolist() == first.groups["left"].tolist()
    assert [whole.materials[i] for i in whole.spring_materials[s:]] == ["default"] * second.spring_count
    assert [whole.materials[i] for i in whole.spring_materials[:s]] == [
        first.materials[i] for i in first.spring_materials
    ]
    function_of = [None, *whole.signal_functions]
    assert function_of[whole.signal_kinds[s + 2]] is springs.titan_wave(offset=0.0).function
    assert function_of[whole.signal_kinds[0]] is springs.wave(0.1, 1.0, np.zeros(1)).function
    assert (whole.signal_kinds[10:s] == 0).all()
    assert whole.masses.sum() == pytest.approx(first.masses.sum() + second.masses.sum())
    assert_equal(springs.join([first]), first)


def test_joining_leaves_the_parts_alone() -> None:
    part = rich()
    whole = part + part
    whole.positions += 1.0
    whole.fixed[:] = True
    assert_equal(part, rich())


def test_replicating_is_joining_copies() -> None:
    body, offsets = rich(), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    many, joined = body.replicated(offsets), springs.join([body.moved(offset) for offset in offsets])
    for f in fields(springs.Body):
        if isinstance(getattr(many, f.name), np.ndarray):
            np.testing.assert_array_equal(getattr(many, f.name), getattr(joined, f.name), err_msg=f.name)
    for name in body.groups:
        np.testing.assert_array_equal(many.groups[name], joined.groups[name])


def test_groups_are_chosen_in_every_way() -> None:
    body = springs.block((3, 3, 3))
    low = body.positions[:, 2] < 0.05
    body.group("low", lambda x: x[:, 2] < 0.05)
    np.testing.assert_array_equal(body.indices("low"), np.flatnonzero(low))
    np.testing.assert_array_equal(body.indices(low), np.flatnonzero(low))
    np.testing.assert_array_equal(body.indices(np.array([4, 2])), [4, 2])
    np.testing.assert_array_equal(body.indices([4, 2]), [4, 2])  # type: ignore[arg-type]
    np.testing.assert_array_equal(body.indices(None), np.arange(27))
    assert set(body.springs_of("low")) == set(np.flatnonzero(low[body.springs].all(axis=1)))
    assert len(body.springs_of("low")) == 12 + 8  # edges and diagonals of a 3 x 3 sheet


def test_an_unknown_group_suggests_another() -> None:
    body = springs.block((2, 2, 2)).group("left", np.array([0]))
    with pytest.raises(UnknownName, match="no group named 'letf'. Did you mean 'left'"):
        body.fix("letf")


@pytest.mark.parametrize(
    "where", [np.array([8]), np.array([-9]), np.array([True, False]), np.array([0.5]), lambda x: x]
)
def test_masses_that_are_not_there_are_refused(where: Any) -> None:
    with pytest.raises(InvalidValue):
        springs.block((2, 2, 2)).fix(where)


# --- what cannot be simulated ---


def body(**changes: Any) -> springs.Body:
    values: dict[str, Any] = {
        "positions": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        "masses": [1.0, 2.0, 3.0],
        "springs": [[0, 1], [1, 2]],
        "rest_lengths": [1.0, 1.4],
        "stiffness": [10.0, 20.0],
        **changes,
    }
    return springs.Body(**values)


BAD = {
    "masses": [
        ([1.0, -2.0, 3.0], "mass 1 is -2.0"),
        ([1.0, 2.0, math.nan], "mass 2 is nan"),
        ([0.0, 1.0, 1.0], "mass 0 is 0.0"),
        ([1.0, math.inf, 1.0], "mass 1 is inf"),
    ],
    "positions": [
        ([[0.0, 0.0, math.nan]] * 3, "position 0"),
        ([[0.0, 0.0]] * 3, r"shape \[n, 3\]"),
        ([0.0, 1.0, 2.0], r"shape \[n, 3\]"),
    ],
    "springs": [
        ([[0, 1], [2, 2]], "spring 1 .*two different masses"),
        ([[0, 3], [1, 2]], "spring 0 .*two of the 3 masses"),
        ([[0, -1], [1, 2]], "spring 0 .*two of the 3 masses"),
        ([[0, 2**32 + 1], [1, 2]], "spring 0"),
        ([[0, 1, 2], [1, 2, 0]], r"shape \[n, 2\]"),
        ([[0.0, 1.5], [1.0, 2.0]], "spring"),
        ([[0.0, math.nan], [1.0, 2.0]], "spring"),
    ],
    "rest_lengths": [
        ([1.0, 0.0], "rest length of spring 1 is 0.0"),
        ([-1.0, 1.0], "rest length of spring 0 is -1.0"),
        ([math.nan, 1.0], "rest length of spring 0 is nan"),
        ([1.0, 2.0, 3.0], r"rest_lengths has shape \[3\], expected \[2\]"),
    ],
    "stiffness": [
        ([-1.0, 1.0], "stiffness of spring 0 is -1.0"),
        ([1.0, math.nan], "stiffness of spring 1 is nan"),
        ([1.0, math.inf], "stiffness of spring 1"),
        ([1.0] * 5, r"stiffness has shape \[5\]"),
    ],
    "damping": [(-1.0, "damping of spring 0 is -1.0"), (math.nan, "damping of spring 0")],
    "diameters": [(-1.0, "diameter of spring 0"), (math.nan, "diameter of spring 0")],
    "velocities": [
        ([[math.inf, 0.0, 0.0]] * 3, "velocity 0"),
        ([[0.0, 0.0, 0.0]] * 2, r"velocities has shape \[2, 3\]"),
    ],
    "forces": [([[math.nan, 0.0, 0.0]] * 3, "external force of mass 0")],
}


@pytest.mark.parametrize(
    ("name", "value", "words"), [(name, value, words) for name, cases in BAD.items() for value, words in cases]
)
def test_bad_values_are_refused_by_name(name: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        body(**{name: value})


def test_values_made_bad_later_are_refused_too(simulate: Make) -> None:
    for name, value in (("masses", -1.0), ("stiffness", math.nan), ("rest_lengths", 0.0), ("positions", math.inf)):
        spoiled = springs.block((2, 2, 2))
        getattr(spoiled, name)[3] = value
        with pytest.raises(InvalidValue):
            simulate(spoiled)


def test_nothing_to_simulate(simulate: Make) -> None:
    with pytest.raises(InvalidValue, match="no masses"):
        simulate(springs.Body([], [], [], [], []))
    with pytest.raises(InvalidValue, match="no body to join"):
        springs.join([])


@pytest.mark.parametrize("factor", [0.0, -2.0, math.nan, math.inf])
def test_a_size_is_positive(factor: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be positive"):
        body().scaled(factor)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (math.nan, 0.0, 1.0), (math.inf, 0.0, 0.0)])
def test_a_rotation_needs_an_axis(axis: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidValue, match="axis of a rotation"):
        body().rotated(axis, 1.0)


@pytest.mark.parametrize("direction", [(0.0, 0.0, 0.0), (math.nan, 0.0, 1.0)])
def test_a_distance_needs_a_direction(direction: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidValue):
        body().distance_along(direction)


# --- builders ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": -1.0}, "mass 0 is -1.0"),
        ({"mass": math.nan}, "mass 0 is nan"),
        ({"mass": 0.0}, "mass 0 is 0.0"),
        ({"stiffness": -1.0}, "stiffness of spring 0"),
        ({"stiffness": math.nan}, "stiffness of spring 0"),
        ({"damping": -1.0}, "damping of spring 0"),
        ({"pitch": 0.0}, "pitch"),
        ({"pitch": math.nan}, "pitch"),
    ],
)
def test_bad_blocks_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        springs.block((3, 3, 3), **options)


@pytest.mark.parametrize("shape", [(1, 3, 3), (3, 3), (3, 3, 3, 3), (2.5, 3, 3), "abc", 3, (3, math.nan, 3)])
def test_a_block_has_three_whole_numbers_of_masses(shape: Any) -> None:
    with pytest.raises(InvalidValue, match="block"):
        springs.block(shape)


def test_the_defaults_are_those_of_cronos() -> None:
    block = springs.block((3, 3, 3))
    assert (block.masses == 0.1).all()
    np.testing.assert_allclose(block.stiffness * block.rest_lengths, 1e4)
    np.testing.assert_allclose(block.rest_lengths, lengths(block))
    assert springs.World().dt == "auto"
    assert springs.World().integrator == "symplectic"
    assert springs.World().precision == "float32"


def test_a_mesh_that_is_not_closed_is_refused() -> None:
    box = Box((0.2, 0.2, 0.2)).surface()
    gap = TriangleMesh(box.vertices, box.triangles[1:])
    with pytest.raises(InvalidMesh, match=r"(?s)edge.*repair"):
        springs.lattice(gap, 0.05, "pla")
    mended = springs.lattice(gap.repaired(), 0.05, "pla")
    assert mended.mass_count == 125


def test_an_unknown_material_suggests_another() -> None:
    with pytest.raises(UnknownName, match="no material named 'stel'. Did you mean 'steel'"):
        springs.box((0.1, 0.1, 0.1), 0.05, "stel")
    with pytest.raises(UnknownName, match="Did you mean 'nylon'"):
        springs.truss([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, 1]], "nyln", 0.01)


@pytest.mark.parametrize("name", ["density", "youngs_modulus"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_a_bad_material_is_refused(name: str, value: float) -> None:
    values: dict[str, Any] = {"density": 1.0, "youngs_modulus": 1.0, "poisson_ratio": 0.3, "yield_strain": 0.1}
    with pytest.raises(InvalidValue, match=name):
        Material("mine", damping=0.0, source="made up", **{**values, name: value})


@pytest.mark.parametrize("mass", [0.0, -1.0, math.nan])
def test_a_total_mass_is_positive(mass: float) -> None:
    with pytest.raises(InvalidValue, match="mass"):
        springs.box((0.1, 0.1, 0.1), 0.05, "pla", mass=mass)


@pytest.mark.parametrize("frequency", [0.0, -1.0, math.nan, math.inf])
def test_a_damping_frequency_is_positive(frequency: float) -> None:
    with pytest.raises(InvalidValue, match="damping_frequency"):
        springs.box((0.1, 0.1, 0.1), 0.05, "pla", damping_frequency=frequency)


@pytest.mark.parametrize(
    ("points", "bars", "diameter", "words"),
    [
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0, 1]], 0.01, "bar 0 has no length"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[1, 1]], 0.01, "bar 0 has no length"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, 2]], 0.01, "two of the 2 points"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, -1]], 0.01, "two of the 2 points"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [], 0.01, "bars must join"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, 1]], 0.0, "diameter of bars must be positive, not 0.0"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, 1]], math.nan, "diameter"),
        ([[0.0, 0.0, 0.0], [math.nan, 0.0, 0.0]], [[0, 1]], 0.01, "bar 0|position 1"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]], [[0, 1]], 0.01, "mass 2|point 2"),
        ([[0.0, 0.0], [1.0, 0.0]], [[0, 1]], 0.01, r"shape \[n, 3\]"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0, 1], 0.01, r"bars|shape \[n, 2\]"),
    ],
)
def test_bad_trusses_are_refused(points: Any, bars: Any, diameter: float, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        springs.truss(points, bars, "steel", diameter)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.scaled("a"), "scale factor must be positive, not 'a'"),
        (lambda body: body.scaled((1, 2, 3)), r"scale factor must be positive, not \(1, 2, 3\)"),
        (lambda body: body.rotated("x", math.nan), "angle of a rotation must be a finite number"),
        (lambda body: body.rotated("x", 1.0, about=(0.0, 1.0)), "the middle of a rotation"),
        (lambda body: body + 3, "must be a springs.Body, not int: 3"),
        (lambda body: body.group(3, [0]), "name of a group must be a word"),
        (lambda body: body.control(3), "name of a control must be a word"),
        (lambda body: body.control("a", low="b"), "needs factors"),
        (lambda body: body.push([0], (0.0, 0.0, math.nan)), "three finite numbers"),
        (lambda body: body.substep([0], 2.5), "give a whole number from 1"),
    ],
)
def test_a_bad_change_of_a_body_is_told_in_a_sentence(change: Callable[[springs.Body], Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        change(springs.block((2, 2, 2)))


@pytest.mark.parametrize("prepare", ["damping", ("dampng",)])
def test_features_that_cannot_be_prepared_are_refused(prepare: Any) -> None:
    with pytest.raises(InvalidValue, match="prepare = .* give a tuple of damping and breaking"):
        springs.World(prepare=prepare)


def test_a_function_that_chooses_nothing_is_refused() -> None:
    body = springs.block((3, 3, 3))
    for use in (body.fix, lambda f: body.push(f, (0.0, 0.0, 1.0)), lambda f: body.group("far", f), body.springs_of):
        with pytest.raises(InvalidValue, match=r"finds none of the 27 between \(0, 0, 0\) and \(0\.2, 0\.2, 0\.2\) m"):
            use(lambda x: x[:, 0] > 1.0)
    with pytest.raises(InvalidValue, match="no spring has both of its masses in the part"):
        body.springs_of(lambda x: np.hypot(*x[:, :2].T) + x[:, 2] < 0.01)
    assert len(body.springs_of(np.zeros(27, bool))) == 0  # whoever computes a mask may find nothing

"""States: copies, hashes, and filling them from the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import FileFormatError
from annelid.core.state import (
    clone_state,
    copy_state,
    declared,
    fill_state,
    nested,
    new_state,
    put_world,
    repeat_state,
    restore_worlds,
    rows,
    state_arrays,
    state_hash,
    take_world,
    worlds_of_rows,
)


@dataclass
class Two:
    """A state of two arrays."""

    points: wp.array
    count: wp.array


def two(device: str, seed: int = 0, size: int = 4) -> Two:
    points = np.random.default_rng(seed).random((size, 3)).astype(np.float32)
    return Two(
        wp.array(points, dtype=wp.vec3, device=device), wp.array(np.array([seed]), dtype=wp.int64, device=device)
    )


def test_arrays_by_name(device: str) -> None:
    state = two(device)
    assert state_arrays(state) == {"points": state.points, "count": state.count}


def test_equal_states_have_equal_hashes(device: str) -> None:
    assert state_hash(two(device)) == state_hash(two(device)) == state_hash(two("cpu"))
    assert len(state_hash(two(device))) == 32


def test_every_bit_counts(device: str) -> None:
    state = two(device)
    before = state_hash(state)
    values = state.points.numpy().copy()
    values[2, 1] = np.nextafter(values[2, 1], np.float32(2.0))
    state.points.assign(values)
    assert state_hash(state) != before
    values[2, 1], values[0, 0] = 0.0, 0.0
    state.points.assign(values)
    zero = state_hash(state)
    values[0, 0] = -0.0
    state.points.assign(values)
    assert state_hash(state) != zero


def test_shape_and_type_count() -> None:
    @dataclass
    class One:
        values: wp.array

    zeros = [
        wp.zeros(4, dtype=wp.float32, device="cpu"),
        wp.zeros((2, 2), dtype=wp.float32, device="cpu"),
        wp.zeros(2, dtype=wp.float64, device="cpu"),
        wp.zeros(4, dtype=wp.int32, device="cpu"),
    ]
    assert len({state_hash(One(array)) for array in zeros}) == 4


def test_a_clone_is_independent(device: str) -> None:
    state = two(device)
    twin = clone_state(state)
    assert state_hash(twin) == state_hash(state)
    twin.points.zero_()
    assert state_hash(state) == state_hash(two(device))
    assert twin.points.device == state.points.device


def test_copying_is_in_place(device: str) -> None:
    source, target = two(device, 1), two(device, 2)
    array = target.points
    copy_state(source, target)
    assert target.points is array
    assert state_hash(target) == state_hash(source)


def test_filling_from_the_host(device: str) -> None:
    source, target = two(device, 1), two(device, 2)
    fill_state(target, {name: array.numpy() for name, array in state_arrays(source).items()})
    assert state_hash(target) == state_hash(source)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": None}, "no array 'count'"),
        (
            {"count": np.zeros(2, np.int64)},
            r"'count' of the checkpoint is int64\[2\], this simulation needs int64\[1\]",
        ),
        ({"count": np.zeros(1, np.float64)}, r"float64\[1\], this simulation needs int64\[1\]"),
        ({"points": np.zeros((5, 3), np.float32)}, r"float32\[5, 3\], this simulation needs float32\[4, 3\]"),
    ],
)
def test_arrays_that_do_not_fit_change_nothing(changes: dict[str, np.ndarray | None], words: str, device: str) -> None:
    state = two(device)
    before = state_hash(state)
    values = {**{name: array.numpy() + 1 for name, array in state_arrays(two(device)).items()}, **changes}
    with pytest.raises(FileFormatError, match=words):
        fill_state(state, {name: value for name, value in values.items() if value is not None})
    assert state_hash(state) == before


def test_files_may_lack_an_array_that_is_empty_here(device: str) -> None:
    state, other = two(device, 1, size=0), two(device, 2)
    fill_state(state, {"count": other.count.numpy()})
    assert state.count.numpy()[0] == 2


@dataclass
class Growing:
    """A state whose points may become more."""

    points: wp.array = rows("point", wp.vec3, grows="room")
    count: wp.array = rows("simulation", wp.int64)


def growing(device: str, seed: int, size: int) -> Growing:
    state = two(device, seed, size)
    return Growing(state.points, state.count)


@pytest.mark.parametrize("size", [0, 3, 4, 9])
def test_flexible_arrays_are_replaced_where_their_length_differs(size: int, device: str) -> None:
    source, copied, filled = growing(device, 1, size), growing(device, 2, 4), growing(device, 3, 4)
    copy_state(source, copied)
    fill_state(filled, {name: array.numpy() for name, array in state_arrays(source).items()})
    assert state_hash(copied) == state_hash(filled) == state_hash(source)
    assert copied.points is not source.points
    assert copied.points.dtype == filled.points.dtype == wp.vec3
    assert str(copied.points.device) == str(filled.points.device) == device


def test_flexible_arrays_keep_their_type(device: str) -> None:
    state = growing(device, 1, 4)
    before = state_hash(state)
    good = {name: array.numpy() for name, array in state_arrays(state).items()}
    for points in (np.zeros((7, 2), np.float32), np.zeros((7, 3)), np.zeros(7, np.float32)):
        with pytest.raises(FileFormatError, match="'points' of the checkpoint"):
            fill_state(state, {**good, "points": points})
    assert state_hash(state) == before


@dataclass
class Pair:
    """Two arrays that grow together."""

    single: wp.array = rows("thing", wp.float32, grows="room")
    double: wp.array = rows("thing", wp.float32, each=2, grows="room")


def test_flexible_arrays_grow_together_or_not_at_all() -> None:
    state = Pair(wp.zeros(4, dtype=float, device="cpu"), wp.zeros(8, dtype=float, device="cpu"))
    before = state_hash(state)
    with pytest.raises(FileFormatError, match="single, double"):
        fill_state(state, {"single": np.zeros(6, np.float32), "double": np.zeros(8, np.float32)})
    assert state_hash(state) == before
    fill_state(state, {"single": np.zeros(6, np.float32), "double": np.zeros(12, np.float32)})
    assert len(state.double) == 12


@dataclass
class Herd:
    """Three animals a world with two legs each, and a ghost."""

    animals: wp.array = rows("animal", wp.vec3, spare=1)
    legs: wp.array = rows("animal", wp.float32, each=2)
    clock: wp.array = rows("simulation", wp.int64)


@dataclass
class Farm:
    """A state in a state."""

    herd: Herd
    gates: wp.array = rows("gate", wp.int32)


def farm(device: str, value: int = 0) -> Farm:
    here = wp.get_device(device)
    herd = new_state(Herd, {"animal": 6, "simulation": 1}, here)
    made = new_state(Farm, {"gate": 2}, here, herd=herd)
    for array in state_arrays(made).values():
        array.fill_(value)
    return made


def test_arrays_that_are_not_given_are_zeros_as_declared(device: str) -> None:
    made = farm(device)
    assert {name: a.shape for name, a in state_arrays(made).items()} == {
        "herd.animals": (7,), "herd.legs": (12,), "herd.clock": (1,), "gates": (2,)
    }  # fmt: skip
    assert made.herd.animals.dtype == wp.vec3
    assert declared(Herd)["legs"].each == 2


def test_nested_states_are_cloned_copied_hashed_and_filled(device: str) -> None:
    source, target = farm(device, 3), farm(device)
    twin = clone_state(source)
    twin.herd.legs.zero_()
    assert source.herd.legs.numpy().all()
    copy_state(source, target)
    assert state_hash(target) == state_hash(source) != state_hash(twin)
    fill_state(twin, {name: array.numpy() for name, array in state_arrays(source).items()})
    assert state_hash(twin) == state_hash(source)


def test_some_worlds_are_restored(device: str) -> None:
    source, target = farm(device, 3), farm(device)
    mask = wp.array([False, True], dtype=wp.bool, device=device)
    world_of = wp.array(np.repeat([0, 1], 3), dtype=wp.int32, device=device)
    restore_worlds(source, target, mask, {"animal": world_of})
    np.testing.assert_array_equal(target.herd.legs.numpy(), [0.0] * 6 + [3.0] * 6)
    np.testing.assert_array_equal(target.herd.animals.numpy()[:, 0], [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 0.0])
    assert target.herd.clock.numpy()[0] == 0
    assert not target.gates.numpy().any()


@dataclass
class Nest:
    """Eggs and chicks, of which there may be none."""

    eggs: wp.array = rows("egg", wp.vec3)
    chicks: wp.array = rows("chick", wp.float64)


@dataclass
class Flock:
    """Birds of a world with two numbers each, and eggs in a nest."""

    birds: wp.array = rows("bird", wp.float64)
    nest: Nest = nested()
    clock: wp.array = rows("simulation", wp.int64)


def flock(device: str) -> Flock:
    birds = wp.array(np.arange(6.0).reshape(3, 2), dtype=wp.float64, device=device)
    nest = new_state(Nest, {"egg": 2, "chick": 0}, wp.get_device(device))
    return Flock(birds=birds, nest=nest, clock=wp.zeros(1, dtype=wp.int64, device=device))


def test_worlds_are_repeated_taken_put_and_restored(device: str) -> None:
    one = flock(device)
    many = repeat_state(one, 3)
    assert {name: a.shape for name, a in state_arrays(many).items()} == {
        "birds": (9, 2), "nest.eggs": (6,), "nest.chicks": (0,), "clock": (1,)
    }  # fmt: skip
    beginning = clone_state(many)
    for array in state_arrays(one).values():
        array.fill_(7)
    put_world(one, many, 1, 3)
    np.testing.assert_array_equal(many.birds.numpy()[3:6], np.full((3, 2), 7.0))
    np.testing.assert_array_equal(many.nest.eggs.numpy()[:, 0], [0.0, 0.0, 7.0, 7.0, 0.0, 0.0])
    assert many.clock.numpy()[0] == 0
    other = flock(device)
    take_world(many, other, 1, 3)
    np.testing.assert_array_equal(other.birds.numpy(), one.birds.numpy())
    take_world(many, other, 2, 3)
    np.testing.assert_array_equal(other.birds.numpy(), flock(device).birds.numpy())
    many.birds.fill_(5.0)
    mask = wp.array([False, True, False], dtype=wp.bool, device=device)
    restore_worlds(beginning, many, mask, worlds_of_rows(one, 3))
    np.testing.assert_array_equal(many.birds.numpy()[:, 1], [5.0, 5.0, 5.0, 1.0, 3.0, 5.0, 5.0, 5.0, 5.0])
    assert state_hash(many.nest) == state_hash(beginning.nest)

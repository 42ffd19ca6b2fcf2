"""Identities: equal values have equal digests in every process, others have others; functions count by what they do."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from annelid import shapes
from annelid.core.identity import identity


@dataclass(frozen=True)
class Wave:
    """What a path may close over."""

    amplitude: float
    seen: list[float] = field(default_factory=list, compare=False)

    def __call__(self, time: float) -> float:
        return self.amplitude * time


class Counted:
    """With a value that it works out."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    @functools.cached_property
    def total(self) -> float:
        return sum(self.values)


def closing(over: Any) -> Callable[[float], Any]:
    return lambda time: (over, time)


def faster(factor: float, *, kind: type = float) -> Callable[[float], float]:
    def inner(time: float) -> float:
        return kind(factor * time)

    return inner


@wp.func
def pull(time: float) -> float:
    return 2.0 * time


@wp.func
def push(time: float) -> float:
    return -2.0 * time


def made(name: str, text: str, **known: Any) -> Any:
    """A function or a class of a user, from its text."""
    space = {"__name__": "of_a_user", **known}
    exec(text, space)
    return space[name]


TWICE = "def f(t):\n    return 2 * t"
UNLIKE = {
    "numbers": (1.0, 1.5),
    "words": ("a", "b"),
    "arrays": (np.zeros(3), np.zeros(4)),
    "array types": (np.zeros(3), np.zeros(3, np.float32)),
    "device arrays": (wp.zeros(3, dtype=float, device="cpu"), wp.ones(3, dtype=float, device="cpu")),
    "object arrays": (np.array([1, "a"], object), np.array([1, "b"], object)),
    "lists": ([1, [2, 3]], [1, [2], 3]),
    "tables": ({"a": 1}, {"a": 2}),
    "sets": ({1, 2}, {1, 3}),
    "dataclasses": (Wave(1.0), Wave(2.0)),
    "objects": (Counted([1.0]), Counted([2.0])),
    "fractions": (Fraction(1, 3), Fraction(2, 3)),
    "rotations": (Rotation.identity(), Rotation.from_rotvec([0.0, 0.0, 1.0])),
    "splines": (CubicSpline([0, 1, 2], [0, 1, 0]), CubicSpline([0, 1, 2], [0, 2, 0])),
    "code": (made("f", TWICE), made("f", TWICE.replace("2", "3"))),
    "names in code": (made("f", "def f(t): return t.x"), made("f", "def f(t): return t.y")),
    "inner code": (made("f", "def f(t): return [i for i in t]"), made("f", "def f(t): return [-i for i in t]")),
    "defaults": (made("f", "def f(t, a=1): return a * t"), made("f", "def f(t, a=2): return a * t")),
    "keywords": (made("f", "def f(t, *, a=1): return a * t"), made("f", "def f(t, *, a=2): return a * t")),
    "globals": (made("f", "def f(t): return A * t", A=1), made("f", "def f(t): return A * t", A=2)),
    "functions called": tuple(
        made("f", f"def g(t): return {a} * t\ndef f(t): return g(t)") for a in (1, 2)
    ),
    "closures": (faster(1.0), faster(2.0)),
    "closures over arrays": (closing(np.zeros(2)), closing(np.ones(2))),
    "closures over functions": (closing(faster(1.0)), closing(faster(2.0))),
    "closures over classes": (faster(1.0, kind=float), faster(1.0, kind=np.float32)),
    "partials": (functools.partial(max, 1), functools.partial(max, 2)),
    "methods": (Wave(1.0).__call__, Wave(2.0).__call__),
    "callable objects": (Wave(1.0), Wave(1.5)),
    "cached functions": tuple(functools.cache(made("f", TWICE.replace("2", each))) for each in "23"),
    "functions of NumPy": (np.sin, np.cos),
    "functions of Python": (len, max),
    "Warp functions": (pull, push),
    "classes": tuple(made("C", f"class C:\n    def f(self): return {a}")() for a in (1, 2)),
    "class values": tuple(made("C", f"class C:\n    a = {a}\n    def f(self): return self.a")() for a in (1, 2)),
    "bases": tuple(made("C", f"class B:\n    def f(self): return {a}\nclass C(B): pass")() for a in (1, 2)),
    "properties": tuple(made("C", f"class C:\n    @property\n    def f(self): return {a}")() for a in (1, 2)),
    "meshes": (shapes.Box((1.0, 1.0, 1.0)).surface(), shapes.Box((1.0, 1.0, 2.0)).surface()),
    "obstacles": (shapes.ground(friction=0.5), shapes.ground(friction=0.6)),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNLIKE)
def test_values_that_differ_have_other_identities(kind: str) -> None:
    first, second = UNLIKE[kind]
    assert identity(first) != identity(second)
    assert identity([first]) != identity([second])
    assert identity(closing(first)) != identity(closing(second))


@pytest.mark.parametrize("kind", UNLIKE)
def test_the_same_value_has_the_same_identity_again_and_where_it_was_pickled(kind: str) -> None:
    first, _ = UNLIKE[kind]
    before = identity(first)
    assert identity(first) == before
    try:
        twin = pickle.loads(pickle.dumps(first))
    except Exception:  # a closure, or a class of a text
        return
    assert identity(twin) == before


def test_what_is_worked_out_or_not_compared_does_not_count() -> None:
    counted, wave = Counted([1.0, 2.0]), Wave(1.0)
    before = identity(counted, wave)
    assert counted.total == 3.0
    wave.seen.append(1.0)
    assert identity(counted, wave) == before
    ball = shapes.Rigid(shapes.Sphere(0.1), motion="free", name="ball")
    known = identity(ball)
    assert ball.unit.mass > 0.0
    assert identity(ball) == known == identity(copy.deepcopy(ball))


def test_where_and_in_which_order_things_are_written_does_not_count() -> None:
    moved = made("f", f"# a comment\n\n\n{TWICE}  # and another")
    assert identity(moved) == identity(UNLIKE["code"][0])
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    assert identity(np.float64(1.5)) == identity(1.5)
    assert identity((1, 2)) == identity([1, 2])
    assert identity(1.0, wp.get_device("cpu")) == identity(1.0, wp.get_device("cpu"))


def test_things_that_refer_to_each_other() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert identity(ring) == identity(ring)
    text = "def f(t): return g(t - 1) if t else {0}\ndef g(t): return f(t - 1) if t else 1"
    first, second = (made("f", text.format(end)) for end in (0, 1))
    assert identity(first) == identity(first)
    assert identity(first) != identity(second)


def test_what_tells_nothing_of_its_value_counts_by_its_class(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as one, (tmp_path / "b").open("w") as other:
        assert identity(one) == identity(other) != identity(1)


def test_another_process_finds_the_same() -> None:
    text = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_identity as known
for kind in sorted(known.UNLIKE):
    print(kind, *(known.identity(one) for one in known.UNLIKE[kind]))
print(known.identity({{"north", "south", "east", "west"}}))
"""
    there = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split("\n")
    here = [f"{kind} {identity(UNLIKE[kind][0])} {identity(UNLIKE[kind][1])}" for kind in sorted(UNLIKE)]
    assert there[: len(here)] == here
    assert there[len(here)] == identity({"north", "south", "east", "west"})

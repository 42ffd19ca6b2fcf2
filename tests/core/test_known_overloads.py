"""Overloads of Warp's functions: found once for each list of types, those of a user's functions again."""

from __future__ import annotations

from typing import Any

import pytest
import warp as wp
from warp._src.codegen import Adjoint
from warp._src.context import builtin_functions

from annelid.core import known_overloads

AN_ARRAY = wp.array(dtype=float, ndim=1)


@pytest.mark.parametrize(
    ("builtin", "types", "named", "times"),
    [
        (True, (float, wp.vec3), {}, 1),
        (True, (AN_ARRAY, int), {}, 2),
        (True, (float,), {"dtype": float}, 2),
        (False, (float,), {}, 2),
    ],
)
def test_functions_of_warp_are_found_once(builtin: bool, types: Any, named: dict[str, type], times: int) -> None:
    asked: list[Any] = []

    def given(adjoint: Any, function: Any, *rest: Any) -> int:
        asked.append(rest)
        return len(asked)

    resolve = known_overloads._remembering(given)
    function = _Function(builtin)
    assert [resolve(None, function, types, named, None) for _ in range(2)] == [1, times]
    assert len(asked) == times


class _Function:
    def __init__(self, builtin: bool) -> None:
        self.overloads: list[object] = []
        self._builtin = builtin

    def is_builtin(self) -> bool:
        return self._builtin


def test_other_types_outputs_and_functions_are_asked_for_anew() -> None:
    resolve = known_overloads._remembering(lambda adjoint, function, types, named, outputs: (types, outputs))
    function = _Function(True)
    assert resolve(None, function, (int,), {}, None) == ((int,), None)
    assert resolve(None, function, (float,), {}, None) == ((float,), None)
    assert resolve(None, function, (float,), {}, 2) == ((float,), 2)
    counted = iter(range(9))
    resolve = known_overloads._remembering(lambda *arguments: next(counted))
    assert [resolve(None, each, (int,), {}, None) for each in (_Function(True), function)] == [0, 1]
    function.overloads.append(0)
    assert resolve(None, function, (int,), {}, None) == 2


def test_warp_asks_by_way_of_it_and_finds_the_same() -> None:
    known_overloads.know_overloads()  # a second time changes nothing
    given = Adjoint.resolve_func.__wrapped__
    assert not hasattr(given, "__wrapped__")
    mul = builtin_functions["mul"]
    for types in ((wp.float32, wp.float32), (wp.float64, wp.vec3d), (wp.mat33, wp.vec3), (wp.quat, wp.quat)):
        found = Adjoint.resolve_func(None, mul, types, {}, None)
        assert found is given(None, mul, types, {}, None)
        assert found is Adjoint.resolve_func(None, mul, types, {}, None)
    assert Adjoint.resolve_func(None, mul, (wp.float32, wp.vec3), {}, None) is not found


def test_what_no_function_takes_is_refused_each_time() -> None:
    mul = builtin_functions["mul"]
    for _ in range(2):
        with pytest.raises(Exception, match="Couldn't find function overload for 'mul'"):
            Adjoint.resolve_func(None, mul, (wp.vec3, str), {}, None)

"""References of functions: those of this package are found once, a user's own again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from warp._src.codegen import Adjoint

from annelid.core import known_references
from annelid.core.kernels import energy


@pytest.mark.parametrize(("module", "times"), [("annelid.core.kernels.energy", 1), ("mine", 2), ("annelidae", 2)])
def test_functions_of_this_package_are_read_once(module: str, times: int) -> None:
    read: list[Any] = []

    def given(function: Any) -> tuple[int]:
        read.append(function)
        return (len(read),)

    function = SimpleNamespace(func=SimpleNamespace(__module__=module))
    references = known_references._remembering(given)
    assert [references(function), references(function)] == [(1,), (times,)]
    assert len(read) == times


def test_warp_asks_by_way_of_it_and_finds_the_same() -> None:
    known_references.know_references()  # a second time changes nothing
    given = Adjoint.get_references.__wrapped__
    assert not hasattr(given, "__wrapped__")
    kernels = [each for each in vars(energy).values() if hasattr(each, "adj")]
    assert kernels
    for kernel in kernels:
        assert kernel.adj.get_references() == given(kernel.adj)
        assert kernel.adj.get_references() is kernel.adj.get_references()

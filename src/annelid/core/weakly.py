"""Calls from a part back to its owner that do not keep the owner alive.

An owner that its own parts refer to stands in a circle of references, which only Python's collector ends: it does not
see the memory of a GPU and comes late. A part that calls its owner weakly leaves the owner free at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def weakly(method: Callable[P, R]) -> Callable[P, R]:
    """A bound method as a function that does not keep its object alive; it is called while the object lives."""
    reference = weakref.WeakMethod(method)

    def call(*args: P.args, **named: P.kwargs) -> R:
        alive = reference()
        assert alive is not None, "a part outlived its owner"
        return alive(*args, **named)

    return call

"""Packages that import what they offer when it is asked for: a list of names must not cost the start of Warp."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def public(package: str, below: Sequence[str] = ()) -> Callable[[], list[str]]:
    """The `__dir__` of a package: what it offers, without what it imports for that.

    Args:
        package: Its `__name__`.
        below: Packages in it that are found by their name, too.
    """
    return lambda: sorted([*vars(sys.modules[package])["__all__"], *below])


def offered(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: Its `__name__`.
        homes: Names that it offers, by the module below it where they live; "" for modules themselves.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not home_of[name]:
            return import_module(f"{package}.{name}")
        found = vars(import_module(f"{package}.{home_of[name]}"))[name]
        setattr(sys.modules[package], name, found)  # the next time it is found without being asked for
        return found

    return get

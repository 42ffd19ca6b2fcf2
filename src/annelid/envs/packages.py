"""Packages that only learning needs, imported when it does."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from annelid.core.errors import AnnelidError


class MissingPackage(AnnelidError, ImportError):
    """An optional package is not installed."""


def optional(module: str, *, purpose: str, extra: str = "rl", package: str | None = None) -> Any:
    """A module of an optional package.

    Args:
        module: Its name.
        purpose: What needs it, for the message where it is missing.
        extra: The extra of Annelid that installs it.
        package: Name of the package to install instead, where no extra holds it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        remedy = f"pip install {package}" if package else f"pip install 'annelid[{extra}]'"
        raise MissingPackage(f"{purpose} needs {name}, which is not installed: {remedy}.") from error


def installed(module: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(module) is not None

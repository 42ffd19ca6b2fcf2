"""Packages that only parts of the library need: imported when they are used, with a remedy where they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from annelid.core.errors import MissingPackage


def optional(module: str, *, purpose: str, extra: str, package: str = "") -> Any:
    """A module of an optional package.

    Args:
        module: Its name.
        purpose: What needs it, for the message where it is missing.
        extra: The extra of Annelid that installs it.
        package: Name of its package where that differs from the module's.
    """
    top = module.partition(".")[0]
    try:
        import_module(top)
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"{purpose} needs {package or top}, which is not installed: pip install 'annelid[{extra}]'."
        ) from error


def installed(module: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(module) is not None

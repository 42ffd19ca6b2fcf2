"""Packages that only some searches need, imported when they do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from annelid.view.annotate import MissingPackage


def optional(module: str, *, purpose: str, extra: str) -> Any:
    """A module of an optional package.

    Args:
        module: Its name.
        purpose: What needs it, for the message where it is missing.
        extra: The extra of Annelid that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"{purpose} needs {package}, which is not installed: pip install annelid[{extra}]."
        ) from error

"""Packages that only parts of the library need: imported when they are used, with a remedy where they are missing."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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
    require_installed(module, purpose=purpose, extra=extra, package=package)
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"{purpose} needs {package or _top(module)}, which is installed but cannot be imported ({error}): "
            f"{installation(extra)}."
        ) from error


def require_installed(module: str, *, purpose: str, extra: str, package: str = "") -> None:
    """Say at once that a package is missing, without importing it where it is not; see `optional`."""
    if not installed(_top(module)):
        raise MissingPackage(
            f"{purpose} needs {package or _top(module)}, which is not installed: {installation(extra)}."
        )


def installed(module: str) -> bool:
    """Whether a package is there to be imported."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def installation(extra: str) -> str:
    """The command that installs an extra for this copy of Annelid: from its clone, or by its name."""
    quote = '"' if os.name == "nt" else "'"  # the Windows prompt takes single quotes for a part of the name
    clone = _clone()
    if clone is None:
        return f"pip install {quote}annelid[{extra}]{quote}"
    here = _same(Path(), clone)
    if (clone / "Makefile").is_file() and _same(Path(sys.prefix), clone / ".venv"):
        return f"make setup EXTRA={extra}" if here else f"make -C {quote}{clone}{quote} setup EXTRA={extra}"
    return f"pip install -e {quote}{'.' if here else clone}[{extra}]{quote}"


def _clone() -> Path | None:
    """The folder of the sources that this copy runs from; None where it was installed."""
    sources = Path(__file__).resolve().parents[2]
    return sources.parent if sources.name == "src" and (sources.parent / "pyproject.toml").is_file() else None


def _same(a: Path, b: Path) -> bool:
    with suppress(OSError):
        return a.samefile(b)
    return False


def _top(module: str) -> str:
    return module.partition(".")[0]

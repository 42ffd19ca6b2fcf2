"""How a number came about: when, with which versions and on what machine."""

from __future__ import annotations

import platform
import sys
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import Any

_PACKAGES = ("warp-lang", "numpy", "scipy")


def provenance(settings: object | None = None) -> dict[str, Any]:
    """Date (UTC), versions and machine as JSON can hold them, and the plain fields of a dataclass of settings."""
    made: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {
            "python": sys.version.split()[0],
            "annelid": import_module("annelid").__version__,  # what runs, also where it is not installed
            **{name: _version(name) for name in _PACKAGES},
        },
    }
    if settings is not None:
        made["options"] = plain_fields(settings)
    return made


def plain_fields(settings: object) -> dict[str, Any]:
    """Fields of a dataclass as JSON can hold them; of files only their names, since folders say nothing elsewhere."""
    if not is_dataclass(settings):
        return {}
    values = {field.name: _plain(getattr(settings, field.name)) for field in fields(settings)}
    return {name: value for name, value in values.items() if value is not _UNFIT}


_UNFIT = object()


def _plain(value: object) -> object:
    if isinstance(value, tuple | list):
        return _UNFIT if _UNFIT in (plain := [_plain(each) for each in value]) else plain
    if isinstance(value, PurePath):
        return value.name
    return value if value is None or isinstance(value, bool | int | float | str) else _UNFIT


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

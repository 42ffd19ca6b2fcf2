"""Controllers from files: one by itself, or the best one that a search has found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annelid.control.controller import Controller, controller_from_dict
from annelid.core.errors import AnnelidError, FileFormatError
from annelid.core.files import read_text

BEST = "best.json"
"""File of a search, in its folder, with the best robots that it has found."""
_REMEDY = "name the folder of a search or of a training"


def read_controller(path: str | Path) -> Controller:
    """A controller from the folder of a search, its best.json, or a file with what `Controller.to_dict` gave.

    Args:
        path: The file or the folder; of several robots the first one is taken, which is the best.
    """
    path = Path(path)
    path = path / BEST if path.is_dir() else path
    try:
        found = _controller_in(json.loads(read_text(path)))
        return controller_from_dict(dict(found))
    except OSError as error:
        raise FileFormatError(f"the controller {path} cannot be read: {error.strerror}; {_REMEDY}.") from None
    except json.JSONDecodeError:
        raise FileFormatError(f"{path} holds no controller: it is not JSON; {_REMEDY}.") from None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, AnnelidError) as error:
        said = str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}."
        raise FileFormatError(f"{path} holds no controller that could be read: {said}") from error


def _controller_in(values: Any) -> Mapping[str, Any]:
    """The controller in what was read, at its top or in the first of its robots."""
    if isinstance(values, Mapping) and "robots" in values:
        if not values["robots"]:
            raise ValueError("its search has found no robot")
        values = values["robots"][0]["robot"]
    if isinstance(values, Mapping) and "controller" in values:
        values = values["controller"]
    if not isinstance(values, Mapping):
        raise ValueError("no table of a controller")
    return values

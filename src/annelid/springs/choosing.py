"""Which masses or springs an edit means: handles, a function of their places, a mask over the living ones, or slots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import IndicesAreSlots, InvalidValue
from annelid.core.handles import Handles, HandleTable

Choice = Handles | Callable[[np.ndarray], np.ndarray] | np.ndarray | Sequence[int] | int
"""Handles; a function of places [n, 3] -> bool [n]; a mask over those that live, shape [n]; or slots."""


def chosen_by_place(live: Handles, places: np.ndarray, function: Callable[[np.ndarray], Any]) -> Handles:
    """Those whose place [m], shape [n, 3], a function finds; it must find one."""
    found = live[_mask(live.kind, np.asarray(function(places)), len(live), f"the function that chooses a {live.kind}")]
    if len(found) == 0:
        raise InvalidValue(f"the function that chooses a {live.kind} to edit finds none of the {len(live)}.")
    return found


def chosen_by_number(table: HandleTable, given: Any) -> Handles:
    """Those that a mask over the living ones or slots name."""
    values = np.atleast_1d(array_or_none(given))
    if values.dtype == bool:
        live = table.handles()
        return live[_mask(table.kind, values, len(live), "a mask")]
    if values.size and values.dtype.kind not in "iu":
        raise InvalidValue(
            f"choose a {table.kind} by its handle, a function of places, a mask or whole numbers, not by {given!r:.60}."
        )
    return table.handles(values.astype(np.int64))


def warn_of_slots(table: HandleTable, given: Any, handles: Handles) -> None:
    """Warn of indices that may have been rows of `positions()`, which leaves removed masses out, but are slots."""
    named_otherwise = isinstance(given, Handles) or callable(given) or array_or_none(given).dtype == bool
    if named_otherwise or len(handles) == 0 or table.live_count == table.used:
        return
    last = int(handles.index.max())
    gone = int((~table.alive[:last]).sum())
    if gone:
        warnings.warn(
            f"masses were removed before, and indices still count all slots: {last} is the mass in row {last - gone} "
            "of positions(). Choose by a function of positions, a mask over positions() or edit.masses()[rows]; "
            "edit.masses(slots) says that slots are meant.",
            IndicesAreSlots,
            stacklevel=4,
        )


def _mask(kind: str, values: np.ndarray, count: int, what: str) -> np.ndarray:
    if values.dtype != bool or values.shape != (count,):
        raise InvalidValue(
            f"{what} must give True or False for each {kind} that is left, shape [{count}], not {values.dtype} of "
            f"shape {list(values.shape)}."
        )
    return values

"""What springs were last that have been removed or have broken, for whoever still has a handle to them."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import StaleHandle

KEPT = 50_000
"""Springs that are remembered; older ones are forgotten, or a body that is edited for long would grow for ever."""

_PARTS = 256  # that are joined, because many small arrays take more memory than their numbers

Part = tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]
"""Slots, generations, ends and constants of springs."""


class Graves:
    """The last values of removed springs.

    Args:
        none: A part without springs, which says the types of arrays.
    """

    def __init__(self, none: Part) -> None:
        self._none = none
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        """Remember springs; the arrays must be nobody else's."""
        self._parts.append(part)
        if len(self._parts) > _PARTS:
            self._parts = [self.joined()]

    def joined(self) -> Part:
        """All that are remembered, in the order in which they were removed."""
        parts = [self._none, *self._parts]
        index, generation, ends = (np.concatenate([part[k] for part in parts])[-KEPT:] for k in range(3))
        values = {name: np.concatenate([part[3][name] for part in parts])[-KEPT:] for name in self._none[3]}
        return index, generation, ends, values

    def find(self, index: int, generation: int) -> tuple[np.ndarray, dict[str, float]]:
        """Ends and constants of a spring."""
        for indices, generations, ends, values in reversed(self._parts):
            found = np.flatnonzero((indices == index) & (generations == generation))
            if len(found):
                at = int(found[0])
                return ends[at], {name: column[at] for name, column in values.items()}
        raise StaleHandle(
            f"spring {index} of generation {generation} has never existed, or was removed so long ago that more than "
            f"{KEPT} others have been removed since."
        )

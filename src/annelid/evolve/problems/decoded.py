"""Rows that were decoded for their keys need not be decoded again for their trial."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Decode = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Grids of rows, and their waves: of materials, or row by row."""


class Recent:
    """Decodes batches and remembers the last one, of which some rows are usually asked for next."""

    def __init__(self) -> None:
        self._number: dict[bytes, int] = {}
        self._grids, self._waves = np.zeros(0), np.zeros(0)

    def decoded(self, batch: np.ndarray, decode: Decode) -> tuple[np.ndarray, np.ndarray]:
        """Grids and waves of the rows, as a decoder makes them."""
        names = [row.tobytes() for row in np.ascontiguousarray(batch, float)]
        if not all(name in self._number for name in names):
            self._grids, self._waves = decode(batch)
            self._number = {name: i for i, name in enumerate(names)}
        rows = [self._number[name] for name in names]
        return self._grids[rows], self._waves if self._waves.ndim == 2 else self._waves[rows]

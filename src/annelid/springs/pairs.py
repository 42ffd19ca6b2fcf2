"""Which springs lie between two masses."""

from __future__ import annotations

import numpy as np

from annelid.core.handles import HandleTable

FEWEST = 1024
"""New springs before those among them that are gone are forgotten."""


class Pairs:
    """Finds springs by their masses: those of the beginning in a sorted list, newer ones in a dictionary beside it."""

    def __init__(self) -> None:
        self._first: tuple[np.ndarray, np.ndarray] | None = None
        self._new: dict[int, list[int]] = {}
        self._noted, self._most = 0, FEWEST

    def between(
        self, first: np.ndarray, second: np.ndarray, *, springs: HandleTable, ends: np.ndarray
    ) -> list[np.ndarray]:
        """The live springs between each pair of masses.

        Args:
            first: The one mass of each pair.
            second: The other mass.
            springs: Which springs are alive.
            ends: Masses of each spring, shape [s, 2].
        """
        keys = _keys(first, second)
        if self._first is None:
            live = np.arange(springs.filled)
            every = _keys(ends[live, 0], ends[live, 1])
            order = np.argsort(every, kind="stable")
            self._first = every[order], live[order]
        low, high = (np.searchsorted(self._first[0], keys, side) for side in ("left", "right"))
        found = []
        for key, a, b in zip(keys.tolist(), low, high, strict=True):
            ids = np.concatenate([self._first[1][a:b], np.asarray(self._new.get(key, []), np.int64)]).astype(int)
            held = springs.alive[ids] & (_keys(ends[ids, 0], ends[ids, 1]) == key)
            found.append(np.unique(ids[held]))
        return found

    def note(self, index: np.ndarray, *, springs: HandleTable, ends: np.ndarray) -> None:
        """Springs are new, or lie between other masses than before."""
        if self._first is None:
            return
        self._add(index, ends)
        if self._noted > self._most:
            self._forget(springs, ends)

    def _add(self, index: np.ndarray, ends: np.ndarray) -> None:
        for key, spring in zip(_keys(*ends[index].T).tolist(), index.tolist(), strict=True):
            self._new.setdefault(key, []).append(spring)
        self._noted += len(index)

    def _forget(self, springs: HandleTable, ends: np.ndarray) -> None:
        """Forget new springs that are gone: what is left is at most half as much the next time."""
        known = np.unique([spring for ids in self._new.values() for spring in ids])
        self._new, self._noted = {}, 0
        self._add(known[springs.alive[known]], ends)
        self._most = max(FEWEST, 2 * self._noted)


def _keys(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second).astype(np.int64)
    return (low << 32) | high

"""Handles to things that come and go: an index and the generation of its slot, which reveals stale ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue, StaleHandle


@dataclass(frozen=True, eq=False)
class Handles:
    """Handles to any number of things of one kind.

    Attributes:
        kind: "mass" or "spring".
        index: Slots, shape [k].
        generation: Generation of each slot when the handle was made, shape [k].
    """

    kind: str
    index: np.ndarray
    generation: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, chosen: Any) -> Handles:
        index, generation = np.atleast_1d(self.index[chosen]), np.atleast_1d(self.generation[chosen])
        return Handles(self.kind, index, generation)

    def __add__(self, other: Handles) -> Handles:
        if self.kind != other.kind:
            raise InvalidValue(f"handles of a {self.kind} and of a {other.kind} cannot be joined.")
        return Handles(
            self.kind, np.concatenate([self.index, other.index]), np.concatenate([self.generation, other.generation])
        )


class HandleTable:
    """Which slots are taken, in which generation; taking and freeing cost the same however many there are.

    Slots are reserved first, so that there are handles to speak of, and filled when the thing is there: until then
    nobody else sees them.

    Args:
        kind: "mass" or "spring".
        count: Slots filled at the beginning.

    Attributes:
        used: Slots that were ever reserved.
        filled: Slots up to the last one that was ever filled.
    """

    def __init__(self, kind: str, count: int) -> None:
        self.kind = kind
        self.used = self.filled = count
        self._reserved = 0
        self.alive = np.ones(count, bool)
        self.generation = np.zeros(count, np.int32)
        self.free_slots: list[int] = []  # the last is taken first

    @property
    def live_count(self) -> int:
        """Number of filled slots."""
        return self.used - len(self.free_slots) - self._reserved

    def handles(self, index: np.ndarray | None = None) -> Handles:
        """Handles to the things now in these slots (all live ones by default)."""
        chosen = np.flatnonzero(self.alive[: self.used]) if index is None else np.atleast_1d(np.asarray(index))
        outside = (chosen < 0) | (chosen >= self.used)
        if outside.any():
            raise InvalidValue(f"there is no {self.kind} in slot {chosen[outside][0]}: there are {self.used} slots.")
        if not self.alive[chosen].all():
            raise InvalidValue(
                f"there is no {self.kind} in slot {chosen[~self.alive[chosen]][0]}: it was removed, or is yet to come. "
                "Slots keep their numbers; a mask or a function chooses among those that are left."
            )
        return Handles(self.kind, chosen.astype(np.int64), self.generation[chosen].copy())

    def reserve(self, count: int) -> Handles:
        """Reserve slots, freed ones first."""
        reused = [self.free_slots.pop() for _ in range(min(count, len(self.free_slots)))]
        fresh = np.arange(self.used, self.used + count - len(reused))
        self.used += len(fresh)
        self._room(self.used)
        index = np.concatenate([np.asarray(reused, np.int64), fresh])
        self._reserved += count
        return Handles(self.kind, index, self.generation[index].copy())

    def fill(self, handles: Handles) -> None:
        """What slots were reserved for is there."""
        self.alive[handles.index] = True
        self._reserved -= len(handles)
        self.filled = max(self.filled, int(handles.index.max(initial=-1)) + 1)

    def give_back(self, handles: Handles) -> None:
        """What slots were reserved for will not come."""
        self._reserved -= len(handles)
        self.free(handles.index)

    def free(self, index: np.ndarray) -> None:
        """Free slots; handles to them are stale from now on."""
        self.alive[index] = False
        self.generation[index] += 1
        self.free_slots.extend(index.tolist())

    def refill(self, index: np.ndarray) -> None:
        """What was in freed slots is there again; handles from before stay stale."""
        again = set(index.tolist())
        self.alive[index] = True
        self.free_slots = [slot for slot in self.free_slots if slot not in again]

    def valid(self, handles: Handles) -> np.ndarray:
        """Whether each handle still means what it meant, shape [k]."""
        known = handles.index < self.used
        slot = np.where(known, handles.index, 0)
        return np.asarray(known & self.alive[slot] & (self.generation[slot] == handles.generation))

    def require(self, handles: Handles) -> np.ndarray:
        """The slots of handles, all of which must be valid."""
        if handles.kind != self.kind:
            raise InvalidValue(f"a handle of a {handles.kind} was given where one of a {self.kind} is needed.")
        good = self.valid(handles)
        if not good.all():
            first = int(np.flatnonzero(~good)[0])
            raise StaleHandle(
                f"{self.kind} {int(handles.index[first])} (generation {int(handles.generation[first])}) does not exist "
                f"any more: its handle is stale and can be read but not edited."
            )
        return handles.index

    def _room(self, size: int) -> None:
        if size > len(self.alive):
            room = max(size, 2 * len(self.alive))
            self.alive = np.concatenate([self.alive, np.zeros(room - len(self.alive), bool)])
            self.generation = np.concatenate([self.generation, np.zeros(room - len(self.generation), np.int32)])

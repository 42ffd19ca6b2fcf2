"""What a sensor reads of a body that changes: the masses or springs it was made for, as far as they are still there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from annelid.core.handles import HandleTable
from annelid.springs.model import Model
from annelid.springs.network import Network

T = TypeVar("T")


class Followed(Generic[T]):
    """Masses or springs of a body as built, without those that were removed; slots may hold others by now.

    Args:
        model: The model whose network changes.
        table: Which of the slots of a network are meant.
        chosen: Slots as built, shape [n].
        prepare: Makes what a sensor needs of those that are left, which may be none.
    """

    def __init__(
        self,
        model: Model,
        table: Callable[[Network], HandleTable],
        chosen: np.ndarray,
        prepare: Callable[[np.ndarray], T],
    ) -> None:
        self._model, self._table, self._chosen, self._prepare = model, table, chosen, prepare
        self._version = model.network.version
        self._prepared = prepare(self._left())

    def now(self) -> T:
        """What was prepared for those that are there now."""
        network = self._model.network
        if network.version != self._version:
            with network.settled():  # a thread that prepares an edit counts it before all of it is done
                self._version, left = network.version, self._left()
                self._prepared = self._prepare(left)
        return self._prepared

    def _left(self) -> np.ndarray:
        network = self._model.network
        if self._model.worlds > 1 or not network.edited:  # bodies of several worlds are not edited, though they break
            return self._chosen
        table, chosen = self._table(network), self._chosen
        return chosen[table.alive[chosen] & (table.generation[chosen] == 0)]

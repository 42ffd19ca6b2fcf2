"""The paper's search for contacts, to be measured beside the lists: a linked hash, made anew in every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.grains.kernels.linked import MOST, Table, arrangement, clear, insert
from annelid.grains.model import Model

ARRANGEMENTS = ("one-loop", "two-loops", "two-kernels")


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        candidates: Pairs that were looked at, each from both sides.
        contacts: Pairs that touch, each from both sides.
    """

    candidates: int
    contacts: int

    @property
    def share(self) -> float:
        """Share of the candidates that touch."""
        return self.contacts / max(self.candidates, 1)


class LinkedHash:
    """Finds and resolves the contacts of equal grains as GranularGym does, without walls and without moving them.

    Args:
        model: A model of equal grains.
        state: Its state; positions and velocities are read.
        size: Buckets of the table; twice the grains is what the paper proposes.
        order: "one-loop", "two-loops" or "two-kernels".

    Attributes:
        changes: Change of the velocity of each grain in the last search [m/s], and how many contacts it has.
    """

    def __init__(self, model: Model, state: Any, *, size: int | None = None, order: str = "two-loops") -> None:
        if model.features.sizes:
            raise InvalidValue("the paper's search knows one radius only: use grains of equal size.")
        if order not in ARRANGEMENTS:
            raise UnknownName("arrangement", order, ARRANGEMENTS)
        n, device = model.count, model.device
        self.device = device
        self.size = 2 * n if size is None else size
        if self.size < 1:
            raise InvalidValue(f"a hash needs at least one bucket, not {size}.")
        self._model, self._kernels = model, arrangement(order)
        table: Any = Table()
        table.positions, table.velocities = state.positions, state.forecast
        table.heads = wp.zeros(self.size, dtype=wp.int32, device=device)
        table.nexts = wp.zeros(n, dtype=wp.int32, device=device)
        table.notes = wp.zeros(n * MOST, dtype=wp.int32, device=device)
        table.candidates = wp.zeros(n, dtype=wp.int32, device=device)
        table.changes = self.changes = wp.zeros(n, dtype=wp.vec4, device=device)
        self._table = table

    def search(self, sweeps: int = 3) -> None:
        """Make the hash, find the contacts and resolve them; on CUDA this returns before it is done."""
        model, table = self._model, self._table
        wp.launch(clear, self.size, [table], device=model.device)
        wp.launch(insert, model.count, [model.parameters, table], device=model.device)
        for kernel in self._kernels:
            wp.launch(kernel, model.count, [sweeps, model.parameters, table], device=model.device)

    def found(self) -> Found:
        """How much the last search looked at, and how much of that touches."""
        return Found(int(self._table.candidates.numpy().sum()), int(np.rint(self.changes.numpy()[:, 3]).sum()))

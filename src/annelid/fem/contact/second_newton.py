"""Newton's method for a small solid in motion that touches: another attempt where iterations of all nodes do not end.

Friction that comes and goes on some nodes, each of which changes the push on the others, may go round in circles where
its limits lag behind: no step along the energy leads to a state that keeps its own limits. There the step is begun
anew, and which nodes touch, stick or slide is found on these nodes alone (`contact.reduced`), pairs of the surface with
itself among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.kept_newton import KeptNewton
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.fem.model import Model
from annelid.fem.newton import Attempt, Holds, Settings

_MOST = 30  # iterations of the second attempt, each of which costs a factor and many solutions
_PATIENCE = 5  # of them without less force than ever before
_NOWHERE, _AS_MUCH = 2.0**-9, 0.99  # part of a step, and of the force left: a step that is shorter and leaves more
_OFTEN = 4  # such steps one after the other: energies do not tell there where to go
_WITHOUT = 3  # iterations without foresight after it has failed


class SecondNewton(TouchingNewton):
    """Finds the equilibria of time steps; those that it does not find are sought once more, from the same start.

    Args:
        model: The model.
        contacts: What it touches.
        settings: How.
    """

    def __init__(self, model: Model, contacts: Contacts, settings: Settings | None = None) -> None:
        super().__init__(model, contacts, settings)
        self._again: FewNodesNewton | None = None
        self._guess, self._found = model.vectors(), model.vectors()
        self._nowhere = 0

    def settle(self, positions: wp.array[Any], fraction: float = 1.0, holds: Holds | None = None) -> Attempt:
        """Move positions to the equilibrium; where it is not found, to what is nearest to it of two attempts."""
        contacts, self._nowhere = self.contacts, 0
        wp.copy(self._guess, positions)
        begin = contacts.placed()
        first = super().settle(positions, fraction, holds)
        if first.done or not np.isfinite(first.residual):
            return first
        end = contacts.placed()
        wp.copy(self._found, positions)
        wp.copy(positions, self._guess)
        contacts.put_back(begin)
        second = self._few_nodes().again(positions, fraction, holds)
        if second.done or second.residual < first.residual:
            return second
        wp.copy(positions, self._found)
        contacts.put_back(end)
        return first

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        found = super()._search(positions, fraction, energy, slope, left)
        if found is None:
            return None
        self._nowhere = self._nowhere + 1 if self._length < _NOWHERE and found[1] > _AS_MUCH * left else 0
        return found if self._nowhere < _OFTEN else None

    def _few_nodes(self) -> FewNodesNewton:
        if self._again is None:
            fewer = replace(self.settings, iterations=min(self.settings.iterations, _MOST))
            self._again = FewNodesNewton(self.model, self.contacts, fewer)
        return self._again


class FewNodesNewton(KeptNewton):
    """Finds the equilibrium of a time step by foresight of contact, pairs of the surface included.

    Every matrix is factored, in double precision, so that momentum stays to rounding as in the first attempt, and
    states have nothing to remember of it.

    Args:
        model: The model.
        contacts: What it touches.
        settings: How.
    """

    patience = _PATIENCE

    def __init__(self, model: Model, contacts: Contacts, settings: Settings | None = None) -> None:
        asked = None if contacts.pairs is None else contacts.pairs.few
        factor = KeptFactor(model.unknowns, model.assembly, model.tetrahedra, single=False)
        super().__init__(model, contacts, settings, kept=factor)
        self._foresees, self._without = True, 0
        if contacts.pairs is not None and asked is not None:
            contacts.pairs.few = asked

    def again(self, positions: wp.array[Any], fraction: float, holds: Holds | None) -> Attempt:
        """The same as `settle`, with no factor at the beginning, while no columns are made of pairs."""
        self.kept.age = -1
        pairs = self.contacts.pairs
        if pairs is None:
            return self.settle(positions, fraction, holds)
        asked, pairs.few, pairs.columns = pairs.few, -1, None
        try:
            return self.settle(positions, fraction, holds)
        finally:
            pairs.few = asked

    def _direction(self) -> float:
        self._directions += 1
        return self._renewed()

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        found = super()._search(positions, fraction, energy, slope, left)
        self._without = self._without + 1 if self._failed else 0
        if self._without >= _WITHOUT:  # by then another set of nodes touches
            self._failed, self._without = False, 0
        return found

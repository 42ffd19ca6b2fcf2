"""Newton's method for a solid in motion that touches, in two ways: what one does not find, the other may.

Friction that comes and goes on some nodes, each of which changes the push on the others, may go round in circles where
its limits lag behind: no step along the energy leads to a state that keeps its own limits. Then the step is begun
anew, and which nodes touch, stick or slide is found on these nodes alone (`contact.reduced`), pairs of the surface with
itself among them. That takes a half to a fifth of the iterations, each of which costs a factor, and more work for each
node that touches: a large solid, whose factors cost most, begins with it.
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
from annelid.fem.linear_choice import LARGE
from annelid.fem.model import Model
from annelid.fem.newton import Attempt, Holds, Settings

_MOST = 30  # iterations of the second attempt, each of which costs a factor and many solutions
_PATIENCE = 5  # of them without less force than ever before
_NOWHERE, _AS_MUCH = 2.0**-9, 0.99  # part of a step, and of the force left: a step that is shorter and leaves more
_OFTEN = 4  # such steps one after the other: energies do not tell there where to go
_WITHOUT = 3  # iterations without foresight after it has failed
_LED = 2  # iterations with the factor at hand that cost no more than one with another


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
        self._large = model.node_count >= LARGE
        self._guess, self._found = model.vectors(), model.vectors()
        self._nowhere = 0

    def settle(self, positions: wp.array[Any], fraction: float = 1.0, holds: Holds | None = None) -> Attempt:
        """Move positions to the equilibrium; where it is not found, to what is nearest to it of two attempts."""
        contacts = self.contacts
        wp.copy(self._guess, positions)
        begin = contacts.placed()
        first = self._attempt(positions, fraction, holds, by_few=self._large)
        if first.done or not (self._large or np.isfinite(first.residual)):
            return first
        end = contacts.placed()
        wp.copy(self._found, positions)
        wp.copy(positions, self._guess)
        contacts.put_back(begin)
        second = self._attempt(positions, fraction, holds, by_few=not self._large)
        if second.done or not first.residual <= second.residual:
            return second
        wp.copy(positions, self._found)
        contacts.put_back(end)
        return first

    def _attempt(self, positions: wp.array[Any], fraction: float, holds: Holds | None, *, by_few: bool) -> Attempt:
        """One attempt, which finds contact on all nodes or on the few that touch."""
        if by_few:
            return self._few_nodes().again(positions, fraction, holds)
        self._nowhere = 0
        return super().settle(positions, fraction, holds)

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

    Matrices are factored in double precision, so that momentum stays to rounding as in the other attempt, and each for
    its step alone, so that states have nothing to remember of it: one leads on where little is left to do.

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
        self._foresees, self._without, self._ends_soon = True, 0, False
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
        if self._directions and self._ends_soon:
            return super()._direction()
        self._directions += 1
        return self._renewed()

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        found = super()._search(positions, fraction, energy, slope, left)
        self._without = self._without + 1 if self._failed else 0
        if self._without >= _WITHOUT:  # by then another set of nodes touches
            self._failed, self._without = False, 0
        ended = found is not None and found[1] * (found[1] / left) ** _LED <= self._enough
        self._ends_soon = self._foreseen and ended
        return found

"""Newton's method for a solid that touches: no move goes through anything, friction follows the iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.coupled import CoupledSolver
from annelid.fem.contact.elimination import Elimination
from annelid.fem.contact.inside import deepest_in
from annelid.fem.contact.limits import Limits
from annelid.fem.kernels.motion import hold
from annelid.fem.model import Model
from annelid.fem.newton import Attempt, Holds, Newton, NoEquilibrium, Settings

_DETOURS = 100  # parts in which what is driven comes to where it belongs
_BETWEEN = 6  # iterations between two parts
_MOST = 300  # iterations of an equilibrium: where a long belt slides, friction is found node after node
_MUCH_CLOSER, _CLOSER = 0.1, 0.5  # force left after a step over that before it, with which it is taken in any case
_NEAR = 1e-3  # of the force left at first: from there on little progress is enough
_SHORT = 0.5  # of a step: shorter ones overshoot
_CREEPS = 0.5  # of the force left before a whole step: more after it, and iterations creep
_LESS = 0.2  # of the resistance of what slides, which is left in the tangent where iterations creep
_PLAIN = 3  # times that friction simply follows
_FOLLOW = 0.1  # of the force left when friction was looked at last: then it is looked at again


class TouchingNewton(Newton):
    """Finds equilibria of a model among obstacles; its contacts are among the extras of the model.

    Args:
        model: The model.
        contacts: What it touches.
        settings: How.
    """

    patience = 60
    shortest = 2.0**-20  # where the nearest triangle of a corner changes in a dent, forces jump: no step ends that

    def __init__(self, model: Model, contacts: Contacts, settings: Settings | None = None) -> None:
        super().__init__(model, settings or Settings(iterations=_MOST))
        self.contacts = contacts
        if contacts.pairs is not None:
            self.linear = CoupledSolver(model, contacts.pairs)
        self._poses = contacts.now.places.copy(), contacts.now.turns.copy()
        self._limits, self._follows = Limits(), 0
        self._length, self._yielding = 1.0, 0.0

    def approach(self, starts: wp.array[Any], positions: wp.array[Any]) -> None:
        """Go from the start of a step towards a first guess, obstacles on their way, as far as nothing is in the way.

        Args:
            starts: Where nodes are [m].
            positions: The guess; where they have got to, afterwards.
        """
        self._add(positions, starts, -1.0, self._jump)
        part = self._advance(starts, self._jump, flying=True)
        self._add(starts, self._jump, part, positions)

    def _advance(self, positions: wp.array[Any], step: wp.array[Any], *, flying: bool = False) -> float:
        """Let obstacles go on, and find the part of a step that is free; refused where something is in an obstacle."""
        part = self.contacts.advance(positions, step, flying=flying)
        if part < 0.0:
            raise NoEquilibrium(deepest_in(self.contacts, positions), fraction=0.0, residual=float("nan"))
        return part

    def _keep(self, positions: wp.array[Any]) -> None:
        super()._keep(positions)
        self._poses = self.contacts.now.places.copy(), self.contacts.now.turns.copy()

    def _return(self, positions: wp.array[Any]) -> None:
        super()._return(positions)
        self.contacts.now.set(*self._poses)

    @property
    def _whole_steps(self) -> bool:
        """Never: a whole step may lead through a surface."""
        return False

    def _arrive(self, positions: wp.array[Any], fraction: float, holds: Holds) -> None:
        """Bring what is held or driven to where it belongs, in parts where something is in the way."""
        self._let_slide(0.0)  # what the step before, or another world, has left of it is no part of a state
        for _ in range(_DETOURS):
            self.contacts.follow(positions, guessed=True)
            self.contacts.wait()
            moves = self._way_to(positions, holds)
            if not moves and self.contacts.arrived:
                return
            part = self._advance(positions, self._step)
            self._add(positions, self._step, part, positions)
            if part == 1.0:
                return
            self._descend(positions, fraction, _BETWEEN)
        raise NoEquilibrium(
            f"what is held or driven does not get to where it belongs: {self.contacts.in_the_way()}.",
            fraction=fraction,
            residual=float("nan"),
        )

    def _way_to(self, positions: wp.array[Any], holds: Holds) -> bool:
        """Into the step: how far held components have to go, and how free nodes follow; whether there is any."""
        model = self.model
        arguments = [wp.float64(holds.part), model.held, holds.starts, holds.moves, positions, self._jump]
        self._launcher.launch(hold, model.node_count, arguments)
        if self._largest(self._jump) == 0.0:
            self._step.zero_()
            return False
        model.assembly.evaluate(positions)
        model.assembly.multiply(self._jump.reshape((-1, 1)), self._residual.reshape((-1, 1)))
        self._guess_free(model.linear)  # pairs may be left out
        self._add(self._jump, self._step, -1.0, self._step)
        return True

    def _descend(self, positions: wp.array[Any], fraction: float, iterations: int) -> Attempt:
        self.contacts.follow(positions, guessed=True)
        self._fresh = self._least = float("inf")
        self._follows = 0
        self._limits.forget()
        self._let_slide(0.0)
        return super()._descend(positions, fraction, iterations)

    def _good_enough(self, fraction: float, first: float) -> float:
        self._first = self._fresh = self._least = first
        self._enough = super()._good_enough(fraction, first)
        return self._enough

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        self._before = self.contacts.bodies.unknowns()
        found = super()._search(positions, fraction, energy, slope, left)
        if found is None and self.contacts.bodies:
            self.contacts.bodies.move(self._before, 0.0, self.contacts.now)
        if found is not None:
            self._least = min(self._least, found[1])
        if found is not None and (self._length < _SHORT or (self._length == 1.0 and found[1] > _CREEPS * left)):
            self._let_slide(1.0 - _LESS * (1.0 - self._yielding) if self._length == 1.0 else 0.0)
        return found

    def _let_slide(self, yielding: float) -> None:
        """Let tangents of the surface's own friction resist further sliding less by a part, or as before by 0."""
        self._yielding = yielding
        if self.contacts.pairs is not None:
            self.contacts.pairs.let_slide(yielding)

    def _leads_on(self, rest: float, left: float) -> bool:
        """Near the end energies do not tell: torques of bodies have none that is true to the last digit.

        It must leave less than any step before, or iterations may go round in circles.
        """
        return rest <= (_CLOSER if left <= _NEAR * self._first else _MUCH_CLOSER) * min(left, self._least)

    def _try(self, positions: wp.array[Any], length: float) -> None:
        super()._try(positions, length)
        self._length = length
        if self.contacts.bodies:
            self.contacts.bodies.move(self._before, length, self.contacts.now)

    def _look(self, positions: wp.array[Any], fraction: float, *, tangent: bool = True) -> tuple[float, float]:
        self.model.assembly.evaluate(positions, tangent=tangent)
        return self._left(positions, fraction, tangent=tangent)

    def _left(self, positions: wp.array[Any], fraction: float, *, tangent: bool = True) -> tuple[float, float]:
        energy, left = super()._left(positions, fraction)
        contacts = self.contacts
        if not contacts.bodies:
            return energy, left
        self._outer = positions.numpy()[contacts.outer]
        self._loads = contacts.sharp_loads(contacts.bodies.numbers)
        more, pulled = contacts.bodies.look(contacts.now, contacts.nodes, self._outer, self._loads, tangent=tangent)
        self._magnitude += abs(more)
        return energy + more, max(left, pulled)

    def _solved(self) -> float:
        """The solution for nodes and bodies; the factor of the nodes' matrix eliminates the nodes."""
        slope, contacts = super()._solved(), self.contacts
        bodies = contacts.bodies
        if not bodies:
            return slope
        known = Elimination(contacts, self.linear, self._outer, self._loads, self.model.node_count)
        steps = self._step.numpy().copy()
        moves = bodies.solution(
            known.matrix, bodies.forces - np.einsum("kia,ki->a", known.coupling, steps[contacts.outer])
        )
        bodies.step = moves.reshape(-1, 6)
        steps -= known.answers @ moves
        self._step.assign(steps)
        return float((self._residual.numpy() * steps).sum() + bodies.forces @ moves)

    def _longest(self, positions: wp.array[Any]) -> float:
        return self.contacts.free_part(positions, self._step)

    def _taken(
        self, positions: wp.array[Any], fraction: float, known: tuple[float, float] | None
    ) -> tuple[float, float]:
        """Friction follows once the forces with friction as it was are small: so each of its problems has an energy."""
        found = super()._taken(positions, fraction, known)
        if found[1] > max(_FOLLOW * self._fresh, self._enough):
            return found
        found = self._followed(positions, fraction)
        self._fresh = self._least = found[1]
        return found

    def _followed(self, positions: wp.array[Any], fraction: float) -> tuple[float, float]:
        """Let friction follow; after a few times to where it would end, if it were not there then.

        Where nothing is left with limits as they follow, the step is done: only these count.
        """
        contacts, self._follows = self.contacts, self._follows + 1
        had = contacts.limits(positions) if self._follows > _PLAIN else None
        contacts.follow(positions)
        found = self._look_again(positions, fraction)
        if had is None or found[1] <= self._enough:
            return found
        contacts.limit(self._limits.better(had, contacts.limits(positions)))
        energy, left = self._look_again(positions, fraction)
        return energy, max(left, np.nextafter(self._enough, np.inf))

    def _look_again(self, positions: wp.array[Any], fraction: float) -> tuple[float, float]:
        """Look where all was evaluated, after friction has followed: nothing but contacts has changed."""
        for each in self.contacts.sets:
            each.evaluate(positions)
        self.model.assembly.sum_forces()
        self.model.assembly.sum_blocks()
        return self._left(positions, fraction)

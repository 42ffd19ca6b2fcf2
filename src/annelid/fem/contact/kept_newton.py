"""Newton's method for a large solid in motion that touches, led by a factor that is kept over iterations and steps.

Elements are asked for forces only: directions come from an old factor, turned along with the nodes, to which the
present stiffness of contacts is added on the nodes that touch. So an iteration costs a few solutions instead of a
factorisation. Where iterations do not lead on, the factor is made anew, and then a direction is Newton's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy.linalg import lu_factor, lu_solve

from annelid.core.linalg.blas import one_thread
from annelid.fem.contact.anderson import Anderson
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.reduced import ReducedContact
from annelid.fem.contact.stiffness import Stiffness, added, own_blocks
from annelid.fem.linalg.kept_factor import KeptFactor
from annelid.fem.linalg.unknowns import Linear
from annelid.fem.model import Model
from annelid.fem.newton import Attempt, Holds, Settings

# Iterations of a step after which the next one gets a new factor. On a GPU a factor costs as much as an iteration: a
# beam of 5,049 nodes that rocks on a post needs 3.4 iterations a step with 3 here, 4.4 with 5, 6 with 8, and its steps
# are 3 to 8 % faster with 3 than with 5, a quarter to a third faster than with 8.
_MANY = {"cpu": 8, "cuda": 3}
_SECOND = 2  # direction of a step: by then nodes are near where it ends, and a factor made there leads well
_SLOW = 0.5  # of the force left before: more than this is no progress
_PATIENCE = 3  # iterations without progress, after which the factor is made anew
_CLOSER = 0.5  # of the force left before: a step that foresees contact is taken if it leaves less
_FORESEEN = 0.02  # of the force left: so nearly the forces of contact are foreseen
_MOST = 250  # nodes whose contacts are added to a factor


class KeptNewton(TouchingNewton):
    """Finds the equilibria of time steps with few factorisations.

    Args:
        model: The model.
        contacts: What it touches.
        settings: How.
        kept: The factor; by default the linear solver of the model.
    """

    def __init__(
        self, model: Model, contacts: Contacts, settings: Settings | None = None, *, kept: KeptFactor | None = None
    ) -> None:
        super().__init__(model, contacts, settings)
        factor = model.linear if kept is None else kept
        assert isinstance(factor, KeptFactor)
        self.kept = self.linear = factor
        self._contact_sets = contacts.sets
        self._push_back = model.vectors()
        self._wasted, self._fresh_factor = 0, False
        self._foresees, self._foreseen = contacts.pairs is None, False
        self._concerned: np.ndarray | None = None
        self._acceleration, self._accelerated = Anderson(model.node_count, self.device), False
        self._many = _MANY["cuda" if self.device.is_cuda else "cpu"]
        self.reduced = ReducedContact(model, contacts)
        if contacts.pairs is not None:
            contacts.pairs.few = -1

    def _descend(self, positions: wp.array[Any], fraction: float, iterations: int) -> Attempt:
        self._here, self._wasted, self._fresh_factor = positions, 0, False
        self._fraction, self._failed = fraction, False
        self._directions, self._concerned, self._foreseen = 0, None, False
        self._acceleration.forget()
        found = super()._descend(positions, fraction, iterations)
        self.kept.iterations = found.iterations
        self.kept.age += 1 if self.kept.age >= 0 else 0
        return found

    def _look(self, positions: wp.array[Any], fraction: float, *, tangent: bool = True) -> tuple[float, float]:
        for each in self.model.assembly.sets:
            each.evaluate(positions, tangent=tangent and each in self._contact_sets)
        self.model.assembly.sum_forces()
        return self._left(positions, fraction, tangent=tangent)

    def _look_again(self, positions: wp.array[Any], fraction: float) -> tuple[float, float]:
        for each in self._contact_sets:
            each.evaluate(positions)
        self.model.assembly.sum_forces()
        return self._left(positions, fraction)

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        found = self._gone(positions, fraction, energy, slope, left)
        if found is None and not self._fresh_factor:
            if self._foresees:
                self.contacts.follow(positions)
            energy, _ = self._look(positions, fraction)
            found = self._gone(positions, fraction, energy, self._renewed(), left)
        if found is not None:
            self._wasted = self._wasted + 1 if found[1] > _SLOW * left else 0
        return found

    def _gone(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        """Go along the step, one that foresees contact as far as may be if that leaves little force."""
        if not self._foreseen or not np.isfinite(slope):
            return super()._search(positions, fraction, energy, slope, left)
        found = self._whole(positions, fraction, left)
        if found is None and self._accelerated and self._acceleration.taken:
            wp.copy(self._step, self._acceleration.plain)
            self._acceleration.forget()
            found = self._whole(positions, fraction, left)
        if found is not None:
            return found
        energy, _ = self._look(positions, fraction)  # with friction as at the end of the step
        return super()._search(positions, fraction, energy, self._slope(), left)

    def _whole(self, positions: wp.array[Any], fraction: float, left: float) -> tuple[float, float] | None:
        """Energy and force left where a step ends that is as long as may be; None where that is too much."""
        self._before = self.contacts.bodies.unknowns()
        self._try(positions, self._longest(positions))
        self.contacts.follow(self._trial)
        energy, rest = self._look(self._trial, fraction)
        if rest <= _CLOSER * left:
            wp.copy(positions, self._trial)
            self._remaining = rest
            return energy, rest
        if self.contacts.bodies:
            self.contacts.bodies.move(self._before, 0.0, self.contacts.now)
        return None

    def _leads_on(self, rest: float, left: float) -> bool:
        """A step that foresees contact has no energy that it must lower: friction is another one at its end."""
        return rest <= _CLOSER * left if self._foresees else super()._leads_on(rest, left)

    def _taken(
        self, positions: wp.array[Any], fraction: float, known: tuple[float, float] | None
    ) -> tuple[float, float]:
        if not self._foresees:
            return super()._taken(positions, fraction, known)
        if known is None:
            self._look(positions, fraction)
        self.contacts.follow(positions)
        found = self._look_again(positions, fraction)
        self._remaining = found[1]
        return found

    def _good_enough(self, fraction: float, first: float) -> float:
        self._remaining = first
        return super()._good_enough(fraction, first)

    def _direction(self) -> float:
        kept = self.kept
        self._directions += 1
        old = self._directions == _SECOND and kept.age > 0 and kept.iterations > self._many
        if kept.age < 0 or self._wasted >= _PATIENCE or old:
            return self._renewed()
        if self._directions <= _SECOND:
            kept.turn()
        self._fresh_factor = False
        slope = self._solved()
        if slope <= 0.0:
            return self._renewed()
        if self._foreseen and not self.contacts.bodies:
            self._accelerated = self._acceleration.improve(self._here, self._step)
        return slope

    def _arrive(self, positions: wp.array[Any], fraction: float, holds: Holds) -> None:
        self._here = positions
        super()._arrive(positions, fraction, holds)

    def _guess_free(self, solver: Linear) -> None:
        """Into the step: how free nodes answer to the residual by the factor that is kept, or one that is made.

        An old one is turned to where nodes are: how it was turned last is no part of a state, and may be another
        world's.
        """
        if self.kept.age < 0:
            super()._guess_free(self.kept)
            return
        self.kept.turn()
        self.kept.solve(self._residual, self._step)

    def _renewed(self) -> float:
        """The direction with a new factor, shifted if need be; its slope [J]."""
        self._wasted = 0
        return super()._direction()

    def _factor(self, shift: float) -> None:
        """Factor the matrix where nodes are, with the contacts that fit its pattern and are not nodes' own."""
        model, contacts = self.model, self.contacts
        for each in model.assembly.sets:
            each.evaluate(self._here)
        model.assembly.sum_blocks(without=[each for each in self._contact_sets if each is not contacts.nodes])
        self.kept.factor(model.assembly.values, shift=shift)
        self.kept.touch(own_blocks(contacts, model.node_count))
        self._fresh_factor = True
        self._acceleration.forget()

    def _solved(self) -> float:
        """Moves of nodes and bodies: all of contact is a small system on the nodes that touch."""
        kept, contacts, bodies = self.kept, self.contacts, self.contacts.bodies
        kept.begin(self._residual)
        self._accelerated, self._foreseen = False, self._foresees and not self._failed and self._by_few_nodes()
        if self._foreseen:
            return 1e-300  # forces tell whether it leads on, friction is another one at its end
        kept.end(self._step)
        some = added(contacts, kept, self.model.stiffness_scale)
        if len(some.nodes) > _MOST and not self._fresh_factor and contacts.pairs is None:
            self._factor(0.0)
            return self._solved()
        matrix, coupling = np.zeros((0, 0)), np.zeros((3 * len(some.nodes), 0))
        if bodies:
            matrix, coupling, some = self._bodies(some)
        forces, moves = self._in_contact(some, matrix, coupling)
        if forces.any():
            wide = np.zeros((self.model.node_count, 3))
            wide[some.nodes] = forces.reshape(-1, 3)
            self._push_back.assign(wide)
            kept.solve(self._push_back, self._push_back)
            self._add(self._step, self._push_back, -1.0, self._step)
        if bodies:
            bodies.step = moves.reshape(-1, 6)
        return self._slope()

    def _slope(self) -> float:
        """Slope of the energy along the step, above 0 where it falls [J]."""
        bodies = self.contacts.bodies
        self.model.assembly.dot(self._residual, self._step, self._scalars, 3)
        found = float(self._numbers.read()[3])
        return found + float(bodies.forces @ bodies.step.ravel()) if bodies else found

    def _by_few_nodes(self) -> bool:
        """Make the step one on which contact is where it leads to, not as it is, if that is found."""
        kept, bodies, nodes = self.kept, self.contacts.bodies, self._concerned_nodes()
        found = None
        if len(nodes) <= _MOST:
            compliance = kept.compliance(nodes) if len(nodes) else np.zeros((0, 0))
            free, had = kept.at(nodes), kept.had_touching(nodes)
            found = self.reduced.solve(self._here, free, nodes, compliance, had, _FORESEEN * self._remaining)
        if found is None:
            self._failed = True
            self.contacts.follow(self._here)
            self._look_again(self._here, self._fraction)
            kept.begin(self._residual)
            return False
        kept.end(self._step, nodes, found.forces)
        if bodies:
            bodies.step = found.moves.reshape(-1, 6)
        return True

    def _concerned_nodes(self) -> np.ndarray:
        """Nodes whose contacts are foreseen: those that touch, or would after the first step, had contact not changed.

        Steps after the first one are short: nodes that come to touch on them are found where they lead to.
        """
        if self._concerned is None or self._fresh_factor:
            self.kept.end(self._step)
            self._concerned = self.reduced.concerned(self._here, self._step, self.kept.touched)
        else:
            self._concerned = np.union1d(self._concerned, self.reduced.touching(self._here))
        return self._concerned

    def _in_contact(self, some: Stiffness, matrix: np.ndarray, coupling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces that contact adds on nodes [N], shape [3 t], and moves of bodies, shape [6 f].

        Args:
            some: Stiffness of contacts.
            matrix: That of bodies, shape [6 f, 6 f].
            coupling: Of nodes and bodies, shape [3 t, 6 f].
        """
        bodies, count = self.contacts.bodies, 3 * len(some.nodes)
        if not count:
            return np.zeros(0), bodies.solution(matrix, bodies.forces) if bodies else np.zeros(0)
        compliance = self.kept.compliance(some.nodes)
        free = self._step.numpy()[some.nodes].reshape(-1, 1)
        with one_thread():
            factored = lu_factor(np.eye(count) + compliance @ some.matrix)
            found = lu_solve(factored, np.hstack([free, compliance @ coupling]))
        steps, answers, moves = found[:, 0], found[:, 1:], np.zeros(0)
        if bodies:
            moves = bodies.solution(matrix - coupling.T @ answers, bodies.forces - coupling.T @ steps)
            steps = steps - answers @ moves
        return some.matrix @ steps + coupling @ moves, moves

    def _bodies(self, some: Stiffness) -> tuple[np.ndarray, np.ndarray, Stiffness]:
        """Matrix of the bodies, their coupling with nodes, and the stiffness on all nodes that either concerns."""
        contacts = self.contacts
        matrix, coupling = contacts.bodies.matrices(contacts.now, contacts.nodes, self._outer)
        contacts.bodies.add_corners(matrix, coupling, contacts.now, self._loads, contacts.rows)
        coupled = contacts.outer[np.flatnonzero(coupling.any(axis=(1, 2)))]
        nodes = np.union1d(some.nodes, coupled[contacts.movable[coupled]])
        wide = np.zeros((len(nodes), 3, len(nodes), 3))
        places = np.searchsorted(nodes, some.nodes)
        wide[places[:, None], :, places] = some.matrix.reshape(len(places), 3, len(places), 3).transpose(0, 2, 1, 3)
        rows = contacts.rows[nodes]
        chosen = np.where(np.reshape(rows >= 0, (-1, 1, 1)), coupling[np.maximum(rows, 0)], 0.0)
        size = 3 * len(nodes)
        return matrix, chosen.reshape(size, len(matrix)), Stiffness(nodes, wide.reshape(size, size))

"""Contact on the nodes that touch alone, while all else answers to first order.

Which nodes touch, stick or slide, and how hard, changes abruptly. Were that found by iterations of the whole solid,
each change would cost one of them. Here the solid is what its factor says of it: with C the compliance of the nodes
that touch, z their step if contact stayed as it is, f their forces of contact and B what contacts had added to the
factor, their step is the u of

    u = z + C (f(u) − f(0) + B u),

together with the moves of free bodies. These few equations are solved by Newton's method with the limits of friction
among the unknowns: where a point slides, a gap that opens takes friction away, so the matrix is not symmetric. A step
is good if what the same matrix makes of what is left after it is shorter than the step was (the natural monotonicity
test: Deuflhard, Newton Methods for Nonlinear Problems, 2004, sec. 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.linalg import lapack, lu_factor, lu_solve

from annelid.core.linalg.blas import one_thread
from annelid.core.replay import Launcher
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.few_points import FewPoints
from annelid.fem.contact.tangents import Coupling, contact_forces, coupling_with, stiffness_on, touched_nodes
from annelid.fem.kernels.motion import add_scaled
from annelid.fem.model import Model

_ROUNDS = 20  # iterations at most
_SHORTEST = 0.1  # of a step; shorter ones are not tried, however little they gain
_FALLS = 0.25  # of the part of a step that is taken: by so much what is left must fall
_ASTRAY = 3  # rounds after one another in which no part of a step leads on
_NOTHING = 1e-12  # of the reach of contact: a step that is shorter is rounding, and no other is shorter still


_Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Steps of nodes and moves of bodies for what is left of the equations of both."""
_Resist = Callable[[np.ndarray], np.ndarray]
"""Forces with which contacts resist steps of nodes [N], shape [3 t]."""


@dataclass(frozen=True, eq=False)
class Found:
    """What contact does on the way of a step.

    Attributes:
        forces: What contact adds on nodes that touch to what the factor knows [N], shape [t, 3].
        moves: How far bodies go, shape [6 f].
    """

    forces: np.ndarray
    moves: np.ndarray


class ReducedContact:
    """Solves for the nodes that touch and the bodies.

    Args:
        model: The model.
        contacts: What it touches.
    """

    def __init__(self, model: Model, contacts: Contacts) -> None:
        self._model, self._contacts = model, contacts
        self._places, self._way = model.vectors(), model.vectors()
        self._few = FewPoints(contacts) if contacts.only_nodes else None
        self._launcher = Launcher(model.device)

    def touching(self, here: wp.array[Any]) -> np.ndarray:
        """Nodes that touch as contacts were evaluated last, here [m]; those that move, shape [t]."""
        return np.flatnonzero(self._touched(here) & self._contacts.movable)

    def concerned(self, here: wp.array[Any], free: wp.array[Any], had: np.ndarray) -> np.ndarray:
        """Nodes that touch, or would after a step, or that have contacts in the factor; those that move, shape [t].

        Args:
            here: Where nodes are [m], vec3d of shape [n].
            free: Their step if contact stayed as it is [m], vec3d of shape [n].
            had: Nodes to which contacts had added anything in the factor, shape [n].
        """
        contacts, found = self._contacts, had
        self._launcher.launch(add_scaled, self._model.node_count, [wp.float64(1.0), here, free, self._places])
        for places in (self._places, here):
            contacts.evaluate(places)
            found = found | self._touched(places)
        return np.flatnonzero(found & contacts.movable)

    def _touched(self, places: wp.array[Any]) -> np.ndarray:
        """Whether contacts as evaluated last, at these places, concern a node, shape [n]."""
        if self._few is None:
            return touched_nodes(self._contacts, self._model.node_count)
        return self._few.touched(places)

    def solve(
        self,
        here: wp.array[Any],
        free: np.ndarray,
        nodes: np.ndarray,
        compliance: np.ndarray,
        had: np.ndarray,
        enough: float,
    ) -> Found | None:
        """Find what contact does, after it was asked which nodes touch; None where iterations do not lead to an end.

        Bodies are where they were afterwards, and friction is as at the end of the step.

        Args:
            here: Where nodes are [m], vec3d of shape [n].
            free: Step of these nodes if contact stayed as it is [m], shape [t, 3].
            nodes: Nodes that touch, shape [t].
            compliance: How they answer to forces on them [m/N], shape [3 t, 3 t].
            had: What contacts had added to the factor on them [N/m], shape [t, 3, 3].
            enough: Change of the forces of contact with which a step is the last one [N].
        """
        with one_thread():
            if self._few is not None and len(nodes):
                return _FewProblem(self._contacts, self._few, free, nodes, compliance, had).found(enough)
            return _Problem(self._contacts, self._places, self._way, here, free, nodes, compliance, had).found(enough)


class _Problem:
    """One such problem; the point that is looked at is kept here and in the contacts."""

    _pulled = 0.0
    """Largest force left on a body where it was looked at last [N]."""

    def __init__(
        self,
        contacts: Contacts,
        places: wp.array[Any],
        way: wp.array[Any],
        here: wp.array[Any],
        free: np.ndarray,
        nodes: np.ndarray,
        compliance: np.ndarray,
        had: np.ndarray,
    ) -> None:
        self.contacts, self.nodes, self.compliance = contacts, nodes, compliance
        self._places, self._way = places, way
        self._here, self._free = np.array(here.numpy()), free.ravel()
        self._had = had
        self._begin = contacts.bodies.unknowns()
        contacts.evaluate(here)
        self._first = contact_forces(contacts, len(self._here))[nodes]
        self._count = 3 * len(nodes)

    def found(self, enough: float) -> Found | None:
        bodies = self.contacts.bodies
        moved, unknowns, rounds, astray, done = np.zeros(self._count), self._begin, 0, 0, False
        left, pulls = self._look(moved, unknowns)
        while rounds < _ROUNDS and astray < _ASTRAY and not done:
            rounds += 1
            solve, resist = self._tangent()
            steps, moves = solve(left, pulls)
            size, rest = self._size(steps, moves), max(_largest(resist(left)), self._pulled)
            if size <= _NOTHING * self.contacts.nodes.reach:
                done = True
                break
            change = _largest(resist(steps))
            part = self._free_part(moved, unknowns, steps, moves)
            while True:
                there, others = moved + part * steps, unknowns + part * moves.reshape(-1, 6)
                left, pulls = self._look(there, others)
                again = solve(left, pulls)
                leads = self._size(*again) <= (1.0 - _FALLS * part) * size
                if leads or part <= _SHORTEST:
                    break
                part *= 0.5
            astray = 0 if leads else astray + 1
            if astray and rest <= enough:  # no step leads on, nor need it
                self._look(moved, unknowns)
                done = True
                break
            moved, unknowns = there, others
            if part == 1.0 and not bodies:  # the same matrix tells what a further step would change
                change = min(change, _largest(resist(again[0])))
            done = part == 1.0 and not change > enough
        added = self._added(moved)
        if bodies:
            bodies.put(self._begin, self.contacts.now)
        moves = (unknowns - self._begin).ravel()
        return Found(added.reshape(-1, 3), moves) if done else None

    def _forces(self) -> np.ndarray:
        """Forces of contact as evaluated last [N], shape [t, 3]."""
        return contact_forces(self.contacts, len(self._here))[self.nodes]

    def _added(self, moved: np.ndarray) -> np.ndarray:
        """What contact adds to what the factor knows [N], shape [3 t], as contacts were evaluated last."""
        forces = self._forces() - self._first
        return (forces + np.einsum("tij,tj->ti", self._had, moved.reshape(-1, 3))).ravel()

    def _look(self, moved: np.ndarray, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is left of the equations of nodes [m], shape [3 t], and of bodies [N, N m], shape [6 f]."""
        contacts, bodies = self.contacts, self.contacts.bodies
        there = self._here.copy()
        there[self.nodes] += moved.reshape(-1, 3)
        self._places.assign(there)
        if bodies:
            bodies.put(unknowns, contacts.now)
        contacts.follow(self._places)
        contacts.evaluate(self._places)
        if bodies:
            self._loads = contacts.sharp_loads(bodies.numbers)
            outer = there[contacts.outer]
            _, self._pulled = bodies.look(contacts.now, contacts.nodes, outer, self._loads, tangent=True)
        return self._free + self.compliance @ self._added(moved) - moved, bodies.forces.copy()

    def _tangent(self) -> tuple[_Solve, _Resist]:
        """What solves with the matrix of where contacts were looked at last, and forces of what contacts add to it."""
        bodies, count = self.contacts.bodies, self._count
        matrix = np.zeros((0, 0))
        if count:
            matrix = stiffness_on(self.contacts, self.nodes, self._places, self._had)
        factored = lu_factor(np.eye(count) + self.compliance @ matrix) if count else None
        coupled: Coupling | None = None
        if bodies:
            coupled = coupling_with(self.contacts, self.nodes, self._places, self._loads)
        answers = self._answers(factored, coupled)

        def solve(left: np.ndarray, pulls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            steps = lu_solve(factored, left) if factored is not None else left
            if coupled is None:
                return steps, np.zeros(0)
            small = coupled.matrix - coupled.left @ answers
            moves = bodies.solution(small, pulls - coupled.left @ steps)
            return steps - answers @ moves, moves

        return solve, lambda steps: matrix @ steps

    def _answers(self, factored: Any, coupled: Coupling | None) -> np.ndarray:
        """How nodes answer to bodies that move, shape [3 t, 6 f]."""
        if coupled is None or factored is None:
            return np.zeros((self._count, 0 if coupled is None else len(coupled.matrix)))
        return np.asarray(lu_solve(factored, self.compliance @ coupled.right))

    def _size(self, steps: np.ndarray, moves: np.ndarray) -> float:
        """Length of a step of nodes and bodies [m]."""
        lengths = self.contacts.bodies.lengths(moves)
        return float(np.sqrt((steps**2).sum() + (lengths**2).sum()))

    def _free_part(self, moved: np.ndarray, unknowns: np.ndarray, steps: np.ndarray, moves: np.ndarray) -> float:
        """Part of a step on which nothing goes through anything."""
        places, way = self._here.copy(), np.zeros_like(self._here)
        places[self.nodes] += moved.reshape(-1, 3)
        way[self.nodes] = steps.reshape(-1, 3)
        self._places.assign(places)
        self._way.assign(way)
        bodies = self.contacts.bodies
        if bodies:
            bodies.put(unknowns, self.contacts.now)
            bodies.step = moves.reshape(-1, 6)
        return self.contacts.gap_part(self._places, self._way)


class _FewProblem(_Problem):
    """The same where nodes touch obstacles and nothing else, with nothing looked at but these nodes."""

    def __init__(
        self,
        contacts: Contacts,
        few: FewPoints,
        free: np.ndarray,
        nodes: np.ndarray,
        compliance: np.ndarray,
        had: np.ndarray,
    ) -> None:
        self.contacts, self.nodes, self.compliance = contacts, nodes, compliance
        self._few, self._had, self._free = few, had, free.ravel()
        few.begin(nodes)
        self._first = self._now = few.first
        self._begin, self._count = contacts.bodies.unknowns(), 3 * len(nodes)

    def _forces(self) -> np.ndarray:
        return self._now

    def _look(self, moved: np.ndarray, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._now = self._few.look(moved.reshape(-1, 3))
        return self._free + self.compliance @ self._added(moved) - moved, np.zeros(0)

    def _tangent(self) -> tuple[_Solve, _Resist]:
        """The same, factored on the nodes that resist: what others do follows from that."""
        blocks = self._few.tangents() - self._had
        some = np.flatnonzero(blocks.any(axis=(1, 2)))
        if not len(some):
            return lambda left, pulls: (left, pulls), lambda steps: np.zeros_like(steps)
        near, resisting, own = self.compliance, blocks, np.arange(3 * len(blocks))
        if len(some) < len(blocks):
            resisting, own = blocks[some], (3 * some[:, None] + np.arange(3)).ravel()
            near = near[own][:, own]
        # Compliances are symmetric: this is the matrix transposed, row by row, which LAPACK reads column by column.
        matrix = (resisting.transpose(0, 2, 1) @ near.reshape(len(some), 3, -1)).reshape(near.shape)
        matrix.ravel()[:: len(matrix) + 1] += 1.0
        factor, pivots, _ = lapack.dgetrf(matrix.T, overwrite_a=True)
        forces = np.zeros((len(blocks), 3, 1))

        def solve(left: np.ndarray, pulls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            steps, _ = lapack.dgetrs(factor, pivots, left[own])
            forces[some] = resisting @ steps.reshape(-1, 3, 1)
            return left - self.compliance @ forces.ravel(), pulls

        return solve, lambda steps: (blocks @ steps.reshape(-1, 3, 1)).ravel()

    def _free_part(self, moved: np.ndarray, unknowns: np.ndarray, steps: np.ndarray, moves: np.ndarray) -> float:
        return self._few.free_part(moved.reshape(-1, 3), steps.reshape(-1, 3))


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))

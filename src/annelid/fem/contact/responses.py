"""What a solid that touches does to first order: bodies move along, and friction follows the push that limits it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.bodies import levers_of
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.elimination import Elimination
from annelid.fem.contact.sliding import Sliding, sliding
from annelid.fem.linalg.unknowns import Linear, columns_of


class Responses:
    """Solves for nodes with all that they touch: exactly, where Newton's method is content with a symmetric matrix.

    Corners of obstacles and pairs of the surface with itself keep the friction that they have.

    Args:
        linear: Solves with the nodes' own matrix.
        contacts: What the solid touches.
        positions: Where its nodes are [m], vec3d of shape [n].
    """

    def __init__(self, linear: Linear, contacts: Contacts, positions: wp.array[Any]) -> None:
        self._linear, self._contacts, self._positions = linear, contacts, positions
        self._known: Elimination | None = None

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix, and bodies and friction as they are where contacts were evaluated last."""
        contacts, bodies = self._contacts, self._contacts.bodies
        self._linear.factor(values, shift=shift)
        nodes = np.asarray(self._positions.numpy())
        outer = nodes[contacts.outer]
        if bodies:
            loads = contacts.sharp_loads(bodies.numbers)
            bodies.look(contacts.now, contacts.nodes, outer, loads, tangent=True)
            self._known = Elimination(contacts, self._linear, outer, loads, len(nodes))
        self._slide(nodes)

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Solutions for nodal vectors, vec3d of shape [n] or [n, k].

        The first of them is what is left of forces on nodes: what is left on bodies belongs to it.
        """
        result = wp.empty_like(right) if out is None else out
        pulls = np.zeros((6 * len(self._contacts.bodies), columns_of(right).shape[1]))
        pulls[:, 0] = self._contacts.bodies.forces
        steps, moves = self._symmetric(columns_of(right), pulls)
        if len(self._rows[0]):
            losses = np.linalg.solve(self._small, self._gaps(steps, moves))
            steps += np.einsum("nsi,sc->nci", self._answers[0], losses)
        columns_of(result).assign(steps)
        return result

    def _symmetric(self, right: wp.array[Any], pulls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How nodes [n, k, 3] and bodies [6 f, k] move under forces on both, while friction keeps its limits."""
        steps = self._linear.solve(right).numpy().copy()
        known = self._known
        if known is None:
            return steps, pulls
        left = pulls - np.einsum("kia,kci->ac", known.coupling, steps[self._contacts.outer])
        moves = np.column_stack([self._contacts.bodies.solution(known.matrix, each) for each in left.T])
        return steps - np.einsum("nia,ac->nci", known.answers, moves), moves

    def _slide(self, nodes: np.ndarray) -> None:
        """Find what slides, and how nodes and bodies answer to the friction that it loses."""
        contacts, bodies = self._contacts, self._contacts.bodies
        solid = sliding(contacts.nodes, nodes, contacts.begun, contacts.now)
        places = np.asarray(bodies.place_points(contacts.now).numpy()) if bodies else np.zeros((0, 3))
        loose = sliding(bodies.points, places, contacts.begun, contacts.now)
        owned = bodies.owners[loose.points] if bodies else loose.points
        numbers = contacts.outer[solid.points]
        self._rows = np.concatenate([solid.normals, loose.normals]), numbers
        gains = np.concatenate([solid.gains, loose.gains])
        self._levers = np.concatenate(
            [self._levers_of(solid, nodes[numbers], None), self._levers_of(loose, places[loose.points], owned)]
        )
        right = np.zeros((len(nodes), len(gains), 3))
        np.add.at(right, (numbers, np.arange(len(numbers))), solid.gains)
        pulls = np.einsum("sia,si->as", self._levers, gains)
        if len(gains):
            columns: Any = wp.array(right, dtype=wp.vec3d, device=contacts.device)
            self._answers = self._symmetric(columns, pulls)
            self._small = np.eye(len(gains)) - self._gaps(*self._answers)

    def _levers_of(self, pairs: Sliding, places: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
        """How pairs at places [m] move apart with bodies, shape [s, 3, 6 f]."""
        bodies, now = self._contacts.bodies, self._contacts.now
        found = np.zeros((len(pairs), 3, 6 * len(bodies)))
        for body, number in enumerate(bodies.numbers):
            lever = levers_of(places - now.places[number])
            sign = -(pairs.obstacles == number).astype(float)
            if owners is not None:
                sign += owners == number
            found[:, :, 6 * body : 6 * body + 6] = sign[:, None, None] * lever
        return found

    def _gaps(self, steps: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """How far the gaps of pairs that slide open, shape [s, k]."""
        normals, numbers = self._rows
        apart = np.einsum("sia,ak->ski", self._levers, moves)
        apart[: len(numbers)] += steps[numbers]
        return np.einsum("ski,si->sk", apart, normals)

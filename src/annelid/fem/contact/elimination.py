"""Free bodies eliminated from linear systems: how nodes answer once the bodies that they touch move along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.linalg.unknowns import Linear


class Elimination:
    """What is left for the bodies after the nodes are eliminated, where contacts were evaluated last.

    Args:
        contacts: What the solid touches, with free bodies.
        linear: The factor of the nodes' own matrix.
        outer: Where outer nodes are [m], shape [k, 3].
        loads: What corners of bodies do.
        count: Number of nodes.

    Attributes:
        matrix: Matrix of the bodies, shape [6 f, 6 f].
        coupling: How they couple with the nodes, shape [k, 3, 6 f].
        answers: How nodes answer to each column of that, shape [n, 3, 6 f].
    """

    def __init__(
        self, contacts: Contacts, linear: Linear, outer: np.ndarray, loads: Sequence[CornerLoad], count: int
    ) -> None:
        bodies = contacts.bodies
        self.matrix, self.coupling = bodies.matrices(contacts.now, contacts.nodes, outer)
        bodies.add_corners(self.matrix, self.coupling, contacts.now, loads, contacts.rows)
        self.answers = np.zeros((count, 3, len(self.matrix)))
        if self.coupling.any():
            columns = np.zeros((count, self.coupling.shape[2], 3))
            columns[contacts.outer] = self.coupling.transpose(0, 2, 1)
            right: Any = wp.array(columns, dtype=wp.vec3d, device=contacts.device)
            self.answers = np.asarray(linear.solve(right).numpy()).transpose(0, 2, 1)
            self.matrix = self.matrix - np.einsum("kia,kib->ab", self.coupling, self.answers[contacts.outer])

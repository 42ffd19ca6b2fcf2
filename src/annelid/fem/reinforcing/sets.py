"""What threads and fabrics on a device have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.elements import ElementSet

_FORESEEN = 2  # what kernels are asked for: a tangent under tensions that were foreseen


class Reinforcement(ElementSet):
    """Elements that make a solid stiffer; subclasses say how.

    Args:
        nodes: Nodes of each element, see `ElementSet`.
        crew: Where it is computed.
        fixed: What distinguishes its elements from others: arrays on the host.
        stiffest: Stiffness of its stiffest element [N/m].

    Attributes:
        stiffest: Stiffness of its stiffest element [N/m], whose rounding is the least force that can be told.
    """

    _changing: int
    _stretch: Command
    _look_ahead: Command

    def __init__(self, nodes: np.ndarray, crew: Crew, fixed: tuple[np.ndarray, ...], *, stiffest: float) -> None:
        super().__init__(nodes, crew.device)
        self._own, self._stiffer, self.stiffest = fixed, 1.0, stiffest

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        stiffer = (self._changing, wp.float64(self._stiffer))
        wanted = (self._changing + 1, _FORESEEN if tangent and self._uses_foreseen else int(tangent))
        self._stretch(stiffer, wanted, (self._changing + 2, positions))
        self._at = positions

    @property
    def foreseen(self) -> wp.array[Any]:
        """Tensions that `foresee` has found last, float64 of shape [k]; see `Tetrahedra.foresee`."""
        return self._foreseen.flatten()

    def foresee(self, move: wp.array[Any] | None) -> None:
        """Let tangents be those under the tensions that a move leads to to first order, until None ends that."""
        self._uses_foreseen = move is not None
        if move is not None:
            stiffer = (self._changing - 1, wp.float64(self._stiffer))
            self._look_ahead(stiffer, (self._changing, self._at), (self._changing + 1, move))

    def foresee_as(self, tensions: wp.array[Any]) -> None:
        """Let tangents be those under tensions that were `foreseen` before, until `foresee(None)`."""
        self._uses_foreseen = True
        wp.copy(self.foreseen, tensions)

    def stiffen(self, factor: float) -> None:
        """Multiply the stiffness that it was given by a factor."""
        self._stiffer = factor

    def _prepare(self, stretch: wp.Kernel, look_ahead: wp.Kernel, fixed: list[Any], crew: Crew, *, parts: int) -> None:
        """Prepare launches; after what is fixed kernels take the factor, whether a tangent is wanted, and positions.

        Args:
            stretch: Kernel of forces and tangents.
            look_ahead: Kernel of tensions after a move.
            fixed: Their first arguments; the first kernel has the tensions of each element then, the second one last.
            crew: Where it is computed.
            parts: Numbers that make the tension of an element.
        """
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        self._foreseen = wp.zeros((self.element_count, parts), dtype=wp.float64, device=self.device)
        self._uses_foreseen, self._at, self._changing = False, nowhere, len(fixed) + 1
        one, count, out = wp.float64(1.0), self.element_count, [self.energy, self.forces, self.tangent]
        self._stretch = crew.command(stretch, count, [*fixed, self._foreseen, one, 0, nowhere, *out])
        self._look_ahead = crew.command(look_ahead, count, [*fixed, one, nowhere, nowhere, self._foreseen])

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

"""What threads and fabrics on a device have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.elements import ElementSet


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

    def __init__(self, nodes: np.ndarray, crew: Crew, fixed: tuple[np.ndarray, ...], *, stiffest: float) -> None:
        super().__init__(nodes, crew.device)
        self._own, self._stiffer, self.stiffest = fixed, 1.0, stiffest

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        stiffer = (self._changing, wp.float64(self._stiffer))
        self._commands[tangent](stiffer, (self._changing + 2, positions))

    def stiffen(self, factor: float) -> None:
        """Multiply the stiffness that it was given by a factor."""
        self._stiffer = factor

    def _prepare(self, kernel: wp.Kernel, fixed: list[Any], crew: Crew) -> None:
        """Prepare launches; after what is fixed kernels take the factor, whether a tangent is wanted, and positions."""
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        state = [nowhere, self.energy, self.forces, self.tangent]
        self._changing = len(fixed)
        self._commands = {
            wanted: crew.command(kernel, self.element_count, [*fixed, wp.float64(1.0), int(wanted), *state])
            for wanted in (False, True)
        }

    def _array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

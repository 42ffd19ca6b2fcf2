"""What grains do to a solid during one of its steps: constant forces on the nodes of its surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.coupling.kernels.gliding import push_nodes
from annelid.fem.elements import ElementSet


class Pushes(ElementSet):
    """Forces on the nodes of a surface that keep their direction.

    Args:
        nodes: The nodes, shape [m].
        device: Where it is computed.

    Attributes:
        given: The forces [N], vec3d of shape [m].
    """

    def __init__(self, nodes: np.ndarray, device: wp.Device) -> None:
        super().__init__(nodes[:, None], device, tangent=False)
        self._nodes = wp.array(self.nodes[:, 0].copy(), dtype=wp.int32, device=device)
        self.given = wp.zeros(len(nodes), dtype=wp.vec3d, device=device)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy -f·x, and the forces."""
        arguments = [self._nodes, self.given, positions, self.energy, self.forces]
        wp.launch(push_nodes, self.element_count, arguments, device=self.device)

"""Springs that hold the effectors of a robot somewhere while its efforts are being found."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.state import overwrite
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.pins import hold_sums
from annelid.fem.robots.effectors import EffectorRows


class Pins(ElementSet):
    """Holds the sums of effectors, along the axes that count; released at first.

    Args:
        rows: The sums.
        stiffness: Of the springs [N/m].
        device: Where it is computed.
    """

    def __init__(self, rows: EffectorRows, stiffness: float, device: wp.Device) -> None:
        super().__init__(np.where(rows.weights != 0.0, rows.nodes, -1), device)
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._weights = wp.array(rows.weights, dtype=wp.float64, device=device)
        self._springs = np.where(rows.scale > 0.0, stiffness, 0.0)
        self._stiffness = wp.zeros(len(self.nodes), dtype=wp.vec3d, device=device)
        self._places = wp.zeros(len(self.nodes), dtype=wp.vec3d, device=device)

    def hold(self, places: np.ndarray) -> None:
        """Hold the sums at places [m], shape [p, 3]."""
        overwrite(self._places, places)
        overwrite(self._stiffness, self._springs)

    def pull(self, places: np.ndarray) -> float:
        """Force with which sums that are at places [m], shape [p, 3], are held [N]."""
        stiffness = self._stiffness.numpy().reshape(-1, 3)
        return float(np.linalg.norm(stiffness * (places - self._places.numpy().reshape(-1, 3))))

    def release(self) -> None:
        """Hold nothing."""
        self._stiffness.zero_()

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of the springs."""
        inputs = [int(tangent), self._nodes, self._weights, self._stiffness, self._places, positions]
        outputs = [self.energy, self.forces, self.tangent]
        wp.launch(hold_sums, self.element_count, inputs, outputs, device=self.device)

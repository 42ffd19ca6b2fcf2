"""Forces on the nodes of a solid that keep their direction: those that it was given, and its weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.kernels.parameters import load_nodes
from annelid.fem.parameters import Varied


class Loads:
    """What pulls at the nodes of a solid under the gravity of its model, and under that of worlds that differ.

    Args:
        dead: Forces other than weight [N], shape [n, 3].
        masses: Masses of the nodes [kg], shape [n].
        gravity: Gravity of the model [m/s²], shape [3].

    Attributes:
        own_scale: Root mean square of the components of the loads of the model [N].
    """

    def __init__(self, dead: np.ndarray, masses: np.ndarray, gravity: np.ndarray) -> None:
        self._dead, self._masses = dead, masses
        self._own = dead + masses[:, None] * gravity
        self.own_scale = float(np.sqrt(np.mean(self._own**2)))
        self._sums = float((dead**2).sum()), masses @ dead, float(masses @ masses)
        self._arrays: tuple[wp.array[Any], ...] | None = None

    def own_into(self, loads_out: wp.array[Any]) -> None:
        """Write the loads of the model into an array, vec3d of shape [n]."""
        if self._arrays is None:
            loads_out.assign(self._own)
        else:
            wp.copy(loads_out, self._arrays[-1])

    def varied_into(self, loads_out: wp.array[Any], varied: Varied) -> None:
        """Write the loads of a world into an array, on the device."""
        if self._arrays is None:
            kinds = (self._masses, wp.float64), (self._dead, wp.vec3d), (self._own, wp.vec3d)
            self._arrays = tuple(wp.array(values, dtype=kind, device=loads_out.device) for values, kind in kinds)
        pull = wp.vec3d(*(varied.mass * part for part in varied.pull))
        inputs = [pull, *self._arrays[:2]]
        wp.launch(load_nodes, len(loads_out), inputs, [loads_out], device=loads_out.device)

    def varied_scale(self, varied: Varied) -> float:
        """Root mean square of the components of the loads of a world [N], from sums over nodes made once."""
        pull = varied.mass * np.array(varied.pull)
        squares, moments, weights = self._sums
        total = squares + 2.0 * float(moments @ pull) + weights * float(pull @ pull)
        return float(np.sqrt(max(total, 0.0) / self._dead.size))

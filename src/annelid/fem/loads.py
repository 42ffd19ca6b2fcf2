"""Forces on the nodes of a solid that keep their direction: those that it was given, and its weight."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.kernels.parameters import load_nodes
from annelid.fem.parameters import Varied


class Loads:
    """What pulls at the nodes of a solid under the gravity of its model, and under that of worlds that differ.

    Args:
        dead: Forces other than weight [N], shape [n, 3].
        masses: Masses of the nodes [kg], shape [n].
        gravity: Gravity of the model [m/s²], shape [3].
        loads: Where the loads are written that act, vec3d of shape [n]; those of the model to begin with.
        crew: Where it is computed.

    Attributes:
        scale: Root mean square of the components of the loads that act [N].
    """

    def __init__(
        self, dead: np.ndarray, masses: np.ndarray, gravity: np.ndarray, loads: wp.array[Any], crew: Crew
    ) -> None:
        self._dead, self._masses, self._loads, self._crew = dead, masses, loads, crew
        own = dead + masses[:, None] * gravity
        self.scale = self._own_scale = float(np.sqrt(np.mean(own**2)))
        loads.assign(own)

    def vary(self, varied: Varied | None) -> None:
        """Have the loads of a world act, until None makes them the model's own again."""
        own, load, sums = self._varying
        if varied is None:
            wp.copy(self._loads, own)
            self.scale = self._own_scale
            return
        pull = varied.mass * np.array(varied.pull)
        load((0, wp.vec3d(*pull.tolist())))
        squares, moments, weights = sums
        total = squares + 2.0 * float(moments @ pull) + weights * float(pull @ pull)
        self.scale = float(np.sqrt(max(total, 0.0) / self._dead.size))

    @cached_property
    def _varying(self) -> tuple[wp.array[Any], Command, tuple[float, np.ndarray, float]]:
        """What only worlds that differ need: a copy of the loads, the launch, and sums over nodes for the scale."""
        masses = wp.array(self._masses, dtype=wp.float64, device=self._crew.device)
        dead = wp.array(self._dead, dtype=wp.vec3d, device=self._crew.device)
        load = self._crew.command(load_nodes, len(masses), [wp.vec3d(), masses, dead, self._loads])
        sums = float((self._dead**2).sum()), self._masses @ self._dead, float(self._masses @ self._masses)
        return wp.clone(self._loads), load, sums

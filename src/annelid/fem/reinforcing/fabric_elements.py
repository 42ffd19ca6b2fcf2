"""Fabrics as an element set: one element for each triangle that they cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew
from annelid.fem.kernels.fabrics import stretch_fabrics
from annelid.fem.reinforcing.fabrics import LaidFabric
from annelid.fem.reinforcing.sets import Reinforcement

_STIFFER, _POSITIONS = 4, 6  # arguments of the kernel that change


class Fabrics(Reinforcement):
    """The triangles of all fabrics of a solid.

    Args:
        fabrics: The fabrics, at least one.
        crew: Where it is computed.
    """

    def __init__(self, fabrics: Sequence[LaidFabric], crew: Crew) -> None:
        triangles = np.concatenate([each.triangles for each in fabrics])
        gradients = np.concatenate([each.gradients for each in fabrics])
        areas = np.concatenate([each.areas for each in fabrics])
        count = [len(each.triangles) for each in fabrics]
        moduli = np.repeat([each.fabric.tangent_modulus() for each in fabrics], count, axis=0)
        super().__init__(triangles, crew, (gradients, areas, moduli), stiffest=float(moduli.max()))
        self._fixed = [
            self._array(self.nodes, wp.int32),
            self._array(gradients, wp.vec2d),
            self._array(areas, wp.float64),
            self._array(moduli, wp.mat33d),
        ]
        self._commands = {wanted: self._command(wanted, crew) for wanted in (False, True)}

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        self._commands[tangent]((_STIFFER, wp.float64(self._stiffer)), (_POSITIONS, positions))

    def _command(self, wanted: bool, crew: Crew) -> Command:
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        state = [nowhere, self.energy, self.forces, self.tangent]
        arguments = [*self._fixed, wp.float64(1.0), int(wanted), *state]
        return crew.command(stretch_fabrics, self.element_count, arguments)

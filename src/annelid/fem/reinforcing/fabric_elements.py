"""Fabrics as an element set: one element for each triangle that they cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.kernels.fabrics import foresee_fabrics, stretch_fabrics
from annelid.fem.reinforcing.fabrics import LaidFabric
from annelid.fem.reinforcing.sets import Reinforcement


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
        fixed = [
            self._array(self.nodes, wp.int32),
            self._array(gradients, wp.vec2d),
            self._array(areas, wp.float64),
            self._array(moduli, wp.mat33d),
        ]
        self._prepare(stretch_fabrics, foresee_fabrics, fixed, crew, parts=3)

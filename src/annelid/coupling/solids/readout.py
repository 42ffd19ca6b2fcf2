"""What a state of a solid among grains says besides."""

from __future__ import annotations

import numpy as np

from annelid.core.solver import Side
from annelid.coupling.readout import Readout
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.state import SolidState


class SolidReadout(Readout):
    """Reads states of one model: nodes come in the order of the mesh, grains in that of the bed, without guests.

    Args:
        model: The model.
        solid: The side of the solid.
    """

    def __init__(self, model: SolidModel, solid: Side) -> None:
        super().__init__(model, solid)
        self._nodes = model.nodes

    def surface_lag(self, state: SolidState) -> float:
        """How far the surface that grains meet is from that of the solid, at most [m]."""
        seen = np.asarray(state.surface.numpy(), float)[:, :3]
        return float(np.linalg.norm(seen - self.body_positions(state)[self._nodes], axis=1).max())

"""What a state of a solid among grains says: both sides, and grains that are where they must not be."""

from __future__ import annotations

import numpy as np

from annelid import fem
from annelid.core.summary import Summary
from annelid.coupling.bed_readout import BedReadout
from annelid.coupling.solids.model import SolidModel
from annelid.coupling.solids.state import SolidState


class SolidReadout(BedReadout):
    """Reads states of one model: nodes come in the order of the mesh, grains in that of the bed, without guests.

    Args:
        model: The model.
        solid: What reads the side of the solid.
    """

    def __init__(self, model: SolidModel, solid: fem.Readout) -> None:
        super().__init__(model)
        self.model, self._solid = model, solid

    def positions(self, state: SolidState) -> np.ndarray:
        """Positions of the nodes, then centres of the grains [m], shape [nodes + grains, 3]."""
        return np.concatenate([self.node_positions(state), self.grain_positions(state)])

    def velocities(self, state: SolidState) -> np.ndarray:
        """Velocities of the nodes, then of the grains [m/s], shape [nodes + grains, 3]."""
        return np.concatenate([self.node_velocities(state), self.grain_velocities(state)])

    def summary(self, state: SolidState) -> Summary:
        """Totals of solid, grains and free rigid bodies; parts: "solid", and "grains" with rigid bodies."""
        return self._with_grains("solid", self._solid.summary(state.solid), state)

    def node_positions(self, state: SolidState) -> np.ndarray:
        """Positions of the nodes of the solid [m], shape [nodes, 3]."""
        return self._solid.positions(state.solid)

    def node_velocities(self, state: SolidState) -> np.ndarray:
        """Their velocities [m/s], shape [nodes, 3]."""
        return self._solid.velocities(state.solid)

    def grains_inside(self, state: SolidState) -> np.ndarray:
        """Numbers of the grains whose centres are inside the deformed outer surface of the solid."""
        return self._inside(self.model.outline, self.node_positions(state)[self.model.nodes], state)

    def surface_lag(self, state: SolidState) -> float:
        """How far the surface that grains meet is from that of the solid, at most [m]."""
        seen = np.asarray(state.surface.numpy(), float)[:, :3]
        return float(np.linalg.norm(seen - self.node_positions(state)[self.model.nodes], axis=1).max())

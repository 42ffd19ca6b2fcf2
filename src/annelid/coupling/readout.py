"""What a state of spring bodies among grains says: both sides, and grains that are where they must not be."""

from __future__ import annotations

import numpy as np

from annelid import springs
from annelid.core.summary import Summary
from annelid.coupling.bed_readout import BedReadout
from annelid.coupling.model import Model
from annelid.coupling.state import State


class Readout(BedReadout):
    """Reads states of one model: masses come in the order of the body, grains in that of the bed, without guests.

    Args:
        model: The model.
        bodies: What reads the side of the springs.
    """

    def __init__(self, model: Model, bodies: springs.Readout) -> None:
        super().__init__(model)
        self.model, self._springs = model, bodies

    def positions(self, state: State) -> np.ndarray:
        """Positions of the masses, then centres of the grains [m], shape [masses + grains, 3]."""
        return np.concatenate([self.mass_positions(state), self.grain_positions(state)])

    def velocities(self, state: State) -> np.ndarray:
        """Velocities of the masses, then of the grains [m/s], shape [masses + grains, 3]."""
        return np.concatenate([self.mass_velocities(state), self.grain_velocities(state)])

    def summary(self, state: State) -> Summary:
        """Totals of spring bodies, grains and free rigid bodies; parts: "springs", and "grains" with rigid bodies."""
        return self._with_grains("springs", self._springs.summary(state.springs), state)

    def mass_positions(self, state: State) -> np.ndarray:
        """Positions of the masses of the spring bodies [m], shape [masses, 3]."""
        return self._springs.positions(state.springs)

    def mass_velocities(self, state: State) -> np.ndarray:
        """Their velocities [m/s], shape [masses, 3]."""
        return self._springs.velocities(state.springs)

    def grains_inside(self, state: State) -> np.ndarray:
        """Numbers of the grains whose centres are inside the deformed surface of a body."""
        body = self.model.springs.body
        masses = np.asarray(state.springs.positions.numpy()[: body.mass_count, :3], float)  # those that are gone, too
        return self._inside(body, masses, state)

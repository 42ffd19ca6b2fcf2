"""Reading a state on the host: positions and velocities of nodes as the mesh orders them, momenta and energies."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.summary import Summary
from annelid.fem.dynamics import masses
from annelid.fem.model import Model
from annelid.fem.state import State


class Readout:
    """Reads states of one model.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._weights = model.solid.weights()
        self._nodes, self._masses = masses(model.solid)

    def positions(self, state: Any) -> np.ndarray:
        """Positions of the nodes [m], shape [n, 3]."""
        return np.array(state.positions.numpy(), float)

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the nodes [m/s], shape [n, 3]; 0 where the solid goes from equilibrium to equilibrium."""
        if isinstance(state, State) and len(state.velocities):
            return np.array(state.velocities.numpy(), float)
        return np.zeros((self.model.node_count, 3))

    def summary(self, state: Any) -> Summary:
        """Totals of the solid; the work of pressures and other loads is no part of its energies."""
        x, v = self.positions(state), self.velocities(state)
        mass, first = float(self._weights.sum()), self._weights @ x
        shares = np.einsum("kab,kbx->kax", self._masses, v[self._nodes])  # momentum that each element gives its nodes
        return Summary(
            mass=mass,
            center_of_mass=first / mass,
            momentum=self._weights @ v,
            angular_momentum=np.cross(x[self._nodes], shares).sum(axis=(0, 1)),
            kinetic=0.5 * float((v[self._nodes] * shares).sum()),
            elastic=self.elastic(state),
            gravitational=-float(np.dot(self.model.gravity, first)),
        )

    def elastic(self, state: Any) -> float:
        """Energy stored in the tetrahedra [J]."""
        self.model.tetrahedra.evaluate(state.positions, tangent=False)
        return float(self.model.tetrahedra.energy.numpy().sum())

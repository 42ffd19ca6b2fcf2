"""Reading a state on the host: positions and velocities of nodes as the mesh orders them, momenta and energies."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.summary import Summary
from annelid.fem.contact.state import Touching, TouchingItself
from annelid.fem.dynamics import masses
from annelid.fem.model import Model
from annelid.fem.parameters import Varied, varied_worlds
from annelid.fem.state import State


class Readout:
    """Reads states of one model.

    Args:
        model: The model.
        outer: Nodes that can touch obstacles, shape [k]; None where there are none.
        surface: Nodes of a surface that touches itself, shape [s]; None where none does.
    """

    def __init__(self, model: Model, outer: np.ndarray | None = None, surface: np.ndarray | None = None) -> None:
        self.model, self._outer, self._surface = model, outer, surface
        self._weights = model.solid.weights()
        self._nodes, self._masses = masses(model.solid)

    def positions(self, state: Any) -> np.ndarray:
        """Positions of the nodes [m], shape [n, 3]; of several worlds world after world."""
        return np.array(state.positions.numpy(), float)

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the nodes [m/s], shape [n, 3]; 0 where the solid goes from equilibrium to equilibrium."""
        if isinstance(state, State) and len(state.velocities):
            return np.array(state.velocities.numpy(), float)
        return np.zeros((len(state.positions), 3))

    def contact_forces(self, state: Any) -> np.ndarray:
        """Force of each obstacle on each node at the end of the last step [N], shape [n, o, 3]; world after world.

        Nodes that cannot touch, inner and held ones, feel none.
        """
        worlds, count = self._worlds(state), self.model.node_count
        if not isinstance(state.touch, Touching) or self._outer is None:
            return np.zeros((worlds * count, 0, 3))
        pairs = state.touch.forces.numpy().reshape(worlds, len(self._outer), -1, 3)
        found = np.zeros((worlds, count, *pairs.shape[2:]))
        found[:, self._outer] = pairs
        return found.reshape(worlds * count, *pairs.shape[2:])

    def own_forces(self, state: Any) -> np.ndarray:
        """Force of the surface, which touches itself, on each node at the end of the last step [N], shape [n, 3].

        Of several worlds world after world.
        """
        worlds = self._worlds(state)
        found = np.zeros((worlds, self.model.node_count, 3))
        if isinstance(state.touch, TouchingItself) and self._surface is not None:
            found[:, self._surface] = state.touch.own_forces.numpy().reshape(worlds, -1, 3)
        return found.reshape(-1, 3)

    @property
    def touches(self) -> bool:
        """Whether there is contact to be read."""
        return self._outer is not None

    def contact_sizes(self, state: Any) -> np.ndarray:
        """How hard each node is pushed and rubbed by all that it touches at the end of the last step [N], shape [n]."""
        forces = self.contact_forces(state).sum(axis=1) + self.own_forces(state)
        return np.asarray(np.linalg.norm(forces, axis=1))

    def summary(self, state: Any) -> Summary:
        """Totals of the solid, or of those in all worlds; the work of pressures and other loads is in no energy."""
        worlds = self._worlds(state)
        pairs = zip(*(np.split(of(state), worlds) for of in (self.positions, self.velocities)), strict=True)
        parts = zip(pairs, self._energies(state), self._varied(state), strict=True)
        found = [self._summary(x, v, energy, varied) for (x, v), energy, varied in parts]
        return found[0] if worlds == 1 else Summary.of(found)

    def elastic(self, state: Any) -> float:
        """Energy stored in the tetrahedra and reinforcements [J]."""
        return sum(self._energies(state))

    def _varied(self, state: Any) -> list[Varied]:
        """What the parameters of each world make of it."""
        return varied_worlds(state.variation, self._worlds(state), self.model.gravity)

    def _worlds(self, state: Any) -> int:
        """How many worlds a state has."""
        return len(state.positions) // self.model.node_count

    def _summary(self, x: np.ndarray, v: np.ndarray, elastic: float, varied: Varied) -> Summary:
        """Totals of one world."""
        weights = varied.mass * self._weights
        mass, first = float(weights.sum()), weights @ x
        # Momentum that each element gives its nodes.
        shares = varied.mass * np.einsum("kab,kbx->kax", self._masses, v[self._nodes])
        return Summary(
            mass=mass,
            center_of_mass=first / mass,
            momentum=weights @ v,
            angular_momentum=np.cross(x[self._nodes], shares).sum(axis=(0, 1)),
            kinetic=0.5 * float((v[self._nodes] * shares).sum()),
            elastic=elastic,
            gravitational=-float(np.dot(varied.pull, first)),
        )

    def _energies(self, state: Any) -> list[float]:
        """Energy stored in the tetrahedra and reinforcements of each world [J]."""
        count, found = self.model.node_count, []
        for world, varied in enumerate(self._varied(state)):
            energies = self.model.elastic_energies(state.positions[world * count : (world + 1) * count])
            found.append(varied.stiffness * float(energies.numpy().sum()))
        return found

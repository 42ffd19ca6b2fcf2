"""Motion of a solid by implicit time steps, with the same assembly as its equilibria.

A step of backward Euler is an equilibrium too: of the solid with springs that pull every node to where it would fly
without forces, of stiffness m/dt². They are one more element set. The midpoint rule is made of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Command, Crew, Launcher
from annelid.fem.elements import ElementSet
from annelid.fem.integrators import stage_of
from annelid.fem.kernels.motion import fly, land, pull_back
from annelid.fem.kernels.parameters import resist
from annelid.fem.parameters import Varied
from annelid.fem.shape_functions import products
from annelid.fem.solid import Solid
from annelid.fem.world import World


class Inertia(ElementSet):
    """Inertia of the nodes over a time step, or over a stage of one.

    Args:
        solid: The solid.
        world: Time step, integrator, and the damping: resistance of the surroundings, proportional to mass.
        device: Where it is computed.

    Attributes:
        dt: Time from the beginning to the end of an equation [s]: the time step, or a part of it.
        starts: Where nodes were at the beginning [m], vec3d of shape [n].
    """

    def __init__(self, solid: Solid, world: World, device: wp.Device) -> None:
        dt, damping, count = stage_of(world.integrator) * world.step, world.velocity_damping, solid.node_count
        nodes, shares = masses(solid)
        super().__init__(nodes, device)
        self.dt, self.damping = dt, damping
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._masses = wp.array(shares, dtype=wp.float64, device=device)
        self._rates = self._rates_of(None)
        self.tangent.assign((shares * sum(self._rates))[..., None, None] * np.eye(3))
        self._goals = wp.zeros(count, dtype=wp.vec3d, device=device)
        self.starts = wp.zeros(count, dtype=wp.vec3d, device=device)
        self._launcher = Launcher(device)

    @property
    def masses(self) -> np.ndarray:
        """Masses of its elements [kg], shape [k, m, m]."""
        return np.asarray(self._masses.numpy())

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of the springs that stand for inertia and damping."""
        fixed = [self._nodes, self._masses, self._goals, self.starts]
        arguments = [*map(wp.float64, self._rates), *fixed, positions, self.energy, self.forces]
        self._launcher.launch(pull_back, self.element_count, arguments)

    def vary(self, varied: Varied | None) -> None:
        """Have the densities and the damping of a world, until None makes them the solid's own again."""
        rates = self._rates_of(varied)
        if rates != self._rates:
            self._rates = rates
            self._resist((0, wp.float64(sum(rates))))

    def begin(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Start a step; positions become those without forces, a first guess."""
        arguments = [wp.float64(self.dt), positions, velocities, self._goals, self.starts]
        self._launcher.launch(fly, len(positions), arguments)
        wp.copy(positions, self._goals)

    def end(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """End a step: velocities from where nodes have got to."""
        arguments = [wp.float64(self.dt), self.starts, positions, velocities]
        self._launcher.launch(land, len(positions), arguments)

    @cached_property
    def _resist(self) -> Command:
        crew = Crew(self.device, 1)
        return crew.command(resist, self._masses.shape, [wp.float64(0.0), self._masses, self.tangent])

    def _rates_of(self, varied: Varied | None) -> tuple[float, float]:
        """Stiffness of the springs that stand for inertia and for damping, of a unit of mass [1/s²]."""
        own = self.dt**-2, self.damping / self.dt
        return own if varied is None else (varied.mass * own[0], varied.mass * varied.damping * own[1])


def masses(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [k, m] and masses [kg] [k, m, m] of elements of inertia.

    Linear tetrahedra share their mass among their nodes. In 10-node ones masses are coupled: shared out they would be
    negative at corners, or not those that gravity pulls at, and a falling solid would deform.
    """
    if solid.elements.shape[1] == 4:
        return np.arange(solid.node_count)[:, None], solid.weights()[:, None, None]
    shares = products(solid.nodes, solid.elements) * solid.property_of("density")[:, None, None]
    loaded = np.flatnonzero(solid.payload)
    owners, places = np.divmod(_first_places(solid.elements, loaded), solid.elements.shape[1])
    shares[owners, places, places] += solid.payload[loaded]
    return solid.elements, shares


def _first_places(elements: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Where each node comes first among the nodes of all elements, counted through, shape as nodes."""
    found, first = np.unique(elements.ravel(), return_index=True)
    return np.asarray(first[np.searchsorted(found, nodes)])

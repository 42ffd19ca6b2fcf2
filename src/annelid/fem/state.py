"""What changes with time while a solid is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import warp as wp

from annelid.core.state import nested, rows
from annelid.fem.linalg.memory import FactorMemory


@dataclass(kw_only=True)
class State:
    """A solid at rest or in motion; all that its future depends on.

    Attributes:
        positions: Positions of the nodes [m], vec3d of shape [n].
        velocities: Velocities of the nodes [m/s], vec3d of shape [n]; empty from equilibrium to equilibrium.
        unsettled: Steps whose equation was not solved to the last digit, shape [1].
        clock: Steps done, shape [1].
        linear: What the solver of linear systems carries from one matrix to the next.
    """

    positions: wp.array = rows("node", wp.vec3d)
    velocities: wp.array = rows("node", wp.vec3d)
    unsettled: wp.array = rows("simulation", wp.int64)
    clock: wp.array = rows("simulation", wp.int64)
    linear: FactorMemory = nested()

"""The state of a solid among grains: those of both sides, and where its surface is on its way.

Rows belong to a `guest`, a point of the surface that grains meet, to a `surface-node`, in ascending order, or to a
`coupled-channel`, a control of either side; those of the two sides are declared there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid import fem, grains
from annelid.core.state import nested, rows
from annelid.core.variation import Variation


@dataclass
class SolidState:
    """What changes with time.

    Attributes:
        solid: The solid.
        grains: Grains, guests and rigid bodies.
        surface: Where each surface node is for the grains [m], and how it yields [1/kg], shape [surface nodes, 4].
        velocities: How fast it moves there [m/s], shape [surface nodes, 3].
        trend: How these velocities change but for contacts [m/s²], shape [surface nodes, 3].
        last: Velocity of each guest a step of the grains ago [m/s], shape [guests, 3].
        centers: Centre of what is around each guest [m], shape [guests, 3].
        turns: From a couple on each guest to forces on these, per distance from the centre [1/m²], shape
            [guests, 3, 3].
        contact_forces: Mean force of grains and rigid bodies on each surface node during the last step [N], shape
            [surface nodes, 3].
        commands: Commands of the controls of both sides, in steps of the whole, see `core.controls`, shape
            [channels]; each side is given its own before it is stepped.
        variation: Parameters in which worlds differ: none, there is one world.
    """

    solid: fem.State = nested()
    grains: grains.State = nested()
    surface: wp.array[Any] = rows("surface-node", wp.vec4d)
    velocities: wp.array[Any] = rows("surface-node", wp.vec3d)
    trend: wp.array[Any] = rows("surface-node", wp.vec3d)
    last: wp.array[Any] = rows("guest", wp.vec3)
    centers: wp.array[Any] = rows("guest", wp.vec3)
    turns: wp.array[Any] = rows("guest", wp.mat33)
    contact_forces: wp.array[Any] = rows("surface-node", wp.vec3)
    commands: wp.array[Any] = rows("coupled-channel", wp.vec4d)
    variation: Variation = nested()

    @property
    def clock(self) -> wp.array[Any]:
        """Steps done, shape [1]."""
        return self.solid.clock

"""The state of a soft body among grains: those of both sides, and what is known of the guests.

Rows belong to a `guest`, a point of the surface that grains meet, to a `surface-mass`, in ascending order, which is a
node where the body is a solid, or to a `coupled-channel`, a control of either side in a world; those of the two sides
are declared there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid import grains, springs
from annelid.core.state import nested, rows
from annelid.core.variation import Variation


@dataclass
class MeetingState:
    """What changes with time, whatever the body is made of.

    Attributes:
        grains: Grains, guests and rigid bodies.
        last: Velocity of each guest a step of the grains ago [m/s], shape [guests, 3].
        centers: Centre of what is around each guest [m], shape [guests, 3].
        turns: From a couple on each guest to forces on these, per distance from the centre [1/m²], shape
            [guests, 3, 3].
        contact_forces: Force of grains and rigid bodies on each surface mass in the mean of the last step [N], shape
            [surface masses, 3].
        commands: Commands of the controls of both sides, in steps of the whole, see `core.controls`, shape
            [worlds · channels]; each side is given its own before it is stepped.
        variation: Parameters in which worlds differ, of which each side is given its own; empty while they do not.
    """

    grains: grains.State = nested()
    last: wp.array[Any] = rows("guest", wp.vec3)
    centers: wp.array[Any] = rows("guest", wp.vec3)
    turns: wp.array[Any] = rows("guest", wp.mat33)
    contact_forces: wp.array[Any] = rows("surface-mass", wp.vec3)
    commands: wp.array[Any] = rows("coupled-channel", wp.vec4d)
    variation: Variation = nested()


@dataclass
class State(MeetingState):
    """What changes with time beside spring bodies.

    Attributes:
        springs: The spring bodies.
    """

    springs: springs.State = nested()

    @property
    def clock(self) -> wp.array[Any]:
        """Steps done, shape [1]."""
        return self.grains.clock

"""The state of spring bodies among grains: those of both sides, and what is known of the guests.

Rows belong to a `guest`, a point of the surface that grains meet, or to a `surface-mass`, in ascending order; those of
the two sides are declared there.
"""

from __future__ import annotations

from dataclasses import dataclass

import warp as wp

from annelid import grains, springs
from annelid.core.state import nested, rows


@dataclass
class State:
    """What changes with time.

    Attributes:
        springs: The spring bodies.
        grains: Grains, guests and rigid bodies.
        last: Velocity of each guest a step ago [m/s], shape [guests, 3].
        contact_forces: Force of grains and rigid bodies on each surface mass during the last step [N], shape
            [surface masses, 3].
    """

    springs: springs.State = nested()
    grains: grains.State = nested()
    last: wp.array = rows("guest", wp.vec3)
    contact_forces: wp.array = rows("surface-mass", wp.vec3)

    @property
    def clock(self) -> wp.array:
        """Steps done, shape [1]."""
        return self.grains.clock

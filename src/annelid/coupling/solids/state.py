"""The state of a solid among grains: those of both sides, and where its surface is on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid import fem
from annelid.core.state import nested, rows
from annelid.coupling.state import MeetingState


@dataclass
class SolidState(MeetingState):
    """What changes with time beside a solid.

    Attributes:
        solid: The solid.
        surface: Where each surface node is for the grains [m], and how it yields [1/kg], shape [surface nodes, 4].
        velocities: How fast it moves there [m/s], shape [surface nodes, 3].
        trend: How these velocities change but for contacts [m/s²], shape [surface nodes, 3].
    """

    solid: fem.State = nested()
    surface: wp.array[Any] = rows("surface-mass", wp.vec4d)
    velocities: wp.array[Any] = rows("surface-mass", wp.vec3d)
    trend: wp.array[Any] = rows("surface-mass", wp.vec3d)

    @property
    def clock(self) -> wp.array[Any]:
        """Steps done, shape [1]."""
        return self.solid.clock

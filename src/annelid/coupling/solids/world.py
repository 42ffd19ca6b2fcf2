"""What surrounds a solid and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.options import Auto
from annelid.coupling.meeting import MeetingWorld, require_options
from annelid.coupling.steps import rounded_down
from annelid.grains import Bed
from annelid.grains.steps import Load
from annelid.shapes.values import require_step

_USUAL = 2.0e-3  # longest time step of the solid that is chosen [s]
_WHOLE = 1.0e-6  # how far a ratio of steps may be from a whole number
_ELSEWHERE = ("contact", "integrator")  # of a solid by itself


@dataclass(frozen=True, kw_only=True)
class SolidWorld(MeetingWorld):
    """Gravity, obstacles, steps, and other options of each kind of physics.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the solid touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        dt: Time step of the solid [s], at whose ends solid and grains meet; "auto" takes 2 ms or a little less,
            and beside free bodies half of it, a quarter... until the solid yields little more than its surface.
        grain_dt: Time step of the grains [s], of which `dt` is a whole multiple; "auto" takes one that suits bed and
            solid.
        controls: Channels of rigid bodies, see `grains.velocity_control`; a solid has those of its actuators.
        solid: Other attributes of `fem.World`: velocity_damping, ramp.
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    dt: float | Auto = "auto"
    grain_dt: float | Auto = "auto"
    solid: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dt", "grain_dt"):
            object.__setattr__(self, name, require_step(name, getattr(self, name)))
        known = [one.name for one in fields(fem.World) if one.name not in _ELSEWHERE]
        require_options("solid", self.solid, known)

    def steps(self, bed: Bed, loads: Sequence[Load]) -> tuple[float, int]:
        """Time step of the solid [s], and steps of the grains in it.

        Args:
            bed: The grains.
            loads: What falls into them.
        """
        longest = self.longest(bed, loads) if self.grain_dt == "auto" else self.grain_dt
        if self.dt == "auto":
            part = rounded_down(longest) if self.grain_dt == "auto" else longest
            count = max(1, int(_USUAL / part * (1.0 + _WHOLE)))
            return count * part, count
        if self.grain_dt == "auto":
            return self.dt, max(1, math.ceil(self.dt / longest * (1.0 - _WHOLE)))
        ratio = self.dt / self.grain_dt
        nearest = max(1, round(ratio))
        if abs(ratio - nearest) > _WHOLE * nearest:
            raise InvalidValue(
                f"dt = {self.dt:g} s is not a whole multiple of grain_dt = {self.grain_dt:g} s: "
                f"use dt = {nearest * self.grain_dt:.6g} s, or grain_dt = {self.dt / nearest:.6g} s."
            )
        return self.dt, nearest

    def solid_world(self, dt: float) -> fem.World:
        """What surrounds the solid; obstacles touch its guests among the grains."""
        return fem.World(dt=dt, gravity=self.gravity, **self.solid)

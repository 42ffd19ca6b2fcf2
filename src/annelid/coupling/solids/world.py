"""What surrounds a solid and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annelid import fem
from annelid.core.options import Auto
from annelid.core.parameters import documented, parameter
from annelid.coupling.meeting import WHOLE, MeetingWorld, require_apart, whole_multiple
from annelid.coupling.steps import rounded_down
from annelid.grains import Bed
from annelid.grains.steps import Load

_USUAL = 2.0e-3  # longest time step of the solid that is chosen [s]


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class SolidWorld(MeetingWorld):
    """Gravity, obstacles, steps, and other options of each kind of physics; `dt` is the step of the solid."""

    grain_dt: float | Auto = parameter(
        "auto",
        'Time step of the grains beside a solid [s], of which `dt` is a whole multiple; "auto" takes one that suits '
        "bed and solid. Beside springs it is `dt`.",
        unit="s", above=0.0,
    )  # fmt: skip
    solid: Mapping[str, Any] | None = parameter(None, "Other attributes of `fem.World`: velocity_damping, ramp.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_apart("solid", self.solid, fem.World, but=("contact", "integrator"))

    def steps(self, bed: Bed, loads: Sequence[Load]) -> tuple[float, int]:
        """Time step of the solid [s], and steps of the grains in it.

        Args:
            bed: The grains.
            loads: What falls into them.
        """
        longest = self.longest(bed, loads) if self.grain_dt == "auto" else self.grain_dt
        if self.dt == "auto":
            part = rounded_down(longest) if self.grain_dt == "auto" else longest
            count = max(1, int(_USUAL / part * (1.0 + WHOLE)))
            return count * part, count
        if self.grain_dt == "auto":
            return self.dt, max(1, math.ceil(self.dt / longest * (1.0 - WHOLE)))
        return self.dt, whole_multiple("grain_dt", self.dt, self.grain_dt)

    def solid_world(self, dt: float) -> fem.World:
        """What surrounds the solid; obstacles touch its guests among the grains."""
        return fem.World(dt=dt, gravity=self.gravity, **(self.solid or {}))

"""What surrounds spring bodies and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annelid.core.options import Auto
from annelid.core.parameters import documented, parameter
from annelid.coupling.meeting import WHOLE, MeetingWorld, require_apart, whole_multiple
from annelid.coupling.steps import rounded_down
from annelid.grains import Bed
from annelid.grains.steps import Load
from annelid.shapes import Surface
from annelid.springs import World as SpringsWorld

_USUAL = 2.0e-4  # longest time step of the springs that is chosen [s]
_STEADY = 0.8  # of the stable step of the springs, that is chosen where it is the shortest
_MOST_SUBSTEPS = 16  # that are chosen without being asked for


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(MeetingWorld):
    """Gravity, obstacles, steps, and other options of each kind of physics."""

    spring_dt: float | Auto = parameter(
        "auto",
        'Time step of the springs [s], of which `dt` is a whole multiple; "auto" takes a part of `dt`, 2e-4 at most.',
        unit="s", above=0.0,
    )  # fmt: skip
    springs: Mapping[str, Any] | None = parameter(
        None, "Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors..."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_apart("springs", self.springs, SpringsWorld)

    def fitted(self, bed: Bed, loads: Sequence[Load], skin: Surface) -> World:
        """The same world with a step for the springs, and contacts that do not depend on any step.

        Args:
            bed: The grains of one world.
            loads: What falls into them.
            skin: How the surface of the body responds to contact.
        """
        world = replace(self, grains=self.contact_options(bed, loads, skin))
        if self.spring_dt != "auto":
            return world
        wanted = world.longest(bed, loads) if self.dt == "auto" else self.dt
        part = wanted / math.ceil(wanted / _USUAL * (1.0 - WHOLE))
        return replace(world, spring_dt=rounded_down(part) if self.dt == "auto" else part)

    def steadied(self, chosen: World, stable: float) -> World:
        """A world fitted to bodies and bed, with a step of the springs that is stable [s], unless one was asked for.

        Args:
            chosen: This world, fitted.
            stable: Stable step of the springs [s]; 0 where none is.
        """
        assert chosen.spring_dt != "auto"
        if self.spring_dt != "auto" or stable == 0.0 or chosen.spring_dt <= stable:
            return chosen
        part = chosen.spring_dt / math.ceil(chosen.spring_dt / (_STEADY * stable))
        return replace(chosen, spring_dt=rounded_down(part) if self.dt == "auto" else part)

    def substeps(self, bed: Bed, loads: Sequence[Load], longest: float) -> int:
        """Steps of the springs in a step of the grains, which these allow to be so long at most [s]."""
        assert self.spring_dt != "auto", "fit the world to body and bed first"
        if self.dt == "auto":
            wanted = min(self.longest(bed, loads), longest)
            return int(min(max(wanted / self.spring_dt * (1.0 + WHOLE), 1.0), _MOST_SUBSTEPS))
        return whole_multiple("spring_dt", self.dt, self.spring_dt)

    def springs_world(self) -> SpringsWorld:
        """What surrounds the spring bodies."""
        assert self.spring_dt != "auto", "fit the world to body and bed first"
        return SpringsWorld(dt=self.spring_dt, gravity=self.gravity, **{"relaxation": 0.0, **(self.springs or {})})

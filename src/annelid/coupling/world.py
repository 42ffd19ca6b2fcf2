"""What surrounds spring bodies and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.options import Auto
from annelid.coupling.meeting import MeetingWorld, require_options
from annelid.coupling.steps import rounded_down
from annelid.grains import Bed
from annelid.grains.steps import Load
from annelid.shapes import Surface
from annelid.shapes.values import require_step
from annelid.springs import World as SpringsWorld

_USUAL = 2.0e-4  # longest time step of the springs that is chosen [s]
_STEADY = 0.8  # of the stable step of the springs, that is chosen where it is the shortest
_MOST_SUBSTEPS = 16  # that are chosen without being asked for
_WHOLE = 1.0e-6  # how far a ratio of steps may be from a whole number


@dataclass(frozen=True, kw_only=True)
class World(MeetingWorld):
    """Gravity, obstacles, steps, and other options of each kind of physics.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        dt: Time step [s], at whose ends bodies and grains meet; "auto" takes one that suits bed and body.
        spring_dt: Time step of the springs [s], of which `dt` is a whole multiple; "auto" takes a part of `dt`, 2e-4 at
            most.
        controls: Channels of rigid bodies, see `grains.velocity_control`; spring bodies bring theirs (`body.control`).
        springs: Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors...
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    dt: float | Auto = "auto"
    spring_dt: float | Auto = "auto"
    springs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dt", "spring_dt"):
            object.__setattr__(self, name, require_step(name, getattr(self, name)))
        require_options("springs", self.springs, [one.name for one in fields(SpringsWorld)])

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
        part = wanted / math.ceil(wanted / _USUAL * (1.0 - _WHOLE))
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
            return int(min(max(wanted / self.spring_dt * (1.0 + _WHOLE), 1.0), _MOST_SUBSTEPS))
        ratio = self.dt / self.spring_dt if self.spring_dt > 0.0 else math.nan
        nearest = max(1, round(ratio)) if math.isfinite(ratio) else 1
        if not (math.isfinite(ratio) and abs(ratio - nearest) <= _WHOLE * nearest):
            raise InvalidValue(
                f"dt = {self.dt:g} s is not a whole multiple of spring_dt = {self.spring_dt:g} s: "
                f"use dt = {nearest * self.spring_dt:.6g} s, or spring_dt = {self.dt / nearest:.6g} s."
            )
        return nearest

    def springs_world(self) -> SpringsWorld:
        """What surrounds the spring bodies."""
        assert self.spring_dt != "auto", "fit the world to body and bed first"
        return SpringsWorld(dt=self.spring_dt, gravity=self.gravity, **{"relaxation": 0.0, **self.springs})

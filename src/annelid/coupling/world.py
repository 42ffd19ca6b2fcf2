"""What surrounds spring bodies and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Auto, Named
from annelid.coupling.steps import LIVELY, LONGEST, rounded_down
from annelid.grains import Bed
from annelid.grains import World as GrainsWorld
from annelid.grains.controls import BodyControl, require_controls
from annelid.grains.rigid import touched_by_grains
from annelid.grains.steps import Load, calm_speed, default_step, meeting_step
from annelid.shapes import Obstacle
from annelid.shapes.values import as_vector, require_step
from annelid.springs import World as SpringsWorld

_USUAL = 1.0e-4  # longest time step of the springs that is chosen [s]
_BOUNCE = 12.0  # slowest impact that bounces, in speeds of calm: a surface of springs never quite rests
_STEADY = 0.8  # of the stable step of the springs, that is chosen where it is the shortest
_MOST_SUBSTEPS = 16  # that are chosen without being asked for
_OF_BOTH = {"dt", "gravity", "obstacles", "controls"}  # that are not given to the springs and the grains one by one
_WHOLE = 1.0e-6  # how far a ratio of steps may be from a whole number


@dataclass(frozen=True, kw_only=True)
class World(Named):
    """Gravity, obstacles, steps, and other options of each kind of physics.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        dt: Time step [s], at whose ends bodies and grains meet; "auto" takes one that suits bed and body.
        spring_dt: Time step of the springs [s], of which `dt` is a whole multiple; "auto" takes a part of `dt`, 1e-4 at
            most.
        controls: Channels of rigid bodies, see `grains.velocity_control`; spring bodies bring theirs (`body.control`).
        springs: Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors...
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    obstacles: Sequence[Obstacle] = field(default=(), repr=False)
    dt: float | Auto = "auto"
    spring_dt: float | Auto = "auto"
    controls: Sequence[BodyControl] = ()
    springs: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        for name in ("dt", "spring_dt"):
            object.__setattr__(self, name, require_step(name, getattr(self, name)))
        touched_by_grains(self.obstacles)  # refuses what cannot be touched
        require_controls(self.controls)
        for name, options, kind in (("springs", self.springs, SpringsWorld), ("grains", self.grains, GrainsWorld)):
            both = sorted(_OF_BOTH & set(options))
            if both:
                verb = "are" if both[0] in ("obstacles", "controls") else "is"
                raise InvalidValue(f"{both[0]} {verb} given to the world itself, not among its options of {name}.")
            known = [one.name for one in fields(kind) if one.name not in _OF_BOTH]
            for option in options:
                if option not in known:
                    raise UnknownName(f"option of the {name}", option, known)

    def fitted(self, bed: Bed, loads: Sequence[Load]) -> World:
        """The same world with a step for the springs, and contacts that do not depend on any step.

        Args:
            bed: The grains of one world.
            loads: What falls into them.
        """
        calm = calm_speed(bed, self.gravity)
        speeds = {} if calm is None else {"calm_speed": calm, "bounce_speed": _BOUNCE * calm}
        options = {**speeds, **self.grains}
        options.setdefault("contact_step", default_step(bed, self.grains_world(), loads=loads))
        world = replace(self, grains=options)
        if self.spring_dt != "auto":
            return world
        wanted = world.longest(bed, loads) if self.dt == "auto" else self.dt
        part = wanted / math.ceil(wanted / _USUAL * (1.0 - _WHOLE))
        return replace(world, spring_dt=rounded_down(part) if self.dt == "auto" else part)

    def steadied(self, chosen: World, stable: float) -> World:
        """A world fitted to bodies and bed, with a step of the springs that is stable [s], unless one was asked for.

        Args:
            chosen: This world, fitted.
            stable: Stable step of the springs [s].
        """
        assert chosen.spring_dt != "auto"
        if self.spring_dt != "auto" or chosen.spring_dt <= stable:
            return chosen
        if self.dt == "auto":
            return replace(chosen, spring_dt=rounded_down(_STEADY * stable))
        return replace(chosen, spring_dt=chosen.spring_dt / math.ceil(chosen.spring_dt / (_STEADY * stable)))

    def longest(self, bed: Bed, loads: Sequence[Load]) -> float:
        """Longest step of the grains that suits bed and bodies [s], whatever the springs."""
        return min(LIVELY * default_step(bed, self.grains_world(), loads=loads), meeting_step(bed, loads))

    def substeps(self, bed: Bed, loads: Sequence[Load], stable: float) -> int:
        """Steps of the springs in a step of the grains; `stable` is the stable step of the springs [s]."""
        assert self.spring_dt != "auto", "fit the world to body and bed first"
        if self.dt == "auto":
            wanted = min(self.longest(bed, loads), LONGEST * stable)
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
        return SpringsWorld(dt=self.spring_dt, gravity=self.gravity, **self.springs)

    def grains_world(self, dt: float | Auto = "auto") -> GrainsWorld:
        """Where the grains live."""
        world = GrainsWorld(
            dt=dt, gravity=self.gravity, obstacles=self.obstacles, controls=self.controls, **self.grains
        )
        if world.method != "nonsmooth" or world.too_fast == "substep":
            raise InvalidValue(
                "grains beside spring bodies are computed by the nonsmooth method in steps of one length: leave out "
                "method and too_fast='substep'."
            )
        return world

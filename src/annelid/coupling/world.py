"""What surrounds spring bodies and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.coupling.steps import LIVELY, LONGEST, rounded_down
from annelid.grains import Bed
from annelid.grains import World as GrainsWorld
from annelid.grains.steps import Load, calm_speed, default_step, meeting_step
from annelid.shapes import Obstacle
from annelid.shapes.values import as_vector
from annelid.springs import World as SpringsWorld

_USUAL = 1.0e-4  # longest time step of the springs that is chosen [s]
_BOUNCE = 12.0  # slowest impact that bounces, in speeds of calm: a surface of springs never quite rests
_STEADY = 0.8  # of the stable step of the springs, that is chosen where it is the shortest
_MOST_SUBSTEPS = 16  # that are chosen without being asked for
_WHOLE = 1.0e-6  # how far a ratio of steps may be from a whole number


@dataclass(frozen=True, kw_only=True)
class World:
    """Gravity, steps, and what each kind of physics is told besides.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        dt: Time step of the springs [s]; None takes a part of that of the grains, 1e-4 at most.
        grain_dt: Time step of the grains [s], a whole multiple of `dt`; None takes one that suits bed and body.
        springs: Other attributes of `springs.World`: integrator, velocity_damping, collisions, motors...
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    obstacles: Sequence[Obstacle] = field(default=(), repr=False)
    dt: float | None = None
    grain_dt: float | None = None
    springs: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        for name in ("dt", "grain_dt"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} must be a time above 0 s, not {value!r}.")
        for name, options in (("springs", self.springs), ("grains", self.grains)):
            both = sorted({"dt", "gravity", "obstacles"} & set(options))
            if both:
                raise InvalidValue(f"{both[0]} is given to the world itself, not among its options of {name}.")

    def fitted(self, bed: Bed, loads: Sequence[Load]) -> World:
        """The same world with a step for the springs, and contacts that do not depend on any step.

        Args:
            bed: The grains of one world.
            loads: What falls into them.
        """
        calm = calm_speed(bed, self.gravity)
        speeds = {} if calm is None else {"calm_speed": calm, "bounce_speed": _BOUNCE * calm}
        options = {**speeds, **self.grains}
        options.setdefault("contact_step", default_step(bed, self.grains_world(None), loads=loads))
        world = replace(self, grains=options)
        if self.dt is not None:
            return world
        wanted = world.longest(bed, loads) if self.grain_dt is None else self.grain_dt
        part = wanted / math.ceil(wanted / _USUAL * (1.0 - _WHOLE))
        return replace(world, dt=rounded_down(part) if self.grain_dt is None else part)

    def steadied(self, chosen: World, stable: float) -> World:
        """A world fitted to bodies and bed, with a step of the springs that is stable [s], unless one was asked for.

        Args:
            chosen: This world, fitted.
            stable: Stable step of the springs [s].
        """
        assert chosen.dt is not None
        if self.dt is not None or chosen.dt <= stable:
            return chosen
        if self.grain_dt is None:
            return replace(chosen, dt=rounded_down(_STEADY * stable))
        return replace(chosen, dt=chosen.dt / math.ceil(chosen.dt / (_STEADY * stable)))

    def longest(self, bed: Bed, loads: Sequence[Load]) -> float:
        """Longest step of the grains that suits bed and bodies [s], whatever the springs."""
        return min(LIVELY * default_step(bed, self.grains_world(None), loads=loads), meeting_step(bed, loads))

    def substeps(self, bed: Bed, loads: Sequence[Load], stable: float) -> int:
        """Steps of the springs in a step of the grains; `stable` is the stable step of the springs [s]."""
        assert self.dt is not None, "fit the world to body and bed first"
        if self.grain_dt is None:
            wanted = min(self.longest(bed, loads), LONGEST * stable)
            return int(min(max(wanted / self.dt * (1.0 + _WHOLE), 1.0), _MOST_SUBSTEPS))
        ratio = self.grain_dt / self.dt if self.dt > 0.0 else math.nan
        nearest = max(1, round(ratio)) if math.isfinite(ratio) else 1
        if not (math.isfinite(ratio) and abs(ratio - nearest) <= _WHOLE * nearest):
            raise InvalidValue(
                f"grain_dt = {self.grain_dt:g} s is not a whole multiple of dt = {self.dt:g} s: "
                f"use grain_dt = {nearest * self.dt:.6g} s, or dt = {self.grain_dt / nearest:.6g} s."
            )
        return nearest

    def springs_world(self) -> SpringsWorld:
        """What surrounds the spring bodies."""
        assert self.dt is not None, "fit the world to body and bed first"
        return SpringsWorld(dt=self.dt, gravity=self.gravity, **self.springs)

    def grains_world(self, dt: float | None) -> GrainsWorld:
        """Where the grains live."""
        world = GrainsWorld(dt=dt, gravity=self.gravity, obstacles=self.obstacles, **self.grains)
        if world.method != "nonsmooth" or world.too_fast == "substep":
            raise InvalidValue(
                "grains beside spring bodies are computed by the nonsmooth method in steps of one length: leave method "
                "and too_fast='substep' away."
            )
        return world

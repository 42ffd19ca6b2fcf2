"""What surrounds spring bodies and grains, and the two steps in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.grains import Bed
from annelid.grains import World as GrainsWorld
from annelid.grains.model import default_step
from annelid.springs import World as SpringsWorld

LONGEST = 1.25
"""Longest step of the grains, in stable steps of the springs: in a longer one masses swing back and forth unseen."""

_MOST_SUBSTEPS = 16  # that are chosen without being asked for
_LIVELY = 0.5  # of the step that suits a bed at rest: a body that moves in it wants shorter ones
_WHOLE = 1.0e-6  # how far a ratio of steps may be from a whole number


@dataclass(frozen=True, kw_only=True)
class World:
    """Gravity, steps, and what each kind of physics is told besides.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        dt: Time step of the springs [s].
        grain_dt: Time step of the grains [s], a whole multiple of `dt`; None takes one that suits bed and body.
        springs: Other attributes of `springs.World`: integrator, velocity_damping, obstacles, collisions, motors...
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    dt: float = 1.0e-4
    grain_dt: float | None = None
    springs: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, options in (("springs", self.springs), ("grains", self.grains)):
            both = sorted({"dt", "gravity"} & set(options))
            if both:
                raise InvalidValue(f"{both[0]} is given to the world itself, not among its options of {name}.")

    def substeps(self, bed: Bed, stable: float) -> int:
        """Steps of the springs in a step of the grains of this bed; `stable` is the stable step of the springs [s]."""
        if self.grain_dt is None:
            wanted = min(_LIVELY * default_step(bed, self.grains_world(None)), LONGEST * stable)
            return int(min(max(wanted / self.dt, 1.0), _MOST_SUBSTEPS))
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
        return SpringsWorld(dt=self.dt, gravity=self.gravity, **self.springs)

    def grains_world(self, dt: float | None) -> GrainsWorld:
        """Where the grains live."""
        world = GrainsWorld(dt=dt, gravity=self.gravity, **self.grains)
        if world.method != "nonsmooth" or world.too_fast == "substep":
            raise InvalidValue(
                "grains beside spring bodies are computed by the nonsmooth method in steps of one length: leave method "
                "and too_fast='substep' away."
            )
        return world

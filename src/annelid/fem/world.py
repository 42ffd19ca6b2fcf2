"""What surrounds a solid of finite elements and how time passes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.options import Named
from annelid.fem.integrators import Integrator, stage_of
from annelid.fem.robots.barriers import barriers_of
from annelid.shapes import Obstacle
from annelid.shapes.values import as_vector, step_or


@dataclass(frozen=True, kw_only=True)
class World(Named):
    """What surrounds a solid and how time passes for it.

    Attributes:
        dt: Time step [s]; of a solid without inertia, the time that a step from equilibrium to equilibrium stands for.
        gravity: Acceleration of gravity [m/s²].
        integrator: How a solid in motion is stepped: "backward-euler", which damps oscillations the more the longer the
            step, or "midpoint", which does not but costs two to three times as much; of no use without inertia.
        velocity_damping: Rate at which velocities decay [1/s]; of no use without inertia.
        ramp: Time over which loads and offsets grow from nothing to all [s]; 0 applies all in the first step.
        obstacles: What a robot must not enter; a solid without actuators does not touch anything yet.
    """

    dt: float = 0.01
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    integrator: Integrator = "backward-euler"
    velocity_damping: float = 0.0
    ramp: float = 0.0
    obstacles: Sequence[Obstacle] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", step_or("dt", self.dt, World.dt))
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        stage_of(self.integrator)  # refuses unknown ones
        if not (np.isfinite(self.velocity_damping) and self.velocity_damping >= 0.0):
            raise InvalidValue(f"velocity_damping must not be negative, not {self.velocity_damping}.")
        if not (np.isfinite(self.ramp) and self.ramp >= 0.0):
            raise InvalidValue(f"ramp must be a time of 0 or more in seconds, not {self.ramp}.")
        barriers_of(self.obstacles)  # refuses what cannot be touched

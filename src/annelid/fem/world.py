"""What surrounds a solid of finite elements and how time passes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.fem.robots.obstacles import Obstacle


@dataclass(frozen=True, kw_only=True)
class World:
    """What surrounds a solid and how time passes for it.

    Attributes:
        dt: Time step [s]; of a solid without inertia, the time that a step from equilibrium to equilibrium stands for.
        gravity: Acceleration of gravity [m/s²].
        velocity_damping: Rate at which velocities decay [1/s]; of no use without inertia.
        ramp: Time over which loads and offsets grow from nothing to all [s]; 0 applies all in the first step.
        obstacles: What a robot must not enter; a solid without actuators does not touch anything yet.
    """

    dt: float = 0.01
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    velocity_damping: float = 0.0
    ramp: float = 0.0
    obstacles: Sequence[Obstacle] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise InvalidValue(f"the time step dt must be a positive time in seconds, not {self.dt}.")
        if np.shape(self.gravity) != (3,) or not np.isfinite(self.gravity).all():
            raise InvalidValue(f"gravity must be three finite numbers, not {self.gravity}.")
        if not (np.isfinite(self.velocity_damping) and self.velocity_damping >= 0.0):
            raise InvalidValue(f"velocity_damping must not be negative, not {self.velocity_damping}.")
        if not (np.isfinite(self.ramp) and self.ramp >= 0.0):
            raise InvalidValue(f"ramp must be a time of 0 or more in seconds, not {self.ramp}.")

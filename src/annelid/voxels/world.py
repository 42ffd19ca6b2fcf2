"""What surrounds voxel robots and how they are integrated. Robots live in the plane of x and z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.voxels.objects import Box
from annelid.voxels.terrain import Terrain

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}

Obstacle = Terrain | Box


@dataclass(frozen=True, kw_only=True)
class World:
    """What surrounds robots and how they are integrated.

    Attributes:
        dt: Time step [s].
        control_interval: Steps between two calls of the controllers: with c they are called every c + 1 steps.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²], along z.
        obstacles: What robots can touch in every world: one `Terrain`, and any number of boxes.
        substeps: Substeps of a step; None takes as many as the stiffest voxel needs.
        work: Whether the work of actuation is summed, which costs time.
        watch: Whether the extremes of a run are kept: heights, swings, contacts with the ground.
    """

    dt: float = 1.0 / 60.0
    control_interval: int = 1
    precision: str = "float32"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.8)
    obstacles: Sequence[Obstacle] = ()
    substeps: int | None = None
    work: bool = False
    watch: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise InvalidValue(f"the time step dt must be a positive time in seconds, not {self.dt}.")
        if self.control_interval < 0:
            raise InvalidValue(f"the control interval must be 0 or more steps, not {self.control_interval}.")
        if self.precision not in PRECISIONS:
            raise InvalidValue(f"precision {self.precision!r} must be 'float32' or 'float64'.")
        if np.shape(self.gravity) != (3,) or not np.isfinite(self.gravity).all():
            raise InvalidValue(f"gravity must be three finite numbers, not {self.gravity}.")
        if self.gravity[0] or self.gravity[1]:
            raise InvalidValue(
                f"gravity of voxel robots acts along z only, not along {self.gravity}: tilt the terrain instead."
            )
        if self.substeps is not None and self.substeps < 1:
            raise InvalidValue(f"substeps must be at least 1, not {self.substeps}.")
        self._require_obstacles()

    def _require_obstacles(self) -> None:
        if isinstance(self.obstacles, (str, Terrain, Box)):
            raise InvalidValue(f"obstacles must be a list, such as [voxels.terrain('flat')], not {self.obstacles!r}.")
        for one in self.obstacles:
            if not isinstance(one, Obstacle):
                raise InvalidValue(
                    f"voxel robots touch terrains and boxes of annelid.voxels, not a {type(one).__name__}."
                )
        if sum(isinstance(one, Terrain) for one in self.obstacles) > 1:
            raise InvalidValue("voxel robots walk on one terrain; join the points of several into one.")

    @property
    def terrain(self) -> Terrain | None:
        """The ground; None where there is none."""
        return next((one for one in self.obstacles if isinstance(one, Terrain)), None)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes of every world."""
        return tuple(one for one in self.obstacles if isinstance(one, Box))

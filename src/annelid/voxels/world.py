"""What surrounds voxel robots and how they are integrated. Robots live in the plane of x and z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.memory import require_memory
from annelid.core.numbers import is_number, is_whole
from annelid.core.options import Named
from annelid.shapes.values import as_vector, step_or
from annelid.voxels.kernels.layout import MOST_SUBSTEPS
from annelid.voxels.objects import Box
from annelid.voxels.obstacles import Obstacle, touched_by_voxels
from annelid.voxels.terrain import Terrain

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}
_SHORTEST, _LONGEST = 1e-15, 1e3
"""Time steps [s] that stiffness by the square of a step leaves within single precision, with room to spare."""

_LONGEST_INTERVAL = 2**31 - 2  # steps are counted in 32 bits within it
_BYTES_A_VOXEL = 2000  # while worlds are compiled, about


@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Named):
    """What surrounds robots and how they are integrated.

    Attributes:
        dt: Time step [s].
        control_interval: Steps between two calls of the controllers: with c they are called every c + 1 steps.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²], along z.
        obstacles: What robots can touch in every world: one ground, a `Terrain`, a `shapes.Plane` or a
            `shapes.HeightField` that do not change along y, and any number of boxes.
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
        object.__setattr__(self, "dt", step_or("dt", self.dt, World.dt))
        if not _SHORTEST <= self.dt <= _LONGEST:
            raise InvalidValue(
                f"dt = {self.dt:g} s cannot be used; give a time step from {_SHORTEST:g} to {_LONGEST:g} s."
            )
        steps = self.control_interval
        if not is_number(steps) or not 0 <= steps <= _LONGEST_INTERVAL or steps % 1:
            raise InvalidValue(
                f"the control interval must be 0 or more steps, not {steps!r:.60}; the most is {_LONGEST_INTERVAL}."
            )
        if not isinstance(self.precision, str) or self.precision not in PRECISIONS:
            raise InvalidValue(f"precision {self.precision!r} must be 'float32' or 'float64'.")
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        if self.gravity[0] or self.gravity[1]:
            raise InvalidValue(
                f"gravity of voxel robots acts along z only, not along {self.gravity}: tilt the terrain instead."
            )
        if self.substeps is not None and not (
            is_number(self.substeps) and 1 <= self.substeps <= MOST_SUBSTEPS and self.substeps % 1 == 0
        ):
            raise InvalidValue(
                f"substeps must be at least 1, and a whole number, not {self.substeps!r:.60}; the most is "
                f"{MOST_SUBSTEPS}."
            )
        object.__setattr__(self, "control_interval", int(self.control_interval))
        self.touched  # noqa: B018 (obstacles that robots cannot touch are refused here)

    @cached_property
    def touched(self) -> tuple[Terrain | Box, ...]:
        """The obstacles as robots touch them."""
        return touched_by_voxels(self.obstacles)

    @property
    def terrain(self) -> Terrain | None:
        """The ground; None where there is none."""
        return next((one for one in self.touched if isinstance(one, Terrain)), None)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes of every world."""
        return tuple(one for one in self.touched if isinstance(one, Box))


def require_copies(worlds: int, robots: int, voxels: int) -> None:
    """Refuse a number of copies that makes no sense, and copies of robots that have a world each."""
    if not is_whole(worlds, 1):
        raise InvalidValue(f"worlds must be a whole number of 1 or more, not {worlds!r}.")
    needed = float(worlds) * _BYTES_A_VOXEL * voxels
    require_memory(f"a simulation of {worlds} worlds of {voxels} voxels", needed, "simulate fewer worlds")
    if worlds > 1 and robots > 1:
        raise InvalidValue(
            f"{robots} robots have a world each, of which there cannot be {worlds} copies: give one robot, put them "
            "together=True, or repeat the list."
        )

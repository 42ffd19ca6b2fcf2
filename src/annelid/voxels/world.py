"""What surrounds voxel robots and how they are integrated. Robots live in the plane of x and z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.memory import require_memory
from annelid.core.options import Auto, Precision
from annelid.core.parameters import Checked, documented, parameter
from annelid.shapes.values import Vector
from annelid.voxels.kernels.layout import MOST_SUBSTEPS
from annelid.voxels.objects import Box
from annelid.voxels.obstacles import Obstacle, touched_by_voxels
from annelid.voxels.terrain import Terrain

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}
_SHORTEST, _LONGEST = 1e-15, 1e3
"""Time steps [s] that stiffness by the square of a step leaves within single precision, with room to spare."""

USUAL_STEP = 1.0 / 60.0
"""Time step where none is given [s]."""

_LONGEST_INTERVAL = 2**31 - 2  # steps are counted in 32 bits within it
_BYTES_A_VOXEL = 2000  # while worlds are compiled, about


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Checked):
    """What surrounds robots and how they are integrated."""

    of_what: ClassVar[str] = "a simulation of voxels"

    dt: float | Auto = parameter("auto", 'Time step [s]; "auto" is 1/60 s.', unit="s", limits=(_SHORTEST, _LONGEST))
    control_interval: int = parameter(
        1,
        "Steps between two calls of the controllers: with c they are called every c + 1 steps.",
        limits=(0, _LONGEST_INTERVAL),
    )
    precision: Precision = parameter("float32", '"float32" or "float64".')
    gravity: Vector = parameter((0.0, 0.0, -9.8), "Acceleration of gravity [m/s²], along z.")
    obstacles: Sequence[Obstacle] = parameter(
        (),
        'What robots can touch in every world: one ground, a `Terrain` such as `terrain("flat")`, a `shapes.Plane` or '
        "a `shapes.HeightField` that do not change along y, and any number of boxes; nothing without.",
    )
    substeps: int | None = parameter(
        None, "Substeps of a step; None takes as many as the stiffest voxel needs.", limits=(1, MOST_SUBSTEPS)
    )
    work: bool = parameter(False, "Whether the work of actuation is summed, which costs time.")
    watch: bool = parameter(False, "Whether the extremes of a run are kept: heights, swings, contacts with the ground.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gravity[0] or self.gravity[1]:
            raise InvalidValue(
                f"gravity of voxel robots acts along z only, not along {self.gravity}: tilt the terrain instead."
            )
        self.touched  # noqa: B018 (obstacles that robots cannot touch are refused here)

    @property
    def step(self) -> float:
        """Time step [s]."""
        return USUAL_STEP if self.dt == "auto" else self.dt

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
    """Refuse copies that do not fit into memory, and those of robots that have a world each."""
    needed = float(worlds) * _BYTES_A_VOXEL * voxels
    require_memory(f"a simulation of {worlds} worlds of {voxels} voxels", needed, "simulate fewer worlds")
    if worlds > 1 and robots > 1:
        raise InvalidValue(
            f"{robots} robots have a world each, of which there cannot be {worlds} copies: give one robot, put them "
            "together=True, or repeat the list."
        )

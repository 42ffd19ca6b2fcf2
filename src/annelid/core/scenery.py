"""What cameras and lidars of a simulation can see: surfaces and balls of every world, on the device.

A physics says what there is (`Visible`); who looks at it need not know the physics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue, Unsupported
from annelid.core.snapshot import Mesh, Plane, Spheres
from annelid.core.solver import Solver


@dataclass(frozen=True, eq=False)
class Moving:
    """A surface or balls that move, as many in every world.

    Attributes:
        part: How they look in one world; of its points only their number counts.
        points: From a state to their points [m], vec3 of shape [worlds · points], world by world, on the device.
    """

    part: Mesh | Spheres
    points: Callable[[Any], wp.array[Any]]

    @property
    def count(self) -> int:
        """Points of one world."""
        return len(self.part.vertices if isinstance(self.part, Mesh) else self.part.centers)


@dataclass(frozen=True, eq=False)
class Scenery:
    """What can be seen.

    Attributes:
        still: What stands still, the same in every world.
        moving: What moves.
        current: Whether this is still what there is; edits change that.
    """

    still: tuple[Mesh | Spheres | Plane, ...]
    moving: tuple[Moving, ...]
    current: Callable[[], bool] = lambda: True


@runtime_checkable
class Visible(Protocol):
    """A physics that cameras and lidars can see."""

    def scenery(self) -> Scenery:
        """What can be seen of it now."""
        ...


def visible(solver: Solver) -> Visible:
    """The solver as one that can be seen."""
    if isinstance(solver, Visible):
        return solver
    raise Unsupported(
        solver.physics, "be seen by cameras and lidars", ("springs", "grains", "voxels", "fem", "coupling"),
        "Read positions instead.",
    )  # fmt: skip


def by_world(worlds: np.ndarray, count: int, what: str) -> np.ndarray:
    """The order in which things of one world follow those of another, shape [worlds, n]; as many must be in each."""
    order = np.argsort(worlds, kind="stable")
    if (np.bincount(worlds, minlength=count) * count != len(worlds)).any():
        raise InvalidValue(
            f"{what} cannot be seen by sensors where worlds differ: give one world and worlds=n, not world_of."
        )
    return order.reshape(count, -1)

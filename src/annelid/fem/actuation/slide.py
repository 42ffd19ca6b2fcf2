"""Holds that are moved along a direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.replay import Stage
from annelid.fem.actuation.actuator import FREE, Actuator, Drive, require_direction
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.kernels.actuation import aim_point
from annelid.fem.selection import Where
from annelid.fem.solid import Solid


@dataclass(frozen=True, kw_only=True, repr=False)
class Slide(Actuator):
    """A hold that is moved along a direction: the palm of a hand, a jaw. What it must exert for that is not asked.

    Several slides of the same nodes add up.

    Attributes:
        where: Which nodes; all of their components must be held, by `Solid.fix`.
        direction: Direction in which they go; its length does not matter.
        travel: Limits of how far they are from where they rest [m], or how far they are held.
        travel_rate: Largest speed [m/s].
    """

    effort_name: ClassVar[str] = "travel"
    effort_unit: ClassVar[str] = "m"
    stroke_name: ClassVar[str] = "travel"
    stroke_unit: ClassVar[str] = "m"

    where: Where
    direction: Sequence[float]
    travel: Span = FREE
    travel_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        require_direction(self.direction, self.name)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of the travel; it is what is commanded, so there are no others."""
        return self._limits(self.travel, self.travel_rate, FREE, math.inf)

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The slide on a device."""
        return SlideDrive(self, solid, device)


class SlideDrive(Drive):
    """A hold that is moved; solvers bring its nodes there.

    Attributes:
        nodes: Nodes that are moved, shape [k].
        way: Direction of unit length, shape [3].
    """

    def __init__(self, slide: Slide, solid: Solid, device: wp.Device) -> None:
        self.actuator = slide
        self.nodes = solid.indices(slide.where)
        free = self.nodes[~solid.held[self.nodes].all(axis=1)]
        if len(self.nodes) == 0 or len(free):
            what = f"node {free[0]}, which is not held" if len(free) else "no node"
            raise InvalidValue(f"{slide.name} moves {what}: hold what a Slide moves with solid.fix first.")
        self.way = require_direction(slide.direction, slide.name)
        self._effort = 0.0
        weights = np.full(len(self.nodes), 1.0 / len(self.nodes))
        self._where = [
            wp.array(self.nodes[None], dtype=wp.int32, device=device),
            wp.array(weights, dtype=wp.float64, device=device),
            wp.vec3d(*self.way.tolist()),
            wp.vec3d(*solid.nodes[self.nodes].mean(axis=0).tolist()),
        ]

    @property
    def shift(self) -> np.ndarray:
        """How far its nodes are from where they rest [m], shape [3]."""
        return np.asarray(self._effort * self.way)

    def exert(self, effort: float) -> None:
        """Have its nodes this far from where they rest [m]."""
        self._effort = effort

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """How far its nodes have gone, and the slope of that."""
        return [Stage(aim_point, 1, [*self._where, column, positions, strokes, directions])]

    def no_gradient_by(self) -> dict[str, str]:
        """Its commands: it moves what is held."""
        return {"controls": f"{self.actuator.name} moves held nodes: give the rollout offsets instead"}

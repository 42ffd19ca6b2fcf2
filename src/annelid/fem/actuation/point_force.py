"""Forces at points of a solid, along directions that stay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.replay import Replays, Stage
from annelid.fem.actuation.actuator import FREE, Actuator, Drive, require_direction
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.actuation.points import attached, names_node, node_number
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.actuation import aim_point, push_point
from annelid.fem.solid import Solid


@dataclass(frozen=True, kw_only=True, repr=False)
class PointForce(Actuator):
    """A force at a point of the solid, along a direction that stays.

    Attributes:
        at: The point at rest [m], or the number of a node.
        direction: Direction of the force; its length does not matter.
        force: Limits of the force [N], or the force at which it is held.
        force_rate: Largest change of the force in a second [N/s].
        travel: Limits of how far the point goes along the direction [m], or how far it is held.
        travel_rate: Largest change of that in a second [m/s].
    """

    effort_name: ClassVar[str] = "force"
    effort_unit: ClassVar[str] = "N"
    stroke_name: ClassVar[str] = "travel"
    stroke_unit: ClassVar[str] = "m"

    at: Any
    direction: Sequence[float]
    force: Span = FREE
    force_rate: float = math.inf
    travel: Span = FREE
    travel_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        require_direction(self.direction, self.name)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of force and travel."""
        return self._limits(self.force, self.force_rate, self.travel, self.travel_rate)

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The force on a device."""
        return PointDrive(self, solid, device)


class PointDrive(Drive, ElementSet):
    """A force at a point between nodes."""

    def __init__(self, force: PointForce, solid: Solid, device: wp.Device) -> None:
        if names_node(force.at):
            nodes, weights = np.array([[node_number(solid, force.at, force.name)]]), np.ones((1, 1))
        else:
            nodes, weights = attached(solid, force.at, force.name)
        ElementSet.__init__(self, nodes[:1], device, tangent=False)
        self.actuator, self._between = force, not names_node(force.at)
        self._weights, self._direction = weights[0], require_direction(force.direction, force.name)
        start = (weights[0][:, None] * solid.nodes[nodes[0]]).sum(axis=0)
        self._where = [
            wp.array(self.nodes, dtype=wp.int32, device=device),
            wp.array(self._weights, dtype=wp.float64, device=device),
            wp.vec3d(*self._direction.tolist()),
            wp.vec3d(*start.tolist()),
        ]
        self._force = wp.zeros(1, dtype=wp.float64, device=device)
        self._push = Replays(device)

    def exert(self, effort: float) -> None:
        """Push with this force [N]."""
        self._force.fill_(effort)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy and forces at these positions; a force that stays has no tangent."""
        self._push.run(lambda: self._stages(positions), positions)

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """How far the point has gone, and the slope of that."""
        return [Stage(aim_point, 1, [*self._where, column, positions, strokes, directions])]

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        return [Stage(push_point, 1, [*self._where, self._force, positions, self.energy, self.forces])]

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Its share on each of the nodes around its point."""
        return self.nodes[0], self._weights[:, None] * self._direction

    def no_gradient_by(self) -> dict[str, str]:
        """Nodes, where its point lies between them."""
        why = f"the point of {self.actuator.name} would change with them, too: give the number of a node"
        return {"nodes": why} if self._between else {}

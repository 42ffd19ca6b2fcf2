"""Cables: through nodes of the solid and points fixed in space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.core.snapshot import Lines
from annelid.fem.actuation.actuator import FREE, Actuator, Drive
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.actuation.points import names_node, node_number
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.actuation import aim_cable, pull_cable
from annelid.fem.solid import Solid

_COLOR = (0.15, 0.15, 0.18)


@dataclass(frozen=True, kw_only=True, repr=False)
class Cable(Actuator):
    """A cable through nodes of the solid and points fixed in space; it slides through all but its last point.

    Attributes:
        through: Its points in order, at least two: numbers of nodes, or positions fixed in space [m].
        tension: Limits of the tension [N], or the tension at which it is held; a cable cannot push.
        tension_rate: Largest change of the tension in a second [N/s].
        pull: Limits of the length that is pulled in [m], or the length at which it is held; a held cable that the
            solid gives way to is slack.
        pull_rate: Largest change of that length in a second [m/s].
    """

    effort_name: ClassVar[str] = "tension"
    effort_unit: ClassVar[str] = "N"
    stroke_name: ClassVar[str] = "pull"
    stroke_unit: ClassVar[str] = "m"
    one_sided: ClassVar[bool] = True

    through: Sequence[Any]
    tension: Span = (0.0, math.inf)
    tension_rate: float = math.inf
    pull: Span = FREE
    pull_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        effort, _ = self.limits()
        if effort.low < 0.0:
            raise InvalidValue(f"tension of {self.name}: a cable cannot push, so {effort.low:g} N is no limit; give 0.")
        listed = isinstance(self.through, Sequence) or (isinstance(self.through, np.ndarray) and self.through.ndim > 0)
        if not listed or isinstance(self.through, str):
            raise InvalidValue(
                f"cable {self.name!r} passes through {self.through!r:.60}; give a list of nodes and places."
            )
        if len(self.through) < 2:
            count = len(self.through)
            points = "1 point" if count == 1 else f"{count} points"
            raise InvalidValue(f"cable {self.name!r} passes through {points}; it needs at least two.")

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of tension and pull."""
        return self._limits(self.tension, self.tension_rate, self.pull, self.pull_rate)

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The cable on a device."""
        return CableDrive(self, solid, device)


class CableDrive(Drive, ElementSet):
    """A cable: one element for each of its segments."""

    def __init__(self, cable: Cable, solid: Solid, device: wp.Device) -> None:
        nodes, anchors = _waypoints(cable, solid)
        ElementSet.__init__(self, np.column_stack([nodes[:-1], nodes[1:]]), device)
        self.actuator = cable
        ends = np.stack([anchors[:-1], anchors[1:]], axis=1)
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        if lengths.min() <= 0.0:
            raise InvalidValue(f"{cable.name} passes one point twice in a row; leave it out once.")
        self._waypoints = nodes, anchors
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._anchors = wp.array(ends, dtype=wp.vec3d, device=device)
        self._rest = wp.float64(float(lengths.sum()))
        self._tension = wp.zeros(1, dtype=wp.float64, device=device)
        self._pull = Replays(device, kept=8)

    def exert(self, effort: float) -> None:
        """Pull with this tension [N]."""
        self._tension.fill_(effort)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions."""
        self._pull.run(lambda: self._stages(tangent, positions), positions, name=tangent)

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Length pulled in, and its slope."""
        return [Stage(aim_cable, 1, [self._nodes, self._anchors, self._rest, column, positions, strokes, directions])]

    def _stages(self, wanted: bool, positions: wp.array[Any]) -> list[Stage]:
        state = [self._tension, positions, self.energy, self.forces, self.tangent]
        return [Stage(pull_cable, self.element_count, [self._nodes, self._anchors, int(wanted), *state])]

    def segments(self) -> tuple[np.ndarray, np.ndarray]:
        """Its waypoints."""
        return self._waypoints

    def lines(self, positions: np.ndarray) -> list[Lines]:
        """A line through its waypoints."""
        nodes, anchors = self._waypoints
        points = np.where(nodes[:, None] < 0, anchors, positions[nodes]).astype(np.float32)
        numbers = np.arange(len(points), dtype=np.int32)
        return [Lines(self.actuator.name, points, np.column_stack([numbers[:-1], numbers[1:]]), color=_COLOR)]


def _waypoints(cable: Cable, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of a cable's points, -1 where they are fixed in space, [p], and their positions at rest [m], [p, 3]."""
    nodes, anchors = np.full(len(cable.through), -1), np.zeros((len(cable.through), 3))
    for i, point in enumerate(cable.through):
        if names_node(point):
            nodes[i] = node_number(solid, point, cable.name)
            anchors[i] = solid.nodes[nodes[i]]
        else:
            anchors[i] = _place(point, cable.name)
    if (nodes < 0).all():
        raise InvalidValue(f"{cable.name} passes no node of the solid; give the number of at least one.")
    return nodes, anchors


def _place(point: Any, name: str) -> np.ndarray:
    try:
        place = np.asarray(point, float)
    except (TypeError, ValueError, OverflowError):
        place = np.empty(0)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise InvalidValue(f"{name} passes {point!r}; give the number of a node, or three finite coordinates [m].")
    return place

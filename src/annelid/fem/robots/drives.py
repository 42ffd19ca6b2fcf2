"""Actuators compiled for a device: element sets that act with an effort, launches that find stroke and direction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.columns import FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.hydrostatics import CavityPressure, CavityVolume
from annelid.fem.kernels.actuation import (
    aim_cable,
    aim_cavity,
    aim_point,
    aim_weight,
    carry,
    pull_cable,
    push_point,
)
from annelid.fem.parameters import Varied
from annelid.fem.robots.actuators import Actuator, Cable, Chamber, Hydraulic, Pneumatic, PointForce, Slide
from annelid.fem.robots.points import attached, names_node, node_number
from annelid.fem.solid import Solid
from annelid.shapes.values import as_vector


class Drive:
    """An actuator on a device.

    Attributes:
        actuator: What it is.
        columns: Directions it needs: 1, or 2 where its weight has one of its own.
        weightless: Whether it has a liquid that weighs nothing, because there is no gravity.
    """

    actuator: Actuator
    columns: int = 1
    weightless: bool = False

    @property
    def sets(self) -> tuple[ElementSet, ...]:
        """Element sets through which it acts on the solid: itself, if it is one."""
        return (self,) if isinstance(self, ElementSet) else ()

    def exert(self, effort: float) -> None:
        """Act with this effort from now on."""
        raise NotImplementedError

    def measure(self, positions: wp.array[Any]) -> None:
        """Find what the stages need."""

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Launches that fill a place of `strokes`, float64 [c], and columns of `directions`, vec3d [n, c]."""
        raise NotImplementedError

    def weigh(self, positions: wp.array[Any]) -> None:
        """Find loads anew that stay as they are while equilibria are sought."""

    def vary(self, varied: Varied | None) -> None:
        """Have the pull of a world, until None makes it that of the model again."""


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
        self.waypoints = nodes, anchors
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

    def points(self, positions: np.ndarray) -> np.ndarray:
        """Where its points are [m], shape [p, 3]."""
        nodes, anchors = self.waypoints
        return np.where(nodes[:, None] < 0, anchors, positions[nodes])


class PointDrive(Drive, ElementSet):
    """A force at a point between nodes."""

    def __init__(self, force: PointForce, solid: Solid, device: wp.Device) -> None:
        if names_node(force.at):
            nodes, weights = np.array([[node_number(solid, force.at, force.name)]]), np.ones((1, 1))
        else:
            nodes, weights = attached(solid, force.at, force.name)
        ElementSet.__init__(self, nodes[:1], device, tangent=False)
        self.actuator = force
        direction = np.asarray(force.direction, float)
        self.weights, self.direction = weights[0], direction / np.linalg.norm(direction)
        start = (weights[0][:, None] * solid.nodes[nodes[0]]).sum(axis=0)
        self._where = [
            wp.array(self.nodes, dtype=wp.int32, device=device),
            wp.array(self.weights, dtype=wp.float64, device=device),
            wp.vec3d(*self.direction.tolist()),
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


class ColumnWeight(ElementSet):
    """The weight of a fluid as columns found it last; it stays until `refresh`."""

    def __init__(self, columns: FluidColumns, device: wp.Device) -> None:
        super().__init__(columns.cavity.nodes[:, None], device, tangent=False)
        self.columns = columns
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._carry = Replays(device)

    def refresh(self, positions: wp.array[Any]) -> None:
        """Find the weights anew."""
        self.columns.evaluate(positions)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy and forces of the weights that were found."""
        self._carry.run(lambda: self._stages(positions), positions)

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        arguments = [self._nodes, self.columns.forces, positions, self.energy, self.forces]
        return [Stage(carry, self.element_count, arguments)]


class ChamberDrive(Drive):
    """A cavity under pressure, with the weight of a liquid."""

    def __init__(self, chamber: Chamber, solid: Solid, device: wp.Device, gravity: np.ndarray) -> None:
        cavity = chamber.cavity_of(solid)
        volume = cavity.check(solid.nodes)
        self.actuator, self.device = chamber, device
        if isinstance(chamber, Pneumatic):
            self.actuator = chamber.at_rest(volume)
        fluid = _pulled(chamber.fluid, gravity) if isinstance(chamber, Hydraulic) else None
        self.weightless = isinstance(chamber, Hydraulic) and fluid is None
        by_columns = isinstance(chamber, Hydraulic) and chamber.weight == "columns" and fluid is not None
        self.pressure = CavityPressure(cavity, solid.nodes, device, fluid=None if by_columns else fluid)
        self.volume = CavityVolume(cavity, solid.nodes, device)
        self._weight: ColumnWeight | None = None
        if by_columns and isinstance(chamber, Hydraulic) and fluid is not None:
            self._weight = ColumnWeight(FluidColumns(cavity, fluid, cells=chamber.cells, device=device), device)
            self._weight.refresh(wp.array(solid.nodes, dtype=wp.vec3d, device=device))  # memory, at rest in any world
            self.columns = 2
        self.fluid, self.nodes = fluid, cavity.nodes
        self._nodes = wp.array(cavity.nodes, dtype=wp.int32, device=device)
        self._rest = wp.float64(volume)

    @property
    def sets(self) -> tuple[ElementSet, ...]:
        """The pressure, and the weight of a liquid that is found by columns."""
        return (self.pressure,) if self._weight is None else (self.pressure, self._weight)

    def exert(self, effort: float) -> None:
        """Press with this pressure [Pa]."""
        self.pressure.set_pressure(effort)

    def weigh(self, positions: wp.array[Any]) -> None:
        """Find the weights of columns anew."""
        if self._weight is not None:
            self._weight.refresh(positions)

    def vary(self, varied: Varied | None) -> None:
        """Let the pull of a world act on the liquid."""
        if self.fluid is None:
            return
        fluid = self.fluid if varied is None else self.fluid.pulled(varied.pull)
        if self._weight is not None:
            self._weight.columns.pull(fluid)
        else:
            self.pressure.pull(fluid)

    def measure(self, positions: wp.array[Any]) -> None:
        """The volume and its slope."""
        self.volume.evaluate(positions)

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Growth of the volume, its slope J_p, and J_w where the weight is found by columns."""
        volume, slope, count = self.volume.volume, self.volume.slope, len(self._nodes)
        found = [Stage(aim_cavity, count, [self._nodes, self._rest, column, volume, slope, strokes, directions])]
        if self._weight is not None:
            more = [self._nodes, column + 1, volume, self._weight.columns.forces, directions]
            found.append(Stage(aim_weight, count, more))
        return found


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
        direction = np.asarray(slide.direction, float)
        self.way = direction / np.linalg.norm(direction)
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


def drive_of(actuator: Actuator, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
    """An actuator compiled for a device."""
    if isinstance(actuator, Cable):
        return CableDrive(actuator, solid, device)
    if isinstance(actuator, PointForce):
        return PointDrive(actuator, solid, device)
    if isinstance(actuator, Chamber):
        return ChamberDrive(actuator, solid, device, gravity)
    if isinstance(actuator, Slide):
        return SlideDrive(actuator, solid, device)
    raise InvalidValue(f"{actuator!r} is no actuator; give Cable, Pneumatic, Hydraulic, PointForce or Slide.")


def _pulled(fluid: Fluid, gravity: np.ndarray) -> Fluid | None:
    """The fluid under the gravity of the robot; none where nothing weighs anything."""
    if not gravity.any():
        return None
    return replace(fluid, gravity=as_vector("gravity", gravity))


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

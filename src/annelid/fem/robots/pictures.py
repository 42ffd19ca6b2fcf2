"""Snapshots of a soft robot: the solid, its cables, targets, effectors and obstacles; pressures and volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from annelid.core.snapshot import Lines, Look, Number, Snapshot, Spheres
from annelid.fem.pictures import Painter
from annelid.fem.robots.drives import CableDrive

if TYPE_CHECKING:
    from annelid.fem.robots.solver import RobotSolver

_NEAR, _FAR = (0.25, 0.60, 0.30), (0.93, 0.72, 0.15)
_EFFECTOR, _CABLE = (0.15, 0.25, 0.55), (0.15, 0.15, 0.18)
_STROKE_UNITS = {"m³": (1e6, "ml"), "m": (1e3, "mm")}
_CLOSE = 1e-4  # [m]: a target is drawn as reached


class RobotPainter:
    """Makes snapshots of one robot.

    Args:
        solver: What advances it.
    """

    def __init__(self, solver: RobotSolver) -> None:
        self.solver = solver
        self._solid = Painter(solver.robot.model, solver.dt)
        self._dot = 0.025 * solver.robot.size

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        return tuple(name for name in self._solid.fields if name != "speed")

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for; targets, effectors, cables and obstacles are always there."""
        base = self._solid.snapshot(state, look)
        positions = state.positions.numpy()
        parts = [*base.parts, *self._marks(state, positions)]
        cables = [drive for drive in self.solver.robot.drives if isinstance(drive, CableDrive)]
        parts += [self._cable(drive, positions) for drive in cables]
        if self.solver.robot.contacts is not None:
            parts += [obstacle.part() for obstacle in self.solver.robot.contacts.obstacles]
        return Snapshot(base.time, base.step, tuple(parts), self._numbers(state) if look.numbers else {})

    def _marks(self, state: Any, positions: np.ndarray) -> list[Spheres]:
        """Targets, green where they are reached, and effectors."""
        rows, goals = self.solver.robot.effectors, state.goals.numpy()
        if not len(goals):
            return []
        places = rows.places(positions)
        reached = max(rows.distances(places, goals).values()) <= _CLOSE
        target = Spheres("target", goals.astype(np.float32), self._dot, color=_NEAR if reached else _FAR)
        return [target, Spheres("effector", places.astype(np.float32), 0.8 * self._dot, color=_EFFECTOR)]

    def _cable(self, drive: CableDrive, positions: np.ndarray) -> Lines:
        points = drive.points(positions).astype(np.float32)
        numbers = np.arange(len(points), dtype=np.int32)
        return Lines(drive.actuator.name, points, np.column_stack([numbers[:-1], numbers[1:]]), color=_CABLE)

    def _numbers(self, state: Any) -> dict[str, Number]:
        """Efforts, strokes, distances from targets, and how many limits are active."""
        solver, numbers = self.solver, {}
        for drive, effort, stroke in zip(solver.robot.drives, state.efforts.numpy(), solver.strokes, strict=True):
            actuator = drive.actuator
            factor, unit = _STROKE_UNITS[actuator.stroke_unit]
            numbers[f"{actuator.effort_name}-{actuator.name}"] = Number(float(effort), actuator.effort_unit)
            numbers[f"{actuator.stroke_name}-{actuator.name}"] = Number(factor * float(stroke), unit)
        for name, distance in solver.distances.items():
            numbers[f"distance-{name}"] = Number(1e3 * distance, "mm")
        numbers["active-limits"] = Number(float(len(solver.active)))
        return numbers

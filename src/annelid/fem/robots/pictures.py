"""Snapshots of a soft robot: the solid, its cables, targets, effectors and obstacles; pressures and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Number, Snapshot, Spheres
from annelid.fem.contact.state import Touching
from annelid.fem.pictures import Painter
from annelid.fem.robots.readout import RobotReadout
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.steps import REACHED

_NEAR, _FAR = (0.25, 0.60, 0.30), (0.93, 0.72, 0.15)
_EFFECTOR = (0.15, 0.25, 0.55)


class RobotPainter:
    """Makes snapshots of one robot.

    Args:
        robot: The robot.
        readout: What reads its states.
        dt: Time step [s].
    """

    def __init__(self, robot: Robot, readout: RobotReadout, dt: float) -> None:
        self.robot, self._readout = robot, readout
        self._solid = Painter(robot.model, readout, dt)
        self._dot = 0.025 * robot.size

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for."""
        return tuple(name for name in self._solid.fields if name != "speed")

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for; targets, effectors, cables and obstacles are always there."""
        base = self._solid.snapshot(state, look)
        positions = state.positions.numpy()
        parts = [*base.parts, *self._marks(state, positions)]
        parts += [line for drive in self.robot.drives for line in drive.lines(positions)]
        parts += self._obstacles()
        if self.robot.touched is not None and isinstance(state.touch, Touching):
            parts += self.robot.touched.pictures.parts(state.touch)
        return Snapshot(base.time, base.step, tuple(parts), self._numbers(state) if look.numbers else {})

    def scenery(self, worlds: int) -> Scenery:
        """The solid and its obstacles as cameras and lidars see them, in so many worlds."""
        solid, touched = self._solid.surface(worlds), self.robot.touched
        if touched is None:
            return Scenery(tuple(self._obstacles()), (solid,))
        pictures = touched.pictures
        return Scenery(tuple(pictures.still(touched.first_state())), (solid, *pictures.moving(worlds)))

    def _obstacles(self) -> list[Any]:
        return [] if self.robot.contacts is None else [obstacle.part() for obstacle in self.robot.contacts.obstacles]

    def _marks(self, state: Any, positions: np.ndarray) -> list[Spheres]:
        """Targets, green where they are reached, and effectors."""
        rows, goals = self.robot.effectors, state.goals.numpy()
        if not len(goals):
            return []
        places = rows.places(positions)
        reached = max(rows.distances(places, goals).values()) <= REACHED
        target = Spheres("target", goals.astype(np.float32), self._dot, color=_NEAR if reached else _FAR)
        return [target, Spheres("effector", places.astype(np.float32), 0.8 * self._dot, color=_EFFECTOR)]

    def _numbers(self, state: Any) -> dict[str, Number]:
        """Efforts, strokes, where effectors of one point are, distances from targets, how many limits are active."""
        numbers, efforts, strokes = {}, self._readout.efforts(state), self._readout.strokes(state)
        for each in self.robot.actuators:
            numbers[f"{each.effort_name}-{each.name}"] = Number(efforts[each.name], each.effort_unit)
            numbers[f"{each.stroke_name}-{each.name}"] = Number(strokes[each.name], each.stroke_unit)
        for name, places in self._readout.places(state).items():
            if len(places) == 1:
                numbers |= {f"{name}-{axis}": Number(float(x), "m") for axis, x in zip("xyz", places[0], strict=True)}
        for name, distance in self._readout.distances(state).items():
            numbers[f"distance-{name}"] = Number(distance, "m")
        numbers["active-limits"] = Number(float(len(self._readout.active_limits(state))))
        return numbers

"""Regions of a file as parts of a robot that are held, moved and pushed, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.voxels3d.files.settings import Region
from annelid.voxels3d.files.vxa import Vxa
from annelid.voxels3d.regions import FREEDOMS, Hold, Push
from annelid.voxels3d.robot import Robot

BOX, CYLINDER, BALL = range(3)
"""Kinds of regions."""

_ALL = 63
_ROUNDING = 1e-9


def with_regions(robot: Robot, vxa: Vxa, fixed: Sequence[bool]) -> Robot:
    """The robot with what its regions hold and push; `fixed` says which of its materials do not move."""
    count = robot.voxel_count
    bits, moves, turns = np.zeros(count, int), np.zeros((count, 3)), np.zeros((count, 3))
    for number, region in enumerate(vxa.regions, 1):
        inside = _inside(robot, region, number, vxa.name)
        bits[inside] |= region.held
        moves[inside] += (region.move_x, region.move_y, region.move_z)
        turns[inside] += (region.turn_x, region.turn_y, region.turn_z)
        force = (region.force_x, region.force_y, region.force_z)
        torque = (region.torque_x, region.torque_y, region.torque_z)
        if (any(force) or any(torque)) and inside.any():
            robot = robot.push(inside, force, torque)
    still = np.array(fixed)[robot.material_of]
    bits[still], moves[still], turns[still] = _ALL, 0.0, 0.0
    masks = (bits[:, None] >> np.arange(6)) & 1
    rows = np.column_stack([bits, moves * masks[:, :3], turns * masks[:, 3:].min(axis=1)[:, None]])
    for row in np.unique(rows[bits > 0], axis=0):
        names = [name for bit, name in enumerate(FREEDOMS) if (int(row[0]) >> bit) & 1]
        x, y, z, a, b, c = row[1:].tolist()
        robot = robot.drive((rows == row).all(axis=1), (x, y, z), (a, b, c), freedoms=names)
    return robot


def regions_of(robot: Robot) -> tuple[Region, ...]:
    """Regions that hold and push what a robot's parts do; a part that is no box becomes a region a voxel."""
    found = [region for hold in robot.holds for region in _held(robot, hold)]
    return tuple(found + [region for push in robot.pushes for region in _pushed(robot, push)])


def _inside(robot: Robot, region: Region, number: int, name: str) -> np.ndarray:
    """Which voxels have their centre in a region."""
    size = np.array(robot.grid.shape) * robot.side_length
    corner, sides = (np.array(v) * size for v in ((region.x, region.y, region.z), (region.dx, region.dy, region.dz)))
    offset = robot.centers - corner
    if region.kind == BOX:
        low, high = np.minimum(sides, 0.0), np.maximum(sides, 0.0)
        slack = _ROUNDING * robot.side_length
        return np.asarray(((offset >= low - slack) & (offset <= high + slack)).all(axis=1))
    radius = region.radius * size.max()
    if region.kind == BALL:
        return np.asarray((offset**2).sum(axis=1) <= radius**2)
    if region.kind == CYLINDER and sides.any():
        along = (offset @ sides) / (sides @ sides)
        away = offset - along[:, None] * sides
        return np.asarray((along >= 0.0) & (along <= 1.0) & ((away**2).sum(axis=1) <= radius**2))
    raise FileFormatError(
        f"FRegion {number} of {name} has PrimType {region.kind} and sides {sides.tolist()}: boxes (0), cylinders (1, "
        "with an axis dX, dY, dZ) and balls (2) are known."
    )


def _held(robot: Robot, hold: Hold) -> list[Region]:
    if hold.begin or hold.duration:
        raise InvalidValue("a .vxa file has no times of what moves voxels: leave begin and duration 0.")
    (a, b, c), (x, y, z) = hold.rotation, hold.displacement
    return [
        replace(box, freedoms=hold.bits, move_x=x, move_y=y, move_z=z, turn_x=a, turn_y=b, turn_z=c)
        for box, _ in _boxes(robot, hold.voxels)
    ]


def _pushed(robot: Robot, push: Push) -> list[Region]:
    if push.begin or push.rise or push.end != np.inf:
        raise InvalidValue("a .vxa file has no times of forces: leave begin and rise 0, and end away.")
    found = []
    for box, share in _boxes(robot, push.voxels):
        (x, y, z), (a, b, c) = (tuple(part * share for part in v) for v in (push.force, push.moment))
        found.append(replace(box, force_x=x, force_y=y, force_z=z, torque_x=a, torque_y=b, torque_z=c))
    return found


def _boxes(robot: Robot, voxels: np.ndarray) -> list[tuple[Region, float]]:
    """One box that holds just these voxels, or one for each of them; and the share of the voxels in each."""
    cells = robot.cells[voxels]
    low, high = cells.min(axis=0), cells.max(axis=0) + 1
    if int(((robot.cells >= low) & (robot.cells < high)).all(axis=1).sum()) == len(cells):
        return [(_box(robot, low, high), 1.0)]
    return [(_box(robot, cell, cell + 1), 1.0 / len(cells)) for cell in cells]


def _box(robot: Robot, low: np.ndarray, high: np.ndarray) -> Region:
    shape = np.array(robot.grid.shape)
    (x, y, z), (dx, dy, dz) = (low / shape).tolist(), ((high - low) / shape).tolist()
    return Region(x=x, y=y, z=z, dx=dx, dy=dy, dz=dz)

"""Voxelyze's own JSON: side of voxels, materials, cells, and what holds and pushes them; no gravity, floor or waves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.files import as_path, read_text, write_text
from annelid.core.options import require_kind
from annelid.shapes.values import Vector
from annelid.voxels3d.files.parts import Parts, of_parts
from annelid.voxels3d.files.structure import MOST_CELLS
from annelid.voxels3d.regions import FREEDOMS
from annelid.voxels3d.robot import Robot
from annelid.voxels3d.voxel import Voxel

MOST_BYTES = 256 << 20
"""Largest file that is read."""

_NAMES = {
    "density": ("density", 1.0), "poissonsRatio": ("poisson_ratio", 0.0), "CTE": ("expansion", 0.0),
    "staticFriction": ("static_friction", 0.0), "kineticFriction": ("kinetic_friction", 0.0),
    "internalDamping": ("internal_damping", 1.0), "globalDamping": ("global_damping", 0.0),
    "collisionDamping": ("collision_damping", 1.0),
}  # fmt: skip
_COLORS = ("red", "green", "blue")
_FAR = 1000.0  # strain of a point that no link reaches: the original breaks at the last point of a curve


def read_json(path: str | os.PathLike[str], *, parts: Parts = "refuse") -> Robot:
    """A robot from a file of Voxelyze.

    Args:
        path: The file.
        parts: What becomes of several parts that share no face: "refuse" them, take the "largest", or "all".
    """
    path = as_path(path)
    try:
        return _robot(json.loads(read_text(path, most=MOST_BYTES)), path.stem, parts)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    except FileFormatError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError, AnnelidError) as error:
        said = str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}."
        raise FileFormatError(
            f"{path} holds no robot of Voxelyze that could be read: {' '.join(said.split())}"
        ) from None


def write_json(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write a robot for Voxelyze; what its files have no words for is refused."""
    require_kind("what is written for Voxelyze", robot, Robot, "a voxels3d.Robot")
    there = robot.grid >= 0
    for name, plain in (("amplitude", 0.0), ("temperature", 0.0), ("stiffness", 1.0)):
        if (vars(robot)[name][there] != plain).any():
            raise InvalidValue(f"files of Voxelyze have no {name} of voxels: leave it {plain:g}, or write a .vxa file.")
    # Voxelyze takes numbers only that have a point, and reads cells that are filled.
    values: dict[str, Any] = {"voxelSize": float(robot.side_length)}
    values["materials"] = [_material_table(material) for material in robot.materials]
    values["voxels"] = np.column_stack([robot.cells, robot.material_of]).ravel().tolist()
    if externals := _externals(robot):
        values["externals"] = externals
    write_text(as_path(path), json.dumps(values, indent=1) + "\n")


def _robot(values: Any, name: str, parts: Parts) -> Robot:
    if not isinstance(values, Mapping):
        raise ValueError("it holds no table")
    materials = tuple(_material(table) for table in values["materials"])
    rows = np.array(values["voxels"], dtype=np.int64)
    if rows.ndim != 1 or len(rows) == 0 or len(rows) % 4:
        raise ValueError(f"voxels must be four whole numbers each, not an array of shape {list(rows.shape)}")
    rows = rows.reshape(-1, 4)
    if (np.abs(rows) > 2**31).any():
        raise ValueError("a cell is too far away")
    cells, numbers = rows[:, :3] - rows[:, :3].min(axis=0), rows[:, 3]
    shape = cells.max(axis=0) + 1
    if float(np.prod(shape.astype(float))) > MOST_CELLS:
        raise ValueError(f"its voxels lie in a box of {shape.tolist()} cells, more than the {MOST_CELLS} that are read")
    if numbers.min() < 0 or numbers.max() >= len(materials):
        raise ValueError(
            f"voxels refer to materials {numbers.min()} to {numbers.max()}, but there are {len(materials)}"
        )
    grid = np.full(shape, -1)
    grid[tuple(cells.T)] = numbers
    taken = of_parts(grid, parts, name)
    robot = Robot(taken, materials, float(values["voxelSize"]), whole=parts != "all")
    return _held(robot, cells, values.get("externals", []))


def _material(table: Any) -> Voxel:
    given: dict[str, Any] = {name: float(table.get(key, default)) for key, (name, default) in _NAMES.items()}
    if "youngsModulus" in table:
        given["youngs_modulus"] = float(table["youngsModulus"])
        if float(table.get("epsilonFail", -1.0)) > 0.0:
            given["failure_stress"] = float(table["epsilonFail"]) * given["youngs_modulus"]
    else:
        points = zip(map(float, table["strainData"]), map(float, table["stressData"]), strict=True)
        given["curve"] = tuple(point for point in points if point != (0.0, 0.0))
        given["failure_stress"] = given["curve"][-1][1]
    if all(color in table for color in _COLORS):
        given["color"] = tuple(float(table[color]) / 255.0 for color in _COLORS)
    return Voxel(name=str(table.get("name", "")), **given)


def _material_table(material: Voxel) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if material.linear and not material.curve:
        table["youngsModulus"] = float(material.youngs_modulus)
        if material.failure_stress is not None:
            table["epsilonFail"] = material.failure_stress / material.youngs_modulus
    else:
        points = _until_failure(material)
        table["strainData"], table["stressData"] = points[:, 0].tolist(), points[:, 1].tolist()
    resting, sliding = map(abs, material.frictions)
    values = {**vars(material), "static_friction": resting, "kinetic_friction": sliding}
    table |= {key: float(values[name]) for key, (name, _) in _NAMES.items()}
    if material.name:
        table["name"] = material.name
    if material.color is not None:
        table |= {key: round(255.0 * part) for key, part in zip(_COLORS, material.color, strict=True)}
    return table


def _until_failure(material: Voxel) -> np.ndarray:
    """Points of a curve up to where it breaks, which is the last one; very far away where it never does."""
    points = np.vstack([[0.0, 0.0], material.points])
    slope = np.diff(points[-2:], axis=0)[0]
    far = points[-1] + slope / slope[0] * _FAR
    points = np.vstack([points, far])
    if material.failure_stress is None:
        return points[1:]
    end = material.failure_stress
    strain = float(np.interp(end, points[:, 1], points[:, 0]))
    return np.vstack([points[1:][points[1:, 1] < end], [strain, end]])


def _held(robot: Robot, cells: np.ndarray, externals: Any) -> Robot:
    """The robot with what holds and pushes its voxels; forces of the file are on each voxel."""
    bits, moves = np.zeros(len(cells), int), np.zeros((len(cells), 6))
    loads: list[tuple[np.ndarray, Vector, Vector]] = []
    for table in externals:
        chosen = np.array(table["voxelIndices"], dtype=np.int64).ravel()
        if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= len(cells):
            raise ValueError(f"voxelIndices must be from 0 to {len(cells) - 1}")
        fixed = np.array([bool(flag) for flag in table.get("fixed", [False] * 6)])
        told = [_three(table, name) for name in ("translate", "rotate", "force", "moment")]
        if len(fixed) != 6:
            raise ValueError(f"fixed must be six truth values, not {len(fixed)}")
        bits[chosen] |= int((fixed << np.arange(6)).sum())
        moves[chosen] += np.array([*told[0], *told[1]]) * fixed
        if any(told[2]) or any(told[3]):
            loads.append((chosen, told[2], told[3]))
    number = np.full(robot.grid.shape, -1)
    number[tuple(robot.cells.T)] = np.arange(robot.voxel_count)
    own = number[tuple(cells.T)]  # voxels of the file in the order of the robot, -1 where they were left out
    for chosen, force, moment in loads:
        mask = _mask(own[chosen], robot)
        if (count := int(mask.sum())) > 0:
            robot = robot.push(mask, _times(count, force), _times(count, moment))
    rows = np.column_stack([bits, moves])
    for row in np.unique(rows[bits > 0], axis=0):
        names = [name for bit, name in enumerate(FREEDOMS) if (int(row[0]) >> bit) & 1]
        mask = _mask(own[(rows == row).all(axis=1)], robot)
        if mask.any():
            x, y, z, a, b, c = row[1:].tolist()
            robot = robot.drive(mask, (x, y, z), (a, b, c), freedoms=names)
    return robot


def _mask(voxels: np.ndarray, robot: Robot) -> np.ndarray:
    mask = np.zeros(robot.voxel_count, bool)
    mask[voxels[voxels >= 0]] = True
    return mask


def _three(table: Mapping[str, Any], name: str) -> Vector:
    found = [float(part) for part in table.get(name, (0.0, 0.0, 0.0))]
    if len(found) != 3:
        raise ValueError(f"{name} must be three numbers, not {len(found)}")
    return found[0], found[1], found[2]


def _times(factor: int, vector: Vector) -> Vector:
    x, y, z = vector
    return factor * x, factor * y, factor * z


def _externals(robot: Robot) -> list[dict[str, Any]]:
    found = []
    for hold in robot.holds:
        if hold.begin or hold.duration:
            raise InvalidValue("files of Voxelyze have no times of what moves voxels: leave begin and duration 0.")
        fixed = [bool((hold.bits >> bit) & 1) for bit in range(6)]
        found.append(
            {"fixed": fixed, "translate": list(map(float, hold.displacement)),
             "rotate": list(map(float, hold.rotation)), "voxelIndices": hold.voxels.tolist()}
        )  # fmt: skip
    for push in robot.pushes:
        if push.begin or push.rise or push.end != float("inf"):
            raise InvalidValue("files of Voxelyze have no times of forces: leave begin and rise 0, and end away.")
        each = [[part / len(push.voxels) for part in vector] for vector in (push.force, push.moment)]
        found.append({"force": each[0], "moment": each[1], "voxelIndices": push.voxels.tolist()})
    return found

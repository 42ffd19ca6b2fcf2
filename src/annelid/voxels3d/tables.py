"""A robot compiled into tables: neighbours, and the constants of its voxels and links, each combination once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from annelid.voxels3d.robot import Robot
from annelid.voxels3d.voxel import Voxel

NEVER = 1.0e30
"""A strain that no link reaches."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Tables of a robot; voxels are numbered as in `Robot.cells`.

    Attributes:
        robot: The robot.
        next: Voxel beyond each along +x, +y and +z, -1: none, shape [voxels, 3].
        before: Voxel before each along these axes, -1: none, shape [voxels, 3].
        row_of_voxel: Row of the constants of each voxel, shape [voxels].
        row_of_link: Row of the constants of the links along +x, +y and +z, -1: none, shape [voxels, 3].
        voxel_rows: Constants of voxels by name, an array each.
        link_rows: Constants of links by name, an array each.
        curve: Points of the curves of links: strains and stresses [Pa], shape [points, 2].
    """

    robot: Robot
    next: np.ndarray
    before: np.ndarray
    row_of_voxel: np.ndarray
    row_of_link: np.ndarray
    voxel_rows: dict[str, np.ndarray]
    link_rows: dict[str, np.ndarray]
    curve: np.ndarray

    @property
    def pairs(self) -> np.ndarray:
        """Voxels at the two ends of each link, shape [links, 2]."""
        there = self.next >= 0
        return np.column_stack([np.nonzero(there)[0], self.next[there]])


def compile_robot(robot: Robot, opened: np.ndarray | None = None) -> Shape:
    """The tables of a robot.

    Args:
        robot: The robot.
        opened: Cells of voxels and axes along which they have no link, shape [k, 4].
    """
    after, before = neighbours(robot)
    if opened is not None and len(opened):
        _open(robot, opened, after, before)
    distinct, row_of_voxel = _kinds(robot.material_of, robot.of_voxels("stiffness"))
    voxels = _voxel_rows(robot, distinct)
    there = after >= 0
    pairs = np.column_stack([np.nonzero(there)[0], after[there]])
    ends = row_of_voxel[pairs].reshape(-1, 2)
    # Numbers sort as their pairs do, and much faster.
    joint, number = np.unique(ends[:, 0] * len(distinct) + ends[:, 1], return_inverse=True)
    combined = np.column_stack(np.divmod(joint, len(distinct)))
    rows = np.full(after.shape, -1)
    rows[there] = number.reshape(-1)
    links, curve = _link_rows(robot, distinct, combined)
    return Shape(robot, after, before, row_of_voxel, rows, voxels, links, curve)


def _kinds(materials: np.ndarray, stiffness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs of material and stiffness, shape [kinds, 2], and which of them each voxel is."""
    if (stiffness == stiffness[0]).all():  # most robots; numbers sort much faster than pairs
        found, number = np.unique(materials, return_inverse=True)
        return np.column_stack([found.astype(float), np.full(len(found), stiffness[0])]), number.reshape(-1)
    pairs = np.column_stack([materials.astype(float), stiffness])
    distinct, number = np.unique(pairs, axis=0, return_inverse=True)
    return distinct, number.reshape(-1)


def neighbours(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Voxels beyond and before each along the three axes, -1: none, two arrays of shape [voxels, 3]."""
    there = robot.grid >= 0
    number = np.full(np.array(there.shape) + 2, -1)  # with a rim of nothing
    number[1:-1, 1:-1, 1:-1][there] = np.arange(robot.voxel_count)
    inside = slice(1, -1)

    def beside(begin: int) -> np.ndarray:
        """Numbers of the cells that lie a step before (0) or beyond (2) along each axis."""
        shifted = slice(begin, begin - 2 or None)
        views = [number[tuple(shifted if one == axis else inside for one in range(3))] for axis in range(3)]
        return np.stack([view[there] for view in views], axis=1)

    after, before = beside(2), beside(0)
    return after, before


def _open(robot: Robot, opened: np.ndarray, after: np.ndarray, before: np.ndarray) -> None:
    """Take links out of the lists of neighbours."""
    number = np.full(robot.grid.shape, -1)
    number[tuple(robot.cells.T)] = np.arange(robot.voxel_count)
    first, axis = number[tuple(opened[:, :3].T)], opened[:, 3]
    beyond = after[first, axis]
    after[first, axis] = -1
    before[beyond[beyond >= 0], axis[beyond >= 0]] = -1


def _voxel_rows(robot: Robot, kinds: np.ndarray) -> dict[str, np.ndarray]:
    """Constants of the kinds of voxels; see `kernels.layout`."""
    s = robot.side_length
    materials = [robot.materials[int(number)] for number in kinds[:, 0]]

    def each(name: str) -> np.ndarray:
        return np.array([vars(material)[name] for material in materials], float)

    modulus, mass = each("youngs_modulus") * kinds[:, 1], each("density") * s**3
    inertia, unit = mass * s**2 / 6.0, 2.0 * np.sqrt(mass * modulus * s)
    return {
        "side": np.full(len(kinds), s),
        "mass": mass,
        "per_mass": 1.0 / mass,
        "per_inertia": 1.0 / inertia,
        "drag": each("global_damping") * unit,
        "spin_drag": each("global_damping") * 2.0 * np.sqrt(inertia * modulus * s**3),
        "press": 2.0 * modulus * s,
        "press_damp": each("collision_damping") * unit,
        "holds": np.array([material.frictions[0] for material in materials]),
        "rubs": np.array([material.frictions[1] for material in materials]),
        "poisson": each("poisson_ratio"),
    }


def _link_rows(robot: Robot, kinds: np.ndarray, pairs: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Constants of links between kinds of voxels, and the points of their curves."""
    rows, curves, count = [], [np.zeros((0, 2))], 0
    ends = [(robot.materials[int(material)], float(factor)) for material, factor in kinds]
    for one, other in pairs.tolist():
        known, points = _link(robot.side_length, ends[one], ends[other])
        row = {**known, "curve": count}
        if len(points) > 1:
            curves.append(points)
            count += len(points)
        rows.append(row)
    names = rows[0] if rows else _link(1.0, (Voxel(), 1.0), (Voxel(), 1.0))[0]  # one voxel: no links, but columns
    return {name: np.array([row[name] for row in rows]) for name in names}, np.concatenate(curves)


@lru_cache(maxsize=4096)  # robots of a search have the same few materials, thousands of times
def _link(s: float, one: tuple[Voxel, float], other: tuple[Voxel, float]) -> tuple[dict[str, Any], np.ndarray]:
    """Constants of a link, all but where its curve begins, and the points of this."""
    ends = [one, other]
    points = _joined(one, other)
    row = _link_row(s, ends, np.array([material.density * s**3 for material, _ in ends]))
    row |= {"curve": 0, "points": 0, "remembers": 0, "fails": _failure(ends, points)}
    if len(points) > 1:
        row |= {"points": len(points), "remembers": 1}
    if row["fails"] < NEVER:
        row["remembers"] = 1
    return row, points


def _link_row(s: float, ends: list[tuple[Voxel, float]], masses: np.ndarray) -> dict[str, Any]:
    """Constants of a link, but for its curve: moduli in series, and the mean of what damps."""
    moduli = np.array([material.youngs_modulus * factor for material, factor in ends])
    nus = np.array([material.poisson_ratio for material, _ in ends])
    hats = moduli / ((1.0 + nus) * (1.0 - 2.0 * nus))
    modulus, hat = (2.0 * both.prod() / both.sum() for both in (moduli, hats))
    nu = float(np.sqrt(max((hat - modulus) / (2.0 * hat), 0.0) + 1.0 / 16.0) - 0.25) if nus.any() else 0.0
    dampings = np.array([material.internal_damping for material, _ in ends])
    damp = float((dampings * np.sqrt(masses)).mean() * np.sqrt(modulus * s))
    return {
        "side": s,
        "axial": modulus * s**2,
        "shear": modulus * s**2,
        "arm": 0.5 * modulus * s**3,
        "bend": modulus * s**3 / 12.0,
        "twist": modulus * s**3 / (12.0 * (1.0 + nu)),
        "damp": damp,
        "damp_shear": damp * s,
        "damp_arm": 0.25 * damp * s**2,
        "damp_bend": damp * s**2 / 24.0,
        "damp_twist": 0.5 * damp * s**2 / np.sqrt(72.0 * (1.0 + nu)),
        "poisson": nu,
        "hat": hat,
        "modulus": modulus,
        "ratio": moduli[1] / moduli[0],
    }


def bond_row(s: float, ends: list[tuple[Voxel, float]], masses: np.ndarray) -> dict[str, Any]:
    """Constants of a bond: those of a link that is linear and does not break."""
    plain = {"curve": 0, "points": 0, "remembers": 0, "fails": NEVER}
    return _link_row(s, ends, masses) | plain | {"poisson": 0.0}


def _joined(one: tuple[Voxel, float], other: tuple[Voxel, float]) -> np.ndarray:
    """Points of the curve of a link, whose two halves have the same stress: the mean of their strains."""
    curves = [material.points * [1.0, factor] for material, factor in (one, other)]
    if np.array_equal(curves[0], curves[1]):
        return curves[0]
    if len(curves[0]) == len(curves[1]) == 1:
        return curves[0]
    stresses = np.unique(np.concatenate([curve[:, 1] for curve in curves if len(curve) > 1]))
    return np.column_stack([np.mean([_strains_at(stresses, curve) for curve in curves], axis=0), stresses])


def _strains_at(stresses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Strains at which a curve has these stresses; its last piece goes on."""
    curve = np.vstack([[0.0, 0.0], points])
    inside = np.interp(stresses, curve[:, 1], curve[:, 0])
    (low, last), slope = curve[-2:], np.diff(curve[-2:], axis=0)[0]
    return np.where(stresses > last[1], low[0] + (stresses - low[1]) * slope[0] / slope[1], inside)


def _failure(ends: list[tuple[Voxel, float]], points: np.ndarray) -> float:
    """Strain at which the weaker end breaks."""
    stresses = [material.failure_stress for material, _ in ends if material.failure_stress is not None]
    if not stresses:
        return NEVER
    if len(points) > 1:
        return float(_strains_at(np.array([min(stresses)]), points)[0])
    moduli = np.array([material.youngs_modulus * factor for material, factor in ends])
    return float(min(stresses) * moduli.sum() / (2.0 * moduli.prod()))

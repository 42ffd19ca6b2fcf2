"""The tables of one world: welded masses as rigid bodies, the links between them, their contact points.

A mass sits at a node of the grid of voxels; masses at one node are welded when their voxels share a side, and move as
one rigid body. Nothing here depends on where the robots stand, so worlds with equal contents share one set of tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.voxels.kernels import layout as columns
from annelid.voxels.material import Voxel
from annelid.voxels.objects import Box
from annelid.voxels.robot import Robot
from annelid.voxels.stability import stable_substeps

CORNERS = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
"""Direction of the masses of a voxel from its centre: north-west, north-east, south-east, south-west."""
SIDES = np.array([[0, 1], [1, 2], [3, 2], [0, 3]])
"""The two masses of each side: top, right, bottom, left."""
_OUTWARD = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]])
_ROPE_STIFFNESS = 0.6  # of a rope, in units of the reduced mass over the squared substep


@dataclass(frozen=True)
class Shape:
    """Tables of a world, as the kernels take them; see `kernels.layout.Tables` for their meaning.

    `centers` are the centres of the bodies relative to the corner of the grid of their robot [m], `robot_of_body`
    their robot (-1 - i for object i), `cells` the place of each voxel in its grid, `robot_of_voxel` its robot.
    """

    materials: np.ndarray
    corners: np.ndarray
    material_of: np.ndarray
    side_bodies: np.ndarray
    mass_body: np.ndarray
    mass_arm: np.ndarray
    mass_mask: np.ndarray
    body_constants: np.ndarray
    body_surface: np.ndarray
    body_box: np.ndarray
    body_quadrants: np.ndarray
    entry_begin: np.ndarray
    entries: np.ndarray
    point_begin: np.ndarray
    points: np.ndarray
    point_bits: np.ndarray
    centers: np.ndarray
    robot_of_body: np.ndarray
    cells: np.ndarray
    robot_of_voxel: np.ndarray
    forced: bool
    kinds: tuple[Voxel, ...]

    @property
    def body_count(self) -> int:
        """Number of rigid bodies."""
        return len(self.centers)

    @property
    def voxel_count(self) -> int:
        """Number of voxels."""
        return len(self.cells)

    def substeps(self, dt: float, *, quicker: float = 1.0, slower: float = 1.0) -> int:
        """Substeps that keep the stiffest voxels stable under any control; see `stable_substeps`."""
        each = (stable_substeps(material, dt, quicker=quicker, slower=slower) for material in self.kinds)
        return max(each, default=stable_substeps(Voxel(), dt))


@dataclass(frozen=True)
class _Masses:
    """All masses of a world, four a voxel, with their squares about the corner of their robot's grid [m]."""

    position: np.ndarray
    weight: np.ndarray
    inertia: np.ndarray
    half: np.ndarray
    body: np.ndarray
    away: np.ndarray  # direction from the node, which is also from the middle of the body
    fixed: np.ndarray


def compile_shape(robots: Sequence[Robot], objects: Sequence[Box], dt: float) -> Shape:
    """The tables of a world with these robots and objects."""
    table = list(dict.fromkeys(material for robot in robots for material in robot.materials))
    cells, owner, material_of = _voxels(robots, table)
    masses, robot_of_body = _weld(robots, table, cells, owner, material_of)
    count = len(robot_of_body)
    weight = np.bincount(masses.body, masses.weight, count)
    moments = [np.bincount(masses.body, masses.weight * masses.position[:, i], count) for i in (0, 1)]
    centers = np.stack(moments, axis=1) / np.maximum(weight, 1e-300)[:, None]
    arm = masses.position - centers[masses.body]
    inertia = np.bincount(masses.body, masses.inertia + masses.weight * (arm**2).sum(axis=1), count)
    held = np.bincount(masses.body, masses.fixed, count) > 0
    corners = np.stack([corner_lanes(material) for material in table]) if table else np.zeros((0, 64))
    side_bodies = masses.body.reshape(-1, 4)[:, SIDES].reshape(-1, 2)
    forced = any(m.actuation == "force" for m in table)
    entry_begin, entries = _entries(masses.body, side_bodies, count + len(objects), forced)
    points, point_body, point_bits = _points(masses, arm)
    box, quadrants = _boxes(masses, arm, count)
    constants = np.stack(
        [
            np.where(held, 0.0, 1.0 / np.maximum(weight, 1e-300)),
            np.where(held, 0.0, 1.0 / np.maximum(inertia, 1e-300)),
            *(_mean(masses, [getattr(m, name) for m in table], material_of, count) for name in _DAMPINGS),
        ],
        axis=1,
    )
    friction, restitution = (_mean(masses, [getattr(m, n) for m in table], material_of, count) for n in _SURFACES)
    radius = np.hypot(np.abs(box[:, 0]) + box[:, 2], np.abs(box[:, 1]) + box[:, 3])
    surface = np.stack([radius, friction, restitution, robot_of_body.astype(float)], axis=1)
    extra = [_object_rows(item, len(robots) + i) for i, item in enumerate(objects)]
    points = np.concatenate([points, *(item.outline() for item in objects)])
    point_body = np.concatenate([point_body, *(np.full(4, count + i) for i in range(len(objects)))]).astype(int)
    point_bits = np.concatenate([point_bits, *(np.full(4, 15) for _ in objects)]).astype(np.int32)
    order = np.argsort(point_body, kind="stable")
    return Shape(
        materials=np.stack([material_row(m, dt) for m in table]) if table else np.zeros((0, 32)),
        corners=corners,
        material_of=material_of,
        side_bodies=side_bodies,
        mass_body=masses.body,
        mass_arm=arm,
        mass_mask=_mass_masks(masses, count),
        body_constants=np.concatenate([constants, *(rows[0] for rows in extra)]),
        body_surface=np.concatenate([surface, *(rows[1] for rows in extra)]),
        body_box=np.concatenate([box, *(rows[2] for rows in extra)]),
        body_quadrants=np.concatenate([quadrants, np.full(len(objects), 15)]).astype(np.int32),
        entry_begin=entry_begin,
        entries=entries,
        point_begin=np.searchsorted(point_body[order], np.arange(count + len(objects) + 1)).astype(np.int32),
        points=points[order],
        point_bits=point_bits[order],
        centers=np.concatenate([centers, np.zeros((len(objects), 2))]),
        robot_of_body=np.concatenate([robot_of_body, -1 - np.arange(len(objects))]).astype(np.int32),
        cells=cells,
        robot_of_voxel=owner,
        forced=forced,
        kinds=tuple(table),
    )


_DAMPINGS = ("linear_damping", "angular_damping")
_SURFACES = ("friction", "restitution")


def material_row(material: Voxel, dt: float) -> np.ndarray:
    """The numbers of a material in the order of `kernels.layout`."""
    row = np.zeros(columns.MATERIAL_STRIDE)
    lane_groups = "EIXX"
    row[columns.M_SOFT], row[columns.M_SPIN] = 2.0 / material.mass, 1.0 / material.inertia
    row[columns.M_OMEGA2], row[columns.M_BETA] = material.spin_rate**2, material.damping_time(dt)
    row[columns.M_MASK : columns.M_MASK + 4] = [group in material.scaffolding for group in lane_groups]
    row[columns.M_CENTRAL] = 0.5 * material.mass * material.spin_rate**2 * ("C" in material.scaffolding)
    row[columns.M_ROPE] = material.rope_length
    row[columns.M_ROPE_SIGN] = {"lower": 1.0, "upper": -1.0, None: 0.0}[material.ropes]
    row[columns.M_ROPE_K] = _ROPE_STIFFNESS * 0.5 * material.mass / dt**2
    row[columns.M_ROPE_C] = _ROPE_STIFFNESS * 0.5 * material.mass / dt
    row[columns.M_LENGTHS : columns.M_LENGTHS + 9] = material.rest_lengths().ravel()
    row[columns.M_LINEAR] = material.lengths == "linear"
    row[columns.M_SIDE], row[columns.M_MASS_SIDE] = material.side_length, material.mass_side
    row[columns.M_AREA] = material.max_area_change if material.actuation == "area" else 0.0
    row[columns.M_FORCE] = material.max_force if material.actuation == "force" else 0.0
    return row


def _voxels(robots: Sequence[Robot], table: list[Voxel]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cell, robot and material of each voxel."""
    cells = [np.argwhere(robot.grid >= 0) for robot in robots]
    owner = [np.full(len(c), i) for i, c in enumerate(cells)]
    number = {material: i for i, material in enumerate(table)}
    kinds = [
        np.array([number[m] for m in robot.materials])[robot.grid[c[:, 0], c[:, 1]]]
        for robot, c in zip(robots, cells, strict=True)
    ]
    empty = np.zeros(0, int)
    return (
        np.concatenate([np.zeros((0, 2), int), *cells]),
        np.concatenate([empty, *owner]).astype(np.int32),
        np.concatenate([empty, *kinds]).astype(np.int32),
    )


def _weld(
    robots: Sequence[Robot], table: list[Voxel], cells: np.ndarray, owner: np.ndarray, material_of: np.ndarray
) -> tuple[_Masses, np.ndarray]:
    """Masses with the body that each belongs to, and the robot of each body."""
    if not len(cells):
        empty = np.zeros(0)
        nothing = _Masses(np.zeros((0, 2)), empty, empty, empty, empty.astype(int), np.zeros((0, 2)), empty)
        return nothing, np.zeros(0, np.int32)
    wide, high = np.max([robot.grid.shape for robot in robots], axis=0)
    filled = np.zeros((len(robots), wide + 2, high + 2), bool)
    filled[owner, cells[:, 0] + 1, cells[:, 1] + 1] = True
    # Quadrants about node (i, j): lower left is voxel (i-1, j-1), which `filled` holds at (i, j).
    low_left, low_right, up_left, up_right = (
        filled[:, i : i + wide + 1, j : j + high + 1] for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))
    )
    only_diagonal = (low_left & up_right & ~low_right & ~up_left) | (low_right & up_left & ~low_left & ~up_right)
    node = cells[:, None, :] + (CORNERS[None] > 0)  # [voxels, 4, 2]
    who = np.broadcast_to(owner[:, None], node.shape[:2])
    above = CORNERS[:, 1] < 0  # masses at the bottom of a voxel stand above their node
    split = only_diagonal[who, node[..., 0], node[..., 1]] & above[None]
    key = ((who * (wide + 1) + node[..., 0]) * (high + 1) + node[..., 1]) * 2 + split
    keys, body = np.unique(key, return_inverse=True)
    pick = material_of[:, None]
    side, mass_side = (np.array([getattr(m, name) for m in table]) for name in ("side_length", "mass_side"))
    offset = CORNERS[None] * 0.5 * (side - mass_side)[pick][..., None]
    position = (cells[:, None, :] + 0.5) * side[0] + offset
    fixed = [robot.fixed[c[:, 0], c[:, 1]] for robot, c in ((r, np.argwhere(r.grid >= 0)) for r in robots)]
    masses = _Masses(
        position=position.reshape(-1, 2),
        weight=np.repeat(np.array([m.mass for m in table])[material_of], 4),
        inertia=np.repeat(np.array([m.inertia for m in table])[material_of], 4),
        half=np.repeat(0.5 * mass_side[material_of], 4),
        body=body.reshape(-1).astype(np.int32),
        away=np.tile(-CORNERS, (len(cells), 1)),
        fixed=np.concatenate(fixed).reshape(-1).astype(float),
    )
    return masses, (keys // (2 * (wide + 1) * (high + 1))).astype(np.int32)


def corner_lanes(material: Voxel) -> np.ndarray:
    """Corners that the springs E, I, X, X of each side hold, about the centres of their masses: 4 sides × 16."""
    half = 0.5 * material.mass_side
    towards = np.sign(CORNERS[SIDES[:, 1]] - CORNERS[SIDES[:, 0]]) * half
    out = _OUTWARD * half
    first = np.stack([towards + out, towards - out, towards + out, towards - out], axis=1)  # [side, lane, xy]
    second = np.stack([-towards + out, -towards - out, -towards - out, -towards + out], axis=1)
    lanes = np.stack([first[..., 0], first[..., 1], second[..., 0], second[..., 1]], axis=1)
    return lanes.reshape(columns.CORNER_STRIDE)


def _entries(body: np.ndarray, side_bodies: np.ndarray, count: int, forced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Links of each body: where its list begins, and 2 link + end, in the order of links."""
    voxels = len(body) // 4
    of_voxel = body.reshape(-1, 4)
    central = np.stack([of_voxel[:, :2], of_voxel[:, 2:]], axis=2).reshape(-1, 2)  # masses 0-2 and 1-3
    bodies = [side_bodies.reshape(-1), central.reshape(-1)]
    codes = [np.arange(12 * voxels)]
    if forced:
        bodies.append(body)
        codes.append(2 * (6 * voxels + np.arange(4 * voxels)))
    who, code = np.concatenate(bodies), np.concatenate(codes)
    order = np.argsort(who, kind="stable")
    return np.searchsorted(who[order], np.arange(count + 1)).astype(np.int32), code[order].astype(np.int32)


def _neighbours(masses: _Masses) -> tuple[np.ndarray, np.ndarray]:
    """Whether a mass has another of its body beside it, and above or below it."""
    quadrant = (masses.away[:, 0] > 0) + 2 * (masses.away[:, 1] > 0)
    present = np.zeros((int(masses.body.max(initial=-1)) + 1, 4), bool)
    present[masses.body, quadrant] = True
    return present[masses.body, quadrant ^ 1], present[masses.body, quadrant ^ 2]


def _points(masses: _Masses, arm: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Convex corners of the outlines of bodies: place about the body, body, bit of the mass."""
    beside, over = _neighbours(masses)
    quadrant = ((masses.away[:, 0] > 0) + 2 * (masses.away[:, 1] > 0)).astype(np.int32)
    everywhere = np.ones(len(arm), bool)
    picks = [((1, 1), everywhere), ((1, -1), ~over), ((-1, 1), ~beside), ((-1, -1), ~over & ~beside)]
    found = [
        (arm[use] + masses.away[use] * np.array(sign) * masses.half[use, None], masses.body[use], 1 << quadrant[use])
        for sign, use in picks
    ]
    places, bodies, bits = zip(*found, strict=True)
    return np.concatenate(places), np.concatenate(bodies), np.concatenate(bits)


def _mass_masks(masses: _Masses, count: int) -> np.ndarray:
    """Bits of a body's contacts that count as contacts of each mass: those of its share of the body's box."""
    beside, over = _neighbours(masses)
    quadrant = (masses.away[:, 0] > 0) + 2 * (masses.away[:, 1] > 0)
    own = 1 << quadrant
    column, row = own | (1 << (quadrant ^ 2)), own | (1 << (quadrant ^ 1))
    many = np.bincount(masses.body, minlength=count)[masses.body] > 2
    alone = ~beside & ~over
    mask = np.where(many, own, np.where(beside, column, row))
    return np.where(alone, 15, mask).astype(np.int32)


def _boxes(masses: _Masses, arm: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Box about each body (centre and half sides) and the bits of its corners that are filled."""
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(low, masses.body, arm - masses.half[:, None])
    np.maximum.at(high, masses.body, arm + masses.half[:, None])
    quadrant = (masses.away[:, 0] > 0) + 2 * (masses.away[:, 1] > 0)
    bits = np.zeros(count, int)
    np.bitwise_or.at(bits, masses.body, 1 << quadrant)
    three = np.bincount(masses.body, minlength=count) == 3
    return np.concatenate([(low + high) / 2, (high - low) / 2], axis=1), np.where(three, bits, 15)


def _mean(masses: _Masses, values: list[float], material_of: np.ndarray, count: int) -> np.ndarray:
    """Mean over the masses of each body, weighted by mass."""
    if not values:
        return np.zeros(count)
    each = np.repeat(np.array(values)[material_of], 4)
    return np.bincount(masses.body, masses.weight * each, count) / np.bincount(masses.body, masses.weight, count)


def _object_rows(item: Box, compound: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Constants, surface and box of an object."""
    half = 0.5 * np.array(item.size)
    constants = [item.inverse_mass, item.inverse_inertia, item.damping, item.damping]
    surface = [float(np.hypot(*half)), item.friction, item.restitution, compound]
    return np.array([constants]), np.array([surface]), np.array([[0.0, 0.0, *half]])

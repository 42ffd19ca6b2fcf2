"""The site of the excavation: a tray of soil, a bin beside it, and the space that the bucket encloses."""

from __future__ import annotations

import math

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.envs.machines import Bucket
from annelid.grains import Bed, Grain, jittered_lattice
from annelid.shapes import Box, Obstacle, Rigid, ground
from annelid.shapes.values import Floats

TRAY = ((0.30, -0.25, 0.0), (0.72, 0.25, 0.14))
"""Inner corners of the tray [m]."""

BIN = ((0.30, 0.35, 0.0), (0.62, 0.60, 0.12))
"""Inner corners of the bin [m]."""

_WALL = 0.02  # thickness [m]
_WOOD = (0.62, 0.50, 0.36)


def site_walls(world: int = 0) -> list[Obstacle]:
    """The floor, and four walls each around tray and bin."""
    floor = ground(world=world)
    return [floor, *(wall for room in (TRAY, BIN) for wall in _walls(*room, world))]


def filled(grains: int, radius: float) -> Bed:
    """Grains on a jittered lattice in the tray, ready to settle."""
    (x0, y0, _), (x1, y1, high) = TRAY
    pitch = 2.06 * radius
    columns, rows = int((x1 - x0) / pitch), int((y1 - y0) / pitch)
    layers = math.ceil(grains / (columns * rows))
    if layers * pitch > 2.0 * high:
        most = int(2.0 * high / pitch) * columns * rows
        raise InvalidValue(f"grains = {grains} of radius {radius:g} m overflow the tray; give at most {most}.")
    corner = (0.5 * (x0 + x1 - columns * pitch) + 0.5 * pitch, 0.5 * (y0 + y1 - rows * pitch) + 0.5 * pitch, pitch)
    places = jittered_lattice((columns, rows, layers), pitch, jitter=0.02 * radius, corner=corner)
    order = np.argsort(places[:, 2], kind="stable")  # full layers from below
    return Bed(places[order][:grains], radius, Grain(friction=0.5))


def outline_sides(bucket: Bucket) -> Floats:
    """Sides of the convex space in a bucket: rows (a, b, c) with a x + b z < c inside, shape [n, 3]."""
    vertices = bucket.hold().vertices
    corners = vertices[np.isclose(vertices[:, 1], vertices[:, 1].min())][:, [0, 2]]
    after = np.roll(corners, -1, axis=0)
    edges = after - corners
    kept = np.linalg.norm(edges, axis=1) > 1e-9
    corners, edges = corners[kept], edges[kept]
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
    middle = corners.mean(axis=0)
    normals *= np.sign(((corners - middle) * normals).sum(axis=1, keepdims=True))
    return np.column_stack([normals, (normals * corners).sum(axis=1)])


def _walls(low: tuple[float, float, float], high: tuple[float, float, float], world: int) -> list[Rigid]:
    (x0, y0, _), (x1, y1, top) = low, high
    long, wide, z = x1 - x0 + 2.0 * _WALL, y1 - y0, 0.5 * top
    middle_x, middle_y = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
    boxes = [
        ((_WALL, wide, top), (x0 - 0.5 * _WALL, middle_y, z)),
        ((_WALL, wide, top), (x1 + 0.5 * _WALL, middle_y, z)),
        ((long, _WALL, top), (middle_x, y0 - 0.5 * _WALL, z)),
        ((long, _WALL, top), (middle_x, y1 + 0.5 * _WALL, z)),
    ]
    return [Rigid(Box(size), position=center, world=world, color=_WOOD) for size, center in boxes]

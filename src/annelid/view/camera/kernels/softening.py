"""Soft shadows: near the border of a hard one, the part of the sun's disc that is seen.

At most pixels there is nothing to do, so tiles as wide as a penumbra may be are looked at first. What is left is looked
for at every other pixel of every other row; between them it is interpolated where that is as good.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.blocks import Beam, Near, block_place, occluded_near, tile_place
from annelid.view.camera.kernels.rays import Eye, Geometry, occluded_by_line
from annelid.view.camera.kernels.shading import Sky, display
from annelid.view.camera.kernels.shadows import SUN_DISTANCE, no_beam, sunward

wp.set_module_options({"enable_backward": False})

RIM = wp.constant(5)
"""Points on the rim of the sun's disc, which are tried first."""

SHADED = wp.constant(1)
SUNLIT = wp.constant(2)

UNKNOWN = wp.constant(-1.0)
"""Part of the sun where it was not looked for."""

STEEP = wp.constant(0.35)
"""Difference of parts of the sun from which they are not interpolated."""


@wp.func
def sun_part_seen(
    geometry: wp.array[Geometry], near: Near, lists: wp.array[wp.int32], sky: Sky, world: int, spot: wp.vec3
) -> float:
    """Part of the sun's disc that is seen from a point."""
    # The shadow of a line is kept hard: a few rays would only multiply it.
    if near.lines != 0:
        if occluded_by_line(geometry, world, spot, sky.sun, SUN_DISTANCE):
            return 0.0
    if near.triangles == 0 and near.spheres == 0:
        return 1.0
    seen = float(0.0)
    count = sky.rays.shape[0]
    for k in range(count):
        if not occluded_near(geometry, near, lists, world, spot, sky.rays[k], SUN_DISTANCE):
            seen += 1.0
        # If the rim agrees, the point lies outside the penumbra.
        if k == RIM - 1:
            if seen == 0.0 or seen == float(RIM):
                return seen / float(RIM)
    return seen / float(count)


@wp.kernel
def find_shadows(
    offset: int,
    # First pass in:
    reach: int,
    seen: wp.array3d[wp.int8],
    # Tiles out:
    tiles_out: wp.array3d[wp.int8],
):
    """Whether a tile, as wide as a penumbra may be, holds points in shadow, points in the sun, or both."""
    place = tile_place(offset + wp.tid(), tiles_out.shape[2], tiles_out.shape[1])
    found = int(0)
    for row in range(place[1] * reach, wp.min((place[1] + 1) * reach, seen.shape[1])):
        for column in range(place[2] * reach, wp.min((place[2] + 1) * reach, seen.shape[2])):
            here = int(seen[place[0], row, column])
            if here >= 0:
                found = found | wp.where(here == 0, SHADED, SUNLIT)
    tiles_out[place[0], place[1], place[2]] = wp.int8(found)


@wp.kernel
def find_borders(
    offset: int,
    # Tiles in:
    shadows: wp.array3d[wp.int8],
    # Tiles out:
    tiles_out: wp.array3d[wp.int8],
):
    """Whether sun and shadow both lie in a tile and those around it."""
    place = tile_place(offset + wp.tid(), tiles_out.shape[2], tiles_out.shape[1])
    found = int(0)
    for i in range(9):
        r = wp.clamp(place[1] + i // 3 - 1, 0, shadows.shape[1] - 1)
        c = wp.clamp(place[2] + i % 3 - 1, 0, shadows.shape[2] - 1)
        found = found | int(shadows[place[0], r, c])
    tiles_out[place[0], place[1], place[2]] = wp.int8(wp.where(found == SHADED + SUNLIT, 1, 0))


@wp.func
def near_border(seen: wp.array3d[wp.int8], camera: int, row: int, column: int, reach: int) -> bool:
    """Whether sun and shadow meet around a pixel; three rings of eight pixels are looked at."""
    here = int(seen[camera, row, column])
    for ring in range(3):
        for i in range(9):
            down = i // 3 - 1
            right = i % 3 - 1
            step = reach >> (2 * ring)
            if down * right != 0:
                step = (3 * step) // 4
            r = wp.clamp(row + down * step, 0, seen.shape[1] - 1)
            c = wp.clamp(column + right * step, 0, seen.shape[2] - 1)
            if int(seen[camera, r, c]) == 1 - here:
                return True
    return False


@wp.func
def block_near_border(tiles: wp.array3d[wp.int8], place: wp.vec3i, side: int, reach: int) -> bool:
    """Whether a tile that a block touches is near the border of a shadow."""
    bottom = wp.min((place[1] + side - 1) // reach, tiles.shape[1] - 1)
    right = wp.min((place[2] + side - 1) // reach, tiles.shape[2] - 1)
    for row in range(place[1] // reach, bottom + 1):
        for column in range(place[2] // reach, right + 1):
            if tiles[place[0], row, column] != wp.int8(0):
                return True
    return False


@wp.func
def disc_beam(sky: Sky, place: wp.vec3i, side: int, seen: wp.array3d[wp.int8], spot: wp.array3d[wp.vec3]) -> Beam:
    """The rays from the points of a block to all of the sun's disc."""
    spread = wp.vec3(sky.spread)
    beam = no_beam(sky.sun - spread, sky.sun + spread)
    for row in range(place[1], wp.min(place[1] + side, seen.shape[1])):
        for column in range(place[2], wp.min(place[2] + side, seen.shape[2])):
            if seen[place[0], row, column] >= wp.int8(0):
                beam.origin_low = wp.min(beam.origin_low, spot[place[0], row, column])
                beam.origin_high = wp.max(beam.origin_high, spot[place[0], row, column])
    return beam


@wp.kernel
def find_penumbra(
    offset: int,
    side: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    # First passes in:
    reach: int,
    tiles: wp.array3d[wp.int8],
    spot: wp.array3d[wp.vec3],
    seen: wp.array3d[wp.int8],
    # Room for lists:
    lists: wp.array[wp.int32],
    # Images out:
    border_out: wp.array3d[wp.int8],
    part_out: wp.array3d[wp.float32],
):
    """Which pixels are near a border, and what part of the sun is seen from every fourth of them."""
    width = seen.shape[2]
    height = seen.shape[1]
    block = offset + wp.tid()
    place = block_place(block, side, width, height)
    camera = place[0]
    world = eyes[camera].world
    close = block_near_border(tiles, place, side, reach)
    near = Near()
    if close:
        near = sunward(geometry, world, disc_beam(sky, place, side, seen, spot), side, block, lists)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            border = int(0)
            part = UNKNOWN
            if close:
                if near_border(seen, camera, row, column, reach):
                    border = 1
                    if row % 2 == 0 and column % 2 == 0 and seen[camera, row, column] >= wp.int8(0):
                        part = sun_part_seen(geometry, near, lists, sky, world, spot[camera, row, column])
            border_out[camera, row, column] = wp.int8(border)
            part_out[camera, row, column] = part


@wp.func
def part_between(
    part: wp.array3d[wp.float32],
    even: wp.array3d[wp.int8],
    seen: wp.array3d[wp.int8],
    camera: int,
    row: int,
    column: int,
) -> float:
    """Part of the sun that is seen from a pixel, from those around it where that is as good; or `UNKNOWN`."""
    # On one plane it changes slowly; on a body it may not, and what all around agree on is taken only.
    plane = (int(even[camera, row, column]) + 2) // 3
    total = float(0.0)
    low = float(1.0)
    high = float(0.0)
    for i in range(4):
        r = wp.min(row + (i // 2) * (row % 2) * 2 - row % 2, part.shape[1] - 1)
        c = wp.min(column + (i % 2) * (column % 2) * 2 - column % 2, part.shape[2] - 1)
        there = part[camera, r, c]
        if there < 0.0 or (int(even[camera, r, c]) + 2) // 3 != plane:
            return UNKNOWN
        total += 0.25 * there
        low = wp.min(low, there)
        high = wp.max(high, there)
    if low == high and wp.abs(low - 0.5) == 0.5:
        # All around agree; if the middle of the sun does not, something thin stands in between.
        return wp.where(low == float(int(seen[camera, row, column])), low, UNKNOWN)
    return wp.where(plane > 0 and high - low < STEEP, total, UNKNOWN)


@wp.kernel
def soften(
    offset: int,
    side: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    # First passes in:
    reach: int,
    tiles: wp.array3d[wp.int8],
    ambient: wp.array3d[wp.vec3],
    sun: wp.array3d[wp.vec3],
    spot: wp.array3d[wp.vec3],
    seen: wp.array3d[wp.int8],
    even: wp.array3d[wp.int8],
    border: wp.array3d[wp.int8],
    part: wp.array3d[wp.float32],
    # Room for lists:
    lists: wp.array[wp.int32],
    # Image out, near borders only:
    shown_out: wp.array3d[wp.vec3],
):
    """Show what part of the sun is seen."""
    width = seen.shape[2]
    height = seen.shape[1]
    block = offset + wp.tid()
    place = block_place(block, side, width, height)
    camera = place[0]
    if not block_near_border(tiles, place, side, reach):
        return
    world = eyes[camera].world
    near = sunward(geometry, world, disc_beam(sky, place, side, seen, spot), side, block, lists)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            if border[camera, row, column] == wp.int8(0) or seen[camera, row, column] < wp.int8(0):
                continue
            here = part[camera, row, column]
            if here < 0.0:
                here = part_between(part, even, seen, camera, row, column)
            if here < 0.0:
                here = sun_part_seen(geometry, near, lists, sky, world, spot[camera, row, column])
            shown_out[camera, row, column] = display(ambient[camera, row, column] + here * sun[camera, row, column])

"""From a first image to a smooth one: soft borders of shadows, and edges without steps.

Both need a look at the neighbours of every pixel, and both find nothing to do at most of them. Small tiles are looked
at first, so that a pixel of an even one is left at the cost of a look at its tile.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.rays import Eye, Geometry, image_place, occluded, occluded_by_line
from annelid.view.camera.kernels.shading import SUN_DISTANCE, Sky, decoded, display, sample, sun_seen

wp.set_module_options({"enable_backward": False})

RIM = wp.constant(5)
"""Points on the rim of the sun's disc, which are tried first."""

EDGE = wp.constant(0.02)
"""Difference of display values from which a pixel is taken for an edge."""

EDGE_TILE = wp.constant(8)
"""Side of the tiles that are searched for edges [pixels]."""

SHADED = wp.constant(1)
SUNLIT = wp.constant(2)


@wp.func
def sun_part_seen(geometry: wp.array[Geometry], sky: Sky, world: int, spot: wp.vec3) -> float:
    """Part of the sun's disc that is seen from a point."""
    # The shadow of a line is kept hard: a few rays would only multiply it.
    if occluded_by_line(geometry, world, spot, sky.sun, SUN_DISTANCE):
        return 0.0
    seen = float(0.0)
    count = sky.rays.shape[0]
    for k in range(count):
        if not occluded(geometry, world, spot, sky.rays[k], SUN_DISTANCE):
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


@wp.func
def tile_place(index: int, columns: int, rows: int) -> wp.vec3i:
    """Camera, row and column of the tile with a number."""
    row = index // columns
    return wp.vec3i(row // rows, row % rows, index % columns)


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


@wp.kernel
def soften(
    offset: int,
    run: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    # First pass in:
    reach: int,
    tiles: wp.array3d[wp.int8],
    seen: wp.array3d[wp.int8],
    # Images:
    shown: wp.array3d[wp.vec3],
    border_out: wp.array3d[wp.int8],
):
    width = seen.shape[2]
    height = seen.shape[1]
    first = (offset + wp.tid()) * run
    for index in range(first, wp.min(first + run, seen.shape[0] * height * width)):
        place = image_place(index, width, height)
        camera, row, column = place[0], place[1], place[2]
        border = int(0)
        if tiles[camera, row // reach, column // reach] != wp.int8(0):
            if near_border(seen, camera, row, column, reach):
                border = 1
                if seen[camera, row, column] >= wp.int8(0):
                    eye = eyes[camera]
                    light = sample(geometry, sky, eye, float(column) + 0.5, float(row) + 0.5, width, height, far)
                    part = sun_part_seen(geometry, sky, eye.world, light.spot)
                    shown[camera, row, column] = display(light.ambient + part * light.sun)
        border_out[camera, row, column] = wp.int8(border)


@wp.kernel
def find_edges(
    offset: int,
    # Second pass in:
    shown: wp.array3d[wp.vec3],
    # Tiles out:
    tiles_out: wp.array3d[wp.int8],
):
    """Whether a tile may hold an edge: whether its display values, with a ring around, spread that far."""
    place = tile_place(offset + wp.tid(), tiles_out.shape[2], tiles_out.shape[1])
    camera, top, left = place[0], place[1] * EDGE_TILE, place[2] * EDGE_TILE
    low = shown[camera, top, left]
    high = low
    for row in range(wp.max(top - 1, 0), wp.min(top + EDGE_TILE + 1, shown.shape[1])):
        for column in range(wp.max(left - 1, 0), wp.min(left + EDGE_TILE + 1, shown.shape[2])):
            here = shown[camera, row, column]
            low = wp.min(low, here)
            high = wp.max(high, here)
    tiles_out[camera, place[1], place[2]] = wp.int8(wp.where(wp.max(high - low) > EDGE, 1, 0))


@wp.func
def is_edge(image: wp.array3d[wp.vec3], camera: int, row: int, column: int) -> bool:
    here = image[camera, row, column]
    for i in range(9):
        r = wp.clamp(row + i // 3 - 1, 0, image.shape[1] - 1)
        c = wp.clamp(column + i % 3 - 1, 0, image.shape[2] - 1)
        step = wp.abs(image[camera, r, c] - here)
        if wp.max(step) > EDGE:
            return True
    return False


@wp.func
def byte(x: float) -> wp.uint8:
    return wp.uint8(int(255.0 * x + 0.5))


@wp.func
def smoothed(
    geometry: wp.array[Geometry],
    sky: Sky,
    eye: Eye,
    far: float,
    samples: int,
    value: wp.vec3,
    border: bool,
    row: int,
    column: int,
    width: int,
    height: int,
) -> wp.vec3:
    """Display value of a pixel as the mean over many points in it; `value` is that of its centre."""
    total = decoded(value)
    for k in range(1, samples):
        # Roberts' R2 sequence: any number of points, evenly spread, the first at the centre.
        x = 0.5 + 0.7548777 * float(k)
        y = 0.5 + 0.5698403 * float(k)
        x = float(column) + x - wp.floor(x)
        y = float(row) + y - wp.floor(y)
        got = sample(geometry, sky, eye, x, y, width, height, far)
        part = float(0.0)
        if got.sunny != 0:
            if border:
                part = sun_part_seen(geometry, sky, eye.world, got.spot)
            else:
                part = sun_seen(geometry, sky, eye.world, got.spot)
        total += wp.min(got.ambient + part * got.sun, wp.vec3(1.0))
    return display(total / float(samples))


@wp.kernel
def resolve(
    offset: int,
    run: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    samples: int,
    # Second pass in:
    tiles: wp.array3d[wp.int8],
    border: wp.array3d[wp.int8],
    shown: wp.array3d[wp.vec3],
    # Image out:
    rgb_out: wp.array3d[wp.vec3ub],
):
    width = shown.shape[2]
    height = shown.shape[1]
    first = (offset + wp.tid()) * run
    for index in range(first, wp.min(first + run, shown.shape[0] * height * width)):
        place = image_place(index, width, height)
        camera, row, column = place[0], place[1], place[2]
        value = shown[camera, row, column]
        if tiles[camera, row // EDGE_TILE, column // EDGE_TILE] != wp.int8(0):
            if is_edge(shown, camera, row, column):
                near = border[camera, row, column] != wp.int8(0)
                value = smoothed(geometry, sky, eyes[camera], far, samples, value, near, row, column, width, height)
        rgb_out[camera, row, column] = wp.vec3ub(byte(value[0]), byte(value[1]), byte(value[2]))

"""From a first image to a smooth one: edges without steps.

That needs a look at the neighbours of every pixel, and finds nothing to do at most of them. Small tiles are looked at
first, so that the pixels of an even one are left at the cost of a look at their tile.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.blocks import Near, block_place, near_all, tile_place
from annelid.view.camera.kernels.rays import Eye, Geometry
from annelid.view.camera.kernels.shading import Sky, decoded, display, sample, seen_by_block
from annelid.view.camera.kernels.shadows import sun_seen
from annelid.view.camera.kernels.softening import sun_part_seen

wp.set_module_options({"enable_backward": False})

EDGE = wp.constant(0.02)
"""Difference of display values from which a pixel is taken for an edge."""

EDGE_TILE = wp.constant(8)
"""Side of the tiles that are searched for edges [pixels]."""


@wp.kernel
def find_edges(
    offset: int,
    # Second pass in:
    even: wp.array3d[wp.int8],
    shown: wp.array3d[wp.vec3],
    # Tiles out:
    tiles_out: wp.array3d[wp.int8],
):
    """Whether a tile may hold an edge: whether its display values, with a ring around, spread that far."""
    place = tile_place(offset + wp.tid(), tiles_out.shape[2], tiles_out.shape[1])
    camera = place[0]
    top = wp.max(place[1] * EDGE_TILE - 1, 0)
    left = wp.max(place[2] * EDGE_TILE - 1, 0)
    bottom = wp.min((place[1] + 1) * EDGE_TILE + 1, shown.shape[1])
    right = wp.min((place[2] + 1) * EDGE_TILE + 1, shown.shape[2])
    first = even[camera, top, left]
    same = first != wp.int8(0)
    for row in range(top, bottom):
        for column in range(left, right):
            same = same and even[camera, row, column] == first
    low = shown[camera, top, left]
    high = low
    if not same:
        for row in range(top, bottom):
            for column in range(left, right):
                low = wp.min(low, shown[camera, row, column])
                high = wp.max(high, shown[camera, row, column])
    tiles_out[camera, place[1], place[2]] = wp.int8(wp.where(wp.max(high - low) > EDGE, 1, 0))


@wp.func
def is_edge(shown: wp.array3d[wp.vec3], even: wp.array3d[wp.int8], camera: int, row: int, column: int) -> bool:
    here = shown[camera, row, column]
    plain = even[camera, row, column]
    for i in range(9):
        r = wp.clamp(row + i // 3 - 1, 0, shown.shape[1] - 1)
        c = wp.clamp(column + i % 3 - 1, 0, shown.shape[2] - 1)
        if plain == wp.int8(0) or even[camera, r, c] != plain:
            step = wp.abs(shown[camera, r, c] - here)
            if wp.max(step) > EDGE:
                return True
    return False


@wp.func
def byte(x: float) -> wp.uint8:
    return wp.uint8(int(255.0 * x + 0.5))


@wp.func
def smoothed(
    geometry: wp.array[Geometry],
    near: Near,
    lists: wp.array[wp.int32],
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
        got = sample(geometry, near, lists, sky, eye, x, y, width, height, far)
        part = float(0.0)
        if got.sunny != 0:
            if border:
                part = sun_part_seen(geometry, near_all(), lists, sky, eye.world, got.spot)
            else:
                part = sun_seen(geometry, near_all(), lists, sky, eye.world, got.spot)
        total += wp.min(got.ambient + part * got.sun, wp.vec3(1.0))
    return display(total / float(samples))


@wp.kernel
def resolve(
    offset: int,
    side: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    samples: int,
    # First passes in:
    tiles: wp.array3d[wp.int8],
    border: wp.array3d[wp.int8],
    even: wp.array3d[wp.int8],
    shown: wp.array3d[wp.vec3],
    # Room for lists:
    lists: wp.array[wp.int32],
    # Image out:
    rgb_out: wp.array3d[wp.vec3ub],
):
    """Take more samples of the pixels of a block that show an edge; a block is one pixel or one tile."""
    width = shown.shape[2]
    height = shown.shape[1]
    block = offset + wp.tid()
    place = block_place(block, side, width, height)
    camera = place[0]
    eye = eyes[camera]
    edgy = tiles[camera, place[1] // EDGE_TILE, place[2] // EDGE_TILE] != wp.int8(0)
    near = Near()
    if edgy:
        near = seen_by_block(geometry, eye, far, place, side, width, height, block, lists)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            value = shown[camera, row, column]
            if edgy:
                if is_edge(shown, even, camera, row, column):
                    soft = border[camera, row, column] != wp.int8(0)
                    value = smoothed(
                        geometry, near, lists, sky, eye, far, samples, value, soft, row, column, width, height
                    )
            rgb_out[camera, row, column] = wp.vec3ub(byte(value[0]), byte(value[1]), byte(value[2]))

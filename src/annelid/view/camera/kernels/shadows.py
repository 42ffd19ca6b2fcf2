"""Hard shadows: from where the middle of the sun is seen."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.blocks import Beam, Near, block_place, near_all, near_beam, occluded_near
from annelid.view.camera.kernels.rays import Eye, Geometry, occluded_by_line
from annelid.view.camera.kernels.shading import Sky, display

wp.set_module_options({"enable_backward": False})

SUN_DISTANCE = wp.constant(1.0e9)


@wp.func
def sun_seen(
    geometry: wp.array[Geometry], near: Near, lists: wp.array[wp.int32], sky: Sky, world: int, spot: wp.vec3
) -> float:
    if sky.shadows == 0:
        return 1.0
    if occluded_near(geometry, near, lists, world, spot, sky.sun, SUN_DISTANCE):
        return 0.0
    if near.lines == 0:
        return 1.0
    return wp.where(occluded_by_line(geometry, world, spot, sky.sun, SUN_DISTANCE), 0.0, 1.0)


@wp.func
def sunward(
    geometry: wp.array[Geometry],
    sky: Sky,
    world: int,
    spread: float,
    place: wp.vec3i,
    side: int,
    seen: wp.array3d[wp.int8],
    spot: wp.array3d[wp.vec3],
    block: int,
    lists: wp.array[wp.int32],
) -> Near:
    """What may stand between the points of a block and the sun, whose rays come from `spread` to all sides."""
    if side == 1:
        return near_all()
    beam = Beam()
    beam.origin_low = wp.vec3(wp.inf)
    beam.origin_high = wp.vec3(-wp.inf)
    beam.direction_low = sky.sun - wp.vec3(spread)
    beam.direction_high = sky.sun + wp.vec3(spread)
    for row in range(place[1], wp.min(place[1] + side, seen.shape[1])):
        for column in range(place[2], wp.min(place[2] + side, seen.shape[2])):
            if seen[place[0], row, column] >= wp.int8(0):
                beam.origin_low = wp.min(beam.origin_low, spot[place[0], row, column])
                beam.origin_high = wp.max(beam.origin_high, spot[place[0], row, column])
    if beam.origin_low[0] > beam.origin_high[0]:
        return Near()
    return near_beam(geometry, world, beam, SUN_DISTANCE, block, lists)


@wp.kernel
def cast_shadows(
    offset: int,
    side: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    # First pass in:
    ambient: wp.array3d[wp.vec3],
    sun: wp.array3d[wp.vec3],
    spot: wp.array3d[wp.vec3],
    # Room for lists:
    lists: wp.array[wp.int32],
    # Whether the sun matters, in, and whether it is seen, out; what planes are, in, and what is even, out:
    seen: wp.array3d[wp.int8],
    even: wp.array3d[wp.int8],
    # Image out:
    shown_out: wp.array3d[wp.vec3],
):
    """Look for the sun from each point of a block that it may shine on."""
    width = seen.shape[2]
    height = seen.shape[1]
    block = offset + wp.tid()
    place = block_place(block, side, width, height)
    camera = place[0]
    world = eyes[camera].world
    near = sunward(geometry, sky, world, wp.float32(0.0), place, side, seen, spot, block, lists)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            here = int(seen[camera, row, column])
            color = ambient[camera, row, column]
            if here > 0:
                part = sun_seen(geometry, near, lists, sky, world, spot[camera, row, column])
                here = int(part)
                color += part * sun[camera, row, column]
            shown_out[camera, row, column] = display(color)
            seen[camera, row, column] = wp.int8(here)
            # On a plane nothing but the border of a shadow is an edge: its grid is the mean over a pixel already.
            plane = int(even[camera, row, column])
            even[camera, row, column] = wp.int8(wp.where(plane > 0, 3 * plane + here - 1, 0))

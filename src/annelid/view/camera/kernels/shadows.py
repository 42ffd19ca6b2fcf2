"""The first image: light at the centre of each pixel, and hard shadows from the middle of the sun."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.blocks import Beam, Near, block_place, near_all, near_beam, occluded_near
from annelid.view.camera.kernels.rays import Eye, Geometry, occluded_by_line
from annelid.view.camera.kernels.shading import Sky, display, sample, seen_by_block

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
def no_beam(direction_low: wp.vec3, direction_high: wp.vec3) -> Beam:
    """A beam without rays yet."""
    beam = Beam()
    beam.origin_low = wp.vec3(wp.inf)
    beam.origin_high = wp.vec3(-wp.inf)
    beam.direction_low = direction_low
    beam.direction_high = direction_high
    return beam


@wp.func
def sunward(
    geometry: wp.array[Geometry], world: int, beam: Beam, side: int, block: int, lists: wp.array[wp.int32]
) -> Near:
    """What may stand between the points of a block and the sun; one point alone asks the trees itself."""
    if side == 1:
        return near_all()
    if beam.origin_low[0] > beam.origin_high[0]:
        return Near()
    return near_beam(geometry, world, beam, SUN_DISTANCE, block, lists)


@wp.kernel
def shade(
    offset: int,
    side: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    # Room for lists:
    lists: wp.array[wp.int32],
    # Images out:
    ambient_out: wp.array3d[wp.vec3],
    sun_out: wp.array3d[wp.vec3],
    spot_out: wp.array3d[wp.vec3],
    seen_out: wp.array3d[wp.int8],
    even_out: wp.array3d[wp.int8],
    shown_out: wp.array3d[wp.vec3],
    depth_out: wp.array3d[wp.float32],
):
    """Light at the centre of each pixel of a block, and then whether the sun is seen from there."""
    width = depth_out.shape[2]
    height = depth_out.shape[1]
    block = offset + wp.tid()
    place = block_place(block, side, width, height)
    camera = place[0]
    eye = eyes[camera]
    near = seen_by_block(geometry, eye, far, place, side, width, height, block, lists)
    beam = no_beam(sky.sun, sky.sun)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            x = float(column) + 0.5
            y = float(row) + 0.5
            light = sample(geometry, near, lists, sky, eye, x, y, width, height, far)
            if light.sunny != 0:
                beam.origin_low = wp.min(beam.origin_low, light.spot)
                beam.origin_high = wp.max(beam.origin_high, light.spot)
            ambient_out[camera, row, column] = light.ambient
            sun_out[camera, row, column] = light.sun
            spot_out[camera, row, column] = light.spot
            seen_out[camera, row, column] = wp.int8(2 * light.sunny - 1)
            even_out[camera, row, column] = wp.int8(wp.where(light.plane > 0, 1 + light.plane % 40, 0))
            depth_out[camera, row, column] = light.t
    near = sunward(geometry, eye.world, beam, side, block, lists)
    for row in range(place[1], wp.min(place[1] + side, height)):
        for column in range(place[2], wp.min(place[2] + side, width)):
            seen = int(seen_out[camera, row, column])
            color = ambient_out[camera, row, column]
            if seen > 0:
                part = sun_seen(geometry, near, lists, sky, eye.world, spot_out[camera, row, column])
                seen = int(part)
                color += part * sun_out[camera, row, column]
            shown_out[camera, row, column] = display(color)
            seen_out[camera, row, column] = wp.int8(seen)
            # On a plane nothing but the border of a shadow is an edge: its grid is the mean over a pixel already.
            plane = int(even_out[camera, row, column])
            even_out[camera, row, column] = wp.int8(wp.where(plane > 0, 3 * plane + seen - 1, 0))

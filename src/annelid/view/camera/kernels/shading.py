"""From what a ray meets to a colour: one sun with shadows, a sky, a grid on the ground; and edges made smooth.

Three passes. `shade` casts a ray through each pixel's centre and one to the sun. `soften` casts more to the sun near
the borders of shadows, where a sun that is not a point is half seen. `resolve` casts more rays through pixels whose
neighbours differ, which is where an image has edges. Light is added up linearly and encoded for the display (sRGB) at
the very end.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.rays import (
    LINE,
    MESH,
    NOTHING,
    PLANE,
    Eye,
    Geometry,
    Hit,
    Ray,
    cast,
    eye_ray,
    image_place,
    occluded,
    occluded_by_line,
    plane_distance,
)
from annelid.view.camera.kernels.staging import table_color

wp.set_module_options({"enable_backward": False})

RIM = wp.constant(5)
"""Points on the rim of the sun's disc, which are tried first."""

SUN_DISTANCE = wp.constant(1.0e9)

EDGE = wp.constant(0.02)
"""Difference of display values from which a pixel is taken for an edge."""


@wp.struct
class Sky:
    """Light of a scene, in linear values."""

    sun: wp.vec3  # unit vector towards the sun
    shadows: wp.int32
    rays: wp.array[wp.vec3]  # unit vectors to points of its disc, the rim first; none for hard shadows
    up: wp.vec3
    sun_light: wp.vec3
    zenith_light: wp.vec3  # ambient from above
    ground_light: wp.vec3  # ambient from below
    zenith: wp.vec3  # background
    horizon: wp.vec3


@wp.struct
class Light:
    """What comes back along a ray, before it is known whether its origin lies in shadow."""

    ambient: wp.vec3
    sun: wp.vec3  # if the sun is seen
    spot: wp.vec3  # from where the sun is looked for
    sunny: wp.int32  # whether `sun` matters
    t: wp.float32


@wp.func
def background(sky: Sky, direction: wp.vec3) -> wp.vec3:
    height = wp.clamp(wp.dot(wp.normalize(direction), sky.up) * 2.0, 0.0, 1.0)
    return wp.lerp(sky.horizon, sky.zenith, height)


@wp.func
def sun_seen(geometry: wp.array[Geometry], sky: Sky, world: int, spot: wp.vec3) -> float:
    if sky.shadows == 0:
        return 1.0
    if occluded(geometry, world, spot, sky.sun, SUN_DISTANCE):
        return 0.0
    return wp.where(occluded_by_line(geometry, world, spot, sky.sun, SUN_DISTANCE), 0.0, 1.0)


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


@wp.func
def stripe_sum(x: float, width: float) -> float:
    return wp.floor(x) * width + wp.min(x - wp.floor(x), width)


@wp.func
def stripes(x: float, width: float, footprint: float) -> float:
    """Part of a pixel that is covered by stripes at the integers; the mean over its footprint, so never a moiré."""
    span = wp.max(footprint, 1.0e-5)
    low = x + 0.5 * width - 0.5 * span
    return (stripe_sum(low + span, width) - stripe_sum(low, width)) / span


@wp.func
def plane_grid(geometry: wp.array[Geometry], hit: Hit, ray: Ray, beside: Ray, below: Ray) -> float:
    """Darkness of the grid lines in a pixel of a plane, in [0, 1]."""
    normal = hit.normal
    point = geometry[0].plane_points[hit.index]
    first = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(normal[0]) > 0.9:
        first = wp.vec3(0.0, 1.0, 0.0)
    first = wp.normalize(first - wp.dot(first, normal) * normal)
    second = wp.cross(normal, first)
    here = ray.origin + hit.t * ray.direction
    right = beside.origin + plane_distance(beside.origin, beside.direction, point, normal) * beside.direction - here
    down = below.origin + plane_distance(below.origin, below.direction, point, normal) * below.direction - here
    pitch = geometry[0].grid_pitch
    u = wp.dot(here, first) / pitch
    v = wp.dot(here, second) / pitch
    u_span = (wp.abs(wp.dot(right, first)) + wp.abs(wp.dot(down, first))) / pitch
    v_span = (wp.abs(wp.dot(right, second)) + wp.abs(wp.dot(down, second))) / pitch
    fine = wp.max(stripes(u, 0.018, u_span), stripes(v, 0.018, v_span))
    coarse = wp.max(stripes(0.2 * u, 0.006, 0.2 * u_span), stripes(0.2 * v, 0.006, 0.2 * v_span))
    return 0.55 * fine + 0.45 * coarse


@wp.func
def surface_color(geometry: wp.array[Geometry], hit: Hit) -> wp.vec3:
    if hit.kind == MESH:
        i = geometry[0].triangles[3 * hit.index]
        j = geometry[0].triangles[3 * hit.index + 1]
        k = geometry[0].triangles[3 * hit.index + 2]
        w = 1.0 - hit.u - hit.v
        a = geometry[0].vertex_shades[i]
        b = geometry[0].vertex_shades[j]
        c = geometry[0].vertex_shades[k]
        if wp.min(a, wp.min(b, c)) >= 0.0:
            # The value is interpolated, not the colour: between two colours of a map lies what is not in the map.
            if geometry[0].categories == 0:
                return table_color(geometry[0].color_table, hit.u * a + hit.v * b + w * c)
            nearest = wp.where(hit.u >= wp.max(hit.v, w), a, wp.where(hit.v >= w, b, c))
            return geometry[0].color_table[int(nearest)]
        return (
            hit.u * geometry[0].vertex_colors[i]
            + hit.v * geometry[0].vertex_colors[j]
            + w * geometry[0].vertex_colors[k]
        )
    if hit.kind == LINE:
        return geometry[0].line_colors[hit.index]
    if hit.kind == PLANE:
        return geometry[0].plane_colors[hit.index]
    return geometry[0].sphere_colors[hit.index]


@wp.func
def smooth_normal(geometry: wp.array[Geometry], hit: Hit, point: wp.vec3) -> wp.vec3:
    if hit.kind == MESH:
        a = geometry[0].corner_normals[3 * hit.index]
        b = geometry[0].corner_normals[3 * hit.index + 1]
        c = geometry[0].corner_normals[3 * hit.index + 2]
        return wp.normalize(hit.u * a + hit.v * b + (1.0 - hit.u - hit.v) * c)
    if hit.kind == PLANE:
        return hit.normal
    if hit.kind == LINE:
        start = geometry[0].line_starts[hit.index]
        axis = geometry[0].line_ends[hit.index] - start
        along = wp.clamp(wp.dot(point - start, axis) / wp.max(wp.dot(axis, axis), 1.0e-30), 0.0, 1.0)
        return wp.normalize(point - start - along * axis)
    return wp.normalize(point - geometry[0].sphere_centers[hit.index])


@wp.func
def above_facet(geometry: wp.array[Geometry], hit: Hit, point: wp.vec3, side: float) -> wp.vec3:
    """The point moved to the smooth surface that the normals pretend, so that facets do not shadow it in jags."""
    # J. Hanika, "Hacking the shadow terminator", Ray Tracing Gems II (2021), with the corner normals on the lit side.
    moved = wp.vec3(0.0)
    weights = wp.vec3(hit.u, hit.v, 1.0 - hit.u - hit.v)
    for i in range(3):
        normal = side * geometry[0].corner_normals[3 * hit.index + i]
        below = wp.min(wp.dot(point - geometry[0].vertices[geometry[0].triangles[3 * hit.index + i]], normal), 0.0)
        moved += weights[i] * (point - below * normal)
    return moved


@wp.func
def surface_light(geometry: wp.array[Geometry], sky: Sky, hit: Hit, ray: Ray) -> Light:
    """Light from a surface; the pattern and the fading of planes are not in it."""
    view = -wp.normalize(ray.direction)
    point = ray.origin + hit.t * ray.direction
    normal = smooth_normal(geometry, hit, point)
    flat = normal
    if hit.kind == MESH:
        flat = hit.normal
    side = wp.where(wp.dot(flat, view) < 0.0, -1.0, 1.0)
    flat *= side
    normal *= side
    facing = wp.max(wp.dot(normal, sky.sun), 0.0)
    color = surface_color(geometry, hit)
    light = Light()
    light.ambient = wp.cw_mul(color, wp.lerp(sky.ground_light, sky.zenith_light, 0.5 + 0.5 * wp.dot(normal, sky.up)))
    light.sun = facing * wp.cw_mul(color, sky.sun_light)
    light.sunny = wp.where(facing > 0.0, 1, 0)
    # Off the surface by more than float32 resolves at this place and at this distance.
    lift = 2.0e-4 * hit.t * wp.length(ray.direction) + 1.0e-6 * wp.length(point)
    light.spot = point + lift * flat
    if hit.kind == MESH:
        light.spot = above_facet(geometry, hit, point, side) + lift * flat
    return light


@wp.func
def sample(
    geometry: wp.array[Geometry], sky: Sky, eye: Eye, x: float, y: float, width: int, height: int, far: float
) -> Light:
    """Light at an image point."""
    ray = eye_ray(eye, x, y, width, height)
    hit = cast(geometry, eye.world, ray.origin, ray.direction, far)
    light = Light()
    if hit.kind == NOTHING:
        light.ambient = background(sky, ray.direction)
    else:
        light = surface_light(geometry, sky, hit, ray)
        if hit.kind == PLANE:
            beside = eye_ray(eye, x + 1.0, y, width, height)
            below = eye_ray(eye, x, y + 1.0, width, height)
            clear = 1.0 - 0.30 * plane_grid(geometry, hit, ray, beside, below)
            haze = float(0.0)
            if eye.focus > 0.0:
                middle = eye.position + eye.focus * eye.forward
                away = wp.length(ray.origin + hit.t * ray.direction - middle) / eye.focus
                haze = wp.smoothstep(0.8, 6.0, away)
            clear *= 1.0 - haze
            light.ambient = clear * light.ambient + haze * background(sky, ray.direction)
            light.sun *= clear
    light.t = hit.t
    return light


@wp.func
def encoded(x: float) -> float:
    """The sRGB curve."""
    y = wp.clamp(x, 0.0, 1.0)
    return wp.where(y <= 0.0031308, 12.92 * y, 1.055 * wp.pow(y, 1.0 / 2.4) - 0.055)


@wp.func
def display(color: wp.vec3) -> wp.vec3:
    return wp.vec3(encoded(color[0]), encoded(color[1]), encoded(color[2]))


@wp.func
def byte(x: float) -> wp.uint8:
    return wp.uint8(int(255.0 * x + 0.5))


@wp.kernel
def shade(
    offset: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    # Images out:
    ambient_out: wp.array3d[wp.vec3],
    sun_out: wp.array3d[wp.vec3],
    spot_out: wp.array3d[wp.vec3],
    seen_out: wp.array3d[wp.int8],
    depth_out: wp.array3d[wp.float32],
):
    width = depth_out.shape[2]
    height = depth_out.shape[1]
    place = image_place(offset + wp.tid(), width, height)
    camera, row, column = place[0], place[1], place[2]
    eye = eyes[camera]
    light = sample(geometry, sky, eye, float(column) + 0.5, float(row) + 0.5, width, height, far)
    seen = int(-1)
    if light.sunny != 0:
        seen = int(sun_seen(geometry, sky, eye.world, light.spot))
    ambient_out[camera, row, column] = light.ambient
    sun_out[camera, row, column] = light.sun
    spot_out[camera, row, column] = light.spot
    seen_out[camera, row, column] = wp.int8(seen)
    depth_out[camera, row, column] = light.t


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
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    # First pass in:
    ambient: wp.array3d[wp.vec3],
    sun: wp.array3d[wp.vec3],
    spot: wp.array3d[wp.vec3],
    seen: wp.array3d[wp.int8],
    # Images out:
    light_out: wp.array3d[wp.vec3],
    display_out: wp.array3d[wp.vec3],
    border_out: wp.array3d[wp.int8],
):
    width = ambient.shape[2]
    height = ambient.shape[1]
    place = image_place(offset + wp.tid(), width, height)
    camera, row, column = place[0], place[1], place[2]
    part = wp.max(float(seen[camera, row, column]), 0.0)
    border = int(0)
    if sky.rays.shape[0] > 0:
        if near_border(seen, camera, row, column, height // 24):
            border = 1
            if seen[camera, row, column] >= wp.int8(0):
                part = sun_part_seen(geometry, sky, eyes[camera].world, spot[camera, row, column])
    color = ambient[camera, row, column] + part * sun[camera, row, column]
    color = wp.min(color, wp.vec3(1.0))
    light_out[camera, row, column] = color
    display_out[camera, row, column] = display(color)
    border_out[camera, row, column] = wp.int8(border)


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


@wp.kernel
def resolve(
    offset: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    sky: Sky,
    far: float,
    samples: int,
    # Second pass in:
    light: wp.array3d[wp.vec3],
    shown: wp.array3d[wp.vec3],
    border: wp.array3d[wp.int8],
    # Image out:
    rgb_out: wp.array3d[wp.vec3ub],
):
    width = light.shape[2]
    height = light.shape[1]
    place = image_place(offset + wp.tid(), width, height)
    camera, row, column = place[0], place[1], place[2]
    value = shown[camera, row, column]
    if samples > 1:
        if is_edge(shown, camera, row, column):
            eye = eyes[camera]
            total = light[camera, row, column]
            for k in range(1, samples):
                # Roberts' R2 sequence: any number of points, evenly spread, the first at the centre.
                x = 0.5 + 0.7548777 * float(k)
                y = 0.5 + 0.5698403 * float(k)
                x = float(column) + x - wp.floor(x)
                y = float(row) + y - wp.floor(y)
                got = sample(geometry, sky, eye, x, y, width, height, far)
                part = float(0.0)
                if got.sunny != 0:
                    if border[camera, row, column] == wp.int8(0):
                        part = sun_seen(geometry, sky, eye.world, got.spot)
                    else:
                        part = sun_part_seen(geometry, sky, eye.world, got.spot)
                total += wp.min(got.ambient + part * got.sun, wp.vec3(1.0))
            value = display(total / float(samples))
    rgb_out[camera, row, column] = wp.vec3ub(byte(value[0]), byte(value[1]), byte(value[2]))

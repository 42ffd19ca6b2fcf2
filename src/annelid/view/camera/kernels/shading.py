"""From what a ray meets to a colour: one sun with shadows, a sky, a grid on the ground.

`shadows` casts a ray through each pixel's centre and one to the sun; `softening` and `refining` smooth what has steps.
Light is added up linearly and encoded for the display (sRGB) at the very end.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.blocks import Near, cast_near, eye_beam, near_all, near_beam
from annelid.view.camera.kernels.rays import (
    LINE,
    MESH,
    NOTHING,
    PLANE,
    Eye,
    Geometry,
    Hit,
    Ray,
    eye_ray,
)
from annelid.view.camera.kernels.staging import table_color

wp.set_module_options({"enable_backward": False})


@wp.struct
class Sky:
    """Light of a scene, in linear values."""

    sun: wp.vec3  # unit vector towards the sun
    shadows: wp.int32
    rays: wp.array[wp.vec3]  # unit vectors to points of its disc, the rim first; none for hard shadows
    spread: wp.float32  # how far the components of these are from those of `sun`
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
    plane: wp.int32  # number of the plane that it comes from, from 1
    t: wp.float32


@wp.func
def background(sky: Sky, direction: wp.vec3) -> wp.vec3:
    height = wp.clamp(wp.dot(wp.normalize(direction), sky.up) * 2.0, 0.0, 1.0)
    return wp.lerp(sky.horizon, sky.zenith, height)


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
def plane_grid(geometry: wp.array[Geometry], hit: Hit, ray: Ray, right: wp.vec3, down: wp.vec3) -> float:
    """Darkness of the grid lines in a pixel of a plane, in [0, 1]; `right` and `down` are the sides of the pixel."""
    normal = hit.normal
    lines = 1.0 / geometry[0].grid_pitch
    first = lines * geometry[0].plane_axes[hit.index]
    second = wp.cross(normal, first)
    here = ray.origin + hit.t * ray.direction
    u = wp.dot(here, first)
    v = wp.dot(here, second)
    u_free = wp.abs(u - wp.rint(u))
    v_free = wp.abs(v - wp.rint(v))
    # Most pixels touch no line, as wide as a slanting pixel may be; the widest lines are five times 0.006.
    slope = 1.0 / wp.dot(ray.direction, normal)
    reach = lines * wp.length(right) * wp.length(ray.direction) * wp.abs(slope)
    if wp.min(u_free, v_free) - reach > 0.0151:
        return 0.0
    # The sides of the pixel, cast along the ray onto the plane.
    along = slope * ray.direction
    right -= wp.dot(right, normal) * along
    down -= wp.dot(down, normal) * along
    u_span = wp.abs(wp.dot(right, first)) + wp.abs(wp.dot(down, first))
    v_span = wp.abs(wp.dot(right, second)) + wp.abs(wp.dot(down, second))
    if wp.min(u_free - 0.5 * u_span, v_free - 0.5 * v_span) > 0.0151:
        return 0.0
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
    return geometry[0].sphere_colors[hit.index]


@wp.func
def smooth_normal(geometry: wp.array[Geometry], hit: Hit, point: wp.vec3) -> wp.vec3:
    if hit.kind == MESH:
        a = geometry[0].corner_normals[3 * hit.index]
        b = geometry[0].corner_normals[3 * hit.index + 1]
        c = geometry[0].corner_normals[3 * hit.index + 2]
        return wp.normalize(hit.u * a + hit.v * b + (1.0 - hit.u - hit.v) * c)
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
def sky_light(sky: Sky, normal: wp.vec3) -> wp.vec3:
    """Light that a surface receives from all around, but not from the sun."""
    return wp.lerp(sky.ground_light, sky.zenith_light, 0.5 + 0.5 * wp.dot(normal, sky.up))


@wp.func
def lift(hit: Hit, ray: Ray, point: wp.vec3) -> float:
    """Off the surface by more than float32 resolves at this place and at this distance."""
    return 2.0e-4 * hit.t * wp.length(ray.direction) + 1.0e-6 * wp.length(point)


@wp.func
def body_light(geometry: wp.array[Geometry], sky: Sky, hit: Hit, ray: Ray) -> Light:
    """Light from anything but a plane."""
    point = ray.origin + hit.t * ray.direction
    normal = smooth_normal(geometry, hit, point)
    flat = normal
    if hit.kind == MESH:
        flat = hit.normal
    side = wp.where(wp.dot(flat, ray.direction) > 0.0, -1.0, 1.0)
    flat *= side
    normal *= side
    facing = wp.dot(normal, sky.sun)
    color = surface_color(geometry, hit)
    light = Light()
    light.ambient = wp.cw_mul(color, sky_light(sky, normal))
    if facing > 0.0:
        light.sunny = 1
        light.sun = facing * wp.cw_mul(color, sky.sun_light)
        if hit.kind == MESH:
            light.spot = above_facet(geometry, hit, point, side) + lift(hit, ray, point) * flat
        else:
            light.spot = point + lift(hit, ray, point) * flat
    return light


@wp.func
def plane_light(geometry: wp.array[Geometry], sky: Sky, eye: Eye, hit: Hit, ray: Ray, height: int) -> Light:
    """Light from a plane, which carries a grid and fades into the background."""
    point = ray.origin + hit.t * ray.direction
    pixel = 2.0 * eye.half_height / float(height) * wp.where(eye.orthographic != 0, 1.0, hit.t)
    clear = 1.0 - 0.30 * plane_grid(geometry, hit, ray, pixel * eye.right, pixel * eye.up)
    haze = float(0.0)
    if eye.focus > 0.0:
        away = wp.length_sq(point - eye.position - eye.focus * eye.forward)
        if away > 0.64 * eye.focus * eye.focus:
            haze = wp.smoothstep(0.8, 6.0, wp.sqrt(away) / eye.focus)
            clear *= 1.0 - haze
    color = clear * geometry[0].plane_colors[hit.index]
    facing = wp.dot(hit.normal, sky.sun)
    light = Light()
    light.plane = hit.index + 1
    light.ambient = wp.cw_mul(color, sky_light(sky, hit.normal))
    if haze > 0.0:
        light.ambient += haze * background(sky, ray.direction)
    if facing > 0.0:
        light.sunny = 1
        light.sun = facing * wp.cw_mul(color, sky.sun_light)
        light.spot = point + lift(hit, ray, point) * hit.normal
    return light


@wp.func
def sample(
    geometry: wp.array[Geometry],
    near: Near,
    lists: wp.array[wp.int32],
    sky: Sky,
    eye: Eye,
    x: float,
    y: float,
    width: int,
    height: int,
    far: float,
) -> Light:
    """Light at an image point."""
    ray = eye_ray(eye, x, y, width, height)
    hit = cast_near(geometry, near, lists, eye.world, ray.origin, ray.direction, far)
    light = Light()
    if hit.kind == PLANE:
        light = plane_light(geometry, sky, eye, hit, ray, height)
    elif hit.kind == NOTHING:
        light.ambient = background(sky, ray.direction)
    else:
        light = body_light(geometry, sky, hit, ray)
    light.t = hit.t
    return light


@wp.func
def encoded(x: float) -> float:
    """The sRGB curve; its power 1 / 2.4 by a polynomial in the fourth root, less than 1e-5 away and far quicker."""
    y = wp.clamp(x, 0.0, 1.0)
    r = wp.sqrt(wp.sqrt(y))
    curve = ((((-0.0681444 * r + 0.2895239) * r - 0.5774717) * r + 1.2553980) * r + 0.1620280) * r - 0.0613404
    return wp.where(y <= 0.0031308, 12.92 * y, curve)


@wp.func
def display(color: wp.vec3) -> wp.vec3:
    return wp.vec3(encoded(color[0]), encoded(color[1]), encoded(color[2]))


@wp.func
def decoded(value: wp.vec3) -> wp.vec3:
    """Linear light of a display value; the inverse of `display`."""
    light = wp.vec3(0.0)
    for i in range(3):
        y = value[i]
        light[i] = wp.where(y <= 0.04045, y / 12.92, wp.pow((y + 0.055) / 1.055, 2.4))
    return light


@wp.func
def seen_by_block(
    geometry: wp.array[Geometry],
    eye: Eye,
    far: float,
    place: wp.vec3i,
    side: int,
    width: int,
    height: int,
    block: int,
    lists: wp.array[wp.int32],
) -> Near:
    """What the pixels of a block may show; one pixel alone asks the trees itself."""
    if side == 1:
        return near_all()
    beam = eye_beam(eye, place[1], place[2], side, width, height)
    return near_beam(geometry, eye.world, beam, far, block, lists)

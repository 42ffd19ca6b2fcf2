"""Contact of voxels with obstacles: a spring and dashpot on the depth, static and kinetic friction.

Distances are float64, from where a voxel was built and how far it moved: what a stiff body sinks in is less than
float32 has digits for.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import BOX, PLANE, SPHERE
from annelid.shapes.kernels.surfaces import mixed
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@wp.func
def height_at(x: int, y: int, counts: wp.vec2i, first: int, heights: wp.array[wp.float32]) -> wp.float64:
    """A height of the grid, that of the rim beyond it."""
    column, row = wp.clamp(x, 0, counts[0] - 1), wp.clamp(y, 0, counts[1] - 1)
    return wp.float64(heights[first + column * counts[1] + row])


@wp.func
def over_heights(
    place: wp.vec3d, corner: wp.vec3d, spacing: wp.vec3d, counts: wp.vec2i, first: int, heights: wp.array[wp.float32]
) -> wp.vec4d:
    """Normal of a field of heights and the distance from its tangent plane."""
    a, b = (place[0] - corner[0]) / spacing[0], (place[1] - corner[1]) / spacing[1]
    x, y = int(wp.floor(a)), int(wp.floor(b))
    p, q = a - wp.float64(x), b - wp.float64(y)
    h00, h10 = height_at(x, y, counts, first, heights), height_at(x + 1, y, counts, first, heights)
    h01, h11 = height_at(x, y + 1, counts, first, heights), height_at(x + 1, y + 1, counts, first, heights)
    low, high = h00 + (h10 - h00) * p, h01 + (h11 - h01) * p
    along = ((h10 - h00) * (wp.float64(1.0) - q) + (h11 - h01) * q) / spacing[0]
    n = wp.normalize(wp.vec3d(-along, (low - high) / spacing[1], wp.float64(1.0)))
    return wp.vec4d(n[0], n[1], n[2], (place[2] - corner[2] - low - (high - low) * q) * n[2])


@wp.func
def from_box(place: wp.vec3d, center: wp.vec3d, half: wp.vec3d, turn: wp.mat33d) -> wp.vec4d:
    """Direction away from a box and the distance from it, negative inside."""
    local = wp.transpose(turn) * (place - center)
    zero = wp.float64(0.0)
    away = wp.vec3d()
    axis, nearest = int(0), wp.float64(-1.0e30)
    for k in range(3):
        beyond = wp.abs(local[k]) - half[k]
        away[k] = wp.max(beyond, zero) * wp.sign(local[k])
        if beyond > nearest:
            axis, nearest = k, beyond
    n = wp.vec3d()
    distance = wp.length(away)
    if distance > zero:
        n = away / distance
    else:
        distance = nearest
        n[axis] = wp.sign(local[axis])
    world = turn * n
    return wp.vec4d(world[0], world[1], world[2], distance)


@once
def surface_of(real: Any) -> wp.Function:
    """Where the surface of an obstacle is from a point."""
    types = layout(real)
    Tables, Obstacle = types.Tables, types.Obstacle

    @wp.func
    def surface(place: wp.vec3d, one: Obstacle, tables: Tables) -> wp.vec4d:
        """Unit vector away from an obstacle and the distance of a point from it."""
        if one.kind == wp.static(PLANE):
            n = one.place
            return wp.vec4d(n[0], n[1], n[2], wp.dot(n, place) - one.size)
        if one.kind == wp.static(SPHERE):
            away = place - one.place
            n = wp.normalize(away)
            return wp.vec4d(n[0], n[1], n[2], wp.length(away) - one.size)
        if one.kind == wp.static(BOX):
            return from_box(place, one.place, one.extent, one.turn)
        return over_heights(place, one.place, one.extent, one.counts, one.first, tables.heights)

    return surface


@once
def contact_of(real: Any) -> wp.Function:
    """Velocity of a voxel after a step with a force, in which it may touch obstacles."""
    types = layout(real)
    vec3, Voxel, Tables, Motion = types.vec3, types.Voxel, types.Tables, types.Motion
    surface = surface_of(real)

    @wp.func
    def contact(i: int, voxel: Voxel, given: vec3, u: vec3, v: vec3, dt: real, tables: Tables, motion: Motion) -> vec3:
        force = given
        place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
        reach = wp.float64(0.5) * tables.sides[i] * wp.float64(motion.sizes[i])
        deepest, most, normal = int(-1), real(0.0), vec3()
        for k in range(tables.obstacles.shape[0]):
            one = tables.obstacles[k]
            met = surface(place, one, tables)
            depth = real(reach - met[3])
            if depth >= real(0.0):
                away = vec3(real(met[0]), real(met[1]), real(met[2]))
                stiff = real(voxel.press)
                if one.press >= real(0.0):
                    stiff = one.press
                push = stiff * depth
                force += (push - voxel.press_damp * wp.dot(v, away)) * away
                if deepest < 0 or push > most:
                    deepest, most, normal = k, push, away
        if deepest < 0:
            motion.stuck[i] = 0
            return v + force * (voxel.per_mass * dt)
        holds, rubs = (
            mixed(voxel.holds, tables.obstacles[deepest].holds),
            mixed(voxel.rubs, tables.obstacles[deepest].rubs),
        )
        stuck = int(motion.stuck[i])
        friction = vec3()
        if stuck == 1:
            along = force - wp.dot(force, normal) * normal
            if wp.length(along) > holds * most:
                stuck = 0
        else:
            friction = -rubs * most * wp.normalize(v - wp.dot(v, normal) * normal)
            force += friction
        result = v + force * (voxel.per_mass * dt)
        up = wp.dot(result, normal) * normal
        sliding = result - up
        if real(0.5) * voxel.mass * wp.dot(sliding, sliding) + dt * wp.dot(friction, sliding) <= real(0.0):
            stuck = 1
        if stuck == 1:
            result = up
        motion.stuck[i] = stuck
        return result

    return contact

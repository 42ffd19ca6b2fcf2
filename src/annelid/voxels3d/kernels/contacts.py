"""Contact of voxels with obstacles: a spring and dashpot on the depth, static and kinetic friction.

A voxel whose centre would go below the core of an obstacle that is not free, or leave it on another side than it came
from, is stopped: from the middle on the spring would drive it out there.

Distances are float64, from where a voxel was built and how far it moved: what a stiff body sinks in is less than
float32 has digits for.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.form import ENDLESS
from annelid.shapes.kernels.free_bodies import Wrench
from annelid.shapes.kernels.gaps import GRID, ONE_SIDED
from annelid.shapes.kernels.geometry import surface_at
from annelid.shapes.kernels.moving import FREE, Moment, carried, moment_at, moved
from annelid.shapes.kernels.surfaces import mixed
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

Moves = tuple[bool, bool]
"""Whether some obstacles move, and whether some of them are free."""

STILL: Moves = (False, False)


@once
def surface_of(real: Any, kinds: tuple[int, ...]) -> wp.Function:
    """Unit vector away from an obstacle and the distance of a point from it; only the `kinds` in use are compiled."""
    types = layout(real)
    Tables, Obstacle = types.Tables, types.Obstacle
    at = surface_at(kinds, wp.float64, still=True)

    @wp.func
    def surface(place: wp.vec3d, one: Obstacle, tables: Tables) -> wp.vec4d:
        return at(one.geometry, one.place, one.turn, tables.grid_values, place)

    return surface


@once
def moment_of(real: Any) -> wp.Function:
    """Where an obstacle that moves is at a step in the world of a voxel."""
    types = layout(real)
    Tables, Motion, Obstacle = types.Tables, types.Motion, types.Obstacle

    @wp.func
    def moment(i: int, one: Obstacle, now: wp.int64, tables: Tables, motion: Motion) -> Moment:
        world = tables.world_of[i]
        return moment_at(tables.motions, one.track, wp.float64(now), motion.origins[world], world, tables.dt)

    return moment


@once
def note_of(real: Any) -> wp.Function:
    """Note another force of a voxel on a free obstacle [N]; both meet at the centre of the voxel."""
    types = layout(real)
    vec3, Voxel, Tables, Obstacle = types.vec3, types.Voxel, types.Tables, types.Obstacle

    @wp.func
    def note(i: int, voxel: Voxel, one: Obstacle, place: wp.vec3d, force: vec3, tables: Tables):
        slot = i * tables.free[0].bodies.shape[0] + one.body
        wrench = tables.free[0].wrenches[slot]
        own = wp.vec3d(wp.float64(force[0]), wp.float64(force[1]), wp.float64(force[2]))
        wrench.force = wrench.force + own
        wrench.torque = wrench.torque + wp.cross(place - one.place, own)
        wrench.mass = wp.float64(voxel.mass)
        tables.free[0].wrenches[slot] = wrench

    return note


@once
def contact_of(real: Any, kinds: tuple[int, ...], moving: bool = False, free: bool = False) -> wp.Function:
    """Velocity of a voxel after a step with a force, in which it may touch obstacles.

    Some of these are `moving`, and some of them are `free`: what the voxel does to them is noted.
    """
    types = layout(real)
    vec3, Voxel, Tables, Motion = types.vec3, types.Voxel, types.Tables, types.Motion
    surface = surface_of(real, kinds)
    moment_at_step, move, velocity_at = moment_of(real), moved(types.Obstacle, wp.float64), carried(wp.float64)
    note, Obstacle = note_of(real), types.Obstacle

    @wp.func
    def stop(
        i: int, k: int, voxel: Voxel, place: wp.vec3d, v: vec3, dt: real, now: wp.int64, tables: Tables, motion: Motion
    ) -> vec3:  # fmt: skip
        one = tables.obstacles[k]
        if one.core >= wp.float64(wp.static(ENDLESS)) or one.track[1] == wp.static(FREE):  # free ones yield
            return v
        seen = v  # as the obstacle sees it
        if wp.static(moving):
            if one.track[1] > 0:
                moment = moment_at_step(i, one, now, tables, motion)
                one = move(one, moment)
                there = velocity_at(moment, place)
                seen = v - vec3(real(there[0]), real(there[1]), real(there[2]))
        met = surface(place, one, tables)
        normal = vec3(real(met[0]), real(met[1]), real(met[2]))
        into = wp.dot(normal, seen)
        if into >= real(0.0) or met[3] + wp.float64(into * dt) >= wp.float64(0.0):
            return v
        way = seen * dt
        left = surface(place + wp.vec3d(wp.float64(way[0]), wp.float64(way[1]), wp.float64(way[2])), one, tables)
        least = wp.where(one.geometry.kind == wp.static(GRID), wp.float64(0.5), wp.float64(0.0))  # its slope is smooth
        same = met[0] * left[0] + met[1] * left[1] + met[2] * left[2] >= least
        if same and left[3] > -one.core:
            return v
        slide = seen - normal * into
        slower = wp.min(mixed(voxel.rubs, one.rubs) * -into / wp.max(wp.length(slide), real(1.0e-20)), real(1.0))
        return v - normal * into - slide * slower

    @wp.func
    def held(
        i: int, voxel: Voxel, place: wp.vec3d, v: vec3, dt: real, now: wp.int64, tables: Tables, motion: Motion
    ) -> vec3:  # fmt: skip
        result = v
        if wp.static(any(kind not in ONE_SIDED for kind in kinds)):
            for k in range(tables.obstacles.shape[0]):
                result = stop(i, k, voxel, place, result, dt, now, tables, motion)
        return result

    @wp.func
    def contact(
        i: int, voxel: Voxel, given: vec3, u: vec3, v: vec3, dt: real, now: wp.int64, tables: Tables, motion: Motion
    ) -> vec3:  # fmt: skip
        force = given
        place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
        reach = wp.float64(0.5) * tables.sides[i] * wp.float64(motion.sizes[i])
        deepest, most, normal, ground = int(-1), real(0.0), vec3(), vec3()
        share = real(1.0)
        if wp.static(free):
            rubbed = Obstacle()
        for k in range(tables.obstacles.shape[0]):
            one = tables.obstacles[k]
            below = vec3()  # velocity of the obstacle there
            if wp.static(moving):
                if one.track[1] != 0:
                    moment = moment_at_step(i, one, now, tables, motion)
                    one = move(one, moment)
                    there = velocity_at(moment, place)
                    below = vec3(real(there[0]), real(there[1]), real(there[2]))
            if wp.static(free):
                mine, soft, less = real(1.0), real(1.0), real(1.0)
                if one.track[1] == wp.static(FREE):
                    slot = tables.world_of[i] * tables.free[0].bodies.shape[0] + one.body
                    tables.free[0].wrenches[i * tables.free[0].bodies.shape[0] + one.body] = Wrench()
                    load = wp.max(real(moment.load), voxel.mass)
                    mine = real(1.0) / (real(1.0) + load * one.most)
                    soft = tables.softer[slot]
                    less = wp.sqrt(soft / (real(1.0) + load * one.give))
            met = surface(place, one, tables)
            depth = real(reach - met[3])
            if depth >= real(0.0):
                away = vec3(real(met[0]), real(met[1]), real(met[2]))
                stiff = real(voxel.press)
                damp = real(voxel.press_damp)
                if wp.static(free):
                    stiff = stiff * soft
                    damp = damp * less
                if one.press >= real(0.0):
                    stiff = one.press
                push = stiff * depth
                pressing = (push - damp * wp.dot(v - below, away)) * away
                force += pressing
                if deepest < 0 or push > most:
                    deepest, most, normal, ground = k, push, away, below
                    if wp.static(free):
                        share = mine
                        rubbed = one
                if wp.static(free):
                    if one.track[1] == wp.static(FREE):
                        note(i, voxel, one, place, -pressing, tables)
        if deepest < 0:
            motion.stuck[i] = 0
            return held(i, voxel, place, v + force * (voxel.per_mass * dt), dt, now, tables, motion)
        holds, rubs = (
            mixed(voxel.holds, tables.obstacles[deepest].holds),
            mixed(voxel.rubs, tables.obstacles[deepest].rubs),
        )
        give = voxel.per_mass * dt
        result = v + force * give - ground
        up = wp.dot(result, normal) * normal
        slide = result - up
        speed = wp.length(slide)
        before = slide
        most = most * give  # speed that a friction of 1 takes in a step
        stuck = int(0)
        if share * speed <= wp.where(motion.stuck[i] == 1, holds, rubs) * most:
            stuck = 1
            slide = vec3()
            if wp.static(free):
                slide = before * (real(1.0) - share)
        else:
            slide = slide * wp.max(real(1.0) - rubs * most / speed, real(0.0))
        if wp.static(free):
            if rubbed.track[1] == wp.static(FREE):
                note(i, voxel, rubbed, place, (before - slide) / give, tables)
        motion.stuck[i] = stuck
        return held(i, voxel, place, up + slide + ground, dt, now, tables, motion)

    return contact

"""Points of free bodies of many worlds against other rigid things, by the law of the nodes.

Balls and capsules are points with a radius: they rub where they touch, as `contact.rolling` says.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_contact import (
    LAGS,
    Met,
    keep,
    lag_of,
    lingers,
    meet,
    near_to,
    put_contact,
    times_tangent,
    trial_of,
)
from annelid.fem.kernels.batch_poses import Bodies, Things, centre_of, moved
from annelid.fem.kernels.batch_vectors import vector_of
from annelid.fem.kernels.batch_ways import Prices, contact_energy, length_of, motion_of
from annelid.fem.kernels.contact import along
from annelid.fem.kernels.obstacles import Forms, Poses, free_part, in_frame

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64


@wp.struct
class BodyPoints:
    """Points of bodies that touch other rigid things; pairs are points times obstacles, obstacles the fastest."""

    forms: Forms
    local: wp.array[wp.vec3d]  # in the frame of their body [m]
    owners: wp.array[wp.int32]  # the obstacle that each belongs to
    skins: wp.array[f64]  # [m] the radius of a ball, 0 for what is not round
    frictions: wp.array[f64]  # of each pair [-]
    reach: f64  # [m]


@wp.struct
class PointTouches:
    """What contacts do to points of bodies, in all worlds."""

    on: wp.array2d[wp.int32]  # whether a pair touches, shape [p o, worlds]
    forces: wp.array2d[f32]  # on the point [N], shape [3 p o, worlds]
    tangents: wp.array2d[f32]  # [N/m], shape [6 p o, worlds]


@wp.func
def point_at(points: BodyPoints, things: Things, p: int, w: int, first: int, poses: Poses) -> wp.vec3d:
    """Where a point of a body of a world is, among poses of obstacles that begin at a row."""
    row = first + points.owners[p]
    return poses.places[row] + wp.quat_rotate(poses.turns[row], size_of(points, things, p, w) * points.local[p])


@wp.func
def size_of(points: BodyPoints, things: Things, p: int, w: int) -> f64:
    """Size of the body of a point in a world."""
    return things.sizes[w * points.forms.kinds.shape[0] + points.owners[p]]


@wp.func
def point_at_first(points: BodyPoints, things: Things, p: int, w: int) -> wp.vec3d:
    """The same at the beginning of the step."""
    row = w * points.forms.kinds.shape[0] + points.owners[p]
    return things.places[row] + wp.quat_rotate(things.turns[row], things.sizes[row] * points.local[p])


@wp.func
def turned(before: wp.quatd, now: wp.quatd) -> wp.vec3d:
    """Rotation vector from one turn to another."""
    turn = now * wp.quat_inverse(before)
    axis = wp.vec3d(turn[0], turn[1], turn[2])
    if turn[3] < f64(0.0):
        axis = -axis
    sine = wp.length(axis)
    factor = f64(2.0)
    if sine > f64(1.0e-12):
        factor = f64(2.0) * wp.atan2(sine, wp.abs(turn[3])) / sine
    return factor * axis


@wp.func
def rolled(
    points: BodyPoints, things: Things, p: int, b: int, w: int, first: int, poses: Poses, normal: wp.vec3d
) -> wp.vec3d:
    """How far the surface of a ball has gone by its turn, seen from an obstacle [m]; 0 for what is not round."""
    way = wp.vec3d()
    skin = size_of(points, things, p, w) * points.skins[p]
    if skin > f64(0.0):
        begun = w * points.forms.kinds.shape[0]
        own = turned(things.turns[begun + points.owners[p]], poses.turns[first + points.owners[p]])
        other = turned(things.turns[begun + b], poses.turns[first + b])
        way = wp.cross(other - own, skin * normal)
    return way


@wp.func
def unit(gradient: wp.vec3d) -> wp.vec3d:
    return gradient / wp.max(wp.length(gradient), f64(1.0e-12))


@wp.func
def place_of_contact(points: BodyPoints, things: Things, p: int, b: int, w: int, x: wp.vec3d, now: Poses) -> wp.vec3d:
    """Where a point touches an obstacle [m]: a ball by its surface."""
    found = x
    skin = size_of(points, things, p, w) * points.skins[p]
    if skin > f64(0.0):
        row = w * points.forms.kinds.shape[0] + b
        near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], points.forms)
        found = x - skin * unit(near.gradient)
    return found


@wp.kernel
def touch_bodies(
    # Parameters:
    newton: int, points: BodyPoints,
    # State in:
    running: wp.array[wp.int32], now: Poses, things: Things, stretches: wp.array[wp.vec3d],
    forces: wp.array[wp.vec3d],
    # State in place:
    lagging: wp.array2d[f32],
    # State out:
    touches_out: PointTouches,
):  # fmt: skip
    """Forces and tangents of all obstacles on one point of a body."""
    p, w = wp.tid()
    if running[w] == 0:
        return
    count = points.forms.kinds.shape[0]
    start = point_at_first(points, things, p, w)
    x = point_at(points, things, p, w, w * count, now)
    skin = size_of(points, things, p, w) * points.skins[p]
    for b in range(count):
        row = w * count + b
        slot = p * count + b
        met = Met()
        touching = int(0)
        if b != points.owners[p]:
            near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], points.forms)
            lag = lag_of(lagging, slot, w)
            if near.gap - skin < points.reach or lingers(newton, lag):
                touching = 1
                pair = (w * points.local.shape[0] + p) * count + b
                met = meet(
                    newton, things, row, now.places[row], now.turns[row], near,
                    skin, points.reach, points.forms.stiffnesses[b], things.frictions[w] * points.frictions[slot],
                    lag, stretches[pair], forces[pair], start,
                    x + rolled(points, things, p, b, w, w * count, now, unit(near.gradient)),
                )  # fmt: skip
                put_contact(touches_out.forces, touches_out.tangents, slot, w, met.force, met.tangent)
        touches_out.on[slot, w] = touching
        for j in range(wp.static(LAGS)):
            lagging[wp.static(LAGS) * slot + j, w] = met.last[j]


@wp.kernel
def free_bodies(
    # Parameters:
    first: int, points: BodyPoints,
    # State in:
    active: wp.array[wp.int32], now: Poses, ahead: Poses, things: Things,
    # State out:
    parts_out: wp.array2d[f32],
):  # fmt: skip
    """Part of its step on which a point of a body keeps a tenth of its gap from everything."""
    p, w = wp.tid()
    part = f64(1.0)
    if active[w] != 0:
        count = points.forms.kinds.shape[0]
        x = point_at(points, things, p, w, w * count, now)
        skin = size_of(points, things, p, w) * points.skins[p]
        there = point_at(points, things, p, w, w * count, ahead)
        for b in range(count):
            if b != points.owners[p]:
                row = w * count + b
                size = things.sizes[row]
                begin = in_frame(x, now.places[row], now.turns[row]) / size
                end = in_frame(there, ahead.places[row], ahead.turns[row]) / size
                part = wp.min(part, free_part(b, begin, end, skin / size, points.forms))
    parts_out[first + p, w] = f32(part)


@wp.kernel
def price_bodies(
    # Parameters:
    lengths: int, worlds: int, chunk: int, bodies: Bodies, points: BodyPoints,
    # State in:
    active: wp.array[wp.int32], part: wp.array[f32], now: Poses, then: Poses, things: Things,
    stretches: wp.array[wp.vec3d], steps: wp.array2d[f32], lagging: wp.array2d[f32], touches: PointTouches,
    # State out:
    prices_out: wp.array2d[f32],
):  # fmt: skip
    """How much more contacts of points of bodies cost a part of a step further on than their tangent says [J]."""
    w = wp.tid()
    if active[w] == 0:
        return
    count = points.forms.kinds.shape[0]
    prices = Prices()
    for p in range(points.local.shape[0]):
        owner = points.owners[p]
        centre = moved(steps, centre_of(bodies, bodies.slots[owner]), w)
        rotation = moved(steps, centre_of(bodies, bodies.slots[owner]) + 1, w)
        x = point_at(points, things, p, w, w * count, now)
        skin = size_of(points, things, p, w) * points.skins[p]
        start = point_at_first(points, things, p, w)
        for b in range(count):
            row = w * count + b
            slot = p * count + b
            if b != owner:
                near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], points.forms)
                normal = unit(near.gradient)
                touched = x - skin * normal
                apart = centre + wp.cross(rotation, touched - now.places[w * count + owner])
                if bodies.slots[b] >= 0:
                    apart -= motion_of(bodies, bodies.slots[b], touched - now.places[row], w, steps)
                if touches.on[slot, w] != 0:
                    slope = f64(wp.dot(vector_of(touches.forces, slot, w), wp.vec3(apart)))
                    bend = f64(wp.dot(times_tangent(touches.tangents, slot, w, wp.vec3(apart)), wp.vec3(apart)))
                    for j in range(lengths):
                        length = length_of(part[w], j)
                        prices[j] = prices[j] + length * (slope - f64(0.5) * length * bend)
                if near.gap - skin < points.reach + f64(2.0) * wp.length(apart):
                    limit = things.frictions[w] * points.frictions[slot] * f64(lagging[wp.static(LAGS) * slot, w])
                    stretch = stretches[(w * points.local.shape[0] + p) * count + b]
                    turns = rolled(points, things, p, b, w, w * count, now, normal)
                    at_first = trial_of(
                        things, row, normal, stretch, start, x + turns, now.places[row], now.turns[row]
                    )  # fmt: skip
                    here = f64(0.0)
                    for j in range(lengths + 1):
                        part_of = lengths - j
                        place = now.places[row]
                        turn = now.turns[row]
                        there = x
                        trial = at_first
                        if part_of < lengths:
                            first = (part_of * worlds + w) * count
                            place = then.places[first + b]
                            turn = then.turns[first + b]
                            there = point_at(points, things, p, w, first, then)
                            trial = at_first + length_of(part[w], part_of) * along(normal, apart)
                            if bodies.slots[b] < 0:
                                turns = rolled(points, things, p, b, w, first, then, normal)
                                trial = trial_of(things, row, normal, stretch, start, there + turns, place, turn)
                        cost = contact_energy(
                            points.forms, skin, points.reach, things, b, row, place, turn, limit, trial, there
                        )
                        if part_of < lengths:
                            prices[part_of] = prices[part_of] + cost - here
                        else:
                            here = cost
    for j in range(lengths):
        prices_out[lengths * chunk + j, w] = f32(prices[j])


@wp.kernel
def keep_bodies(
    # Parameters:
    points: BodyPoints,
    # State in:
    now: Poses, things: Things,
    # State in place:
    stretches: wp.array[wp.vec3d],
    # State out:
    forces_out: wp.array[wp.vec3d],
):  # fmt: skip
    """What friction keeps at the end of a step, and the force of each pair of point and obstacle."""
    p, w = wp.tid()
    count = points.forms.kinds.shape[0]
    start = point_at_first(points, things, p, w)
    x = point_at(points, things, p, w, w * count, now)
    skin = size_of(points, things, p, w) * points.skins[p]
    for b in range(count):
        pair = (w * points.local.shape[0] + p) * count + b
        if b != points.owners[p]:
            row = w * count + b
            near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], points.forms)
            keep(
                things, row, now.places[row], now.turns[row], near,
                skin, points.reach, points.forms.stiffnesses[b], things.frictions[w] * points.frictions[p * count + b],
                pair, start, x + rolled(points, things, p, b, w, w * count, now, unit(near.gradient)),
                stretches, forces_out,
            )  # fmt: skip

"""Outer nodes of many worlds against rigid things: the law of `kernels.contact`, its tangent summed up for each node.

Gaps are found in double precision, once in an iteration of Newton's method. Obstacles go from where they were to where
they are driven as the nodes go, as far as nothing is in the way: how far each world has got is its progress.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact import along, pushed
from annelid.fem.kernels.contact_law import (
    friction_energy,
    friction_factor,
    kept_stretch,
    push_energy,
    sliding_direction,
)
from annelid.fem.kernels.obstacles import Forms, Nearness, free_part, in_frame, local_nearness

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

SUDDEN = 1.5
"""Push over that of the iteration before above which friction is not yet what it will be."""
SATURATED = 1.01
"""A stretch that is 1 % below what friction holds counts as one that slid in the step before."""
CHUNK = 16
"""Outer nodes of a thread that sums."""
LENGTHS = 9
"""Parts of a step that are compared, each less than the one before by a root of 2."""
WORTHWHILE = 1.0e-3
"""Part of what a step gains that a shorter one must gain beside it."""

Prices = wp.types.vector(length=LENGTHS, dtype=wp.float64)


@wp.struct
class Touched:
    """What all worlds have in common that touch."""

    nodes: wp.int32  # of a solid
    outer: wp.array[wp.int32]  # those that can touch
    forms: Forms
    frictions: wp.array[f64]  # of each obstacle with the solid [-]
    skin: f64  # [m]
    reach: f64  # [m]
    dt: f64  # [s]


@wp.struct
class Things:
    """Obstacles of all worlds at the beginning of a step, world after world, and how they are driven."""

    places: wp.array[wp.vec3d]
    turns: wp.array[wp.quatd]
    velocities: wp.array[wp.vec3d]
    spins: wp.array[wp.vec3d]


@wp.struct
class Touches:
    """What contacts do to the nodes of all worlds."""

    places: wp.array[wp.int32]  # of each node among the outer ones, negative for others
    forces: wp.array2d[f32]  # [N], shape [3 k, worlds]
    tangents: wp.array2d[f32]  # xx, yy, zz, xy, yz, zx [N/m], shape [6 k, worlds]


@wp.func
def touch_force(touches: Touches, i: int, w: int) -> wp.vec3:
    """Force of contacts on a node [N]."""
    force = wp.vec3()
    k = touches.places[i]
    if k >= 0:
        force = wp.vec3(touches.forces[3 * k, w], touches.forces[3 * k + 1, w], touches.forces[3 * k + 2, w])
    return force


@wp.func
def touch_product(touches: Touches, i: int, w: int, way: wp.vec3) -> wp.vec3:
    """How contacts resist motion of a node [N]."""
    product = wp.vec3()
    k = 6 * touches.places[i]
    if k >= 0:
        xy = touches.tangents[k + 3, w]
        yz = touches.tangents[k + 4, w]
        zx = touches.tangents[k + 5, w]
        product = wp.vec3(
            touches.tangents[k, w] * way[0] + xy * way[1] + zx * way[2],
            xy * way[0] + touches.tangents[k + 1, w] * way[1] + yz * way[2],
            zx * way[0] + yz * way[1] + touches.tangents[k + 2, w] * way[2],
        )
    return product


@wp.func
def place_of(things: Things, row: int, time: f64) -> wp.vec3d:
    """Where an obstacle is a time after the beginning of the step."""
    return things.places[row] + time * things.velocities[row]


@wp.func
def turn_of(things: Things, row: int, time: f64) -> wp.quatd:
    """How it is turned then."""
    spin = things.spins[row]
    rate = wp.length(spin)
    turn = things.turns[row]
    if rate > f64(0.0):
        turn = wp.normalize(wp.quat_from_axis_angle(spin / rate, rate * time) * turn)
    return turn


@wp.func
def near_to(b: int, x: wp.vec3d, place: wp.vec3d, turn: wp.quatd, forms: Forms) -> Nearness:
    """How a point of the world stands to an obstacle there."""
    found = local_nearness(b, in_frame(x, place, turn), forms)
    found.gradient = wp.quat_rotate(turn, found.gradient)
    found.straight = wp.quat_rotate(turn, found.straight)
    return found


@wp.func
def contact_energy(
    touched: Touched,
    things: Things,
    b: int,
    row: int,
    time: f64,
    normal: wp.vec3d,
    limit: f64,
    stretch: wp.vec3d,
    start: wp.vec3d,
    x: wp.vec3d,
) -> f64:
    """Energy of the contact of a point with an obstacle, with friction of this limit and plane [J]."""
    place = place_of(things, row, time)
    turn = turn_of(things, row, time)
    gap = local_nearness(b, in_frame(x, place, turn), touched.forms).gap - touched.skin
    stiffness = touched.forms.stiffnesses[b]
    energy = push_energy(gap, touched.reach, stiffness)
    if limit > f64(0.0):
        trial = trial_of(things, row, normal, stretch, start, x, place, turn)
        energy += friction_energy(trial, limit, stiffness)
    return energy


@wp.func
def moved(moves: wp.array2d[f32], i: int, w: int) -> wp.vec3d:
    return wp.vec3d(f64(moves[3 * i, w]), f64(moves[3 * i + 1, w]), f64(moves[3 * i + 2, w]))


@wp.func
def trial_of(
    things: Things,
    row: int,
    normal: wp.vec3d,
    stretch: wp.vec3d,
    start: wp.vec3d,
    x: wp.vec3d,
    place: wp.vec3d,
    turn: wp.quatd,
) -> wp.vec3d:
    """Stretch of the spring of friction if nothing slid [m], along the surface of an obstacle."""
    carried = wp.quat_rotate(turn, wp.quat_rotate_inv(things.turns[row], stretch))
    was = in_frame(start, things.places[row], things.turns[row])
    return along(normal, carried + x - place - wp.quat_rotate(turn, was))


@wp.kernel
def touch_worlds(
    # Parameters:
    newton: int, touched: Touched,
    # State in:
    running: wp.array[wp.int32], progress: wp.array[f32], things: Things,
    stretches: wp.array[wp.vec3d], forces: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d], moves: wp.array2d[f32],
    # State in place:
    lagging: wp.array2d[f32],  # push and stretch of each pair in the iteration before
    # State out:
    touches_out: Touches,
):  # fmt: skip
    """Force and tangent of all obstacles on one node; friction takes limit and plane from where nodes are."""
    k, w = wp.tid()
    if running[w] == 0:
        return
    i = touched.outer[k]
    count = touched.forms.kinds.shape[0]
    start = positions[w * touched.nodes + i]
    x = start + moved(moves, i, w)
    force = wp.vec3d()
    tangent = wp.mat33d()
    time = f64(progress[w]) * touched.dt
    for b in range(count):
        row = w * count + b
        place = place_of(things, row, time)
        turn = turn_of(things, row, time)
        near = near_to(b, x, place, turn, touched.forms)
        slot = k * count + b
        last = wp.vec4()
        if near.gap - touched.skin < touched.reach:
            stiffness = touched.forms.stiffnesses[b]
            push = pushed(near, touched.skin, touched.reach, stiffness)
            force += push.force * near.gradient
            tangent += push.tangent
            pair = (w * touched.outer.shape[0] + k) * count + b
            strength = push.strength
            before = wp.vec3d(wp.vec3(lagging[4 * slot + 1, w], lagging[4 * slot + 2, w], lagging[4 * slot + 3, w]))
            sudden = bool(strength > f64(SUDDEN) * f64(lagging[4 * slot, w]))
            if newton == 0:  # of the step before: where nodes would fly to says little
                strength = wp.max(wp.dot(forces[pair], push.normal), f64(0.0))
                before = f64(SATURATED) * stretches[pair]
                sudden = False
            limit = touched.frictions[b] * strength
            if limit > f64(0.0):
                trial = trial_of(things, row, push.normal, stretches[pair], start, x, place, turn)
                factor = friction_factor(trial, limit, stiffness)
                force -= factor * trial
                across = wp.identity(n=3, dtype=f64) - wp.outer(push.normal, push.normal)
                # What has just begun to slide, turned round, or presses much harder than it did, is taken to resist
                # along its way too: more than it does, so that the step does not overshoot.
                if stiffness * wp.length(before) > limit and wp.dot(before, trial) > f64(0.0) and not sudden:
                    slide = sliding_direction(trial, limit, stiffness)
                    across -= wp.outer(slide, slide)
                tangent += factor * across
                last = wp.vec4(f32(strength), f32(trial[0]), f32(trial[1]), f32(trial[2]))
        for j in range(4):
            lagging[4 * slot + j, w] = last[j]
    for j in range(3):
        touches_out.forces[3 * k + j, w] = f32(force[j])
        touches_out.tangents[6 * k + j, w] = f32(tangent[j, j])
        touches_out.tangents[6 * k + 3 + j, w] = f32(tangent[j, (j + 1) % 3])


@wp.kernel
def free_worlds(
    # Parameters:
    touched: Touched,
    # State in:
    active: wp.array[wp.int32], progress: wp.array[f32], things: Things,
    positions: wp.array[wp.vec3d], moves: wp.array2d[f32], steps: wp.array2d[f32],
    # State out:
    parts_out: wp.array2d[f32],
):  # fmt: skip
    """Part of its step on which a node keeps a tenth of its gap from everything, while obstacles go all their way."""
    k, w = wp.tid()
    part = f64(1.0)
    if active[w] != 0:
        i = touched.outer[k]
        count = touched.forms.kinds.shape[0]
        x = positions[w * touched.nodes + i] + moved(moves, i, w)
        there = x + moved(steps, i, w)
        time = f64(progress[w]) * touched.dt
        for b in range(count):
            row = w * count + b
            first = in_frame(x, place_of(things, row, time), turn_of(things, row, time))
            last = in_frame(there, place_of(things, row, touched.dt), turn_of(things, row, touched.dt))
            part = wp.min(part, free_part(b, first, last, touched.skin, touched.forms))
    parts_out[k, w] = f32(part)


@wp.kernel
def price_worlds(
    # Parameters:
    lengths: int, touched: Touched,
    # State in:
    active: wp.array[wp.int32], part: wp.array[f32], progress: wp.array[f32], things: Things,
    stretches: wp.array[wp.vec3d], positions: wp.array[wp.vec3d], moves: wp.array2d[f32], steps: wp.array2d[f32],
    lagging: wp.array2d[f32], touches: Touches,
    # State out:
    prices_out: wp.array2d[f32],
):  # fmt: skip
    """How much more contacts cost a part of a step further on than their tangent says [J], for some nodes each."""
    chunk, w = wp.tid()
    if active[w] == 0:
        return
    count = touched.forms.kinds.shape[0]
    prices = Prices()
    for k in range(wp.static(CHUNK) * chunk, wp.min(wp.static(CHUNK) * (chunk + 1), touched.outer.shape[0])):
        i = touched.outer[k]
        start = positions[w * touched.nodes + i]
        x = start + moved(moves, i, w)
        way = moved(steps, i, w)
        near_by = wp.vec3(way)
        slope = f64(wp.dot(touch_force(touches, i, w), near_by))
        bend = f64(wp.dot(touch_product(touches, i, w, near_by), near_by))
        for j in range(lengths):
            length = f64(part[w]) * wp.pow(f64(2.0), f64(-0.5) * f64(j))
            prices[j] = prices[j] + length * (slope - f64(0.5) * length * bend)
        for b in range(count):
            row = w * count + b
            time = f64(progress[w]) * touched.dt
            near = near_to(b, x, place_of(things, row, time), turn_of(things, row, time), touched.forms)
            if near.gap - touched.skin < touched.reach + wp.length(way) or progress[w] < 1.0:
                limit = touched.frictions[b] * f64(lagging[4 * (k * count + b), w])
                stretch = stretches[(w * touched.outer.shape[0] + k) * count + b]
                normal = near.gradient / wp.max(wp.length(near.gradient), f64(1.0e-12))
                here = f64(0.0)
                for j in range(lengths + 1):  # the first is where nodes are; not unrolled, since shapes are long
                    part_of = lengths - j
                    length = f64(0.0)
                    if part_of < lengths:
                        length = f64(part[w]) * wp.pow(f64(2.0), f64(-0.5) * f64(part_of))
                    then = (f64(progress[w]) + length * (f64(1.0) - f64(progress[w]))) * touched.dt
                    there = x + length * way
                    cost = contact_energy(touched, things, b, row, then, normal, limit, stretch, start, there)
                    if part_of < lengths:
                        prices[part_of] = prices[part_of] + cost - here
                    else:
                        here = cost
    for j in range(lengths):
        prices_out[lengths * chunk + j, w] = f32(prices[j])


@wp.kernel
def choose_length(
    chunks: int,
    active: wp.array[wp.int32],
    prices: wp.array2d[f32],
    gain: wp.array[f32],  # what the step would gain if contacts were as their tangent says, twice [J]
    part: wp.array[f32],
):
    """Take as much of a step as leads lowest: all but contacts is nearly a parabola along it."""
    w = wp.tid()
    if active[w] == 0:
        return
    best = int(0)
    least = float(0.0)
    for j in range(LENGTHS):
        length = part[w] * wp.pow(2.0, -0.5 * float(j))
        cost = gain[w] * length * (0.5 * length - 1.0)
        for chunk in range(chunks):
            cost += prices[LENGTHS * chunk + j, w]
        if j == 0 or cost < least - WORTHWHILE * gain[w]:
            least = cost
            best = j
    part[w] = part[w] * wp.pow(2.0, -0.5 * float(best))


@wp.kernel
def start_progress(
    count: int,
    parts: wp.array2d[f32],
    part_out: wp.array[f32],
    progress_out: wp.array[f32],
    cut_out: wp.array[wp.int32],
):
    """Let obstacles go as far as the first guess of nodes can be taken."""
    w = wp.tid()
    part = float(1.0)
    for k in range(count):
        part = wp.min(part, parts[k, w])
    part = wp.max(part, 0.0)
    part_out[w] = part
    progress_out[w] = part
    cut_out[w] = wp.where(part < 1.0, 1, 0)


@wp.kernel
def least_free(count: int, parts: wp.array2d[f32], part_out: wp.array[f32]):
    """Part of a step that all nodes of a world can take."""
    w = wp.tid()
    part = float(1.0)
    for k in range(count):
        part = wp.min(part, parts[k, w])
    part_out[w] = wp.max(part, 0.0)


@wp.kernel
def go_further(active: wp.array[wp.int32], part: wp.array[f32], progress: wp.array[f32]):
    """Let obstacles go the same part of what is left of their way as nodes of their step."""
    w = wp.tid()
    if active[w] != 0:
        progress[w] = wp.where(part[w] < 1.0, progress[w] + part[w] * (1.0 - progress[w]), 1.0)


@wp.kernel
def keep_worlds(
    # Parameters:
    touched: Touched,
    # State in:
    progress: wp.array[f32], things: Things, positions: wp.array[wp.vec3d], moves: wp.array2d[f32],
    # State in place:
    stretches: wp.array[wp.vec3d],
    # State out:
    forces_out: wp.array[wp.vec3d],
):  # fmt: skip
    """What friction keeps at the end of a step, and the force of each pair of node and obstacle."""
    k, w = wp.tid()
    i = touched.outer[k]
    count = touched.forms.kinds.shape[0]
    start = positions[w * touched.nodes + i]
    x = start + moved(moves, i, w)
    time = f64(progress[w]) * touched.dt
    for b in range(count):
        row = w * count + b
        pair = (w * touched.outer.shape[0] + k) * count + b
        place = place_of(things, row, time)
        turn = turn_of(things, row, time)
        near = near_to(b, x, place, turn, touched.forms)
        force = wp.vec3d()
        kept = wp.vec3d()
        if near.gap - touched.skin < touched.reach:
            stiffness = touched.forms.stiffnesses[b]
            push = pushed(near, touched.skin, touched.reach, stiffness)
            force = push.force * near.gradient
            limit = touched.frictions[b] * push.strength
            if limit > f64(0.0):
                trial = trial_of(things, row, push.normal, stretches[pair], start, x, place, turn)
                force -= friction_factor(trial, limit, stiffness) * trial
                kept = kept_stretch(trial, limit, stiffness)
        forces_out[pair] = force
        stretches[pair] = kept


@wp.kernel
def end_things(
    dt: f64,
    count: int,  # obstacles of a world
    progress: wp.array[f32],
    cut: wp.array[wp.int32],
    things: Things,
    cuts: wp.array[wp.int64],
):
    """Leave obstacles where they have got to, and count steps that were cut short."""
    b, w = wp.tid()
    row = w * count + b
    time = f64(progress[w]) * dt
    turn = turn_of(things, row, time)
    things.places[row] = place_of(things, row, time)
    things.turns[row] = turn
    if b == 0 and cut[w] != 0:
        cuts[w] = cuts[w] + wp.int64(1)

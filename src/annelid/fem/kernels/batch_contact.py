"""Points of many worlds against rigid things: the law of `kernels.contact`, its tangent summed up for each node.

Gaps are found in double precision, once in an iteration of Newton's method. Obstacles go from where they were to where
they are driven as the nodes go, as far as nothing is in the way: how far each world has got is its progress.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_poses import Bodies, Things, centre_of, flown, moved
from annelid.fem.kernels.batch_vectors import vector_of
from annelid.fem.kernels.contact import along, pushed
from annelid.fem.kernels.contact_law import friction_factor, kept_stretch, sliding_direction
from annelid.fem.kernels.obstacles import Forms, Nearness, Poses, in_frame, local_nearness

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

SUDDEN = 1.5
"""Push over that of the iteration before above which friction is not yet what it will be."""
FAR_LESS = 0.5
"""Of the slide of the iteration before, a slide that is about to end."""
CALM = 4
"""Iteration of Newton's method from which on circles are looked for: fewer iterations than that come nearer without."""
LEAST_SHARE = 0.25
"""Of what a push that goes up and down differs from the one before, what is taken at least."""
SATURATED = 1.01
"""A stretch that is 1 % below what friction holds counts as one that slid in the step before."""


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
class Touches:
    """What contacts do to the nodes of all worlds, and to free bodies: pairs are nodes times bodies."""

    places: wp.array[wp.int32]  # of each node among the outer ones, negative for others
    forces: wp.array2d[f32]  # [N], shape [3 k, worlds]
    tangents: wp.array2d[f32]  # xx, yy, zz, xy, yz, zx [N/m], shape [6 k, worlds]
    bodies: wp.int32  # how many there are
    first: wp.int32  # the node that is the centre of the first
    on: wp.array2d[wp.int32]  # whether a pair touches, shape [k f, worlds]
    arms: wp.array2d[f32]  # from the centre of a body to a node [m], shape [3 k f, worlds]
    pair_forces: wp.array2d[f32]  # on the node [N], shape [3 k f, worlds]
    pair_tangents: wp.array2d[f32]  # [N/m], shape [6 k f, worlds]


Lag = wp.types.vector(length=5, dtype=wp.float32)
"""Push that limited friction [N], the stretch [m], and by how much that push was another than the one before [N]."""
LAGS = 5


@wp.struct
class Met:
    """A point and an obstacle that touch."""

    force: wp.vec3d  # on the point [N]
    tangent: wp.mat33d  # [N/m]
    last: Lag  # for the iteration to come


@wp.func
def times_tangent(tangents: wp.array2d[f32], k: int, w: int, way: wp.vec3) -> wp.vec3:
    """A symmetric tangent times a vector."""
    xy = tangents[6 * k + 3, w]
    yz = tangents[6 * k + 4, w]
    zx = tangents[6 * k + 5, w]
    return wp.vec3(
        tangents[6 * k, w] * way[0] + xy * way[1] + zx * way[2],
        xy * way[0] + tangents[6 * k + 1, w] * way[1] + yz * way[2],
        zx * way[0] + yz * way[1] + tangents[6 * k + 2, w] * way[2],
    )


@wp.func
def put_contact(
    forces: wp.array2d[f32], tangents: wp.array2d[f32], k: int, w: int, force: wp.vec3d, tangent: wp.mat33d
):
    """Keep force and tangent of a point or a pair."""
    for j in range(3):
        forces[3 * k + j, w] = f32(force[j])
        tangents[6 * k + j, w] = f32(tangent[j, j])
        tangents[6 * k + 3 + j, w] = f32(tangent[j, (j + 1) % 3])


@wp.func
def touch_force(touches: Touches, i: int, w: int) -> wp.vec3:
    """Force of contacts on a node [N]."""
    force = wp.vec3()
    k = touches.places[i]
    if k >= 0:
        force = vector_of(touches.forces, k, w)
    return force


@wp.func
def touch_product(touches: Touches, i: int, w: int, way: wp.vec3) -> wp.vec3:
    """How contacts resist motion of a node [N], bodies at rest."""
    product = wp.vec3()
    k = touches.places[i]
    if k >= 0:
        product = times_tangent(touches.tangents, k, w, way)
    return product


@wp.func
def carried_along(touches: Touches, pair: int, body: int, w: int, vectors: wp.array2d[f32]) -> wp.vec3:
    """How a body moves where a node touches it."""
    node = touches.first + 2 * body
    return vector_of(vectors, node, w) + wp.cross(vector_of(vectors, node + 1, w), vector_of(touches.arms, pair, w))


@wp.func
def carried_product(touches: Touches, i: int, w: int, direction: wp.array2d[f32]) -> wp.vec3:
    """How bodies that move pull a node along that touches them [N]."""
    product = wp.vec3()
    k = touches.places[i]
    if k >= 0:
        for body in range(touches.bodies):
            pair = k * touches.bodies + body
            if touches.on[pair, w] != 0:
                way = carried_along(touches, pair, body, w, direction)
                product += times_tangent(touches.pair_tangents, pair, w, way)
    return product


@wp.func
def near_to(b: int, size: f64, x: wp.vec3d, place: wp.vec3d, turn: wp.quatd, forms: Forms) -> Nearness:
    """How a point of the world stands to an obstacle there, of a size."""
    found = local_nearness(b, in_frame(x, place, turn) / size, forms)
    found.gap = size * found.gap
    found.curvature = found.curvature / size
    found.gradient = wp.quat_rotate(turn, found.gradient)
    found.straight = wp.quat_rotate(turn, found.straight)
    return found


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


@wp.func
def lag_of(lagging: wp.array2d[f32], slot: int, w: int) -> Lag:
    """Push and stretch of a pair in the iteration before."""
    found = Lag()
    for j in range(wp.static(LAGS)):
        found[j] = lagging[wp.static(LAGS) * slot + j, w]
    return found


@wp.func
def led(newton: int, change: f64, before: f64) -> f64:
    """How much of a change of the push that limits friction is taken, after a change before.

    What is wedged presses the harder the less friction holds it, so that pushes may go up and down for ever. They end
    where the line through both changes says (Aitken's method), if they do.
    """
    share = f64(1.0)
    if newton >= wp.static(CALM) and change * before < f64(0.0):
        share = wp.max(before / (before - change), f64(LEAST_SHARE))
    return share


@wp.func
def lingers(newton: int, lag: Lag) -> bool:
    """Whether a pair that pushed in the iteration before is looked at although it is out of reach by now.

    Its friction may be what has driven it off: if that went at once, the pair would come back.
    """
    return newton >= wp.static(CALM) and lag[0] > f32(0.0)


@wp.func
def meet(
    newton: int, things: Things, row: int, place: wp.vec3d, turn: wp.quatd, near: Nearness,
    skin: f64, reach: f64, stiffness: f64, friction: f64, lag: Lag,
    stretch: wp.vec3d, force: wp.vec3d, start: wp.vec3d, x: wp.vec3d,
) -> Met:  # fmt: skip
    """A point within reach of an obstacle; friction takes limit and plane from where the point is."""
    push = pushed(near, skin, reach, stiffness)
    met = Met()
    met.force = push.force * near.gradient
    met.tangent = push.tangent
    change = push.strength - f64(lag[0])
    strength = f64(lag[0]) + led(newton, change, f64(lag[4])) * change
    before = wp.vec3d(wp.vec3(lag[1], lag[2], lag[3]))
    sudden = bool(strength > f64(SUDDEN) * f64(lag[0]))
    if newton == 0:  # of the step before: where nodes would fly to says little
        strength = wp.max(wp.dot(force, push.normal), f64(0.0))
        before = f64(SATURATED) * stretch
        sudden = False
    limit = friction * strength
    if limit > f64(0.0):
        trial = trial_of(things, row, push.normal, stretch, start, x, place, turn)
        factor = friction_factor(trial, limit, stiffness)
        met.force -= factor * trial
        across = wp.identity(n=3, dtype=f64) - wp.outer(push.normal, push.normal)
        # What has just begun to slide, turned round, slides by far less or presses much harder than it did, is taken to
        # resist along its way too: more than it does, so that the step does not overshoot.
        slid = stiffness * wp.length(before) - limit
        less = newton >= wp.static(CALM) and stiffness * wp.length(trial) - limit < f64(FAR_LESS) * slid
        if slid > f64(0.0) and wp.dot(before, trial) > f64(0.0) and not sudden and not less:
            slide = sliding_direction(trial, limit, stiffness)
            across -= wp.outer(slide, slide)
        met.tangent += factor * across
        met.last = Lag(f32(strength), f32(trial[0]), f32(trial[1]), f32(trial[2]), f32(change))
    return met


@wp.kernel
def touch_worlds(
    # Parameters:
    newton: int, touched: Touched, bodies: Bodies,
    # State in:
    running: wp.array[wp.int32], now: Poses, things: Things, stretches: wp.array[wp.vec3d],
    forces: wp.array[wp.vec3d], positions: wp.array[wp.vec3d], moves: wp.array2d[f32],
    # State in place:
    lagging: wp.array2d[f32],  # push and stretch of each pair in the iteration before
    # State out:
    touches_out: Touches,
):  # fmt: skip
    """Force and tangent of all obstacles on one node."""
    k, w = wp.tid()
    if running[w] == 0:
        return
    i = touched.outer[k]
    count = touched.forms.kinds.shape[0]
    start = positions[w * touched.nodes + i]
    x = start + moved(moves, i, w)
    force = wp.vec3d()
    tangent = wp.mat33d()
    for b in range(count):
        row = w * count + b
        near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], touched.forms)
        slot = k * count + b
        lag = lag_of(lagging, slot, w)
        met = Met()
        touching = int(0)
        if near.gap - touched.skin < touched.reach or lingers(newton, lag):
            touching = 1
            pair = (w * touched.outer.shape[0] + k) * count + b
            met = meet(
                newton, things, row, now.places[row], now.turns[row], near,
                touched.skin, touched.reach, touched.forms.stiffnesses[b], things.frictions[w] * touched.frictions[b],
                lag, stretches[pair], forces[pair], start, x,
            )  # fmt: skip
            force += met.force
            tangent += met.tangent
        for j in range(wp.static(LAGS)):
            lagging[wp.static(LAGS) * slot + j, w] = met.last[j]
        body = bodies.slots[b]
        if body >= 0:
            own = k * bodies.numbers.shape[0] + body
            touches_out.on[own, w] = touching
            if touching != 0:
                arm = x - now.places[row]
                for j in range(3):
                    touches_out.arms[3 * own + j, w] = f32(arm[j])
                put_contact(touches_out.pair_forces, touches_out.pair_tangents, own, w, met.force, met.tangent)
    put_contact(touches_out.forces, touches_out.tangents, k, w, force, tangent)


@wp.func
def keep(
    things: Things, row: int, place: wp.vec3d, turn: wp.quatd, near: Nearness,
    skin: f64, reach: f64, stiffness: f64, friction: f64,
    pair: int, start: wp.vec3d, x: wp.vec3d, stretches: wp.array[wp.vec3d], forces_out: wp.array[wp.vec3d],
):  # fmt: skip
    """What friction keeps of a pair at the end of a step, and its force."""
    force = wp.vec3d()
    kept = wp.vec3d()
    if near.gap - skin < reach:
        push = pushed(near, skin, reach, stiffness)
        force = push.force * near.gradient
        limit = friction * push.strength
        if limit > f64(0.0):
            trial = trial_of(things, row, push.normal, stretches[pair], start, x, place, turn)
            force -= friction_factor(trial, limit, stiffness) * trial
            kept = kept_stretch(trial, limit, stiffness)
    forces_out[pair] = force
    stretches[pair] = kept


@wp.kernel
def keep_worlds(
    # Parameters:
    touched: Touched,
    # State in:
    now: Poses, things: Things, positions: wp.array[wp.vec3d], moves: wp.array2d[f32],
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
    for b in range(count):
        row = w * count + b
        pair = (w * touched.outer.shape[0] + k) * count + b
        near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], touched.forms)
        keep(
            things, row, now.places[row], now.turns[row], near,
            touched.skin, touched.reach, touched.forms.stiffnesses[b], things.frictions[w] * touched.frictions[b],
            pair, start, x, stretches, forces_out,
        )  # fmt: skip


@wp.kernel
def end_things(
    # Parameters:
    dt: f64, bodies: Bodies,
    # State in:
    now: Poses, moves: wp.array2d[f32], cut: wp.array[wp.int32], lost: wp.array[wp.int64],
    # State in place:
    things: Things, cuts: wp.array[wp.int64],
):  # fmt: skip
    """Leave obstacles where they have got to, bodies with their velocities; count steps that were cut short."""
    b, w = wp.tid()
    row = w * bodies.slots.shape[0] + b
    body = bodies.slots[b]
    if body >= 0:
        node = centre_of(bodies, body)
        inertia = bodies.inertias[body]
        was = wp.quat_to_matrix(things.turns[row])
        turn = wp.quat_to_matrix(now.turns[row])
        flight = flown(bodies, body, things.turns[row], things.spins[row], dt)
        spin = things.spins[row] + (moved(moves, node + 1, w) - flight) / dt
        momentum = was * (inertia * (wp.transpose(was) * spin))
        things.velocities[row] = moved(moves, node, w) / dt
        things.spins[row] = turn * (wp.inverse(inertia) * (wp.transpose(turn) * momentum))
    things.places[row] = now.places[row]
    things.turns[row] = now.turns[row]
    if body >= 0 and lost[w] >= wp.int64(0):
        things.places[row] = wp.vec3d(f64(wp.nan), f64(wp.nan), f64(wp.nan))
    if b == 0 and cut[w] != 0:
        cuts[w] = cuts[w] + wp.int64(1)

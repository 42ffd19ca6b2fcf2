"""How far worlds may go on a step: nothing goes through anything, and contacts cost no more than they let expect."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_contact import (
    LAGS,
    Touched,
    Touches,
    carried_along,
    near_to,
    times_tangent,
    touch_force,
    touch_product,
    trial_of,
)
from annelid.fem.kernels.batch_poses import Bodies, Things, centre_of, moved
from annelid.fem.kernels.batch_vectors import vector_of
from annelid.fem.kernels.contact import along
from annelid.fem.kernels.contact_law import friction_energy, push_energy
from annelid.fem.kernels.obstacles import Forms, Poses, free_part, in_frame, local_nearness

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

CHUNK = 16
"""Outer nodes of a thread that sums."""
LENGTHS = 9
"""Parts of a step that are compared, each less than the one before by a root of 2."""
EASY = 5.0e-2
"""Part of what a step gains that contacts may cost beside what they let expect without a look at shorter ones."""
WORTHWHILE = 1.0e-3
"""Part of what a step gains that a shorter one must gain beside it."""

Prices = wp.types.vector(length=LENGTHS, dtype=wp.float64)


@wp.func
def length_of(longest: f32, j: int) -> f64:
    """One of the parts of a step that are compared."""
    return f64(longest) * wp.pow(f64(2.0), f64(-0.5) * f64(j))


@wp.func
def contact_energy(
    forms: Forms, skin: f64, reach: f64, things: Things, b: int, row: int, place: wp.vec3d, turn: wp.quatd,
    limit: f64, trial: wp.vec3d, x: wp.vec3d,
) -> f64:  # fmt: skip
    """Energy of the contact of a point with an obstacle, with friction of this limit at this stretch [J]."""
    size = things.sizes[row]
    gap = size * local_nearness(b, in_frame(x, place, turn) / size, forms).gap - skin
    stiffness = forms.stiffnesses[b]
    energy = push_energy(gap, reach, stiffness)
    if limit > f64(0.0):
        energy += friction_energy(trial, limit, stiffness)
    return energy


@wp.func
def motion_of(bodies: Bodies, body: int, arm: wp.vec3d, w: int, steps: wp.array2d[f32]) -> wp.vec3d:
    """How a place of a body at an arm from its centre moves on a step [m]."""
    node = centre_of(bodies, body)
    return moved(steps, node, w) + wp.cross(moved(steps, node + 1, w), arm)


@wp.kernel
def free_worlds(
    # Parameters:
    touched: Touched,
    # State in:
    active: wp.array[wp.int32], now: Poses, ahead: Poses, things: Things,
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
        for b in range(count):
            row = w * count + b
            size = things.sizes[row]
            first = in_frame(x, now.places[row], now.turns[row]) / size
            last = in_frame(there, ahead.places[row], ahead.turns[row]) / size
            part = wp.min(part, free_part(b, first, last, touched.skin / size, touched.forms))
    parts_out[k, w] = f32(part)


@wp.kernel
def price_worlds(
    # Parameters:
    lengths: int, worlds: int, touched: Touched, bodies: Bodies,
    # State in:
    active: wp.array[wp.int32], part: wp.array[f32], progress: wp.array[f32], now: Poses, then: Poses, things: Things,
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
        for body in range(touches.bodies):
            pair = k * touches.bodies + body
            if touches.on[pair, w] != 0:  # what counts is how node and body move to each other
                carried = carried_along(touches, pair, body, w, steps)
                slope -= f64(wp.dot(vector_of(touches.pair_forces, pair, w), carried))
                product = times_tangent(touches.pair_tangents, pair, w, carried)
                bend += f64(wp.dot(product, carried - 2.0 * near_by))
        for j in range(lengths):
            length = length_of(part[w], j)
            prices[j] = prices[j] + length * (slope - f64(0.5) * length * bend)
        for b in range(count):
            row = w * count + b
            near = near_to(b, things.sizes[row], x, now.places[row], now.turns[row], touched.forms)
            reach = touched.reach + wp.length(way)
            slip = way
            body = bodies.slots[b]
            if body >= 0:
                slip = way - motion_of(bodies, body, x - now.places[row], w, steps)
                centre = moved(steps, bodies.first + 2 * body, w)
                rotation = wp.length(moved(steps, bodies.first + 2 * body + 1, w))
                reach += wp.length(centre) + rotation * wp.length(x - now.places[row])
            if near.gap - touched.skin < reach or progress[w] < 1.0:
                limit = things.frictions[w] * touched.frictions[b] * f64(lagging[wp.static(LAGS) * (k * count + b), w])
                stretch = stretches[(w * touched.outer.shape[0] + k) * count + b]
                normal = near.gradient / wp.max(wp.length(near.gradient), f64(1.0e-12))
                first = trial_of(things, row, normal, stretch, start, x, now.places[row], now.turns[row])
                here = f64(0.0)
                for j in range(lengths + 1):  # the first is where nodes are; not unrolled, since shapes are long
                    part_of = lengths - j
                    place = now.places[row]
                    turn = now.turns[row]
                    there = x
                    trial = first
                    if part_of < lengths:
                        to = (part_of * worlds + w) * count + b
                        place = then.places[to]
                        turn = then.turns[to]
                        there = x + length_of(part[w], part_of) * way
                        # Friction acts on a body where the node is now, not where it was on the body before the
                        # step: with the latter, the energy would be another than that of the torque.
                        trial = first + length_of(part[w], part_of) * along(normal, slip)
                        if body < 0:
                            trial = trial_of(things, row, normal, stretch, start, there, place, turn)
                    cost = contact_energy(
                        touched.forms, touched.skin, touched.reach, things, b, row, place, turn, limit, trial, there
                    )
                    if part_of < lengths:
                        prices[part_of] = prices[part_of] + cost - here
                    else:
                        here = cost
    for j in range(lengths):
        prices_out[lengths * chunk + j, w] = f32(prices[j])


@wp.kernel
def ask_for_length(
    chunks: int,
    active: wp.array[wp.int32],
    prices: wp.array2d[f32],  # of the longest alone
    gain: wp.array[f32],
    asked_out: wp.array[wp.int32],
):
    """Which worlds have to compare parts of a step: those in which contacts cost more than they let expect."""
    w = wp.tid()
    asked = int(0)
    if active[w] != 0:
        price = float(0.0)
        for chunk in range(chunks):
            price += prices[chunk, w]
        if not price <= EASY * gain[w]:
            asked = 1
    asked_out[w] = asked


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

"""Nodes of many worlds at once: what acts on them, and the vectors of Newton's method and of conjugate gradients.

Vectors are float32 of shape [3 · nodes, worlds]. A thread of the kernels that sum has a few nodes of one world and
leaves a part of the sum; parts are added in their order, so that a world has the same bits whatever others there are.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.batch_actors import Actors, Features, actor_force, actor_product
from annelid.fem.kernels.batch_contact import Touches, carried_product, touch_force, touch_product
from annelid.fem.kernels.batch_vectors import put_vector, turn_of, vector_of
from annelid.fem.kernels.batch_worlds import Each, Scalars

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

CHUNK = 8
"""Nodes of a thread that sums."""


@wp.struct
class Nodes:
    """What the nodes of all worlds have in common."""

    rest: wp.array[wp.vec3]  # [m]
    masses: wp.array[f32]  # [kg]
    held: wp.array[wp.int32]  # a bit for each component; those of free bodies follow
    first: wp.array[wp.int32]  # of the slots of each node
    slots: wp.array[wp.int32]  # first row of each slot


@wp.struct
class Slides:
    """Holds that are moved, in all worlds."""

    numbers: wp.array[wp.int32]  # which of the actuators each is
    ways: wp.array[wp.vec3d]  # its direction
    on: wp.array2d[wp.int32]  # whether a node is on it, shape [slides, nodes]
    actuators: wp.int32  # of a world


@wp.func
def slid(slides: Slides, efforts: wp.array[f64], i: int, w: int) -> wp.vec3d:
    """How far slides have a held node from where it rests [m]."""
    found = wp.vec3d()
    for s in range(slides.numbers.shape[0]):
        if slides.on[s, i] != 0:
            found += efforts[w * slides.actuators + slides.numbers[s]] * slides.ways[s]
    return found


@wp.func
def free(vector: wp.vec3, held: int) -> wp.vec3:
    """A vector without its held components."""
    result = vector
    for j in range(3):
        if (held >> j) & 1 == 1:
            result[j] = 0.0
    return result


@wp.func
def gathered(nodes: Nodes, i: int, w: int, slots: wp.array2d[f32]) -> wp.vec3:
    """What the cells around a node have left for it."""
    x = float(0.0)
    y = float(0.0)
    z = float(0.0)
    for k in range(nodes.first[i], nodes.first[i + 1]):
        row = nodes.slots[k]
        x += slots[row, w]
        y += slots[row + 1, w]
        z += slots[row + 2, w]
    return wp.vec3(x, y, z)


@wp.kernel
def begin_nodes(
    nodes: Nodes,
    slides: Slides,
    dt: f64,
    each: Each,
    rest: wp.array[wp.vec3d],
    offsets: wp.array[wp.vec3d],
    efforts: wp.array[f64],
    positions: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],
    displacements_out: wp.array2d[f32],
    flights_out: wp.array2d[f32],
    moves_out: wp.array2d[f32],
):
    """Where nodes are, how far they would fly in a step, and a first guess of how far they go."""
    i, w = wp.tid()
    row = w * nodes.rest.shape[0] + i
    here = positions[row] - rest[i]
    flight = dt * velocities[row]
    goal = f64(each.fraction[w]) * offsets[i] + slid(slides, efforts, i, w) - here
    move = flight
    held = nodes.held[i]
    for j in range(3):
        if (held >> j) & 1 == 1:
            move[j] = goal[j]
    put_vector(displacements_out, i, w, wp.vec3(here))
    put_vector(flights_out, i, w, wp.vec3(flight))
    put_vector(moves_out, i, w, wp.vec3(move))


@wp.kernel
def turn_nodes(
    first: wp.array[wp.int32],
    cells: wp.array[wp.int32],
    weights: wp.array[f32],
    means: wp.array2d[f32],
    turns_out: wp.array2d[f32],
):
    """The rotation nearest to the mean deformation around each node, by Newton's iteration for the polar factor."""
    i, w = wp.tid()
    f = wp.identity(n=3, dtype=f32)
    for k in range(first[i], first[i + 1]):
        for j in range(9):
            f[j // 3, j % 3] += weights[k] * means[9 * cells[k] + j, w]
    for _ in range(5):
        c = wp.matrix_from_rows(wp.cross(f[1], f[2]), wp.cross(f[2], f[0]), wp.cross(f[0], f[1]))
        det = wp.dot(f[0], c[0])
        if det > 1.0e-6:
            scale = wp.sqrt(wp.sqrt(wp.ddot(c, c) / (det * det * wp.ddot(f, f))))
            f = 0.5 * (scale * f + (1.0 / (scale * det)) * c)
    turn = wp.normalize(wp.quat_from_matrix(f))
    if not wp.isfinite(turn[3]):
        turn = wp.quat_identity()
    for j in range(4):
        turns_out[4 * i + j, w] = turn[j]


@wp.kernel
def shorten_guess(nodes: Nodes, part: wp.array[f32], moves: wp.array2d[f32]):
    """Go only a part of the first guess; held components go all of it."""
    i, w = wp.tid()
    if part[w] < 1.0:
        move = vector_of(moves, i, w)
        put_vector(moves, i, w, move - (1.0 - part[w]) * free(move, nodes.held[i]))


@wp.kernel
def take_guess(moves: wp.array2d[f32], displacements: wp.array2d[f32]):
    """Go where the first guess says."""
    row, w = wp.tid()
    displacements[row, w] = displacements[row, w] + moves[row, w]


@once
def residual_kernel(features: Features) -> Any:
    """What is left of the forces on the nodes, turned back to rest."""

    @wp.kernel(module="unique", enable_backward=False)
    def left_over(
        nodes: Nodes,
        rate: f32,  # 1/dt² [1/s²]
        drag: f32,  # rate at which velocities decay over dt [1/s²]
        each: Each,
        actors: Actors,
        touches: Touches,
        dead: wp.array[wp.vec3],
        running: wp.array[wp.int32],
        slots: wp.array2d[f32],
        turns: wp.array2d[f32],
        displacements: wp.array2d[f32],
        flights: wp.array2d[f32],
        moves: wp.array2d[f32],
        turned_out: wp.array2d[f32],
        steps_out: wp.array2d[f32],
        direction_out: wp.array2d[f32],
    ):
        i, w = wp.tid()
        if running[w] == 0:
            return
        force = gathered(nodes, i, w, slots)
        if wp.static(features.touch):
            force += touch_force(touches, i, w)
        if wp.static(features.driven):
            force += actor_force(actors, nodes.rest, i, w, each, displacements)
        mass = each.mass[w] * nodes.masses[i]
        force += each.fraction[w] * (dead[i] + mass * each.pull[w])
        move = vector_of(moves, i, w)
        force -= mass * (rate * (move - vector_of(flights, i, w)) + drag * each.damping[w] * move)
        put_vector(turned_out, i, w, wp.quat_rotate_inv(turn_of(turns, i, w), free(force, nodes.held[i])))
        put_vector(steps_out, i, w, wp.vec3())
        put_vector(direction_out, i, w, wp.vec3())

    return left_over


@wp.kernel
def dot_rows(
    count: int,
    running: wp.array[wp.int32],
    first: wp.array2d[f32],
    second: wp.array2d[f32],
    parts_out: wp.array2d[f32],
):
    """Parts of the scalar product of two vectors."""
    part, w = wp.tid()
    if running[w] == 0:
        return
    sum = float(0.0)
    for row in range(3 * CHUNK * part, wp.min(3 * CHUNK * (part + 1), count)):
        sum += first[row, w] * second[row, w]
    parts_out[part, w] = sum


@wp.kernel
def direct(
    nodes: Nodes,
    running: wp.array[wp.int32],
    scalars: Scalars,
    turns: wp.array2d[f32],
    answers: wp.array2d[f32],
    direction: wp.array2d[f32],
):
    """The next direction of conjugate gradients, from the answer of the inverse at rest."""
    i, w = wp.tid()
    if running[w] == 0:
        return
    answer = wp.quat_rotate(turn_of(turns, i, w), vector_of(answers, i, w))
    put_vector(direction, i, w, free(answer, nodes.held[i]) + scalars.beta[w] * vector_of(direction, i, w))


@once
def tangent_kernel(features: Features) -> Any:
    """The tangent of all that acts times a direction, and parts of what it, and inertia alone, say along that."""

    @wp.kernel(module="unique", enable_backward=False)
    def tangent(
        nodes: Nodes,
        rate: f32,
        drag: f32,
        each: Each,
        actors: Actors,
        touches: Touches,
        running: wp.array[wp.int32],
        slots: wp.array2d[f32],
        displacements: wp.array2d[f32],
        direction: wp.array2d[f32],
        products_out: wp.array2d[f32],
        parts_out: wp.array2d[f32],
        inertial_out: wp.array2d[f32],
    ):
        part, w = wp.tid()
        if running[w] == 0:
            return
        along = float(0.0)
        inertial = float(0.0)
        for i in range(wp.static(CHUNK) * part, wp.min(wp.static(CHUNK) * (part + 1), nodes.rest.shape[0])):
            way = vector_of(direction, i, w)
            product = gathered(nodes, i, w, slots)
            if wp.static(features.touch):
                product += touch_product(touches, i, w, way)
            if wp.static(features.bodies):
                product -= carried_product(touches, i, w, direction)
            if wp.static(features.bend):
                product -= actor_product(actors, nodes.rest, i, w, each, displacements, direction)
            own = (rate + drag * each.damping[w]) * each.mass[w] * nodes.masses[i]
            product = free(product + own * way, nodes.held[i])
            put_vector(products_out, i, w, product)
            along += wp.dot(way, product)
            inertial += own * wp.dot(way, way)
        parts_out[part, w] = along
        inertial_out[part, w] = inertial

    return tangent


@wp.kernel
def go_on(
    running: wp.array[wp.int32],
    scalars: Scalars,
    turns: wp.array2d[f32],
    direction: wp.array2d[f32],
    products: wp.array2d[f32],
    steps: wp.array2d[f32],
    turned: wp.array2d[f32],
):
    """Go along the direction as far as conjugate gradients say."""
    i, w = wp.tid()
    if running[w] == 0:
        return
    length = scalars.alpha[w]
    put_vector(steps, i, w, vector_of(steps, i, w) + length * vector_of(direction, i, w))
    change = wp.quat_rotate_inv(turn_of(turns, i, w), vector_of(products, i, w))
    put_vector(turned, i, w, vector_of(turned, i, w) - length * change)


@wp.kernel
def move_nodes(
    active: wp.array[wp.int32],
    scalars: Scalars,
    steps: wp.array2d[f32],
    displacements: wp.array2d[f32],
    moves: wp.array2d[f32],
):
    """Go as much of the step of Newton's method as tetrahedra can take."""
    row, w = wp.tid()
    if active[w] == 0:
        return
    step = scalars.part[w] * steps[row, w]
    moves[row, w] = moves[row, w] + step
    displacements[row, w] = displacements[row, w] + step


@wp.kernel
def end_nodes(
    nodes: Nodes,
    slides: Slides,
    dt: f64,
    each: Each,
    rest: wp.array[wp.vec3d],
    offsets: wp.array[wp.vec3d],
    efforts: wp.array[f64],
    lost: wp.array[wp.int64],
    moves: wp.array2d[f32],
    positions: wp.array[wp.vec3d],
    velocities_out: wp.array[wp.vec3d],
):
    """Where nodes have got to, and how fast; a world that is lost is nowhere."""
    i, w = wp.tid()
    row = w * nodes.rest.shape[0] + i
    here = positions[row]
    there = here + wp.vec3d(vector_of(moves, i, w))
    goal = rest[i] + f64(each.fraction[w]) * offsets[i] + slid(slides, efforts, i, w)
    held = nodes.held[i]
    for j in range(3):
        if (held >> j) & 1 == 1:
            there[j] = goal[j]
        if lost[w] >= wp.int64(0):
            there[j] = f64(wp.nan)
    positions[row] = there
    velocities_out[row] = (there - here) / dt

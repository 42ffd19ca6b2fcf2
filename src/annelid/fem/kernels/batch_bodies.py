"""Free rigid bodies of many worlds: what acts on them, and their rows in the vectors of Newton's method.

A body is pulled to where it would fly by springs m/h² and I/h², as nodes are. Points of its surface touch other rigid
things by the law of the nodes. Its own matrix, inertia and these contacts, is kept as a dense one of all bodies of a
world; what nodes do to it is taken from the pairs of `batch_contact.Touches`.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_contact import Touches, carried_along, times_tangent
from annelid.fem.kernels.batch_points import BodyPoints, PointTouches, place_of_contact, point_at
from annelid.fem.kernels.batch_poses import Bodies, Things, centre_of, flown
from annelid.fem.kernels.batch_vectors import vector_of
from annelid.fem.kernels.batch_ways import CHUNK
from annelid.fem.kernels.batch_worlds import Each
from annelid.fem.kernels.obstacles import Poses

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64


@wp.struct
class Own:
    """Matrices of the bodies of each world."""

    matrices: wp.array2d[f32]  # inertia and contacts of points, shape [6 f · 6 f, worlds]
    inverses: wp.array2d[f32]  # of the blocks of single bodies, shape [36 f, worlds]
    wrenches: wp.array2d[f32]  # of contacts of points [N, N m], shape [6 f, worlds]
    inertias: wp.array2d[f32]  # in the world, over h² [N m], shape [9 f, worlds]
    masses: wp.array2d[f32]  # [kg], shape [f, worlds]


@wp.kernel
def begin_bodies(
    # Parameters:
    dt: f64, bodies: Bodies,
    # State in:
    things: Things,
    # State out:
    flights_out: wp.array2d[f32], moves_out: wp.array2d[f32], displacements_out: wp.array2d[f32], own_out: Own,
):  # fmt: skip
    """How far bodies would fly in a step, which is the first guess as well, and their inertias as they are turned."""
    body, w = wp.tid()
    row = w * bodies.slots.shape[0] + bodies.numbers[body]
    node = centre_of(bodies, body)
    rotation = flown(bodies, body, things.turns[row], things.spins[row], dt)
    for j in range(3):
        flights_out[3 * node + j, w] = f32(dt * things.velocities[row][j])
        flights_out[3 * node + 3 + j, w] = f32(rotation[j])
        moves_out[3 * node + j, w] = f32(dt * things.velocities[row][j])
        moves_out[3 * node + 3 + j, w] = f32(rotation[j])
        displacements_out[3 * node + j, w] = 0.0
        displacements_out[3 * node + 3 + j, w] = 0.0
    turn = wp.quat_to_matrix(things.turns[row])
    factor = things.masses[w] * things.sizes[row] * things.sizes[row]
    inertia = turn * (factor * bodies.inertias[body]) * wp.transpose(turn) / (dt * dt)
    own_out.masses[body, w] = f32(things.masses[w] * bodies.masses[body])
    for j in range(9):
        own_out.inertias[9 * body + j, w] = f32(inertia[j // 3, j % 3])


@wp.func
def lever(arm: wp.vec3, column: int) -> wp.vec3:
    """How a point at an arm from a centre moves with one of the six unknowns of its body."""
    found = wp.vec3()
    if column < 3:
        found[column] = 1.0
    else:
        axis = wp.vec3()
        axis[column - 3] = 1.0
        found = wp.cross(axis, arm)
    return found


@wp.func
def add_block(
    matrices: wp.array2d[f32], size: int, left: int, right: int, w: int, touches: PointTouches, slot: int,
    left_arm: wp.vec3, right_arm: wp.vec3, sign: f32,
):  # fmt: skip
    """Add what a contact does between two bodies, or a body and itself."""
    for column in range(6):
        product = times_tangent(touches.tangents, slot, w, lever(right_arm, column))
        for row in range(6):
            place = (6 * left + row) * size + 6 * right + column
            matrices[place, w] = matrices[place, w] + sign * wp.dot(lever(left_arm, row), product)


@wp.func
def add_wrench(wrenches: wp.array2d[f32], body: int, w: int, arm: wp.vec3, force: wp.vec3):
    torque = wp.cross(arm, force)
    for j in range(3):
        wrenches[6 * body + j, w] = wrenches[6 * body + j, w] + force[j]
        wrenches[6 * body + 3 + j, w] = wrenches[6 * body + 3 + j, w] + torque[j]


@wp.func
def invert_block(own: Own, size: int, body: int, heavy: f32, w: int):
    """Inverse of the block of one body by Gauss and Jordan; where it is not definite, of its inertia alone."""
    a = wp.spatial_matrix()
    for i in range(6):
        for j in range(6):
            a[i, j] = own.matrices[(6 * body + i) * size + 6 * body + j, w]
    definite = bool(True)
    for k in range(6):
        pivot = a[k, k]
        if not pivot > 0.0:
            definite = False
            pivot = 1.0
        for j in range(6):
            if j != k:
                a[k, j] = a[k, j] / pivot
        for i in range(6):
            if i != k:
                for j in range(6):
                    if j != k:
                        a[i, j] = a[i, j] - a[i, k] * a[k, j]
                a[i, k] = -a[i, k] / pivot
        a[k, k] = 1.0 / pivot
    for i in range(6):
        for j in range(6):
            own.inverses[36 * body + 6 * i + j, w] = 0.5 * (a[i, j] + a[j, i])
    if not definite:
        inertia = wp.mat33()
        for j in range(9):
            inertia[j // 3, j % 3] = own.inertias[9 * body + j, w]
        inverse = wp.inverse(inertia)
        for i in range(6):
            for j in range(6):
                value = float(0.0)
                if i < 3 and i == j:
                    value = 1.0 / heavy
                if i >= 3 and j >= 3:
                    value = inverse[i - 3, j - 3]
                own.inverses[36 * body + 6 * i + j, w] = value


@wp.kernel
def gather_bodies(
    # Parameters:
    rate: f32, bodies: Bodies, points: BodyPoints,
    # State in:
    running: wp.array[wp.int32], now: Poses, things: Things, touches: PointTouches,
    # State out:
    own_out: Own,
):  # fmt: skip
    """Matrices of the bodies of a world, and what contacts of their points do to them."""
    w = wp.tid()
    if running[w] == 0:
        return
    size = 6 * bodies.numbers.shape[0]
    for j in range(size * size):
        own_out.matrices[j, w] = 0.0
    for j in range(size):
        own_out.wrenches[j, w] = 0.0
    for body in range(bodies.numbers.shape[0]):
        for j in range(3):
            own_out.matrices[(6 * body + j) * (size + 1), w] = rate * own_out.masses[body, w]
        for j in range(9):
            place = (6 * body + 3 + j // 3) * size + 6 * body + 3 + j % 3
            own_out.matrices[place, w] = own_out.inertias[9 * body + j, w]
    count = points.forms.kinds.shape[0]
    for p in range(points.local.shape[0]):
        owner = points.owners[p]
        left = bodies.slots[owner]
        x = point_at(points, things, p, w, w * count, now)
        for b in range(count):
            slot = p * count + b
            if touches.on[slot, w] != 0:
                contact = place_of_contact(points, things, p, b, w, x, now)
                arm = wp.vec3(contact - now.places[w * count + owner])
                force = vector_of(touches.forces, slot, w)
                add_wrench(own_out.wrenches, left, w, arm, force)
                add_block(own_out.matrices, size, left, left, w, touches, slot, arm, arm, 1.0)
                right = bodies.slots[b]
                if right >= 0:
                    other = wp.vec3(contact - now.places[w * count + b])
                    add_wrench(own_out.wrenches, right, w, other, -force)
                    add_block(own_out.matrices, size, right, right, w, touches, slot, other, other, 1.0)
                    add_block(own_out.matrices, size, left, right, w, touches, slot, arm, other, -1.0)
                    add_block(own_out.matrices, size, right, left, w, touches, slot, other, arm, -1.0)
    for body in range(bodies.numbers.shape[0]):
        invert_block(own_out, size, body, rate * own_out.masses[body, w], w)


@wp.kernel
def push_bodies(touches: Touches, outer: int, running: wp.array[wp.int32], sums_out: wp.array2d[f32]):
    """What some nodes each do to the bodies of a world [N, N m]."""
    chunk, w = wp.tid()
    if running[w] == 0:
        return
    for body in range(touches.bodies):
        force = wp.vec3()
        torque = wp.vec3()
        for k in range(wp.static(CHUNK) * chunk, wp.min(wp.static(CHUNK) * (chunk + 1), outer)):
            pair = k * touches.bodies + body
            if touches.on[pair, w] != 0:
                own = vector_of(touches.pair_forces, pair, w)
                force -= own
                torque -= wp.cross(vector_of(touches.arms, pair, w), own)
        for j in range(3):
            sums_out[6 * (chunk * touches.bodies + body) + j, w] = force[j]
            sums_out[6 * (chunk * touches.bodies + body) + 3 + j, w] = torque[j]


@wp.kernel
def resist_bodies(
    touches: Touches,
    outer: int,
    outer_nodes: wp.array[wp.int32],
    running: wp.array[wp.int32],
    direction: wp.array2d[f32],
    sums_out: wp.array2d[f32],
):
    """How some nodes each resist a motion of nodes and bodies, at the bodies [N, N m]."""
    chunk, w = wp.tid()
    if running[w] == 0:
        return
    for body in range(touches.bodies):
        force = wp.vec3()
        torque = wp.vec3()
        for k in range(wp.static(CHUNK) * chunk, wp.min(wp.static(CHUNK) * (chunk + 1), outer)):
            pair = k * touches.bodies + body
            if touches.on[pair, w] != 0:
                way = carried_along(touches, pair, body, w, direction) - vector_of(direction, outer_nodes[k], w)
                own = times_tangent(touches.pair_tangents, pair, w, way)
                force += own
                torque += wp.cross(vector_of(touches.arms, pair, w), own)
        for j in range(3):
            sums_out[6 * (chunk * touches.bodies + body) + j, w] = force[j]
            sums_out[6 * (chunk * touches.bodies + body) + 3 + j, w] = torque[j]


@wp.func
def inertial(own: Own, bodies: Bodies, rate: f32, body: int, j: int, w: int, moves: wp.array2d[f32]) -> f32:
    """One of six rows of the inertia of a body over h² times its rows in a vector."""
    node = centre_of(bodies, body)
    found = float(0.0)
    if j < 3:
        found = rate * own.masses[body, w] * moves[3 * node + j, w]
    else:
        for k in range(3):
            found += own.inertias[9 * body + 3 * (j - 3) + k, w] * moves[3 * node + 3 + k, w]
    return found


@wp.kernel
def leave_bodies(
    # Parameters:
    chunks: int, rate: f32, bodies: Bodies, each: Each,
    # State in:
    running: wp.array[wp.int32], sums: wp.array2d[f32], own: Own, flights: wp.array2d[f32], moves: wp.array2d[f32],
    # State out:
    turned_out: wp.array2d[f32], steps_out: wp.array2d[f32], direction_out: wp.array2d[f32],
):  # fmt: skip
    """What is left of the forces on a body."""
    body, w = wp.tid()
    if running[w] == 0:
        return
    count = bodies.numbers.shape[0]
    for j in range(6):
        force = own.wrenches[6 * body + j, w]
        for chunk in range(chunks):
            force += sums[6 * (chunk * count + body) + j, w]
        force += inertial(own, bodies, rate, body, j, w, flights) - inertial(own, bodies, rate, body, j, w, moves)
        if j < 3:
            force += each.fraction[w] * own.masses[body, w] * each.pull[w][j]
        row = 3 * centre_of(bodies, body) + j
        turned_out[row, w] = force
        steps_out[row, w] = 0.0
        direction_out[row, w] = 0.0


@wp.kernel
def answer_bodies(
    bodies: Bodies, running: wp.array[wp.int32], own: Own, turned: wp.array2d[f32], answers_out: wp.array2d[f32]
):
    """What leads conjugate gradients: the inverse of the own block of each body."""
    body, w = wp.tid()
    if running[w] == 0:
        return
    first = 3 * centre_of(bodies, body)
    for i in range(6):
        sum = float(0.0)
        for j in range(6):
            sum += own.inverses[36 * body + 6 * i + j, w] * turned[first + j, w]
        answers_out[first + i, w] = sum


@wp.kernel
def multiply_bodies(
    # Parameters:
    chunks: int, part: int, rate: f32, bodies: Bodies,
    # State in:
    running: wp.array[wp.int32], sums: wp.array2d[f32], own: Own, direction: wp.array2d[f32],
    # State out:
    products_out: wp.array2d[f32], parts_out: wp.array2d[f32], inertial_out: wp.array2d[f32],
):  # fmt: skip
    """The rows of bodies of the tangent times a direction, and their part of what it, and inertia, say along that."""
    w = wp.tid()
    if running[w] == 0:
        return
    count = bodies.numbers.shape[0]
    size = 6 * count
    first = 3 * centre_of(bodies, 0)
    along = float(0.0)
    alone = float(0.0)
    for i in range(size):
        product = float(0.0)
        for chunk in range(chunks):
            product += sums[chunk * size + i, w]
        for j in range(size):
            product += own.matrices[i * size + j, w] * direction[first + j, w]
        products_out[first + i, w] = product
        along += direction[first + i, w] * product
        alone += direction[first + i, w] * inertial(own, bodies, rate, i // 6, i % 6, w, direction)
    parts_out[part, w] = along
    inertial_out[part, w] = alone

"""Contacts in what leads conjugate gradients: Woodbury's correction of the inverse that all worlds share.

With A the matrix that the shared inverse stands for, and contacts as springs N T N' between nodes and fixed things or
bodies, T = L L',

    (A + N T N')⁻¹ = A⁻¹ − A⁻¹ N L (I + L' N' A⁻¹ N L)⁻¹ L' N' A⁻¹.

The matrix in the middle has three rows for each node that touches. Of worlds in which more nodes touch than there is
room for, the others are left to conjugate gradients: any of them make it definite.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_bodies import Own, lever
from annelid.fem.kernels.batch_contact import Touches, carried_along, vector_of
from annelid.fem.kernels.batch_nodes import CHUNK
from annelid.fem.kernels.batch_poses import Bodies, centre_of

wp.set_module_options({"enable_backward": False})

f32 = wp.float32

MOST = 16
"""Nodes of a world that there is room for, at most."""
SLIGHT = 1.0e-4
"""Of the stiffness of a contact: what it resists in directions in which it does not."""


@wp.struct
class Springs:
    """Contacts that are taken in, in all worlds."""

    room: wp.int32  # for so many nodes
    count: wp.array[wp.int32]  # of each world
    places: wp.array2d[wp.int32]  # place of each among the outer nodes, shape [room, worlds]
    nodes: wp.array2d[wp.int32]  # the node that it is
    bodies: wp.array2d[wp.int32]  # the body that it touches, negative for fixed and driven things
    roots: wp.array2d[f32]  # L by rows: xx, yx, yy, zx, zy, zz [√(N/m)], shape [6 room, worlds]
    inverses: wp.array2d[f32]  # of the matrix in the middle, shape [9 room², worlds]
    answers: wp.array2d[f32]  # forces of the springs [N], shape [3 room, worlds]


@wp.func
def root_of(tangents: wp.array2d[f32], k: int, w: int) -> wp.mat33:
    """A lower matrix L with L L' near to a tangent, which may resist in one direction only."""
    xx = tangents[6 * k, w]
    yy = tangents[6 * k + 1, w]
    zz = tangents[6 * k + 2, w]
    least = SLIGHT * (wp.abs(xx) + wp.abs(yy) + wp.abs(zz))
    a = wp.sqrt(wp.max(xx + least, least))
    b = tangents[6 * k + 3, w] / a
    d = tangents[6 * k + 5, w] / a
    c = wp.sqrt(wp.max(yy + least - b * b, least))
    e = (tangents[6 * k + 4, w] - b * d) / c
    f = wp.sqrt(wp.max(zz + least - d * d - e * e, least))
    return wp.mat33(a, 0.0, 0.0, b, c, 0.0, d, e, f)


@wp.func
def kept_root(springs: Springs, c: int, w: int) -> wp.mat33:
    roots = springs.roots
    return wp.mat33(
        roots[6 * c, w], 0.0, 0.0, roots[6 * c + 1, w], roots[6 * c + 2, w], 0.0,
        roots[6 * c + 3, w], roots[6 * c + 4, w], roots[6 * c + 5, w],
    )  # fmt: skip


@wp.kernel
def list_springs(
    # Parameters:
    outer: wp.array[wp.int32],
    # State in:
    running: wp.array[wp.int32], touches: Touches,
    # State in place:
    springs: Springs,
    # State out:
    forces_out: wp.array2d[f32],
):  # fmt: skip
    """Which nodes of a world touch; what was written for those of before is forgotten."""
    w = wp.tid()
    for c in range(springs.count[w]):
        for j in range(3):
            forces_out[3 * springs.nodes[c, w] + j, w] = 0.0
    count = int(0)
    if running[w] != 0:
        for k in range(outer.shape[0]):
            stiff = touches.tangents[6 * k, w] + touches.tangents[6 * k + 1, w] + touches.tangents[6 * k + 2, w]
            if stiff > 0.0 and count < springs.room:
                body = int(-1)
                for other in range(touches.bodies):
                    if body < 0 and touches.on[k * touches.bodies + other, w] != 0:
                        body = other
                root = wp.mat33()
                if body >= 0:
                    root = root_of(touches.pair_tangents, k * touches.bodies + body, w)
                else:
                    root = root_of(touches.tangents, k, w)
                springs.places[count, w] = k
                springs.nodes[count, w] = outer[k]
                springs.bodies[count, w] = body
                for i in range(3):
                    for j in range(i + 1):
                        springs.roots[6 * count + (i * (i + 1)) // 2 + j, w] = root[i, j]
                count += 1
    springs.count[w] = count


@wp.func
def turn_of(turns: wp.array2d[f32], i: int, w: int) -> wp.mat33:
    return wp.quat_to_matrix(wp.quat(turns[4 * i, w], turns[4 * i + 1, w], turns[4 * i + 2, w], turns[4 * i + 3, w]))


@wp.kernel
def couple_springs(
    # Parameters:
    inverse: wp.array2d[f32],
    # State in:
    running: wp.array[wp.int32], turns: wp.array2d[f32], touches: Touches, own: Own,
    # State in place:
    springs: Springs,
):  # fmt: skip
    """One block of the matrix in the middle: how one spring gives where another pulls."""
    pair, w = wp.tid()
    c = pair // springs.room
    d = pair % springs.room
    if running[w] == 0 or c >= springs.count[w] or d > c:
        return
    i = springs.nodes[c, w]
    j = springs.nodes[d, w]
    block = wp.mat33()
    for a in range(3):
        for b in range(3):
            block[a, b] = inverse[3 * i + a, 3 * j + b]
    block = turn_of(turns, i, w) * block * wp.transpose(turn_of(turns, j, w))
    body = springs.bodies[c, w]
    if body >= 0 and body == springs.bodies[d, w]:
        left = vector_of(touches.arms, springs.places[c, w] * touches.bodies + body, w)
        right = vector_of(touches.arms, springs.places[d, w] * touches.bodies + body, w)
        for m in range(6):
            answer = wp.vec3()
            for n in range(6):
                answer += own.inverses[36 * body + 6 * m + n, w] * lever(right, n)
            block += wp.outer(lever(left, m), answer)
    block = wp.transpose(kept_root(springs, c, w)) * block * kept_root(springs, d, w)
    size = 3 * springs.room
    for a in range(3):
        for b in range(3):
            value = block[a, b]
            if c == d and a == b:
                value += 1.0
            springs.inverses[(3 * c + a) * size + 3 * d + b, w] = value


_INVERT = """
    const int W = springs.inverses.shape[1], size = 3 * springs.room, m = 3 * springs.count.data[w];
    float* all = springs.inverses.data + w;
    float L[SIZE * (SIZE + 1) / 2];  // in memory of the thread: each number is used m times
    for (int i = 0; i < m; ++i)
        for (int j = 0; j <= i; ++j) {
            float sum = all[(size_t)(i * size + j) * W];
            const float *p = L + i * (i + 1) / 2, *q = L + j * (j + 1) / 2;
            for (int k = 0; k < j; ++k) sum -= p[k] * q[k];
            if (i == j) L[i * (i + 1) / 2 + i] = sqrtf(sum > 1.0e-3f ? sum : 1.0e-3f);
            else L[i * (i + 1) / 2 + j] = sum / q[j];
        }
    for (int j = 0; j < m; ++j) {  // the inverse of L in its place, column by column
        L[j * (j + 1) / 2 + j] = 1.0f / L[j * (j + 1) / 2 + j];
        for (int i = j + 1; i < m; ++i) {
            float sum = 0.0f;
            for (int k = j; k < i; ++k) sum -= L[i * (i + 1) / 2 + k] * L[k * (k + 1) / 2 + j];
            L[i * (i + 1) / 2 + j] = sum / L[i * (i + 1) / 2 + i];
        }
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j <= i; ++j) {
            float sum = 0.0f;
            for (int k = i; k < m; ++k) sum += L[k * (k + 1) / 2 + i] * L[k * (k + 1) / 2 + j];
            all[(size_t)(i * size + j) * W] = sum;
            all[(size_t)(j * size + i) * W] = sum;
        }
""".replace("SIZE", str(3 * MOST))


@wp.func_native(_INVERT)
def invert(w: int, springs: Springs) -> None: ...


@wp.kernel
def invert_springs(running: wp.array[wp.int32], springs: Springs):
    """The inverse of the matrix in the middle, by its Cholesky factor."""
    w = wp.tid()
    if running[w] != 0:
        invert(w, springs)


@wp.kernel
def answer_springs(
    # State in:
    running: wp.array[wp.int32], turns: wp.array2d[f32], touches: Touches, answers: wp.array2d[f32],
    # State in place:
    springs: Springs,
    # State out:
    forces_out: wp.array2d[f32],
):  # fmt: skip
    """Force of one spring where nodes and bodies follow the shared inverse, turned back to rest."""
    c, w = wp.tid()
    if running[w] == 0 or c >= springs.count[w]:
        return
    size = 3 * springs.room
    sum = wp.vec3()
    for d in range(springs.count[w]):
        node = springs.nodes[d, w]
        way = turn_of(turns, node, w) * vector_of(answers, node, w)
        body = springs.bodies[d, w]
        if body >= 0:
            way -= carried_along(touches, springs.places[d, w] * touches.bodies + body, body, w, answers)
        way = wp.transpose(kept_root(springs, d, w)) * way
        for a in range(3):
            for b in range(3):
                sum[a] += springs.inverses[(3 * c + a) * size + 3 * d + b, w] * way[b]
    force = kept_root(springs, c, w) * sum
    own = springs.nodes[c, w]
    turned = wp.transpose(turn_of(turns, own, w)) * force
    for j in range(3):
        springs.answers[3 * c + j, w] = force[j]
        forces_out[3 * own + j, w] = turned[j]


@wp.kernel
def answer_spring_bodies(
    # Parameters:
    bodies: Bodies,
    # State in:
    running: wp.array[wp.int32], touches: Touches, springs: Springs,
    # State out:
    forces_out: wp.array2d[f32],
):  # fmt: skip
    """What springs do to a body."""
    body, w = wp.tid()
    if running[w] == 0:
        return
    force = wp.vec3()
    torque = wp.vec3()
    for c in range(springs.count[w]):
        if springs.bodies[c, w] == body:
            own = vector_of(springs.answers, c, w)
            force -= own
            torque -= wp.cross(vector_of(touches.arms, springs.places[c, w] * touches.bodies + body, w), own)
    row = 3 * centre_of(bodies, body)
    for j in range(3):
        forces_out[row + j, w] = force[j]
        forces_out[row + 3 + j, w] = torque[j]


@wp.kernel
def multiply_springs(
    inverse: wp.array2d[f32], springs: Springs, forces: wp.array2d[f32], products_out: wp.array2d[f32]
):
    """The shared inverse times forces at the nodes of springs alone, for devices on which a whole product is slow."""
    row, w = wp.tid()
    sum = float(0.0)
    for c in range(springs.count[w]):
        for j in range(3):
            place = 3 * springs.nodes[c, w] + j
            sum += inverse[row, place] * forces[place, w]
    products_out[row, w] = sum


@wp.kernel
def correct_rows(
    # Parameters:
    count: int,
    # State in:
    running: wp.array[wp.int32], residual: wp.array2d[f32], corrections: wp.array2d[f32],
    # State in place:
    answers: wp.array2d[f32],
    # State out:
    parts_out: wp.array2d[f32],
):  # fmt: skip
    """Take the answer of springs from that of the shared inverse; parts of its product with the residual."""
    part, w = wp.tid()
    if running[w] == 0:
        return
    sum = float(0.0)
    for row in range(3 * wp.static(CHUNK) * part, wp.min(3 * wp.static(CHUNK) * (part + 1), count)):
        answer = answers[row, w] - corrections[row, w]
        answers[row, w] = answer
        sum += residual[row, w] * answer
    parts_out[part, w] = sum

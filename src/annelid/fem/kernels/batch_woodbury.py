"""Contacts in what leads conjugate gradients: Woodbury's correction of the inverse that all worlds share.

With A the matrix that the shared inverse stands for, and contacts as springs N T N' between nodes and fixed things or
bodies, T = L L',

    (A + N T N')⁻¹ = A⁻¹ − A⁻¹ N L (I + L' N' A⁻¹ N L)⁻¹ L' N' A⁻¹.

The matrix in the middle has three rows for each node that touches. Of worlds in which more nodes touch than there is
room for, the others are left to conjugate gradients: any of them make it definite. What springs need to know, how far
A⁻¹ moves nodes that can touch, is a product with some rows of it alone; the residual less what springs do to it then
has the corrected answer by one product with all of it.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.batch_bodies import Own, lever
from annelid.fem.kernels.batch_contact import Touches, carried_along
from annelid.fem.kernels.batch_poses import Bodies, centre_of
from annelid.fem.kernels.batch_vectors import put_vector, turn_of, vector_of

wp.set_module_options({"enable_backward": False})

f32 = wp.float32

MOST = 16
"""Nodes of a world that there is room for, at most."""
AT_ONCE = 16
"""Outer nodes that a thread looks at."""
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
    ways: wp.array2d[f32]  # L' times how far each is stretched, shape [3 room, worlds]
    answers: wp.array2d[f32]  # forces of the springs [N], shape [3 room, worlds]
    kept: wp.array2d[f32]  # the residual of nodes and bodies without them, shape [3 room + 6 bodies, worlds]


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


@wp.func
def take_spring(c: int, k: int, node: int, w: int, touches: Touches, springs: Springs):
    """Write down the contact of an outer node, that with a free body first."""
    body = int(-1)
    for other in range(touches.bodies):
        if body < 0 and touches.on[k * touches.bodies + other, w] != 0:
            body = other
    root = wp.mat33()
    if body >= 0:
        root = root_of(touches.pair_tangents, k * touches.bodies + body, w)
    else:
        root = root_of(touches.tangents, k, w)
    springs.places[c, w] = k
    springs.nodes[c, w] = node
    springs.bodies[c, w] = body
    for i in range(3):
        for j in range(i + 1):
            springs.roots[6 * c + (i * (i + 1)) // 2 + j, w] = root[i, j]


@wp.kernel
def mark_springs(
    # State in:
    running: wp.array[wp.int32], touches: Touches,
    # State out:
    marks_out: wp.array2d[wp.int32],
):  # fmt: skip
    """Which of some outer nodes of a world touch, a bit each."""
    chunk, w = wp.tid()
    if running[w] == 0:
        return
    count = touches.tangents.shape[0] // 6
    marks = int(0)
    for j in range(AT_ONCE):
        k = wp.min(AT_ONCE * chunk + j, count - 1)
        stiff = touches.tangents[6 * k, w] + touches.tangents[6 * k + 1, w] + touches.tangents[6 * k + 2, w]
        if stiff > 0.0 and AT_ONCE * chunk + j < count:
            marks = marks | (1 << j)
    marks_out[chunk, w] = marks


@wp.kernel
def list_springs(
    # Parameters:
    outer: wp.array[wp.int32],
    # State in:
    running: wp.array[wp.int32], touches: Touches, marks: wp.array2d[wp.int32],
    # State in place:
    springs: Springs,
):  # fmt: skip
    """Which nodes of a world touch."""
    w = wp.tid()
    count = int(0)
    if running[w] != 0:
        for chunk in range(marks.shape[0]):
            left = marks[chunk, w]
            k = AT_ONCE * chunk
            while left != 0 and count < springs.room:
                if left & 1 == 1:
                    take_spring(count, k, outer[k], w, touches, springs)
                    count += 1
                left = left >> 1
                k += 1
    springs.count[w] = count


@wp.func
def turn_matrix(turns: wp.array2d[f32], i: int, w: int) -> wp.mat33:
    """The turn of a node as a matrix."""
    return wp.quat_to_matrix(turn_of(turns, i, w))


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
    block = turn_matrix(turns, i, w) * block * wp.transpose(turn_matrix(turns, j, w))
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


LANES = 64
"""Threads that invert the matrix of a world on CUDA, eight by eight."""

# By sweeps, which turn a symmetric matrix into its negative inverse in place: all pivots are 1 or more, since the
# identity is part of the matrix. On CUDA a thread has each eighth row and column in its registers.
_INVERT = """
    const int W = springs.inverses.shape[1], size = 3 * springs.room, m = 3 * springs.count.data[w];
    float* all = springs.inverses.data + w;
    #if defined(__CUDA_ARCH__)
    __shared__ float column[2][SIZE];
    const int ty = lane / 8, tx = lane % 8;
    float S[SIZE / 8][SIZE / 8];
    #pragma unroll
    for (int a = 0; a < SIZE / 8; ++a)
        for (int b = 0; b < SIZE / 8; ++b) {
            const int i = 8 * a + ty, j = 8 * b + tx, low = i > j ? i : j, high = i > j ? j : i;
            S[a][b] = low < m ? all[(size_t)(low * size + high) * W] : 0.0f;
        }
    #pragma unroll
    for (int c = 0; c < SIZE / 8; ++c)
        for (int r = 0; r < 8; ++r) {
            const int k = 8 * c + r;
            if (k >= m) break;
            float* of = column[r & 1];  // two of them, so that one wait a sweep is enough
            if (tx == r)
                #pragma unroll
                for (int a = 0; a < SIZE / 8; ++a) of[8 * a + ty] = S[a][c];
            __syncthreads();
            const float pivot = of[k], part = 1.0f / (pivot > 1.0e-3f ? pivot : 1.0e-3f);
            #pragma unroll
            for (int a = 0; a < SIZE / 8; ++a) {
                const int i = 8 * a + ty;
                const float scaled = part * of[i];
                #pragma unroll
                for (int b = 0; b < SIZE / 8; ++b) {
                    const int j = 8 * b + tx;
                    if (i == k) S[a][b] = j == k ? -part : part * of[j];
                    else S[a][b] = j == k ? scaled : S[a][b] - scaled * of[j];
                }
            }
        }
    #pragma unroll
    for (int a = 0; a < SIZE / 8; ++a)
        for (int b = 0; b < SIZE / 8; ++b)
            if (8 * a + ty < m && 8 * b + tx < m) all[(size_t)((8 * a + ty) * size + 8 * b + tx) * W] = -S[a][b];
    __syncthreads();
    #else
    float S[SIZE][SIZE], of[SIZE];
    for (int i = 0; i < m; ++i)
        for (int j = 0; j <= i; ++j) S[i][j] = S[j][i] = all[(size_t)(i * size + j) * W];
    for (int k = 0; k < m; ++k) {
        const float part = 1.0f / (S[k][k] > 1.0e-3f ? S[k][k] : 1.0e-3f);
        for (int i = 0; i < m; ++i) of[i] = S[i][k];
        for (int i = 0; i < m; ++i) {
            if (i == k) continue;
            const float scaled = part * of[i];
            for (int j = 0; j < m; ++j) S[i][j] -= scaled * of[j];
            S[i][k] = S[k][i] = scaled;
        }
        S[k][k] = -part;
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) all[(size_t)(i * size + j) * W] = -S[i][j];
    #endif
""".replace("SIZE", str(3 * MOST))


@wp.func_native(_INVERT)
def invert(lane: int, w: int, springs: Springs) -> None: ...


@wp.kernel
def invert_springs(running: wp.array[wp.int32], springs: Springs):
    """The inverse of the matrix in the middle; a block of threads has that of one world."""
    w, lane = wp.tid()
    if running[w] != 0:
        invert(lane, w, springs)


@wp.kernel
def follow_springs(
    # Parameters:
    outer: wp.array2d[f32],
    # State in:
    running: wp.array[wp.int32], residual: wp.array2d[f32],
    # State in place:
    springs: Springs,
):  # fmt: skip
    """How far the node of a spring follows the shared inverse, for devices on which a product with all is slow."""
    c, w = wp.tid()
    if running[w] == 0 or c >= springs.count[w]:
        return
    way = wp.vec3()
    first = 3 * springs.places[c, w]
    for column in range(outer.shape[1]):
        for j in range(3):
            way[j] += outer[first + j, column] * residual[column, w]
    put_vector(springs.ways, c, w, way)


@wp.kernel
def stretch_springs(
    # Parameters:
    known: int,  # whether ways are there already
    # State in:
    running: wp.array[wp.int32], turns: wp.array2d[f32], touches: Touches,
    followed: wp.array2d[f32],  # by outer nodes
    answers: wp.array2d[f32],  # of bodies
    # State in place:
    springs: Springs,
):  # fmt: skip
    """How far a spring is stretched where nodes and bodies follow the shared inverse."""
    c, w = wp.tid()
    if running[w] == 0 or c >= springs.count[w]:
        return
    place = springs.places[c, w]
    way = wp.vec3()
    if known != 0:
        way = vector_of(springs.ways, c, w)
    else:
        way = vector_of(followed, place, w)
    way = turn_matrix(turns, springs.nodes[c, w], w) * way
    body = springs.bodies[c, w]
    if body >= 0:
        way -= carried_along(touches, place * touches.bodies + body, body, w, answers)
    put_vector(springs.ways, c, w, wp.transpose(kept_root(springs, c, w)) * way)


@wp.kernel
def answer_springs(
    # State in:
    running: wp.array[wp.int32], turns: wp.array2d[f32],
    # State in place:
    springs: Springs, residual: wp.array2d[f32],
):  # fmt: skip
    """Force of one spring, turned back to rest, which its node does not feel from the residual any more."""
    c, w = wp.tid()
    if running[w] == 0 or c >= springs.count[w]:
        return
    size = 3 * springs.room
    sum = wp.vec3()
    for d in range(springs.count[w]):
        way = vector_of(springs.ways, d, w)
        for a in range(3):
            for b in range(3):
                sum[a] += springs.inverses[(3 * c + a) * size + 3 * d + b, w] * way[b]
    force = kept_root(springs, c, w) * sum
    own = springs.nodes[c, w]
    before = vector_of(residual, own, w)
    put_vector(springs.answers, c, w, force)
    put_vector(springs.kept, c, w, before)
    put_vector(residual, own, w, before - wp.transpose(turn_matrix(turns, own, w)) * force)


@wp.kernel
def answer_spring_bodies(
    # Parameters:
    bodies: Bodies,
    # State in:
    running: wp.array[wp.int32], touches: Touches,
    # State in place:
    springs: Springs, residual: wp.array2d[f32],
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
            force += own
            torque += wp.cross(vector_of(touches.arms, springs.places[c, w] * touches.bodies + body, w), own)
    centre = centre_of(bodies, body)
    for half in range(2):
        before = vector_of(residual, centre + half, w)
        put_vector(springs.kept, springs.room + 2 * body + half, w, before)
        put_vector(residual, centre + half, w, before + wp.where(half == 0, force, torque))


@wp.kernel
def restore_residual(
    # Parameters:
    bodies: Bodies,
    # State in:
    running: wp.array[wp.int32], springs: Springs,
    # State out:
    residual_out: wp.array2d[f32],
):  # fmt: skip
    """Give nodes and bodies their residual back, to the bit."""
    c, w = wp.tid()
    if running[w] == 0:
        return
    if c >= springs.room:
        body = (c - springs.room) // 2
        put_vector(residual_out, centre_of(bodies, body) + (c - springs.room) % 2, w, vector_of(springs.kept, c, w))
    elif c < springs.count[w]:
        put_vector(residual_out, springs.nodes[c, w], w, vector_of(springs.kept, c, w))

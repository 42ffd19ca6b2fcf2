"""Parts of a surface that touch each other: a vertex and a triangle, or two edges.

The nearest points of a pair are mixtures of its four nodes; the coefficients of one minus those of the other give the
way between them as one sum, d = Σ c x, whose length is the distance. So both kinds of pairs are one to all else here,
and since coefficients sum to 0, forces of a pair do as well.

Pushes act along d and have no moment. Friction r acts across it, and at two points that are a gap apart it would have
the moment d × r, which would make angular momentum from nothing. So slip is what is seen by one who turns with both
sides: Σ c u − ω × d, where ω is their mean turn. With y the ways of the nodes from the middles of their sides,
K ω = Σ y × u, K = Σ (|y|² I − y yᵀ), and the forces of that slip are c r − (K⁻¹ (d × r)) × y: on each side they add up
to the whole friction, and all of them have no moment. The middle of a lone vertex is itself: only its triangle turns.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact import along
from annelid.fem.kernels.contact_law import (
    friction_energy,
    friction_factor,
    kept_stretch,
    push_energy,
    push_force,
    push_stiffness,
    sliding_direction,
)
from annelid.fem.kernels.corners import TINY, closest_weights

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
PARALLEL = 0.01
"""Square of the sine of the angle of two edges below which their nearest points jump about: their push fades there."""
KEPT = 0.1
"""Of its gap, what a pair keeps on a move."""
LARGEST = 4.0
"""Forces that balance the moment of a friction, over that friction: where they would be larger, friction is less."""
ADVANCES = 64
"""Parts in which the way of a pair is searched."""


@wp.struct
class Pairs:
    """Pairs, one row each: first those of a vertex and a triangle, then those of edges."""

    nodes: wp.array[wp.vec4i]
    edges_from: wp.int32  # the first pair of edges
    reaches: wp.array[wp.float64]  # [m]
    skins: wp.array[wp.float64]  # [m]
    stiffness: wp.float64  # [N/m]
    friction: wp.float64
    yielding: wp.float64  # part of the resistance to further sliding that is left out of the tangent, 0 to 1


@wp.struct
class Lagging:
    """What friction and nearly parallel edges take from an iterate before."""

    shares: wp.array[wp.float64]  # of the push: less than 1 for nearly parallel edges
    slips: wp.array2d[wp.mat33d]  # how the moves of its four nodes make a pair slip
    strengths: wp.array[wp.float64]  # [N]
    normals: wp.array[wp.vec3d]
    stretches: wp.array[wp.vec3d]  # [m]


@wp.struct
class Loads:
    """What each pair does."""

    energies: wp.array[wp.float64]
    coefficients: wp.array[wp.vec4d]
    pushes: wp.array[wp.vec3d]  # [N] times the coefficients
    rubs: wp.array[wp.vec3d]  # [N] times the transposed slips
    push_tangents: wp.array[wp.mat33d]
    rub_tangents: wp.array[wp.mat33d]


@wp.func
def edge_coefficients(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d) -> wp.vec4d:
    """Nearest points of the edges a-b and c-d; Ericson, Real-Time Collision Detection, sec. 5.1.9."""
    zero = f64(0.0)
    one = f64(1.0)
    u = b - a
    v = d - c
    r = a - c
    uu = wp.dot(u, u)
    vv = wp.dot(v, v)
    uv = wp.dot(u, v)
    ur = wp.dot(u, r)
    vr = wp.dot(v, r)
    below = uu * vv - uv * uv
    s = zero
    if below > f64(1.0e-14) * uu * vv:
        s = wp.clamp((uv * vr - ur * vv) / below, zero, one)
    t = (uv * s + vr) / vv
    if t < zero:
        t = zero
        s = wp.clamp(-ur / uu, zero, one)
    elif t > one:
        t = one
        s = wp.clamp((uv - ur) / uu, zero, one)
    return wp.vec4d(one - s, s, t - one, -t)


@wp.func
def coefficients_of(edges: bool, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d) -> wp.vec4d:
    found = wp.vec4d()
    if edges:
        found = edge_coefficients(a, b, c, d)
    else:
        w = closest_weights(b, c, d, a)
        found = wp.vec4d(f64(1.0), -w[0], -w[1], -w[2])
    return found


@wp.func
def mixed(c: wp.vec4d, nodes: wp.vec4i, vectors: wp.array[wp.vec3d]) -> wp.vec3d:
    return c[0] * vectors[nodes[0]] + c[1] * vectors[nodes[1]] + c[2] * vectors[nodes[2]] + c[3] * vectors[nodes[3]]


@wp.func
def approach(edges: bool, n: wp.vec4i, step: wp.array[wp.vec3d]) -> f64:
    """How much nearer to each other the sides of a pair can get on a step at most."""
    mean = f64(0.25) * (step[n[0]] + step[n[1]] + step[n[2]] + step[n[3]])
    most = wp.max(wp.length(step[n[2]] - mean), wp.length(step[n[3]] - mean))
    first = wp.length(step[n[0]] - mean)
    second = wp.length(step[n[1]] - mean)
    if edges:
        most += wp.max(first, second)
    else:
        most = first + wp.max(most, second)
    return most


@wp.func
def nearest(i: int, pairs: Pairs, x: wp.array[wp.vec3d]) -> wp.vec4d:
    n = pairs.nodes[i]
    return coefficients_of(i >= pairs.edges_from, x[n[0]], x[n[1]], x[n[2]], x[n[3]])


@wp.kernel
def near_pairs(
    nodes: wp.array[wp.vec4i],
    edges_from: int,
    near: f64,
    middles: wp.array[wp.vec3d],
    halves: wp.array[wp.vec3d],
    near_out: wp.array[wp.bool],
):
    """Whether pairs may come so near each other on a way of their nodes, given as its middle and half of it."""
    i = wp.tid()
    n = nodes[i]
    edges = i >= edges_from
    c = coefficients_of(edges, middles[n[0]], middles[n[1]], middles[n[2]], middles[n[3]])
    near_out[i] = wp.length(mixed(c, n, middles)) <= near + approach(edges, n, halves)


@wp.func
def share_of(i: int, pairs: Pairs, x: wp.array[wp.vec3d]) -> f64:
    share = f64(1.0)
    if i >= pairs.edges_from:
        n = pairs.nodes[i]
        u = wp.normalize(x[n[1]] - x[n[0]])
        v = wp.normalize(x[n[3]] - x[n[2]])
        askew = wp.min(wp.length_sq(wp.cross(u, v)) / f64(PARALLEL), f64(1.0))
        share = askew * (f64(2.0) - askew)
    return share


@wp.kernel
def pair_distances(
    pairs: Pairs,
    positions: wp.array[wp.vec3d],
    distance_out: wp.array[f64],
    share_out: wp.array[f64],
):
    i = wp.tid()
    distance_out[i] = wp.length(mixed(nearest(i, pairs, positions), pairs.nodes[i], positions))
    share_out[i] = share_of(i, pairs, positions)


@wp.func
def arm(i: int, place: int, pairs: Pairs, x: wp.array[wp.vec3d]) -> wp.vec3d:
    """Way to a node of a pair from the middle of its side."""
    n = pairs.nodes[i]
    middle = x[n[0]]
    if i >= pairs.edges_from:
        first = 2 * (place / 2)
        middle = f64(0.5) * (x[n[first]] + x[n[first + 1]])
    elif place > 0:
        middle = (x[n[1]] + x[n[2]] + x[n[3]]) / f64(3.0)
    return x[n[place]] - middle


@wp.func
def turned_away(i: int, pairs: Pairs, way: wp.vec3d, x: wp.array[wp.vec3d]) -> wp.mat33d:
    """What makes Σ y × u into −ω × d, the part of a way that is no slip but a turn of both sides."""
    inertia = wp.mat33d()
    square = f64(0.0)
    for a in range(4):
        y = arm(i, a, pairs, x)
        inertia += wp.length_sq(y) * wp.identity(n=3, dtype=f64) - wp.outer(y, y)
        square += wp.length_sq(y)
    found = wp.mat33d()
    if wp.determinant(inertia) > f64(1.0e-12) * square * square * square:
        found = wp.skew(way) * wp.inverse(inertia)
    return found


@wp.kernel
def follow_pairs(pairs: Pairs, positions: wp.array[wp.vec3d], lagging_out: Lagging):
    """Take the limits and planes of friction, and the shares of edges, from where nodes are."""
    i = wp.tid()
    c = nearest(i, pairs, positions)
    way = mixed(c, pairs.nodes[i], positions)
    distance = wp.length(way)
    share = share_of(i, pairs, positions)
    force = push_force(distance - pairs.skins[i], pairs.reaches[i], pairs.stiffness)
    lagging_out.shares[i] = share
    turned = turned_away(i, pairs, way, positions)
    most = f64(0.0)
    for a in range(4):
        balancing = turned * wp.skew(arm(i, a, pairs, positions))
        lagging_out.slips[i, a] = c[a] * wp.identity(n=3, dtype=f64) + balancing
        most = wp.max(most, wp.ddot(balancing, balancing))
    largest = f64(LARGEST)
    force *= largest / wp.max(wp.sqrt(most), largest)
    if most == f64(0.0):  # all nodes are in a line
        force = f64(0.0)
    lagging_out.strengths[i] = share * force
    lagging_out.normals[i] = way / wp.max(distance, f64(TINY))


@wp.func
def stretched(i: int, pairs: Pairs, lagging: Lagging, starts: wp.array[wp.vec3d], x: wp.array[wp.vec3d]) -> wp.vec3d:
    """Stretch of the spring of friction if nothing slides."""
    n = pairs.nodes[i]
    slip = wp.vec3d()
    for a in range(4):
        slip += lagging.slips[i, a] * (x[n[a]] - starts[n[a]])
    return along(lagging.normals[i], lagging.stretches[i] + slip)


@wp.kernel
def load_pairs(
    # Parameters:
    pairs: Pairs,
    # State in:
    lagging: Lagging, starts: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State out:
    loads_out: Loads,
):  # fmt: skip
    """Push and friction of each pair. The way in which nearest points move is left out of the tangent."""
    i = wp.tid()
    c = nearest(i, pairs, positions)
    way = mixed(c, pairs.nodes[i], positions)
    distance = wp.length(way)
    gap = distance - pairs.skins[i]
    reach = pairs.reaches[i]
    k = lagging.shares[i] * pairs.stiffness
    energy = f64(0.0)
    push = wp.vec3d()
    rub = wp.vec3d()
    push_tangent = wp.mat33d()
    rub_tangent = wp.mat33d()
    if gap < reach and k > f64(0.0):
        n = way / wp.max(distance, f64(TINY))
        energy = push_energy(gap, reach, k)
        push = push_force(gap, reach, k) * n
        push_tangent = push_stiffness(gap, reach, k) * wp.outer(n, n)
    limit = pairs.friction * lagging.strengths[i]
    if limit > f64(0.0):
        n = lagging.normals[i]
        trial = stretched(i, pairs, lagging, starts, positions)
        factor = friction_factor(trial, limit, pairs.stiffness)
        energy += friction_energy(trial, limit, pairs.stiffness)
        rub = -factor * trial
        # What slides may resist along its way as well here: where nothing does, iterations overshoot and turn back at
        # first; where it does, they creep in the end.
        along_slide = sliding_direction(trial, limit, pairs.stiffness)
        rub_tangent = factor * (
            wp.identity(n=3, dtype=f64) - wp.outer(n, n) - pairs.yielding * wp.outer(along_slide, along_slide)
        )
    loads_out.energies[i] = energy
    loads_out.coefficients[i] = c
    loads_out.pushes[i] = push
    loads_out.rubs[i] = rub
    loads_out.push_tangents[i] = push_tangent
    loads_out.rub_tangents[i] = rub_tangent


@wp.kernel
def keep_pair_stretches(
    pairs: Pairs,
    starts: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    lagging: Lagging,
):
    """What friction keeps at the end of a step."""
    i = wp.tid()
    limit = pairs.friction * lagging.strengths[i]
    kept = wp.vec3d()
    if limit > f64(0.0):
        kept = kept_stretch(stretched(i, pairs, lagging, starts, positions), limit, pairs.stiffness)
    lagging.stretches[i] = kept


@wp.kernel
def load_nodes(
    # Parameters:
    wanted: int, share: f64, firsts: wp.array[wp.int32], entries: wp.array[wp.int32],
    # State in:
    lagging: Lagging, loads: Loads,
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """Sum what pairs do to each node, with a share of the diagonal of the tangent. An entry is 4 · pair + place."""
    r = wp.tid()
    energy = f64(0.0)
    force = wp.vec3d()
    tangent = wp.mat33d()
    for e in range(firsts[r], firsts[r + 1]):
        pair = entries[e] / 4
        place = entries[e] % 4
        c = loads.coefficients[pair][place]
        slip = lagging.slips[pair, place]
        if place == 0:
            energy += loads.energies[pair]
        force += c * loads.pushes[pair] + wp.transpose(slip) * loads.rubs[pair]
        tangent += (c * c) * loads.push_tangents[pair] + wp.transpose(slip) * loads.rub_tangents[pair] * slip
    energy_out[r] = energy
    forces_out[r, 0] = force
    if wanted != 0:
        tangent_out[r, 0, 0] = share * tangent


@wp.kernel
def resist(
    pairs: Pairs,
    lagging: Lagging,
    loads: Loads,
    vectors: wp.array2d[wp.vec3d],
    push_out: wp.array2d[wp.vec3d],
    rub_out: wp.array2d[wp.vec3d],
):
    """How pairs resist moves of their nodes."""
    i, k = wp.tid()
    n = pairs.nodes[i]
    c = loads.coefficients[i]
    way = wp.vec3d()
    slip = wp.vec3d()
    for a in range(4):
        way += c[a] * vectors[n[a], k]
        slip += lagging.slips[i, a] * vectors[n[a], k]
    push_out[i, k] = loads.push_tangents[i] * way
    rub_out[i, k] = loads.rub_tangents[i] * slip


@wp.kernel
def add_resistance(
    # Parameters:
    numbers: wp.array[wp.int32], firsts: wp.array[wp.int32], entries: wp.array[wp.int32],
    # State in:
    lagging: Lagging, loads: Loads, blocks: wp.array3d[wp.mat33d], vectors: wp.array2d[wp.vec3d],
    pushes: wp.array2d[wp.vec3d], rubs: wp.array2d[wp.vec3d],
    # State in place:
    products: wp.array2d[wp.vec3d],
):  # fmt: skip
    """Add what pairs do to the product of a matrix that has their blocks on the diagonal already."""
    r, k = wp.tid()
    node = numbers[r]
    total = wp.vec3d()
    for e in range(firsts[r], firsts[r + 1]):
        pair = entries[e] / 4
        place = entries[e] % 4
        total += loads.coefficients[pair][place] * pushes[pair, k]
        total += wp.transpose(lagging.slips[pair, place]) * rubs[pair, k]
    if firsts[r + 1] > firsts[r]:
        products[node, k] = products[node, k] + total - blocks[r, 0, 0] * vectors[node, k]


@wp.kernel
def free_pair_parts(
    pairs: Pairs,
    positions: wp.array[wp.vec3d],
    step: wp.array[wp.vec3d],
    part_out: wp.array[f64],
):
    """Part of a step on which a pair keeps a tenth of its gap: in parts that its points cannot use up.

    Li, Kaufman and Jiang, Codimensional Incremental Potential Contact, 2021, sec. 5: additive continuous collision
    detection.
    """
    i = wp.tid()
    n = pairs.nodes[i]
    edges = i >= pairs.edges_from
    a = positions[n[0]]
    b = positions[n[1]]
    c = positions[n[2]]
    d = positions[n[3]]
    mean = f64(0.25) * (step[n[0]] + step[n[1]] + step[n[2]] + step[n[3]])
    da = step[n[0]] - mean
    db = step[n[1]] - mean
    dc = step[n[2]] - mean
    dd = step[n[3]] - mean
    fastest = approach(edges, n, step)
    w = coefficients_of(edges, a, b, c, d)
    gap = wp.length(w[0] * a + w[1] * b + w[2] * c + w[3] * d)
    skin = pairs.skins[i]
    if gap <= skin:
        skin = f64(0.0)
    first = gap - skin
    kept = f64(KEPT) * first
    part = f64(0.0)
    left = first - kept
    for _ in range(ADVANCES):
        if part < f64(1.0) and left > kept:
            part = wp.min(part + left / wp.max(fastest, f64(1.0e-30)), f64(1.0))
            w = coefficients_of(edges, a + part * da, b + part * db, c + part * dc, d + part * dd)
            way = w[0] * (a + part * da) + w[1] * (b + part * db) + w[2] * (c + part * dc) + w[3] * (d + part * dd)
            left = wp.length(way) - skin - kept
    part_out[i] = part

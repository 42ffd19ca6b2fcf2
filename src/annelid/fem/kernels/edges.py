"""Edges of rigid things against edges of a solid's surface: what passes between the points that touch."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact_law import push_energy, push_force, push_stiffness
from annelid.fem.kernels.corners import TINY
from annelid.fem.kernels.obstacles import Forms, Poses
from annelid.fem.kernels.pairs import ADVANCES, KEPT, edge_coefficients

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
SOFTER = 0.25
"""Of the stiffness of a contact: that of edges, between which points touch as well."""
ASKEW = 0.25
"""Square of the sine of the angle of two edges below which their push fades."""
LEAST = 1.0e-10
"""Distance below which edges do not come nearer to each other: rounding would lead one through the other [m]."""


@wp.struct
class Edges:
    """Edges of obstacles, one row each, and those of the solid that they may meet."""

    owners: wp.array[wp.int32]  # the obstacle of each
    ends: wp.array2d[wp.vec3d]  # [m] in its frame
    sizes: wp.array[wp.float64]  # half lengths [m]
    nodes: wp.array2d[wp.int32]  # ends of the edges of the solid


@wp.struct
class EdgeHits:
    """The first few edges of obstacles that each edge of the solid touches; -1 where there is none."""

    edges: wp.array2d[wp.int32]
    shares: wp.array2d[wp.float64]  # place along the edge of the solid, from 0 to 1
    places: wp.array2d[wp.vec3d]  # [m] on the edge of the obstacle
    forces: wp.array2d[wp.vec3d]  # [N] on the solid
    tangents: wp.array2d[wp.mat33d]


@wp.func
def end_of(i: int, end: int, edges: Edges, poses: Poses) -> wp.vec3d:
    """Where an end of an edge of an obstacle is in the world."""
    b = edges.owners[i]
    return poses.places[b] + wp.quat_rotate(poses.turns[b], edges.ends[i, end])


@wp.func
def faded(part: f64) -> f64:
    """From 0 to 1, without a kink at 1."""
    short = wp.min(part, f64(1.0))
    return short * (f64(2.0) - short)


@wp.kernel
def place_edges(edges: Edges, now: Poses, end_out: wp.array2d[wp.vec3d]):
    """Where edges of obstacles are."""
    i, end = wp.tid()
    end_out[i, end] = end_of(i, end, edges, now)


@wp.func
def far_apart(i: int, size: f64, reach: f64, middle: wp.vec3d, edges: Edges, ends: wp.array2d[wp.vec3d]) -> bool:
    """Whether an edge of an obstacle cannot be within reach of one about a middle, of half a length."""
    near = edges.sizes[i] + size + reach
    return wp.length_sq(f64(0.5) * (ends[i, 0] + ends[i, 1]) - middle) > near * near


@wp.kernel
def follow_edges(
    reach: f64,
    edges: Edges,
    ends: wp.array2d[wp.vec3d],
    positions: wp.array[wp.vec3d],
    share_out: wp.array2d[f64],
):
    """Take shares of pushes from where edges are.

    They fade where edges are nearly parallel: nearest points jump about there, and points along the edges touch. Those
    of edges that are far apart are not asked for.
    """
    e = wp.tid()
    c = positions[edges.nodes[e, 0]]
    d = positions[edges.nodes[e, 1]]
    size = f64(0.5) * wp.length(d - c)
    for i in range(edges.owners.shape[0]):
        share = f64(1.0)
        if not far_apart(i, size, f64(4.0) * reach, f64(0.5) * (c + d), edges, ends):
            sine = wp.length_sq(wp.cross(wp.normalize(ends[i, 1] - ends[i, 0]), wp.normalize(d - c)))
            share = faded(sine / f64(ASKEW))
        share_out[e, i] = share


@wp.kernel
def touch_edges(
    # Parameters:
    wanted: int, reach: f64, skin: f64, edges: Edges, forms: Forms,
    # State in:
    ends: wp.array2d[wp.vec3d], shares: wp.array2d[f64], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d], hits_out: EdgeHits,
):  # fmt: skip
    """Push of all edges of obstacles on one edge of the solid; how nearest points move is left out of the tangent."""
    e = wp.tid()
    c = positions[edges.nodes[e, 0]]
    d = positions[edges.nodes[e, 1]]
    for a in range(2):
        forces_out[e, a] = wp.vec3d()
        if wanted != 0:
            for b in range(2):
                tangent_out[e, a, b] = wp.mat33d()
    for slot in range(hits_out.edges.shape[1]):
        hits_out.edges[e, slot] = -1
    used = int(0)
    energy = f64(0.0)
    size = f64(0.5) * wp.length(d - c)
    for i in range(edges.owners.shape[0]):
        if not far_apart(i, size, reach + skin, f64(0.5) * (c + d), edges, ends):
            start = ends[i, 0]
            stop = ends[i, 1]
            w = edge_coefficients(start, stop, c, d)
            way = -w[2] * c - w[3] * d - w[0] * start - w[1] * stop
            distance = wp.max(wp.length(way), f64(TINY))
            gap = distance - skin
            k = f64(SOFTER) * shares[e, i] * forms.stiffnesses[edges.owners[i]]
            if gap < reach and k > f64(0.0):
                n = way / distance
                force = push_force(gap, reach, k) * n
                tangent = push_stiffness(gap, reach, k) * wp.outer(n, n)
                energy += push_energy(gap, reach, k)
                for a in range(2):
                    forces_out[e, a] = forces_out[e, a] - w[2 + a] * force
                    if wanted != 0:
                        for b in range(2):
                            tangent_out[e, a, b] = tangent_out[e, a, b] + (w[2 + a] * w[2 + b]) * tangent
                if used < hits_out.edges.shape[1]:
                    hits_out.edges[e, used] = i
                    hits_out.shares[e, used] = -w[3]
                    hits_out.places[e, used] = w[0] * start + w[1] * stop
                    hits_out.forces[e, used] = force
                    hits_out.tangents[e, used] = tangent
                    used += 1
    energy_out[e] = energy


@wp.func
def free_way(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d,
             da: wp.vec3d, db: wp.vec3d, dc: wp.vec3d, dd: wp.vec3d) -> f64:  # fmt: skip
    """Part of the way of two edges on which they keep a tenth of their distance: in parts that they cannot use up."""
    fastest = wp.max(wp.length(da), wp.length(db)) + wp.max(wp.length(dc), wp.length(dd))
    w = edge_coefficients(a, b, c, d)
    first = wp.length(w[0] * a + w[1] * b + w[2] * c + w[3] * d)
    kept = wp.max(f64(wp.static(KEPT)) * first, f64(LEAST))
    left = first - kept
    part = f64(0.0)
    for _ in range(ADVANCES):
        if part < f64(1.0) and left > f64(wp.static(KEPT)) * kept:
            part = wp.min(part + left / wp.max(fastest, f64(1.0e-30)), f64(1.0))
            w = edge_coefficients(a + part * da, b + part * db, c + part * dc, d + part * dd)
            way = w[0] * (a + part * da) + w[1] * (b + part * db) + w[2] * (c + part * dc) + w[3] * (d + part * dd)
            left = wp.length(way) - kept
    return part


@wp.kernel
def free_edge_parts(
    # Parameters:
    edges: Edges,
    # State in:
    begin: Poses, end: Poses, positions: wp.array[wp.vec3d], step: wp.array[wp.vec3d],
    # State out:
    part_out: wp.array[f64],
):  # fmt: skip
    """Part of a way on which an edge of an obstacle passes no edge of the solid, while both move."""
    i = wp.tid()
    first = end_of(i, 0, edges, begin)
    last = end_of(i, 1, edges, begin)
    first_way = end_of(i, 0, edges, end) - first
    last_way = end_of(i, 1, edges, end) - last
    middle = f64(0.5) * (first + last)
    size = f64(0.5) * wp.length(last - first)
    mean = f64(0.5) * (first_way + last_way)
    part = f64(1.0)
    for e in range(edges.nodes.shape[0]):
        n = edges.nodes[e, 0]
        m = edges.nodes[e, 1]
        one = step[n] - mean
        two = step[m] - mean
        ways = wp.max(wp.length(one), wp.length(two)) + wp.max(wp.length(first_way - mean), wp.length(last_way - mean))
        apart = wp.length(middle - f64(0.5) * (positions[n] + positions[m]))
        near = size + f64(0.5) * wp.length(positions[m] - positions[n])
        if f64(0.9) * (apart - near) < ways:
            part = wp.min(
                part,
                free_way(first, last, positions[n], positions[m], first_way - mean, last_way - mean, one, two),
            )
    part_out[i] = part

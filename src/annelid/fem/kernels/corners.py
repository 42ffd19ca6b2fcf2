"""Sharp points of rigid things against the triangles of a solid's surface: what passes between nodes.

A point touches all that is within reach: triangles count once each, their edges minus once, their nodes once. Where the
surface is flat or bulges, the nearest points of neighbours are one and the same, and this adds up to one push from the
nearest point. In a dent each side pushes by itself, and no push jumps as another side becomes the nearest one (Li,
Ferguson, Schneider et al., Convergent Incremental Potential Contact, 2023, sec. 4). A point is outside to begin with
and, since moves are cut, stays there: distances need no sign.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact import along, carried, slip
from annelid.fem.kernels.contact_law import (
    friction_energy,
    friction_factor,
    kept_stretch,
    push_energy,
    push_force,
    push_stiffness,
    sliding_direction,
)
from annelid.fem.kernels.obstacles import Forms, Poses

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
TINY = 1.0e-12
"""Distance below which a direction means nothing [m]."""
ADVANCES = 16
"""Parts in which a way is searched for the triangle that is first in it."""


@wp.struct
class Corners:
    """Sharp points, one row each, and the triangles that they may touch."""

    owners: wp.array[wp.int32]  # the obstacle of each
    places: wp.array[wp.vec3d]  # [m] in its frame
    frictions: wp.array[wp.float64]
    free: wp.array[wp.int32]  # 1 where the obstacle moves with the unknowns: its part of what turns is left out
    faces: wp.array2d[wp.int32]
    counted: wp.array[wp.int32]  # bits: which edges of a triangle, and which of its corners, are counted with it
    skin: wp.float64  # [m]
    reach: wp.float64  # [m]


@wp.struct
class Hits:
    """What each point touches, one slot each: places on triangles, and how often the push from there counts."""

    used: wp.array[wp.int32]  # slots of each point
    keys: wp.array2d[wp.vec2i]  # -1 and a triangle, two ends of an edge, or a node twice
    faces: wp.array2d[wp.int32]
    weights: wp.array2d[wp.vec3d]
    counts: wp.array2d[wp.float64]  # 1, or -1 of an edge in a dent; 0 where neighbours cancel each other
    gaps: wp.array2d[wp.float64]  # [m]


@wp.struct
class Nearest:
    """The triangle that each point is nearest to, -1 where none is within reach, and where on it."""

    faces: wp.array[wp.int32]
    weights: wp.array[wp.vec3d]


@wp.func
def closest_weights(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, p: wp.vec3d) -> wp.vec3d:
    """Weights of the corners of a triangle at its closest point; Ericson, Real-Time Collision Detection, sec. 5.1.5."""
    zero = f64(0.0)
    one = f64(1.0)
    ab = b - a
    ac = c - a
    d1 = wp.dot(ab, p - a)
    d2 = wp.dot(ac, p - a)
    if d1 <= zero and d2 <= zero:
        return wp.vec3d(one, zero, zero)
    d3 = wp.dot(ab, p - b)
    d4 = wp.dot(ac, p - b)
    if d3 >= zero and d4 <= d3:
        return wp.vec3d(zero, one, zero)
    d5 = wp.dot(ab, p - c)
    d6 = wp.dot(ac, p - c)
    if d6 >= zero and d5 <= d6:
        return wp.vec3d(zero, zero, one)
    vc = d1 * d4 - d3 * d2
    if vc <= zero and d1 >= zero and d3 <= zero:
        v = d1 / (d1 - d3)
        return wp.vec3d(one - v, v, zero)
    vb = d5 * d2 - d1 * d6
    if vb <= zero and d2 >= zero and d6 <= zero:
        w = d2 / (d2 - d6)
        return wp.vec3d(one - w, zero, w)
    va = d3 * d6 - d5 * d4
    if va <= zero and d4 >= d3 and d5 >= d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return wp.vec3d(zero, one - w, w)
    total = va + vb + vc
    return wp.vec3d(va / total, vb / total, vc / total)


@wp.func
def mix(faces: wp.array2d[wp.int32], t: int, weights: wp.vec3d, vectors: wp.array[wp.vec3d]) -> wp.vec3d:
    """Weighted sum of the vectors of the corners of a triangle."""
    return weights[0] * vectors[faces[t, 0]] + weights[1] * vectors[faces[t, 1]] + weights[2] * vectors[faces[t, 2]]


@wp.func
def corner_at(i: int, corners: Corners, poses: Poses) -> wp.vec3d:
    """Where a point is in the world."""
    b = corners.owners[i]
    return poses.places[b] + wp.quat_rotate(poses.turns[b], corners.places[i])


@wp.func
def key_of(t: int, weights: wp.vec3d, faces: wp.array2d[wp.int32]) -> wp.vec2i:
    """Which node, edge or triangle a place on a triangle belongs to."""
    low = int(1 << 30)
    high = int(-1)
    count = int(0)
    for a in range(3):
        if weights[a] != f64(0.0):
            count += 1
            low = wp.min(low, faces[t, a])
            high = wp.max(high, faces[t, a])
    if count == 3:
        low = -1
        high = t
    return wp.vec2i(low, high)


@wp.func
def count_hit(i: int, sign: f64, t: int, weights: wp.vec3d, gap: f64, faces: wp.array2d[wp.int32], hits: Hits):
    """Count a place on a triangle once more or less; the same place counts in one slot."""
    key = key_of(t, weights, faces)
    used = hits.used[i]
    slot = used
    for s in range(used):
        if hits.keys[i, s] == key:
            slot = s
    if slot == used and used < hits.keys.shape[1]:
        hits.used[i] = used + 1
        hits.keys[i, slot] = key
        hits.faces[i, slot] = t
        hits.weights[i, slot] = weights
        hits.gaps[i, slot] = gap
        hits.counts[i, slot] = f64(0.0)
    if slot < hits.keys.shape[1]:
        hits.counts[i, slot] = hits.counts[i, slot] + sign


@wp.func
def on_edge(e: int, a: wp.vec3d, b: wp.vec3d, p: wp.vec3d) -> wp.vec3d:
    """Weights of the corners of a triangle at the closest point of its edge e, from corner e to the next one."""
    along = b - a
    part = wp.clamp(wp.dot(p - a, along) / wp.max(wp.length_sq(along), f64(1.0e-300)), f64(0.0), f64(1.0))
    weights = wp.vec3d()
    weights[e] = f64(1.0) - part
    weights[(e + 1) % 3] = part
    return weights


@wp.kernel
def find_faces(
    # Parameters:
    corners: Corners,
    # State in:
    now: Poses, positions: wp.array[wp.vec3d],
    # State out:
    nearest_out: Nearest, hits_out: Hits,
):  # fmt: skip
    """All that is within reach of each point, and the triangle that it is nearest to."""
    i = wp.tid()
    p = corner_at(i, corners, now)
    reach = corners.reach + corners.skin
    best = reach
    nearest_out.faces[i] = -1
    hits_out.used[i] = 0
    for t in range(corners.faces.shape[0]):
        a = positions[corners.faces[t, 0]]
        b = positions[corners.faces[t, 1]]
        c = positions[corners.faces[t, 2]]
        longest = wp.max(wp.length_sq(b - a), wp.length_sq(c - a))
        far = wp.length(p - a) - reach
        if far <= f64(0.0) or far * far <= longest:
            weights = closest_weights(a, b, c, p)
            distance = wp.length(p - weights[0] * a - weights[1] * b - weights[2] * c)
            if distance < best:
                best = distance
                nearest_out.faces[i] = t
                nearest_out.weights[i] = weights
            if distance < reach:
                count_hit(i, f64(1.0), t, weights, distance - corners.skin, corners.faces, hits_out)
                for e in range(3):
                    begin = positions[corners.faces[t, e]]
                    if (corners.counted[t] >> e) & 1 == 1:
                        side = on_edge(e, begin, positions[corners.faces[t, (e + 1) % 3]], p)
                        distance = wp.length(p - mix(corners.faces, t, side, positions))
                        if distance < reach:
                            count_hit(i, f64(-1.0), t, side, distance - corners.skin, corners.faces, hits_out)
                    if (corners.counted[t] >> (3 + e)) & 1 == 1 and wp.length(p - begin) < reach:
                        corner = wp.vec3d()
                        corner[e] = f64(1.0)
                        distance = wp.length(p - begin)
                        count_hit(i, f64(1.0), t, corner, distance - corners.skin, corners.faces, hits_out)


@wp.func
def rubbed(
    i: int, corners: Corners, lagging: Nearest, begin: Poses, now: Poses,
    starts: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
) -> wp.vec3d:  # fmt: skip
    """How far an obstacle has moved along a triangle [m], at the place of the triangle where friction acts on both."""
    t = lagging.faces[i]
    start = mix(corners.faces, t, lagging.weights[i], starts)
    return -slip(corners.owners[i], start, mix(corners.faces, t, lagging.weights[i], positions), begin, now)


@wp.kernel
def touch_corners(
    # Parameters:
    wanted: int, corners: Corners, forms: Forms,
    # State in:
    begin: Poses, now: Poses, starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d], lagging: Nearest,
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], hits: Hits, positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangents_out: wp.array2d[wp.mat33d],
    rubs_out: wp.array[wp.vec3d], rub_tangents_out: wp.array[wp.mat33d], rub_places_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Push of each point on all that it touches, and friction where it was nearest before."""
    i = wp.tid()
    b = corners.owners[i]
    k = forms.stiffnesses[b]
    p = corner_at(i, corners, now)
    energy = f64(0.0)
    for s in range(hits.used[i]):
        away = p - mix(corners.faces, hits.faces[i, s], hits.weights[i, s], positions)
        n = away / wp.max(wp.length(away), f64(TINY))
        gap = hits.gaps[i, s]
        count = hits.counts[i, s]
        if count != f64(0.0):
            energy += count * push_energy(gap, corners.reach, k)
        forces_out[i, s] = count * push_force(gap, corners.reach, k) * n
        if wanted != 0:
            tangents_out[i, s] = count * push_stiffness(gap, corners.reach, k) * wp.outer(n, n)
    rub = wp.vec3d()
    rub_tangent = wp.mat33d()
    limit = corners.frictions[i] * strengths[i]
    if limit > f64(0.0):
        n = normals[i]
        moved = rubbed(i, corners, lagging, begin, now, starts, positions)
        trial = along(n, carried(b, stretches[i], begin, now) + moved)
        factor = friction_factor(trial, limit, k)
        slide = sliding_direction(trial, limit, k)
        energy += friction_energy(trial, limit, k)
        rub = -factor * trial
        across = wp.identity(n=3, dtype=f64) - wp.outer(n, n)
        rub_tangent = factor * (across - wp.outer(slide, slide))
        rub_places_out[i] = mix(corners.faces, lagging.faces[i], lagging.weights[i], positions)
    energy_out[i] = energy
    rubs_out[i] = rub
    if wanted != 0:
        rub_tangents_out[i] = rub_tangent


@wp.func
def turning(t: int, a: int, c: int, gap: f64, w: wp.vec3d, force: wp.vec3d, faces: wp.array2d[wp.int32],
            positions: wp.array[wp.vec3d]) -> wp.mat33d:  # fmt: skip
    """What a push on the inside of a triangle adds to the block of two of its corners as the triangle turns.

    The height over the plane of a triangle changes to second order by −g·r − d |g|²/2, where g = Σ (n·u) ∇λ is how it
    tilts, r how far the point moves along it, and λ are the coordinates of the triangle.
    """
    push = wp.length(force)
    n = force / push
    here = (a + 1) % 3
    there = (a + 2) % 3
    first = positions[faces[t, there]] - positions[faces[t, here]]
    here = (c + 1) % 3
    there = (c + 2) % 3
    second = positions[faces[t, there]] - positions[faces[t, here]]
    b = positions[faces[t, 1]] - positions[faces[t, 0]]
    area = wp.dot(n, wp.cross(b, positions[faces[t, 2]] - positions[faces[t, 0]]))  # twice, its sign that of n
    slope_a = wp.cross(n, first) / area
    slope_c = wp.cross(n, second) / area
    block = -w[a] * wp.outer(slope_c, n) - w[c] * wp.outer(n, slope_a)
    return push * (block + gap * wp.dot(slope_a, slope_c) * wp.outer(n, n))


@wp.kernel
def load_faces(
    # Parameters:
    wanted: int, corners: Corners,
    # State in:
    positions: wp.array[wp.vec3d], lagging: Nearest, hits: Hits, energies: wp.array[f64],
    forces: wp.array2d[wp.vec3d], tangents: wp.array2d[wp.mat33d],
    rubs: wp.array[wp.vec3d], rub_tangents: wp.array[wp.mat33d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """What all points do to one triangle, in the order of the points; energies count once, with triangle 0."""
    t = wp.tid()
    energy = f64(0.0)
    for a in range(3):
        forces_out[t, a] = wp.vec3d()
        if wanted != 0:
            for c in range(3):
                tangent_out[t, a, c] = wp.mat33d()
    for i in range(hits.used.shape[0]):
        if t == 0:
            energy += energies[i]
        for s in range(hits.used[i]):
            if hits.faces[i, s] == t and hits.counts[i, s] != f64(0.0):
                w = hits.weights[i, s]
                force = forces[i, s]
                inside = hits.keys[i, s][0] < 0 and wp.length_sq(force) > f64(0.0) and corners.free[i] == 0
                for a in range(3):
                    forces_out[t, a] = forces_out[t, a] - w[a] * force
                    if wanted != 0:
                        for c in range(3):
                            block = (w[a] * w[c]) * tangents[i, s]
                            if inside:
                                distance = hits.gaps[i, s] + corners.skin
                                block += turning(t, a, c, distance, w, force, corners.faces, positions)
                            tangent_out[t, a, c] = tangent_out[t, a, c] + block
        if lagging.faces[i] == t:
            w = lagging.weights[i]
            for a in range(3):
                forces_out[t, a] = forces_out[t, a] - w[a] * rubs[i]
                if wanted != 0:
                    for c in range(3):
                        tangent_out[t, a, c] = tangent_out[t, a, c] + (w[a] * w[c]) * rub_tangents[i]
    energy_out[t] = energy


@wp.kernel
def follow_corners(
    # Parameters:
    corners: Corners, forms: Forms,
    # State in:
    now: Poses, hits: Hits, positions: wp.array[wp.vec3d],
    # State out:
    strengths_out: wp.array[f64], normals_out: wp.array[wp.vec3d],
):  # fmt: skip
    """How hard each point presses in all, and along which normal."""
    i = wp.tid()
    p = corner_at(i, corners, now)
    force = wp.vec3d()
    for s in range(hits.used[i]):
        away = p - mix(corners.faces, hits.faces[i, s], hits.weights[i, s], positions)
        push = push_force(hits.gaps[i, s], corners.reach, forms.stiffnesses[corners.owners[i]])
        force += hits.counts[i, s] * push * away / wp.max(wp.length(away), f64(TINY))
    strength = wp.length(force)
    strengths_out[i] = strength
    normals_out[i] = force / wp.max(strength, f64(1.0e-300))


@wp.kernel
def keep_corner_stretches(
    # Parameters:
    corners: Corners, forms: Forms,
    # State in:
    begin: Poses, now: Poses, starts: wp.array[wp.vec3d], lagging: Nearest, strengths: wp.array[f64],
    normals: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State in place:
    stretches: wp.array[wp.vec3d],
):  # fmt: skip
    """What friction keeps at the end of a step."""
    i = wp.tid()
    b = corners.owners[i]
    limit = corners.frictions[i] * strengths[i]
    kept = wp.vec3d()
    if limit > f64(0.0):
        moved = rubbed(i, corners, lagging, begin, now, starts, positions)
        trial = along(normals[i], carried(b, stretches[i], begin, now) + moved)
        kept = kept_stretch(trial, limit, forms.stiffnesses[b])
    stretches[i] = kept


@wp.kernel
def free_corner_parts(
    # Parameters:
    corners: Corners,
    # State in:
    begin: Poses, end: Poses, positions: wp.array[wp.vec3d], step: wp.array[wp.vec3d],
    # State out:
    part_out: wp.array[f64],
):  # fmt: skip
    """Part of a way on which a point keeps a tenth of its gap from every triangle, while these move too.

    It goes on by as much as the nearest triangle allows for how fast both meet, again and again.
    """
    i = wp.tid()
    start = corner_at(i, corners, begin)
    way = corner_at(i, corners, end) - start
    part = f64(0.0)
    least = f64(-1.0)
    for _ in range(wp.static(ADVANCES)):
        p = start + part * way
        ahead = f64(1.0)
        nearest = f64(1.0e30)
        for t in range(corners.faces.shape[0]):
            i0 = corners.faces[t, 0]
            i1 = corners.faces[t, 1]
            i2 = corners.faces[t, 2]
            meeting = wp.max(wp.max(wp.length(step[i0] - way), wp.length(step[i1] - way)), wp.length(step[i2] - way))
            a = positions[i0] + part * step[i0]
            b = positions[i1] + part * step[i1]
            c = positions[i2] + part * step[i2]
            size = wp.sqrt(wp.max(wp.length_sq(b - a), wp.length_sq(c - a)))
            if wp.length(p - a) - size - corners.skin < f64(2.0) * meeting:
                weights = closest_weights(a, b, c, p)
                gap = wp.length(p - weights[0] * a - weights[1] * b - weights[2] * c) - corners.skin
                nearest = wp.min(nearest, gap)
                if f64(0.9) * gap < ahead * meeting:
                    ahead = f64(0.9) * gap / meeting
        if least < f64(0.0):
            least = f64(0.1) * nearest
        if part + ahead >= f64(1.0):
            part = f64(1.0)
            break
        if nearest < f64(2.0) * least:
            break
        part += ahead
    part_out[i] = part

"""Points against rigid things: energies, forces, tangents, and what friction keeps from step to step.

The points are nodes of a solid, or points of a rigid body that touch others.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact_law import (
    friction_energy,
    friction_factor,
    kept_stretch,
    push_energy,
    push_force,
    push_stiffness,
    sliding_direction,
)
from annelid.fem.kernels.obstacles import Forms, Nearness, Poses, free_part, in_frame, nearness

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

SHARP = 0.2
"""Curvature times reach above which an obstacle is an edge: its negative stiffness would make matrices indefinite."""


@wp.struct
class Points:
    """Points that touch, one row each; pairs are points times obstacles, obstacles the fastest."""

    numbers: wp.array[wp.int32]  # where their positions are
    owners: wp.array[wp.int32]  # the obstacle that a point belongs to and does not touch, -1 for nodes
    skins: wp.array[wp.float64]  # [m] gap that is kept beside that of the law: the radius of a ball
    frictions: wp.array[wp.float64]  # [-] of each pair
    reach: wp.float64  # [m]


@wp.struct
class Push:
    """A contact as it pushes, without friction."""

    energy: wp.float64
    force: wp.float64  # [N] along the gradient
    normal: wp.vec3d
    strength: wp.float64  # [N] the length of the force
    tangent: wp.mat33d


@wp.func
def pushed(near: Nearness, skin: f64, reach: f64, stiffness: f64) -> Push:
    gap = near.gap - skin
    found = Push()
    found.energy = push_energy(gap, reach, stiffness)
    found.force = push_force(gap, reach, stiffness)
    slope = wp.length(near.gradient)
    found.normal = near.gradient / wp.max(slope, f64(1.0e-12))
    found.strength = found.force * slope
    found.tangent = push_stiffness(gap, reach, stiffness) * wp.outer(near.gradient, near.gradient)
    if near.curvature != f64(0.0) and wp.abs(near.curvature) * reach < f64(SHARP):
        across = wp.identity(n=3, dtype=f64) - wp.outer(near.gradient, near.gradient)
        found.tangent -= (found.force * near.curvature) * (across - wp.outer(near.straight, near.straight))
    return found


@wp.func
def slip(b: int, start: wp.vec3d, x: wp.vec3d, begin: Poses, now: Poses) -> wp.vec3d:
    """How far a point has moved along with an obstacle taken for fixed [m], in the world as the obstacle is now."""
    was = in_frame(start, begin.places[b], begin.turns[b])
    return x - now.places[b] - wp.quat_rotate(now.turns[b], was)


@wp.func
def carried(b: int, vector: wp.vec3d, begin: Poses, now: Poses) -> wp.vec3d:
    """A vector that turns with an obstacle."""
    return wp.quat_rotate(now.turns[b], wp.quat_rotate_inv(begin.turns[b], vector))


@wp.func
def along(normal: wp.vec3d, vector: wp.vec3d) -> wp.vec3d:
    """The part of a vector along a surface."""
    return vector - wp.dot(normal, vector) * normal


@wp.kernel
def touch_points(
    # Parameters:
    wanted: int, points: Points, forms: Forms,
    # State in:
    begin: Poses, now: Poses, starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d],
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d],
    pair_forces_out: wp.array[wp.vec3d], pair_tangents_out: wp.array[wp.mat33d],
):  # fmt: skip
    """All obstacles on one point; friction takes its limit and its plane from the iterate before."""
    i = wp.tid()
    count = forms.kinds.shape[0]
    x = positions[points.numbers[i]]
    energy = f64(0.0)
    force = wp.vec3d()
    tangent = wp.mat33d()
    for b in range(count):
        pair = i * count + b
        pair_force = wp.vec3d()
        pair_tangent = wp.mat33d()
        near = nearness(b, x, forms, now)
        if near.gap - points.skins[i] < points.reach and b != points.owners[i]:
            push = pushed(near, points.skins[i], points.reach, forms.stiffnesses[b])
            energy += push.energy
            pair_force = push.force * near.gradient
            pair_tangent = push.tangent
        limit = points.frictions[pair] * strengths[pair]
        if limit > f64(0.0):
            k = forms.stiffnesses[b]
            n = normals[pair]
            way = carried(b, stretches[pair], begin, now) + slip(b, starts[points.numbers[i]], x, begin, now)
            trial = along(n, way)
            factor = friction_factor(trial, limit, k)
            slide = sliding_direction(trial, limit, k)
            energy += friction_energy(trial, limit, k)
            pair_force -= factor * trial
            across = wp.identity(n=3, dtype=f64) - wp.outer(n, n)
            pair_tangent += factor * (across - wp.outer(slide, slide))
        force += pair_force
        tangent += pair_tangent
        pair_forces_out[pair] = pair_force
        if wanted != 0:
            pair_tangents_out[pair] = pair_tangent
    energy_out[i] = energy
    forces_out[i, 0] = force
    if wanted != 0:
        tangent_out[i, 0, 0] = tangent


@wp.kernel
def follow_points(
    # Parameters:
    points: Points, forms: Forms,
    # State in:
    now: Poses, positions: wp.array[wp.vec3d],
    # State out:
    strengths_out: wp.array[f64], normals_out: wp.array[wp.vec3d],
):  # fmt: skip
    """How hard each pair of point and obstacle presses, and along which normal."""
    i, b = wp.tid()
    pair = i * forms.kinds.shape[0] + b
    near = nearness(b, positions[points.numbers[i]], forms, now)
    push = pushed(near, points.skins[i], points.reach, forms.stiffnesses[b])
    strengths_out[pair] = wp.where(b == points.owners[i], f64(0.0), push.strength)
    normals_out[pair] = push.normal


@wp.kernel
def keep_stretches(
    # Parameters:
    points: Points, forms: Forms,
    # State in:
    begin: Poses, now: Poses, starts: wp.array[wp.vec3d],
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State in place:
    stretches: wp.array[wp.vec3d],
):  # fmt: skip
    """What friction keeps at the end of a step."""
    i, b = wp.tid()
    pair = i * forms.kinds.shape[0] + b
    limit = points.frictions[pair] * strengths[pair]
    kept = wp.vec3d()
    if limit > f64(0.0):
        way = carried(b, stretches[pair], begin, now) + slip(
            b, starts[points.numbers[i]], positions[points.numbers[i]], begin, now
        )
        kept = kept_stretch(along(normals[pair], way), limit, forms.stiffnesses[b])
    stretches[pair] = kept


@wp.kernel
def free_parts(
    # Parameters:
    points: Points, forms: Forms,
    # State in:
    begin: Poses, end: Poses, positions: wp.array[wp.vec3d], step: wp.array[wp.vec3d],
    # State out:
    part_out: wp.array[f64],
):  # fmt: skip
    """Part of its step on which a point keeps a tenth of its gap from everything, while obstacles move too."""
    i = wp.tid()
    x = positions[points.numbers[i]]
    part = f64(1.0)
    for b in range(forms.kinds.shape[0]):
        start = in_frame(x, begin.places[b], begin.turns[b])
        there = in_frame(x + step[points.numbers[i]], end.places[b], end.turns[b])
        if b != points.owners[i]:
            part = wp.min(part, free_part(b, start, there, points.skins[i], forms))
    part_out[i] = part


@wp.kernel
def point_gaps(
    points: Points,
    forms: Forms,
    now: Poses,
    positions: wp.array[wp.vec3d],
    gap_out: wp.array2d[f64],
):
    i, b = wp.tid()
    gap = nearness(b, positions[points.numbers[i]], forms, now).gap - points.skins[i]
    gap_out[i, b] = wp.where(b == points.owners[i], f64(wp.inf), gap)


@wp.kernel
def volume_ratios(
    elements: wp.array2d[wp.int32],
    rest: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    step: wp.array[wp.vec3d],
    scale: f64,
    ratio_out: wp.array[f64],
):
    """Volume of the tetrahedron of an element's corners over that at rest, a part of a step further on."""
    e = wp.tid()
    now = wp.mat33d()
    then = wp.mat33d()
    first = positions[elements[e, 0]] + scale * step[elements[e, 0]]
    for a in range(3):
        node = elements[e, a + 1]
        side = positions[node] + scale * step[node] - first
        was = rest[node] - rest[elements[e, 0]]
        for c in range(3):
            now[a, c] = side[c]
            then[a, c] = was[c]
    ratio_out[e] = wp.determinant(now) / wp.determinant(then)

"""What a few points need to know of contacts of many, side by side, and how they resist with friction that follows."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.contact import Points, along, carried, slip
from annelid.fem.kernels.contact_law import BARRIER
from annelid.fem.kernels.obstacles import Forms, Poses

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

OWN, PAIR = 7, 7
"""Numbers of a point, and of a pair of it with an obstacle."""


@wp.kernel
def tell_points(
    # Parameters:
    obstacles: int, nodes: wp.array[wp.int32],
    # State in:
    positions: wp.array[wp.vec3d], starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d],
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], tangent: wp.array3d[wp.mat33d],
    # State out:
    told_out: wp.array2d[f64],
):  # fmt: skip
    """Where a point was and is and whether it resists; then stretch, strength and normal of each of its pairs."""
    i = wp.tid()
    touches = f64(0.0)
    for a in range(3):
        told_out[i, a] = starts[nodes[i]][a]
        told_out[i, 3 + a] = positions[nodes[i]][a]
        for b in range(3):
            if tangent[i, 0, 0][a, b] != f64(0.0):
                touches = f64(1.0)
    told_out[i, 6] = touches
    for b in range(obstacles):
        pair = i * obstacles + b
        first = wp.static(OWN) + wp.static(PAIR) * b
        for a in range(3):
            told_out[i, first + a] = stretches[pair][a]
            told_out[i, first + 4 + a] = normals[pair][a]
        told_out[i, first + 3] = strengths[pair]


@wp.kernel
def follow_tangents(
    # Parameters:
    points: Points, forms: Forms,
    # State in:
    begin: Poses, now: Poses, starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d],
    strengths: wp.array[f64], normals: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    tangent: wp.array3d[wp.mat33d],
    # State out:
    followed_out: wp.array[wp.mat33d],
):  # fmt: skip
    """Tangents of points whose friction follows the push where it slides: see `contact.sliding`."""
    i = wp.tid()
    count = forms.kinds.shape[0]
    x = positions[points.numbers[i]]
    barrier = f64(wp.static(BARRIER))
    found = tangent[i, 0, 0]
    for b in range(count):
        pair = i * count + b
        limit = points.frictions[pair] * strengths[pair]
        if limit > f64(0.0):
            n = normals[pair]
            k = forms.stiffnesses[b]
            way = carried(b, stretches[pair], begin, now) + slip(b, starts[points.numbers[i]], x, begin, now)
            trial = along(n, way)
            length = wp.length(trial)
            if k * length > limit:
                force = strengths[pair] / (k * points.reach)
                steep = k
                if force > f64(1.0) - barrier:
                    near = barrier * barrier / wp.max(force - f64(1.0) + f64(2.0) * barrier, f64(1.0e-300))
                    steep = k * (barrier / near) * (barrier / near)
                found -= wp.outer((points.frictions[pair] * steep / length) * trial, n)
    followed_out[i] = found

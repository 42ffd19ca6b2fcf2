"""Ground that resists the outer nodes of a solid that moves through it, over a time step.

A node hangs on a stiff spring that slides in the ground, like one of friction in all directions: it holds the node
where the law gives more than the spring pulls, and else it follows, and pulls as the law says. What the law gives
across the motion acts as a force of its own, while the node slides. Both are those of the direction in which the node
pushes, in the mean of the step; they are looked up before the equation of the step is solved, and again with what came
out.
"""

import warp as wp

from annelid.fem.kernels.contact_law import friction_energy, friction_factor, kept_stretch, sliding_direction
from annelid.shapes.resistive.kernels.stress import resistance

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
_FUNCTIONS = resistance(wp.float64)
Ground, stress, flow = _FUNCTIONS.Ground, _FUNCTIONS.stress, _FUNCTIONS.flow


@wp.func
def mean_depth(before: f64, after: f64) -> f64:
    """Depth in the mean of a step, 0 while above the surface [m]."""
    found = f64(0.5) * (before + after)
    deeper, higher = wp.max(before, after), wp.min(before, after)
    if deeper <= f64(0.0):
        found = f64(0.0)
    elif higher < f64(0.0):
        found = f64(0.5) * deeper * deeper / (deeper - higher)
    return found


@wp.kernel
def look_around(
    # Parameters:
    dt: f64, ground: Ground, nodes: wp.array2d[wp.int32], first: wp.array[wp.int32], facets: wp.array[wp.int32],
    ends: wp.array[wp.bool], corners: wp.array[wp.vec3i], stiffnesses: wp.array[f64],
    # State in:
    starts: wp.array[wp.vec3d], positions: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d],
    # State out:
    limits_out: wp.array[f64], aside_out: wp.array[wp.vec3d],
):  # fmt: skip
    """What holds each node at most, and what pushes it across its motion, if it goes from its start to its position."""
    i = wp.tid()
    node = nodes[i, 0]
    move = positions[node] - starts[node]
    depth = mean_depth(ground.height - starts[node][2], ground.height - positions[node][2])
    pushing = stretches[i] + move
    limit, aside = f64(0.0), wp.vec3d()
    length = wp.length(pushing)
    if depth > f64(0.0) and length > f64(0.0):
        u = pushing / length
        push = wp.vec3d()
        area = wp.vec3d()
        for entry in range(first[i], first[i + 1]):
            three = corners[facets[entry]]
            p = starts[three[0]] + positions[three[0]]
            q = starts[three[1]] + positions[three[1]] - p
            r = starts[three[2]] + positions[three[2]] - p
            area += wp.cross(q, r) / f64(24.0)  # a third of half of the product, of sums of two positions
            if ends[entry]:
                size = wp.length(area)
                if size > f64(0.0):
                    n = area / size
                    push += size * (depth * stress(ground, n, u) + flow(ground, n, move / dt))
                area = wp.vec3d()
        slowing = -wp.dot(push, u)
        limit = wp.max(slowing, f64(0.0))  # the fits drive a little where they should not
        if stiffnesses[i] * length > limit:
            aside = push + slowing * u
    limits_out[i] = limit
    aside_out[i] = aside


@wp.kernel
def pull(
    # Parameters:
    nodes: wp.array2d[wp.int32], stiffnesses: wp.array[f64], wanted: int,
    # State in:
    starts: wp.array[wp.vec3d], stretches: wp.array[wp.vec3d], limits: wp.array[f64], aside: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d], tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """Energy, force and, where wanted, tangent of each node."""
    i = wp.tid()
    node = nodes[i, 0]
    move = positions[node] - starts[node]
    trial = stretches[i] + move
    k, limit = stiffnesses[i], limits[i]
    factor = friction_factor(trial, limit, k)
    energy_out[i] = friction_energy(trial, limit, k) - wp.dot(aside[i], move)
    forces_out[i, 0] = aside[i] - factor * trial
    if wanted != 0:
        u = sliding_direction(trial, limit, k)
        tangent_out[i, 0, 0] = factor * (wp.identity(n=3, dtype=f64) - wp.outer(u, u))


@wp.kernel
def keep(
    # Parameters:
    nodes: wp.array2d[wp.int32], stiffnesses: wp.array[f64],
    # State in:
    starts: wp.array[wp.vec3d], limits: wp.array[f64], aside: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State in place and out:
    stretches: wp.array[wp.vec3d], held_out: wp.array[wp.vec3d],
):  # fmt: skip
    """What is left of the stretches at the end of a step, and the forces there."""
    i = wp.tid()
    node = nodes[i, 0]
    left = kept_stretch(stretches[i] + positions[node] - starts[node], limits[i], stiffnesses[i])
    stretches[i] = left
    held_out[i] = aside[i] - stiffnesses[i] * left

"""A step of backward Euler run back: rates of a loss by where nodes were, and by what acted on them.

The step solves f(x′) + loads = M (x′ − x − h v)/h² + c M (x′ − x)/h and sets v′ = (x′ − x)/h. With bars for rates,

    A z = x̄′ + v̄′/h,    x̄ = −v̄′/h + (1/h² + c/h) M z,    v̄ = M z/h,    A = K + (1/h² + c/h) M.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.motion import freed

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def seed_step(
    dt: f64,
    held: wp.array[wp.int32],
    position_rates: wp.array[wp.vec3d],
    velocity_rates: wp.array[wp.vec3d],
    seeds_out: wp.array[wp.vec3d],
    right_out: wp.array[wp.vec3d],
):
    """What the end of a step counts, and the free part of that."""
    i = wp.tid()
    seed = position_rates[i] + velocity_rates[i] / dt
    seeds_out[i] = seed
    right_out[i] = freed(seed, held[i])


@wp.kernel
def go_back(
    dt: f64,
    damping: f64,
    fraction: f64,
    first: wp.array[wp.int32],
    columns: wp.array[wp.int32],
    masses: wp.array[f64],
    adjoint: wp.array[wp.vec3d],
    before: wp.array[wp.vec3d],
    after: wp.array[wp.vec3d],
    velocity_rates: wp.array[wp.vec3d],
    force_rates: wp.array[wp.vec3d],
    damping_rates: wp.array[f64],
    position_rates_out: wp.array[wp.vec3d],
):
    """From rates by the end of a step to those by its beginning; rows of masses are those of M."""
    i = wp.tid()
    pull = wp.vec3d()
    for entry in range(first[i], first[i + 1]):
        pull += masses[entry] * adjoint[columns[entry]]
    position_rates_out[i] = (f64(1.0) / (dt * dt) + damping / dt) * pull - velocity_rates[i] / dt
    velocity_rates[i] = pull / dt
    force_rates[i] = force_rates[i] + fraction * adjoint[i]
    damping_rates[i] = damping_rates[i] - wp.dot(pull, after[i] - before[i]) / dt


@wp.kernel
def rate_masses(
    dt: f64,
    damping: f64,
    nodes: wp.array2d[wp.int32],
    adjoint: wp.array[wp.vec3d],
    earlier: wp.array[wp.vec3d],
    before: wp.array[wp.vec3d],
    after: wp.array[wp.vec3d],
    rates: wp.array3d[f64],
):
    """Rates by the masses of elements of inertia."""
    e = wp.tid()
    for b in range(nodes.shape[1]):
        j = nodes[e, b]
        move = after[j] - before[j]
        resist = (move - (before[j] - earlier[j])) / (dt * dt) + (damping / dt) * move
        for a in range(nodes.shape[1]):
            rates[e, a, b] = rates[e, a, b] - wp.dot(adjoint[nodes[e, a]], resist)


@wp.kernel
def rate_holds(
    fraction: f64,
    held: wp.array[wp.int32],
    seeds: wp.array[wp.vec3d],
    pulls: wp.array[wp.vec3d],
    whole_rates: wp.array[wp.vec3d],
    part_rates: wp.array[wp.vec3d],
):
    """Rates by where held components are, and by offsets of which a part acts."""
    i = wp.tid()
    left = seeds[i] - pulls[i]
    rate = left - freed(left, held[i])
    whole_rates[i] = whole_rates[i] + rate
    part_rates[i] = part_rates[i] + fraction * rate


@wp.kernel
def add_looks(
    row: int,
    seen_positions: wp.array2d[wp.vec3d],
    seen_velocities: wp.array2d[wp.vec3d],
    position_rates: wp.array[wp.vec3d],
    velocity_rates: wp.array[wp.vec3d],
):
    """What the loss itself sees."""
    i = wp.tid()
    position_rates[i] = position_rates[i] + seen_positions[row, i]
    velocity_rates[i] = velocity_rates[i] + seen_velocities[row, i]


@wp.kernel
def sum_efforts(
    directions: wp.array2d[wp.vec3d],
    adjoint: wp.array[wp.vec3d],
    parts_out: wp.array2d[f64],
):
    """Products of directions with z, over every so-many-th node."""
    k, part = wp.tid()
    total = f64(0.0)
    for i in range(part, adjoint.shape[0], parts_out.shape[1]):
        total += wp.dot(directions[i, k], adjoint[i])
    parts_out[k, part] = total


@wp.kernel
def collect_efforts(step: int, parts: wp.array2d[f64], rates_out: wp.array2d[f64]):
    k = wp.tid()
    total = f64(0.0)
    for part in range(parts.shape[1]):
        total += parts[k, part]
    rates_out[step, k] = total

"""Vector operations of Newton's method and of the time step, on nodal vectors."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.func
def freed(vector: wp.vec3d, held: int) -> wp.vec3d:
    """A vector without its held components."""
    if held == 0:
        return vector
    result = vector
    for j in range(3):
        if (held >> j) & 1 == 1:
            result[j] = f64(0.0)
    return result


@wp.kernel
def residual(
    fraction: f64,
    held: wp.array[wp.int32],
    loads: wp.array[wp.vec3d],
    forces: wp.array[wp.vec3d],
    residual_out: wp.array[wp.vec3d],
):
    """What is left of the forces on the free components."""
    i = wp.tid()
    residual_out[i] = freed(fraction * loads[i] + forces[i], held[i])


@wp.kernel
def add_scaled(
    scale: f64,
    here: wp.array[wp.vec3d],
    step: wp.array[wp.vec3d],
    there_out: wp.array[wp.vec3d],
):
    i = wp.tid()
    there_out[i] = here[i] + scale * step[i]


@wp.kernel
def add_columns(more: wp.array2d[wp.vec3d], sums: wp.array2d[wp.vec3d]):
    i, k = wp.tid()
    sums[i, k] = sums[i, k] + more[i, k]


@wp.kernel
def hold(
    fraction: f64,
    held: wp.array[wp.int32],
    rest: wp.array[wp.vec3d],
    offsets: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    jumps_out: wp.array[wp.vec3d],
):
    """How far held components are from where they belong."""
    i = wp.tid()
    goal = rest[i] + fraction * offsets[i]
    jump = goal - positions[i]
    jumps_out[i] = jump - freed(jump, held[i])


@wp.kernel
def largest(count: int, vectors: wp.array[wp.vec3d], parts_out: wp.array[f64]):
    """Largest component among every so-many-th vector, infinite where one is no number."""
    part = wp.tid()
    most = f64(0.0)
    for i in range(part, count, parts_out.shape[0]):
        v = vectors[i]
        size = wp.max(wp.max(wp.abs(v[0]), wp.abs(v[1])), wp.abs(v[2]))
        if not (wp.isfinite(v[0]) and wp.isfinite(v[1]) and wp.isfinite(v[2])):
            size = f64(wp.inf)
        most = wp.max(most, size)
    parts_out[part] = most


@wp.kernel
def largest_of(place: int, parts: wp.array[f64], largest_out: wp.array[f64]):
    most = f64(0.0)
    for i in range(parts.shape[0]):
        most = wp.max(most, parts[i])
    largest_out[place] = most


@wp.kernel
def least(count: int, values: wp.array[f64], parts_out: wp.array[f64]):
    """Least of every so-many-th number; not a number where one is none."""
    part = wp.tid()
    found = f64(wp.inf)
    for i in range(part, count, parts_out.shape[0]):
        if not values[i] >= found:
            found = values[i]
        if wp.isnan(found):
            break
    parts_out[part] = found


@wp.kernel
def pull_back(
    rate: f64,
    drag: f64,
    nodes: wp.array2d[wp.int32],
    masses: wp.array3d[f64],
    goals: wp.array[wp.vec3d],
    starts: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    energy_out: wp.array[f64],
    forces_out: wp.array2d[wp.vec3d],
):
    """Inertia over a step: springs to where each node would fly; and drag: springs to where it was."""
    e = wp.tid()
    energy = f64(0.0)
    for a in range(nodes.shape[1]):
        pull = wp.vec3d()
        resist = wp.vec3d()
        for b in range(nodes.shape[1]):
            node = nodes[e, b]
            pull += (masses[e, a, b] * rate) * (positions[node] - goals[node])
            resist += (masses[e, a, b] * drag) * (positions[node] - starts[node])
        here = nodes[e, a]
        energy += wp.dot(pull, positions[here] - goals[here]) + wp.dot(resist, positions[here] - starts[here])
        forces_out[e, a] = -pull - resist
    energy_out[e] = f64(0.5) * energy


@wp.kernel
def fly(
    dt: f64,
    positions: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],
    goals_out: wp.array[wp.vec3d],
    starts_out: wp.array[wp.vec3d],
):
    """Where nodes would be after a step without forces."""
    i = wp.tid()
    goals_out[i] = positions[i] + dt * velocities[i]
    starts_out[i] = positions[i]


@wp.kernel
def land(
    dt: f64,
    starts: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    velocities_out: wp.array[wp.vec3d],
):
    i = wp.tid()
    velocities_out[i] = (positions[i] - starts[i]) / dt


@wp.kernel
def go_straight(
    rate: f64,
    held: wp.array[wp.int32],
    moves: wp.array[wp.vec3d],
    start_velocities: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],
):
    """Velocities at the end of a way from those in the middle; held components go steadily."""
    i = wp.tid()
    velocities[i] = freed(f64(2.0) * velocities[i] - start_velocities[i], held[i]) + rate * moves[i]


@wp.kernel
def tick(steps: int, clock: wp.array[wp.int64]):
    clock[0] = clock[0] + wp.int64(steps)

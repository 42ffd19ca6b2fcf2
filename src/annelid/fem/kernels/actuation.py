"""Cables and forces at points: energy, forces, tangent, stroke and direction. Units of actuation are few and small."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.func
def end_of(
    segment: int,
    end: int,
    nodes: wp.array2d[wp.int32],
    anchors: wp.array2d[wp.vec3d],
    positions: wp.array[wp.vec3d],
) -> wp.vec3d:
    """Where an end of a segment is: at a node, or fixed in space."""
    node = nodes[segment, end]
    if node < 0:
        return anchors[segment, end]
    return positions[node]


@wp.kernel
def pull_cable(
    # Parameters:
    nodes: wp.array2d[wp.int32], anchors: wp.array2d[wp.vec3d], wanted: int,
    # State in:
    tension: wp.array[f64], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
    tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """A segment of length l under tension T has the energy T l."""
    s = wp.tid()
    along = end_of(s, 1, nodes, anchors, positions) - end_of(s, 0, nodes, anchors, positions)
    length = wp.max(wp.length(along), f64(1.0e-12))
    unit = along / length
    pull = tension[0]
    energy_out[s] = pull * length
    forces_out[s, 0] = pull * unit
    forces_out[s, 1] = -pull * unit
    if wanted != 0:
        block = (pull / length) * (wp.identity(n=3, dtype=f64) - wp.outer(unit, unit))
        tangent_out[s, 0, 0] = block
        tangent_out[s, 0, 1] = -block
        tangent_out[s, 1, 0] = -block
        tangent_out[s, 1, 1] = block


@wp.kernel
def aim_cable(
    # Parameters:
    nodes: wp.array2d[wp.int32], anchors: wp.array2d[wp.vec3d], rest_length: f64, column: int,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    strokes_out: wp.array[f64], directions_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """How far a cable is pulled in, and the slope of that. One thread: a node may be passed twice."""
    for s in range(nodes.shape[0]):
        for end in range(2):
            if nodes[s, end] >= 0:
                directions_out[nodes[s, end], column] = wp.vec3d()
    total = f64(0.0)
    for s in range(nodes.shape[0]):
        along = end_of(s, 1, nodes, anchors, positions) - end_of(s, 0, nodes, anchors, positions)
        length = wp.max(wp.length(along), f64(1.0e-12))
        total += length
        if nodes[s, 0] >= 0:
            directions_out[nodes[s, 0], column] += along / length
        if nodes[s, 1] >= 0:
            directions_out[nodes[s, 1], column] -= along / length
    strokes_out[column] = rest_length - total


@wp.kernel
def push_point(
    # Parameters:
    nodes: wp.array2d[wp.int32], weights: wp.array[f64], direction: wp.vec3d, start: wp.vec3d,
    # State in:
    force: wp.array[f64], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """A force that keeps its direction, at a point between nodes."""
    place = wp.vec3d()
    for a in range(weights.shape[0]):
        place += weights[a] * positions[nodes[0, a]]
        forces_out[0, a] = (weights[a] * force[0]) * direction
    energy_out[0] = -force[0] * wp.dot(direction, place - start)


@wp.kernel
def aim_point(
    # Parameters:
    nodes: wp.array2d[wp.int32], weights: wp.array[f64], direction: wp.vec3d, start: wp.vec3d, column: int,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    strokes_out: wp.array[f64], directions_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """How far a point has gone along the direction of its force, and the slope of that."""
    place = wp.vec3d()
    for a in range(weights.shape[0]):
        place += weights[a] * positions[nodes[0, a]]
        directions_out[nodes[0, a], column] = weights[a] * direction
    strokes_out[column] = wp.dot(direction, place - start)


@wp.kernel
def aim_cavity(
    # Parameters:
    nodes: wp.array[wp.int32], rest_volume: f64, column: int,
    # State in:
    volume: wp.array[f64], slope: wp.array[wp.vec3d],
    # State out:
    strokes_out: wp.array[f64], directions_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """How far a cavity has grown, and the slope of that."""
    i = wp.tid()
    directions_out[nodes[i], column] = slope[i]
    if i == 0:
        strokes_out[column] = volume[0] - rest_volume


@wp.kernel
def aim_weight(
    # Parameters:
    nodes: wp.array[wp.int32], column: int,
    # State in:
    volume: wp.array[f64], forces: wp.array[wp.vec3d],
    # State out:
    directions_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """J_w: how the weight on each node grows with the volume, w / v."""
    i = wp.tid()
    directions_out[nodes[i], column] = forces[i] / volume[0]


@wp.kernel
def carry(
    # Parameters:
    nodes: wp.array2d[wp.int32],
    # State in:
    loads: wp.array[wp.vec3d], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """Forces on nodes that stay as they are, however the nodes move."""
    i = wp.tid()
    energy_out[i] = -wp.dot(loads[i], positions[nodes[i, 0]])
    forces_out[i, 0] = loads[i]


@wp.kernel
def pull_elements(
    # Parameters:
    nodes: wp.array2d[wp.int32], even: wp.array2d[wp.vec3d], couplings: wp.array3d[f64], rise: wp.mat33d, wanted: int,
    # State in:
    effort: wp.array[f64], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
    tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """Elements whose stroke is Σₐ xₐ·(eₐ + ½ Σ_b c_ab G x_b): forces that a field exerts, which may rise with place."""
    t = wp.tid()
    total = f64(0.0)
    for a in range(nodes.shape[1]):
        slope = even[t, a]
        along = even[t, a]
        for b in range(couplings.shape[2]):
            change = couplings[t, a, b] * (rise * positions[nodes[t, b]])
            slope += change
            along += f64(0.5) * change
        forces_out[t, a] = effort[0] * slope
        total += wp.dot(positions[nodes[t, a]], along)
    energy_out[t] = -effort[0] * total
    if wanted != 0:
        for a in range(tangent_out.shape[1]):
            for b in range(tangent_out.shape[2]):
                tangent_out[t, a, b] = (-effort[0] * couplings[t, a, b]) * rise


@wp.kernel
def aim_elements(
    # Parameters:
    first: wp.array[wp.int32], near: wp.array[wp.int32], couplings: wp.array[f64], even: wp.array[wp.vec3d],
    nodes: wp.array[wp.int32], rise: wp.mat33d, column: int,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    directions_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """Slope of that stroke on each node: its neighbours and couplings are those from first[k] to first[k + 1]."""
    k = wp.tid()
    sum = wp.vec3d()
    for j in range(first[k], first[k + 1]):
        sum += couplings[j] * positions[near[j]]
    directions_out[nodes[k], column] = even[k] + rise * sum


@wp.kernel
def sum_stroke(
    # Parameters:
    even: wp.array[wp.vec3d], nodes: wp.array[wp.int32], at_rest: f64, column: int,
    # State in:
    positions: wp.array[wp.vec3d], directions: wp.array2d[wp.vec3d],
    # State out:
    strokes_out: wp.array[f64],
):  # fmt: skip
    """That stroke itself, less what it is at rest. One block."""
    _, lane = wp.tid()
    sum = f64(0.0)
    for k in range(lane, nodes.shape[0], wp.block_dim()):
        sum += f64(0.5) * wp.dot(positions[nodes[k]], even[k] + directions[nodes[k], column])
    total = wp.tile_sum(wp.tile(sum))
    if lane == 0:
        strokes_out[column] = total[0] - at_rest

"""Condensation: columns of right-hand sides, their products with solutions, sums of effectors, corrections."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.motion import freed

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def lay_columns(
    offset: int,
    # Parameters:
    held: wp.array[wp.int32],
    # State in:
    directions: wp.array2d[wp.vec3d], loads: wp.array[wp.vec3d], forces: wp.array[wp.vec3d],
    # State out:
    right_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """Right-hand sides: what is left of the forces, then the directions, then room for contacts."""
    i = offset + wp.tid()
    right_out[i, 0] = freed(loads[i] + forces[i], held[i])
    for k in range(directions.shape[1]):
        right_out[i, 1 + k] = freed(directions[i, k], held[i])
    for k in range(1 + directions.shape[1], right_out.shape[1]):
        right_out[i, k] = wp.vec3d()


@wp.kernel
def lay_contacts(
    # Parameters:
    first: int, held: wp.array[wp.int32], nodes: wp.array[wp.int32], normals: wp.array[wp.vec3d],
    # State out:
    right_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    c = wp.tid()
    right_out[nodes[c], first + c] = freed(normals[c], held[nodes[c]])


@wp.kernel
def multiply_columns(
    # State in:
    right: wp.array2d[wp.vec3d], solved: wp.array2d[wp.vec3d],
    # State out:
    parts_out: wp.array3d[f64],
):  # fmt: skip
    """Products of every right-hand side with every solution, over a stretch of the nodes; four solutions a thread."""
    i, four, part = wp.tid()
    count, width = right.shape[0], right.shape[1]
    size = (count + parts_out.shape[2] - 1) // parts_out.shape[2]
    first = 4 * four
    second, third, fourth = wp.min(first + 1, width - 1), wp.min(first + 2, width - 1), wp.min(first + 3, width - 1)
    a, b, c, d = f64(0.0), f64(0.0), f64(0.0), f64(0.0)
    for n in range(part * size, wp.min(count, (part + 1) * size)):
        force = right[n, i]
        a += wp.dot(force, solved[n, first])
        b += wp.dot(force, solved[n, second])
        c += wp.dot(force, solved[n, third])
        d += wp.dot(force, solved[n, fourth])
    parts_out[i, fourth, part] = d
    parts_out[i, third, part] = c
    parts_out[i, second, part] = b
    parts_out[i, first, part] = a


@wp.kernel
def add_parts(parts: wp.array3d[f64], products_out: wp.array2d[f64]):
    i, j = wp.tid()
    total = f64(0.0)
    for part in range(parts.shape[2]):
        total += parts[i, j, part]
    products_out[i, j] = total


@wp.kernel
def sum_points(
    # Parameters:
    nodes: wp.array2d[wp.int32], weights: wp.array2d[f64],
    # State in:
    vectors: wp.array2d[wp.vec3d],
    # State out:
    sums_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """Weighted sums of nodal vectors: what an effector sees of each."""
    p, k = wp.tid()
    total = wp.vec3d()
    for a in range(nodes.shape[1]):
        total += weights[p, a] * vectors[nodes[p, a], k]
    sums_out[p, k] = total


@wp.kernel
def move_by(
    offset: int,
    # State in:
    shares: wp.array[f64], columns: wp.array2d[wp.vec3d], before: wp.array[wp.vec3d],
    # State out:
    positions_out: wp.array[wp.vec3d], moves_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Positions moved by a combination of columns."""
    i = offset + wp.tid()
    move = wp.vec3d()
    for k in range(columns.shape[1]):
        move += shares[k] * columns[i, k]
    positions_out[i] = before[i] + move
    moves_out[i] = move

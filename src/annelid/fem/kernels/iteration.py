"""Conjugate gradients for several right-hand sides, and rotations of nodes, by which old factors stay useful."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.motion import freed
from annelid.fem.kernels.solid import rotation_and_spin

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def node_rotations(
    first: wp.array[wp.int32],
    entries: wp.array[wp.int32],
    volumes: wp.array[f64],
    rotations: wp.array[wp.mat33d],
    means_out: wp.array[wp.mat33d],
):
    """Mean rotation of the integration points around each node."""
    i = wp.tid()
    total = wp.mat33d()
    for k in range(first[i], first[i + 1]):
        total += volumes[entries[k]] * rotations[entries[k]]
    rotation, _ = rotation_and_spin(total / volumes[entries[first[i]]])
    means_out[i] = rotation


@wp.kernel
def turn_back(
    then: wp.array[wp.mat33d],
    now: wp.array[wp.mat33d],
    vectors: wp.array2d[wp.vec3d],
    turned_out: wp.array2d[wp.vec3d],
):
    """Vectors in the frame that each node had then."""
    i, k = wp.tid()
    turned_out[i, k] = then[i] * (wp.transpose(now[i]) * vectors[i, k])


@wp.kernel
def turn_forth(
    held: wp.array[wp.int32],
    then: wp.array[wp.mat33d],
    now: wp.array[wp.mat33d],
    vectors: wp.array2d[wp.vec3d],
    turned_out: wp.array2d[wp.vec3d],
):
    """The inverse, without held components."""
    i, k = wp.tid()
    turned_out[i, k] = freed(now[i] * (wp.transpose(then[i]) * vectors[i, k]), held[i])


@wp.kernel
def shifted(
    shift: f64,
    held: wp.array[wp.int32],
    vectors: wp.array2d[wp.vec3d],
    products: wp.array2d[wp.vec3d],
):
    """Add the shift of the diagonal to a product, without held components."""
    i, k = wp.tid()
    products[i, k] = freed(products[i, k] + shift * vectors[i, k], held[i])


@wp.kernel
def free(held: wp.array[wp.int32], vectors: wp.array2d[wp.vec3d]):
    """Take held components out of vectors."""
    i, k = wp.tid()
    vectors[i, k] = freed(vectors[i, k], held[i])


@wp.kernel
def start(
    held: wp.array[wp.int32],
    right: wp.array2d[wp.vec3d],
    products: wp.array2d[wp.vec3d],
    rest_out: wp.array2d[wp.vec3d],
):
    """What is left of the right-hand sides."""
    i, k = wp.tid()
    rest_out[i, k] = freed(right[i, k] - products[i, k], held[i])


@wp.kernel
def dot_columns(first: wp.array2d[wp.vec3d], second: wp.array2d[wp.vec3d], parts_out: wp.array2d[f64]):
    """Partial sums of the scalar product of each column."""
    part, k = wp.tid()
    total = f64(0.0)
    for i in range(part, first.shape[0], parts_out.shape[0]):
        total += wp.dot(first[i, k], second[i, k])
    parts_out[part, k] = total


@wp.kernel
def collect_columns(place: int, parts: wp.array2d[f64], sums_out: wp.array2d[f64]):
    k = wp.tid()
    total = f64(0.0)
    for part in range(parts.shape[0]):
        total += parts[part, k]
    sums_out[place, k] = total


@wp.func
def ratio(above: f64, below: f64) -> f64:
    if below == f64(0.0):
        return f64(0.0)
    return above / below


@wp.kernel
def descend(
    scalars: wp.array2d[f64],
    directions: wp.array2d[wp.vec3d],
    products: wp.array2d[wp.vec3d],
    solution: wp.array2d[wp.vec3d],
    rest: wp.array2d[wp.vec3d],
):
    """Go to the minimum along each direction, if there is one: scalars are 0 r·z, 1 p·Ap."""
    i, k = wp.tid()
    if scalars[1, k] < f64(0.0):
        return
    alpha = ratio(scalars[0, k], scalars[1, k])
    solution[i, k] = solution[i, k] + alpha * directions[i, k]
    rest[i, k] = rest[i, k] - alpha * products[i, k]


@wp.kernel
def conjugate(
    scalars: wp.array2d[f64],
    better: wp.array2d[wp.vec3d],
    directions: wp.array2d[wp.vec3d],
):
    """Next directions: scalars are 2 the new r·z, 0 the old one."""
    i, k = wp.tid()
    directions[i, k] = better[i, k] + ratio(scalars[2, k], scalars[0, k]) * directions[i, k]

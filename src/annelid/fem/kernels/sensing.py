"""What sensors read of a solid: sums over nodes in a fixed order, and single numbers."""

import warp as wp

from annelid.core.kernels.sums import PARTS, Sums

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def sum_vectors(
    node_count: int,  # in a world
    members: wp.array[wp.int32],
    weights: wp.array[wp.float64],
    vectors: wp.array[wp.vec3d],
    sums_out: wp.array2d[Sums],
):
    """Weighted sum of vectors of nodes, in parts."""
    world, part = wp.tid()
    total = Sums()
    for k in range(part, members.shape[0], wp.static(PARTS)):
        share = weights[k] * vectors[world * node_count + members[k]]
        for axis in range(3):
            total[axis] = total[axis] + share[axis]
    sums_out[world, part] = total


@wp.kernel(enable_backward=False)
def sum_moments(
    node_count: int,  # in a world
    members: wp.array[wp.int32],
    rests: wp.array[wp.vec3d],
    positions: wp.array[wp.vec3d],
    sums_out: wp.array2d[Sums],
):
    """Position times where the node was at rest, from the middle: its rotation is that of the group."""
    world, part = wp.tid()
    total = Sums()
    for k in range(part, members.shape[0], wp.static(PARTS)):
        place, rest = positions[world * node_count + members[k]], rests[k]
        for row in range(3):
            for column in range(3):
                total[3 * row + column] = total[3 * row + column] + place[row] * rest[column]
    sums_out[world, part] = total


@wp.kernel(enable_backward=False)
def copy_number(
    count: int,  # of numbers in a world
    place: int,
    first: int,
    numbers: wp.array[wp.float64],
    readings_out: wp.array2d[wp.float32],
):
    """One number of each world as it is."""
    world = wp.tid()
    readings_out[world, first] = wp.float32(numbers[world * count + place])

"""Moving nodal vectors into the order of a factorisation and back."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.struct
class Order:
    """Place of each node among those that are free, -1 where it is held, and bits of its held components."""

    places: wp.array[wp.int32]
    held: wp.array[wp.int32]
    nodes: wp.array[wp.int32]


@wp.kernel
def pack(
    offset: int,
    order: Order,
    rows: wp.array[wp.int32],
    vectors: wp.array2d[wp.vec3d],
    packed_out: wp.array2d[f64],
):
    """Free components of nodal vectors [n, k] into places of rows [k, ...]; held ones become 0."""
    i, k = wp.tid()
    i += offset
    node = order.nodes[i]
    vector = vectors[node, k]
    for j in range(3):
        value = vector[j]
        if (order.held[node] >> j) & 1 == 1:
            value = f64(0.0)
        packed_out[k, rows[3 * i + j]] = value


@wp.kernel
def unpack(
    offset: int,
    order: Order,
    rows: wp.array[wp.int32],
    packed: wp.array2d[f64],
    vectors_out: wp.array2d[wp.vec3d],
):
    """Nodal vectors [n, k] of rows [k, ...]; held components become 0."""
    node, k = wp.tid()
    node += offset
    place = order.places[node]
    vector = wp.vec3d()
    if place >= 0:
        for j in range(3):
            if (order.held[node] >> j) & 1 == 0:
                vector[j] = packed[k, rows[3 * place + j]]
    vectors_out[node, k] = vector

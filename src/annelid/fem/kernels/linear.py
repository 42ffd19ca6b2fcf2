"""Moving block matrices and nodal vectors into the layout of a factorisation and back."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.struct
class Order:
    """Place of each node among those that are free, -1 where it is held, and bits of its held components."""

    places: wp.array(dtype=wp.int32)
    held: wp.array(dtype=wp.int32)
    nodes: wp.array(dtype=wp.int32)
    rows: wp.array(dtype=wp.int32)
    columns: wp.array(dtype=wp.int32)


@functools.cache
def fill_kernel(tile: int) -> Any:
    """Write the blocks into a band (tile = 0: entry (i, j) at [j, i - j]) or a band of tiles ([i, tile of i - j])."""

    @wp.kernel(module="unique", enable_backward=False)
    def fill(
        offset: int,
        shift: f64,
        order: Order,
        values: wp.array(dtype=wp.mat33d),
        matrix_out: wp.array2d(dtype=f64),
    ):
        b = offset + wp.tid()
        first = order.rows[b]
        second = order.columns[b]
        row = order.places[first]
        column = order.places[second]
        if row < 0 or column < 0:
            return
        value = values[b]
        if row < column:
            value = wp.transpose(value)
            row, column = column, row
            first, second = second, first
        for i in range(3):
            for j in range(3):
                r = 3 * row + i
                c = 3 * column + j
                if r >= c:
                    entry = value[i, j]
                    if (order.held[first] >> i) & 1 == 1 or (order.held[second] >> j) & 1 == 1:
                        entry = f64(0.0)
                        if r == c:
                            entry = f64(1.0)
                    elif r == c:
                        entry += shift
                    if wp.static(tile == 0):
                        matrix_out[c, r - c] = entry
                    else:
                        across = (r // tile - c // tile) * tile
                        matrix_out[r, across + c % tile] = entry
                        if across == 0:
                            matrix_out[c, r % tile] = entry

    return fill


@wp.kernel
def pack(
    offset: int,
    order: Order,
    vectors: wp.array2d(dtype=wp.vec3d),
    packed_out: wp.array2d(dtype=f64),
):
    """Free components of nodal vectors [n, k] into rows [k, 3f]; held ones become 0."""
    i, k = wp.tid()
    i += offset
    node = order.nodes[i]
    vector = vectors[node, k]
    for j in range(3):
        value = vector[j]
        if (order.held[node] >> j) & 1 == 1:
            value = f64(0.0)
        packed_out[k, 3 * i + j] = value


@wp.kernel
def unpack(
    offset: int,
    order: Order,
    packed: wp.array2d(dtype=f64),
    vectors_out: wp.array2d(dtype=wp.vec3d),
):
    """Nodal vectors [n, k] of rows [k, 3f]; held components become 0."""
    node, k = wp.tid()
    node += offset
    place = order.places[node]
    vector = wp.vec3d()
    if place >= 0:
        for j in range(3):
            if (order.held[node] >> j) & 1 == 0:
                vector[j] = packed[k, 3 * place + j]
    vectors_out[node, k] = vector

"""Products of one matrix with the vectors of many worlds."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

TILE = 64
"""Rows and worlds of a tile; their numbers are multiples of it on CUDA."""
DEEP = 32
"""Columns of the matrix that a tile takes at a time."""


@wp.kernel
def multiply_rows(
    matrix: wp.array2d[wp.float32],
    vectors: wp.array2d[wp.float32],
    products_out: wp.array2d[wp.float32],
):
    """One number a thread."""
    row, w = wp.tid()
    sum = float(0.0)
    for k in range(matrix.shape[1]):
        sum += matrix[row, k] * vectors[k, w]
    products_out[row, w] = sum


@wp.kernel
def multiply_tiles(
    depth: int,  # of the matrix, in tiles
    matrix: wp.array2d[wp.float32],
    vectors: wp.array2d[wp.float32],
    products_out: wp.array2d[wp.float32],
):
    """One tile of the product a block, on tensor cores."""
    i, j = wp.tid()
    sum = wp.tile_zeros(shape=(TILE, TILE), dtype=wp.float32)
    for k in range(2 * depth):
        left = wp.tile_load(matrix, shape=(TILE, DEEP), offset=(i * TILE, k * DEEP))
        right = wp.tile_load(vectors, shape=(DEEP, TILE), offset=(k * DEEP, j * TILE))
        wp.tile_matmul(left, right, sum, precision="tf32")
    wp.tile_store(products_out, sum, offset=(i * TILE, j * TILE))

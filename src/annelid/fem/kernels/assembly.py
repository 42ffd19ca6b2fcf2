"""Gathering of element entries into nodal forces and matrix blocks, and sums, all in a fixed order."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def gather_forces(
    offset: int,
    first: wp.array[wp.int32],
    entries: wp.array[wp.int32],
    forces: wp.array[wp.vec3d],
    totals: wp.array[wp.vec3d],
):
    """Add the forces of one set of elements on each node."""
    i = offset + wp.tid()
    total = totals[i]
    for k in range(first[i], first[i + 1]):
        total += forces[entries[k]]
    totals[i] = total


@wp.kernel
def gather_blocks(
    offset: int,
    blocks: wp.array[wp.int32],
    first: wp.array[wp.int32],
    entries: wp.array[wp.int32],
    tangent: wp.array[wp.mat33d],
    values: wp.array[wp.mat33d],
):
    """Add the tangents of one set of elements into the blocks that it touches; negative entries are transposed."""
    i = offset + wp.tid()
    block = blocks[i]
    total = values[block]
    for k in range(first[i], first[i + 1]):
        entry = entries[k]
        if entry >= 0:
            total += tangent[entry]
        else:
            total += wp.transpose(tangent[-entry - 1])
    values[block] = total


COLUMNS = 8
"""Vectors that a thread of `multiply_rows` multiplies by: a block is read once for all of them."""


@wp.func_native(
    """
    const double* matrix = (const double*)values.data;
    const double* from = (const double*)vectors.data;
    const int many = vectors.shape[1], left = many - 8 * group, width = left < 8 ? left : 8;
    double sum[8][3] = {};
    for (int e = first.data[row]; e < first.data[row + 1]; ++e) {
        const int block = blocks.data[e];
        const double* m = matrix + 9 * (size_t)(block < 0 ? -block - 1 : block);
        const int down = block < 0 ? 1 : 3, across = block < 0 ? 3 : 1;  // transposed where negative
        const double a = m[0], b = m[across], c = m[2 * across];
        const double d = m[down], f = m[4], g = m[down + 2 * across];
        const double h = m[2 * down], i = m[2 * down + across], j = m[8];
        const double* x = from + 3 * ((size_t)columns.data[e] * many + 8 * group);
        for (int k = 0; k < width; ++k, x += 3) {
            sum[k][0] += a * x[0] + b * x[1] + c * x[2];
            sum[k][1] += d * x[0] + f * x[1] + g * x[2];
            sum[k][2] += h * x[0] + i * x[1] + j * x[2];
        }
    }
    double* to = (double*)products.data + 3 * ((size_t)row * many + 8 * group);
    for (int k = 0; k < width; ++k)
        for (int n = 0; n < 3; ++n) to[3 * k + n] = sum[k][n];
"""
)
def multiply_row(
    row: int,
    group: int,
    first: wp.array[wp.int32],
    columns: wp.array[wp.int32],
    blocks: wp.array[wp.int32],
    values: wp.array[wp.mat33d],
    vectors: wp.array2d[wp.vec3d],
    products: wp.array2d[wp.vec3d],
) -> None: ...


@wp.kernel
def multiply_rows(
    first: wp.array[wp.int32],
    columns: wp.array[wp.int32],
    blocks: wp.array[wp.int32],
    values: wp.array[wp.mat33d],
    vectors: wp.array2d[wp.vec3d],
    products_out: wp.array2d[wp.vec3d],
):
    """Product of the symmetric matrix with contiguous vectors; negative blocks are read transposed."""
    row, group = wp.tid()
    multiply_row(row, group, first, columns, blocks, values, vectors, products_out)


@wp.kernel
def sum_parts(count: int, values: wp.array[f64], parts_out: wp.array[f64]):
    """Partial sums, one a thread, of every so-many-th value."""
    part = wp.tid()
    total = f64(0.0)
    for i in range(part, count, parts_out.shape[0]):
        total += values[i]
    parts_out[part] = total


@wp.kernel
def sum_dots(
    count: int,
    first: wp.array[wp.vec3d],
    second: wp.array[wp.vec3d],
    parts_out: wp.array[f64],
):
    """Partial sums of a scalar product."""
    part = wp.tid()
    total = f64(0.0)
    for i in range(part, count, parts_out.shape[0]):
        total += wp.dot(first[i], second[i])
    parts_out[part] = total


@wp.kernel
def collect(place: int, add: int, parts: wp.array[f64], sums: wp.array[f64]):
    """Sum of the partial sums, stored in or added to one place."""
    total = f64(0.0)
    for i in range(parts.shape[0]):
        total += parts[i]
    if add == 1:
        total += sums[place]
    sums[place] = total

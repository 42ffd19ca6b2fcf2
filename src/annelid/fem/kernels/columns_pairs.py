"""Columns by pairs of a triangle and a column of its box.

Balanced threads a triangle (Rodríguez et al., Algorithm 1), and the plain ways that they are compared with: one thread
a triangle, and one thread a column. Hits arrive in any order. They are sorted by height before anything is added up,
and each triangle then gathers its own sections in a fixed order, so results do not depend on the order of arrival.
"""

import warp as wp

from annelid.fem.kernels.columns import OVERFLOW, UNMATCHED, Box, Face, Grid, height_at, row_span, section

wp.set_module_options({"enable_backward": False, "fuse_fp": False})


@wp.func
def _put(
    side: int, cell: int, layers: int, z: wp.float64, t: int, counts: wp.array2d[wp.int32],
    tops: wp.array2d[wp.float64], bottoms: wp.array2d[wp.float64], owners: wp.array2d[wp.int32],
):  # fmt: skip
    """Keep a hit of a column, in no order; one too many is counted all the same."""
    which = wp.where(side > 0, 0, 1)
    layer = wp.atomic_add(counts, which, cell, 1)
    if layer < layers:
        if side > 0:
            tops[layer, cell] = z
        else:
            bottoms[layer, cell] = z
            owners[layer, cell] = t


@wp.kernel
def hit_by_triangle(
    # Parameters:
    columns: int, layers: int, threads: int,
    # State in:
    faces: wp.array[Face], boxes: wp.array[Box],
    # State:
    counts: wp.array2d[wp.int32],
    # State out:
    tops_out: wp.array2d[wp.float64], bottoms_out: wp.array2d[wp.float64], owners_out: wp.array2d[wp.int32],
):  # fmt: skip
    """Algorithm 1: so many threads a triangle walk the columns of its box in turns."""
    t = wp.tid() // threads
    face = faces[t]
    box = boxes[t]
    width = box.column_end - box.column
    size = width * (box.row_end - box.row)
    for i in range(wp.tid() % threads, size, threads):
        row = box.row + i // width
        column = box.column + i % width
        span = row_span(faces, t, row, columns)
        if column >= span[0] and column < span[1]:
            z = height_at(face, column, row)
            _put(span[2], row * columns + column, layers, z, t, counts, tops_out, bottoms_out, owners_out)


@wp.kernel
def hit_by_column(
    # Parameters:
    columns: int, layers: int,
    # State in:
    faces: wp.array[Face], boxes: wp.array[Box],
    # State:
    counts: wp.array2d[wp.int32],
    # State out:
    tops_out: wp.array2d[wp.float64], bottoms_out: wp.array2d[wp.float64], owners_out: wp.array2d[wp.int32],
):  # fmt: skip
    """One thread a column looks at the boxes of all triangles."""
    cell = wp.tid()
    row = cell // columns
    column = cell % columns
    for t in range(faces.shape[0]):
        box = boxes[t]
        if row >= box.row and row < box.row_end:
            if column >= box.column and column < box.column_end:
                face = faces[t]
                span = row_span(faces, t, row, columns)
                if column >= span[0] and column < span[1]:
                    z = height_at(face, column, row)
                    _put(span[2], cell, layers, z, t, counts, tops_out, bottoms_out, owners_out)


@wp.kernel
def match_sections(
    # Parameters:
    layers: int, clip: int,
    # State in:
    grid_in: wp.array[Grid],
    # State:
    counts: wp.array2d[wp.int32], tops: wp.array2d[wp.float64],
    bottoms: wp.array2d[wp.float64], owners: wp.array2d[wp.int32],
    problems: wp.array[wp.int32],
):  # fmt: skip
    """Sort tops and bottoms of each column, so that the k-th bottom is below the k-th top; cut them at the level."""
    cell = wp.tid()
    found = wp.max(counts[0, cell], counts[1, cell])
    if found > layers:
        wp.atomic_max(problems, OVERFLOW, found)
    if counts[0, cell] != counts[1, cell]:
        problems[UNMATCHED] = 1
    top_count = wp.min(counts[0, cell], layers)
    bottom_count = wp.min(counts[1, cell], layers)
    for i in range(1, top_count):
        z = tops[i, cell]
        k = int(i)
        moving = bool(True)
        while k > 0 and moving:
            below = tops[k - 1, cell]
            moving = below > z
            if moving:
                tops[k, cell] = below
                k -= 1
        tops[k, cell] = z
    for i in range(1, bottom_count):
        z = bottoms[i, cell]
        t = owners[i, cell]
        k = int(i)
        moving = bool(True)
        while k > 0 and moving:
            below = bottoms[k - 1, cell]
            moving = below > z or (below == z and owners[k - 1, cell] > t)
            if moving:
                bottoms[k, cell] = below
                owners[k, cell] = owners[k - 1, cell]
                k -= 1
        bottoms[k, cell] = z
        owners[k, cell] = t
    if clip != 0:
        level = grid_in[0].level
        for i in range(top_count):
            tops[i, cell] = wp.min(tops[i, cell], level)
        for i in range(bottom_count):
            bottoms[i, cell] = wp.min(bottoms[i, cell], level)
    # A column that does not match has no sections; and the counters are ready for the next evaluation.
    if counts[0, cell] != counts[1, cell]:
        for i in range(bottom_count):
            owners[i, cell] = -1
    counts[0, cell] = 0
    counts[1, cell] = 0


@wp.kernel
def gather_sections(
    # Parameters:
    columns: int, layers: int, lanes: int,
    # State in:
    faces: wp.array[Face], boxes: wp.array[Box], tops: wp.array2d[wp.float64],
    bottoms: wp.array2d[wp.float64], owners: wp.array2d[wp.int32],
    # State out:
    sums_out: wp.array[wp.vec4d],
):  # fmt: skip
    """Add up the sections that stand on each triangle, as many lanes a triangle as share its box."""
    t = wp.tid() // lanes
    box = boxes[t]
    width = box.column_end - box.column
    size = width * (box.row_end - box.row)
    if faces[t].facing > 0:
        size = 0
    sum = wp.vec4d()
    for i in range(wp.tid() % lanes, size, lanes):
        row = box.row + i // width
        column = box.column + i % width
        span = row_span(faces, t, row, columns)
        if span[2] < 0 and column >= span[0] and column < span[1]:
            cell = row * columns + column
            for layer in range(layers):
                if owners[layer, cell] == t:
                    sum += section(bottoms[layer, cell], tops[layer, cell], column, row)
                    break
    sums_out[wp.tid()] = sum

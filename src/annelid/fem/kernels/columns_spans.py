"""Columns on one CPU thread: each triangle walks its rows, and in each row the span of columns that it covers.

Hits are put in order as they come, which one thread can do; then each triangle adds up the sections that stand on it.
Nothing is scattered but the heights themselves, and there are no atomics.
"""

import warp as wp

from annelid.fem.kernels.columns import OVERFLOW, UNMATCHED, Box, Face, Grid, row_span

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_FAR = wp.constant(wp.float64(1.0e300))


@wp.func_native(
    """
    int most = 0;
    for (int cell = begin; cell < end; ++cell, column += 1.0) {
        double z = base + rise * column;
        z = z < lowest ? lowest : (z > highest ? highest : z);
        const int m = counts.data[cell]++;
        if (m >= layers) { most = m + 1; continue; }
        double* place = tops.data + size_t(m) * cells + cell;
        for (int k = m; k > 0 && place[-cells] > z; --k, place -= cells) *place = place[-cells];
        *place = z;
    }
    return most;
"""
)
def _put_tops(
    cells: int, layers: int, begin: int, end: int, column: wp.float64, base: wp.float64, rise: wp.float64,
    lowest: wp.float64, highest: wp.float64, counts: wp.array[wp.int32], tops: wp.array[wp.float64],
) -> int:  # fmt: skip
    """Heights of a top triangle in ascending order; the layers of a column that has no room for it, or 0."""


@wp.func_native(
    """
    int most = 0;
    for (int cell = begin; cell < end; ++cell, column += 1.0) {
        double z = base + rise * column;
        z = z < lowest ? lowest : (z > highest ? highest : z);
        const int m = counts.data[cell]++;
        if (m >= layers) { most = m + 1; continue; }
        double* place = bottoms.data + size_t(m) * cells + cell;
        int* owner = owners.data + size_t(m) * cells + cell;
        for (int k = m; k > 0; --k, place -= cells, owner -= cells) {
            const double below = place[-cells];
            if (below < z || (below == z && owner[-cells] < t)) break;
            *place = below;
            *owner = owner[-cells];
        }
        *place = z;
        *owner = t;
    }
    return most;
"""
)
def _put_bottoms(
    cells: int, layers: int, begin: int, end: int, column: wp.float64, base: wp.float64, rise: wp.float64,
    lowest: wp.float64, highest: wp.float64, t: int, counts: wp.array[wp.int32],
    bottoms: wp.array[wp.float64], owners: wp.array[wp.int32],
) -> int:  # fmt: skip
    """Heights of a bottom triangle in ascending order, equal ones by triangle; as for tops."""


@wp.func_native(
    """
    double length = 0.0, along = 0.0, height = 0.0;
    for (int cell = begin; cell < end; ++cell, column += 1.0) {
        size_t k = cell;
        int layer = 0;
        while (layer < layers && owners.data[k] != t) { k += cells; ++layer; }
        if (layer == layers) continue;
        double bottom = bottoms.data[k], top = tops.data[k];
        bottom = bottom < level ? bottom : level;
        top = top < level ? top : level;
        const double part = top - bottom;
        length += part;
        along += part * column;
        height += part * 0.5 * (top + bottom);
    }
    return wp::vec_t<3, double>(length, along, height);
"""
)
def _add_sections(
    cells: int, layers: int, begin: int, end: int, column: wp.float64, t: int, level: wp.float64,
    tops: wp.array[wp.float64], bottoms: wp.array[wp.float64], owners: wp.array[wp.int32],
) -> wp.vec3d:  # fmt: skip
    """Length of the sections on a bottom triangle below the level, and its moments about the column and the height."""


@wp.func_native(
    """
    int different = 0;
    for (int cell = 0; cell < cells; ++cell) {
        different |= top_counts.data[cell] ^ bottom_counts.data[cell];
        top_counts.data[cell] = 0;
        bottom_counts.data[cell] = 0;
    }
    return different;
"""
)
def _close(cells: int, top_counts: wp.array[wp.int32], bottom_counts: wp.array[wp.int32]) -> int:
    """Reset the counters of hits; 0 if every column had as many tops as bottoms."""


@wp.kernel
def hit_by_span(
    # Parameters:
    columns: int, rows: int, layers: int,
    # State in:
    faces: wp.array[Face], boxes: wp.array[Box],
    # State out:
    top_counts_out: wp.array[wp.int32], bottom_counts_out: wp.array[wp.int32],
    tops_out: wp.array[wp.float64], bottoms_out: wp.array[wp.float64],
    owners_out: wp.array[wp.int32], problems_out: wp.array[wp.int32],
):  # fmt: skip
    """Tops and bottoms of all columns, in ascending order. One thread."""
    cells = columns * rows
    overflow = int(0)
    for t in range(faces.shape[0]):
        box = boxes[t]
        if box.column < box.column_end:
            face = faces[t]
            for row in range(box.row, box.row_end):
                span = row_span(faces, t, row, columns)
                if span[0] < span[1]:
                    base = face.height + face.rise_v * (wp.float64(row) - face.v[0])
                    first = row * columns
                    column = wp.float64(span[0]) - face.u[0]
                    over = int(0)
                    if span[2] > 0:
                        over = _put_tops(
                            cells, layers, first + span[0], first + span[1], column, base, face.rise_u,
                            face.lowest, face.highest, top_counts_out, tops_out,
                        )  # fmt: skip
                    else:
                        over = _put_bottoms(
                            cells, layers, first + span[0], first + span[1], column, base, face.rise_u,
                            face.lowest, face.highest, t, bottom_counts_out, bottoms_out, owners_out,
                        )  # fmt: skip
                    overflow = wp.max(overflow, over)
    if overflow > 0:
        problems_out[OVERFLOW] = overflow


@wp.kernel
def add_by_span(
    # Parameters:
    columns: int, rows: int, layers: int, clip: int,
    # State in:
    grid_in: wp.array[Grid], faces: wp.array[Face], boxes: wp.array[Box],
    tops: wp.array[wp.float64], bottoms: wp.array[wp.float64], owners: wp.array[wp.int32],
    # State out:
    top_counts_out: wp.array[wp.int32], bottom_counts_out: wp.array[wp.int32],
    sums_out: wp.array[wp.vec4d], problems_out: wp.array[wp.int32],
):  # fmt: skip
    """Sections of columns, added up by bottom triangle; the counters are ready again after it. One thread."""
    cells = columns * rows
    level = _FAR
    if clip != 0:
        level = grid_in[0].level
    for t in range(faces.shape[0]):
        total = wp.vec4d()
        box = boxes[t]
        if box.column < box.column_end and faces[t].facing <= 0:
            for row in range(box.row, box.row_end):
                span = row_span(faces, t, row, columns)
                if span[2] < 0 and span[0] < span[1]:
                    first = row * columns
                    sum = _add_sections(
                        cells, layers, first + span[0], first + span[1], wp.float64(span[0]), t, level, tops,
                        bottoms, owners,
                    )  # fmt: skip
                    total += wp.vec4d(sum[0], sum[1], sum[0] * wp.float64(row), sum[2])
        sums_out[t] = total
    if _close(cells, top_counts_out, bottom_counts_out) != 0:
        problems_out[UNMATCHED] = 1

"""Elimination of fronts one after the other on the CPU, and solution with what they leave.

Dense work is left to LAPACK and BLAS, whose routines come as pointers, so that a whole factorisation is one launch that
never needs the interpreter. Solutions take eight right-hand sides side by side in vector registers, or one alone; four
columns of a panel are used for each pass over the rows below them: as fast as memory brings the panels.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

MANY = 8
"""Right-hand sides of a group."""


@wp.struct
class Tree:
    """Index lists of `Fronts`, and where their panels and updates begin."""

    first: wp.array[wp.int32]
    edge_first: wp.array[wp.int32]
    edges: wp.array[wp.int32]
    places: wp.array[wp.int32]
    child_first: wp.array[wp.int32]
    children: wp.array[wp.int32]
    panels: wp.array[wp.int64]
    updates: wp.array[wp.int64]


@wp.struct
class Entries:
    """Which numbers of a matrix go where in the panel of each front; unknowns that are held have a 1 instead."""

    first: wp.array[wp.int32]
    sources: wp.array[wp.int32]
    targets: wp.array[wp.int32]
    held_first: wp.array[wp.int32]
    held: wp.array[wp.int32]


_FACTOR = """
    typedef void (*Potrf)(const char*, const int*, TYPE*, const int*, int*);
    typedef void (*Trsm)(const char*, const char*, const char*, const char*, const int*, const int*, const TYPE*,
                         const TYPE*, const int*, TYPE*, const int*);
    typedef void (*Syrk)(const char*, const char*, const int*, const int*, const TYPE*, const TYPE*, const int*,
                         const TYPE*, TYPE*, const int*);
    const Potrf potrf = (Potrf)potrf_at;
    const Trsm trsm = (Trsm)trsm_at;
    const Syrk syrk = (Syrk)syrk_at;
    const double* numbers = (const double*)values.data;
    const TYPE one = 1, minus = -1;
    for (int g = 0; g < group.shape[0]; ++g) {
        const int f = group.data[g];
        const int* edge_first = tree.edge_first.data;
        const int own = tree.first.data[f + 1] - tree.first.data[f];
        const int s = 3 * own, e = 3 * (edge_first[f + 1] - edge_first[f]), m = s + e;
        TYPE* panel = panels.data + tree.panels.data[f];
        TYPE* update = updates.data + tree.updates.data[f];
        __builtin_memset(panel, 0, sizeof(TYPE) * (size_t)s * m);
        for (int j = 0; j < e; ++j) __builtin_memset(update + (size_t)j * e + j, 0, sizeof(TYPE) * (e - j));
        for (int k = entries.first.data[f]; k < entries.first.data[f + 1]; ++k)
            panel[entries.targets.data[k]] = (TYPE)numbers[entries.sources.data[k]];
        for (int k = entries.held_first.data[f]; k < entries.held_first.data[f + 1]; ++k)
            panel[(size_t)entries.held.data[k] * (m + 1)] = one;
        if (shift != 0.0)
            for (int j = 0; j < s; ++j) panel[(size_t)j * (m + 1)] += (TYPE)shift;
        for (int c = tree.child_first.data[f]; c < tree.child_first.data[f + 1]; ++c) {
            const int child = tree.children.data[c];
            const int* places = tree.places.data + edge_first[child];
            const int count = edge_first[child + 1] - edge_first[child];
            const TYPE* from = updates.data + tree.updates.data[child];
            for (int j = 0; j < 3 * count; ++j) {
                const int column = 3 * places[j / 3] + j % 3;
                TYPE* to = column < s ? panel + (size_t)column * m : update + (size_t)(column - s) * e - s;
                const TYPE* source = from + (size_t)j * 3 * count;
                for (int i = j; i < 3 * (j / 3 + 1); ++i) to[3 * places[i / 3] + i % 3] += source[i];
                for (int v = j / 3 + 1; v < count; ++v) {
                    TYPE* there = to + 3 * places[v];
                    there[0] += source[3 * v];
                    there[1] += source[3 * v + 1];
                    there[2] += source[3 * v + 2];
                }
            }
        }
        int info = 0;
        potrf("L", &s, panel, &m, &info);
        if (info != 0) {
            bad.data[0] = 1;
            return;
        }
        if (e > 0) {
            trsm("R", "L", "T", "N", &e, &s, &one, panel, &m, panel + s, &m);
            syrk("L", "N", &e, &s, &minus, panel + s, &m, &one, update, &e);
        }
    }
"""

# A front, its panel and its own part of the right-hand side.
_FRONT = """
        const int own_first = 3 * tree.first.data[f], s = 3 * tree.first.data[f + 1] - own_first;
        const int* edge = tree.edges.data + tree.edge_first.data[f];
        const int e = 3 * (tree.edge_first.data[f + 1] - tree.edge_first.data[f]), m = s + e;
        const TYPE* panel = panels.data + tree.panels.data[f];
        for (int i = 0; i < s; ++i) b[i] = r[own_first + i];
"""

_SOLVE_GROUP = """
    typedef TYPE eight __attribute__((ext_vector_type(8), aligned(sizeof(TYPE))));
    eight* r = (eight*)(right.data + (size_t)group * right.shape[1] * 8);
    eight* b = (eight*)(work.data + (size_t)group * work.shape[1] * 8);
    for (int k = 0; k < upward.shape[0]; ++k) {
        const int f = upward.data[k];
        @FRONT@
        for (int i = s; i < m; ++i) b[i] = 0;
        for (int j = 0; j < s;) {
            const int columns = j + 4 <= s ? 4 : 1;
            const TYPE* l0 = panel + (size_t)j * m;
            const eight y0 = b[j] / l0[j];
            b[j] = y0;
            if (columns == 1) {
                for (int i = j + 1; i < m; ++i) b[i] -= l0[i] * y0;
            } else {
                const TYPE *l1 = l0 + m, *l2 = l1 + m, *l3 = l2 + m;
                const eight y1 = (b[j + 1] - l0[j + 1] * y0) / l1[j + 1];
                const eight y2 = (b[j + 2] - l0[j + 2] * y0 - l1[j + 2] * y1) / l2[j + 2];
                const eight y3 = (b[j + 3] - l0[j + 3] * y0 - l1[j + 3] * y1 - l2[j + 3] * y2) / l3[j + 3];
                b[j + 1] = y1;
                b[j + 2] = y2;
                b[j + 3] = y3;
                for (int i = j + 4; i < m; ++i) b[i] -= l0[i] * y0 + l1[i] * y1 + l2[i] * y2 + l3[i] * y3;
            }
            j += columns;
        }
        for (int i = 0; i < s; ++i) r[own_first + i] = b[i];
        for (int i = 0; i < e; ++i) r[3 * edge[i / 3] + i % 3] += b[s + i];
    }
    for (int k = downward.shape[0] - 1; k >= 0; --k) {
        const int f = downward.data[k];
        @FRONT@
        for (int i = 0; i < e; ++i) b[s + i] = r[3 * edge[i / 3] + i % 3];
        for (int j = s; j > 0;) {
            const int columns = j % 4 == 0 ? 4 : 1;
            j -= columns;
            const TYPE* l0 = panel + (size_t)j * m;
            eight s0 = 0;
            if (columns == 1) {
                for (int i = j + 1; i < m; ++i) s0 += l0[i] * b[i];
            } else {
                const TYPE *l1 = l0 + m, *l2 = l1 + m, *l3 = l2 + m;
                eight s1 = 0, s2 = 0, s3 = 0;
                for (int i = j + 4; i < m; ++i) {
                    const eight x = b[i];
                    s0 += l0[i] * x;
                    s1 += l1[i] * x;
                    s2 += l2[i] * x;
                    s3 += l3[i] * x;
                }
                b[j + 3] = (b[j + 3] - s3) / l3[j + 3];
                b[j + 2] = (b[j + 2] - s2 - l2[j + 3] * b[j + 3]) / l2[j + 2];
                b[j + 1] = (b[j + 1] - s1 - l1[j + 2] * b[j + 2] - l1[j + 3] * b[j + 3]) / l1[j + 1];
                s0 += l0[j + 1] * b[j + 1] + l0[j + 2] * b[j + 2] + l0[j + 3] * b[j + 3];
            }
            b[j] = (b[j] - s0) / l0[j];
        }
        for (int i = 0; i < s; ++i) r[own_first + i] = b[i];
    }
"""

_SOLVE_ONE = """
    typedef TYPE eight __attribute__((ext_vector_type(8), aligned(sizeof(TYPE))));
    TYPE* r = right.data;
    TYPE* b = work.data;
    for (int k = 0; k < upward.shape[0]; ++k) {
        const int f = upward.data[k];
        @FRONT@
        for (int i = s; i < m; ++i) b[i] = 0;
        for (int j = 0; j < s;) {
            const int columns = j + 4 <= s ? 4 : 1;
            const TYPE *l0 = panel + (size_t)j * m, *l1 = l0, *l2 = l0, *l3 = l0;
            TYPE y1 = 0, y2 = 0, y3 = 0;
            const TYPE y0 = b[j] = b[j] / l0[j];
            if (columns == 4) {
                l1 = l0 + m;
                l2 = l1 + m;
                l3 = l2 + m;
                y1 = b[j + 1] = (b[j + 1] - l0[j + 1] * y0) / l1[j + 1];
                y2 = b[j + 2] = (b[j + 2] - l0[j + 2] * y0 - l1[j + 2] * y1) / l2[j + 2];
                y3 = b[j + 3] = (b[j + 3] - l0[j + 3] * y0 - l1[j + 3] * y1 - l2[j + 3] * y2) / l3[j + 3];
            }
            int i = j + columns;
            for (; i + 8 <= m; i += 8)
                *(eight*)(b + i) -= *(const eight*)(l0 + i) * y0 + *(const eight*)(l1 + i) * y1
                    + *(const eight*)(l2 + i) * y2 + *(const eight*)(l3 + i) * y3;
            for (; i < m; ++i) b[i] -= l0[i] * y0 + l1[i] * y1 + l2[i] * y2 + l3[i] * y3;
            j += columns;
        }
        for (int i = 0; i < s; ++i) r[own_first + i] = b[i];
        for (int i = 0; i < e; ++i) r[3 * edge[i / 3] + i % 3] += b[s + i];
    }
    for (int k = downward.shape[0] - 1; k >= 0; --k) {
        const int f = downward.data[k];
        @FRONT@
        for (int i = 0; i < e; ++i) b[s + i] = r[3 * edge[i / 3] + i % 3];
        for (int j = s; j > 0;) {
            const int columns = j % 4 == 0 ? 4 : 1;
            j -= columns;
            const TYPE* l0 = panel + (size_t)j * m;
            const TYPE *l1 = columns == 4 ? l0 + m : l0, *l2 = columns == 4 ? l1 + m : l0;
            const TYPE* l3 = columns == 4 ? l2 + m : l0;
            eight a0 = 0, a1 = 0, a2 = 0, a3 = 0;
            int i = j + columns;
            for (; i + 8 <= m; i += 8) {
                const eight x = *(const eight*)(b + i);
                a0 += *(const eight*)(l0 + i) * x;
                a1 += *(const eight*)(l1 + i) * x;
                a2 += *(const eight*)(l2 + i) * x;
                a3 += *(const eight*)(l3 + i) * x;
            }
            TYPE s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (int lane = 0; lane < 8; ++lane) {
                s0 += a0[lane];
                s1 += a1[lane];
                s2 += a2[lane];
                s3 += a3[lane];
            }
            for (; i < m; ++i) {
                s0 += l0[i] * b[i];
                s1 += l1[i] * b[i];
                s2 += l2[i] * b[i];
                s3 += l3[i] * b[i];
            }
            if (columns == 4) {
                b[j + 3] = (b[j + 3] - s3) / l3[j + 3];
                b[j + 2] = (b[j + 2] - s2 - l2[j + 3] * b[j + 3]) / l2[j + 2];
                b[j + 1] = (b[j + 1] - s1 - l1[j + 2] * b[j + 2] - l1[j + 3] * b[j + 3]) / l1[j + 1];
                s0 += l0[j + 1] * b[j + 1] + l0[j + 2] * b[j + 2] + l0[j + 3] * b[j + 3];
            }
            b[j] = (b[j] - s0) / l0[j];
        }
        for (int i = 0; i < s; ++i) r[own_first + i] = b[i];
    }
"""


def _typed(snippet: str, single: bool) -> str:
    return snippet.replace("TYPE", "float" if single else "double")


@once
def factor_kernel(single: bool) -> Any:
    """Eliminates a group of fronts one after the other; reports where a pivot is not positive."""
    real = wp.float32 if single else wp.float64

    @wp.func_native(_typed(_FACTOR, single))
    def eliminate(
        group: wp.array[wp.int32], potrf_at: wp.uint64, trsm_at: wp.uint64, syrk_at: wp.uint64, tree: Tree,
        entries: Entries, shift: wp.float64, values: wp.array[wp.mat33d], panels: wp.array[real],
        updates: wp.array[real], bad: wp.array[wp.int32],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False)
    def factor_fronts(
        # Parameters:
        group: wp.array[wp.int32], potrf_at: wp.uint64, trsm_at: wp.uint64, syrk_at: wp.uint64, tree: Tree,
        entries: Entries, shift: wp.float64, values: wp.array[wp.mat33d],
        # State out:
        panels: wp.array[real], updates: wp.array[real], bad: wp.array[wp.int32],
    ):  # fmt: skip
        eliminate(group, potrf_at, trsm_at, syrk_at, tree, entries, shift, values, panels, updates, bad)

    return factor_fronts


@once
def solve_kernel(single: bool, many: bool) -> Any:
    """Replaces right-hand sides by solutions: groups [g, size, 8], or one alone [1, size, 1].

    Only fronts of the lists are gone through, ascending, on the way up with L and on the way down with its transpose:
    where few right-hand sides differ from 0, and few solutions are wanted, that is enough.
    """
    real = wp.float32 if single else wp.float64

    @wp.func_native(_typed((_SOLVE_GROUP if many else _SOLVE_ONE).replace("@FRONT@", _FRONT), single))
    def substitute(
        group: int, tree: Tree, upward: wp.array[wp.int32], downward: wp.array[wp.int32], panels: wp.array[real],
        right: wp.array3d[real], work: wp.array3d[real],
    ) -> None: ...  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False)
    def solve_fronts(
        # Parameters:
        first: int, tree: Tree, upward: wp.array[wp.int32], downward: wp.array[wp.int32], panels: wp.array[real],
        # State in place:
        right: wp.array3d[real], work: wp.array3d[real],
    ):  # fmt: skip
        substitute(first + wp.tid(), tree, upward, downward, panels, right, work)

    return solve_fronts

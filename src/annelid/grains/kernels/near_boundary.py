"""Which rows guests are near, as CUDA takes them in two parts: few have long lists and wait for guests, most do not."""

import warp as wp

from annelid.grains.kernels.layout import Lists
from annelid.grains.kernels.rows import neighbour_place

wp.set_module_options({"enable_backward": False})


@wp.func
def note_row(i: int, lists: Lists):
    """List a row, once; in which order does not matter, since each is swept by itself."""
    if wp.atomic_exch(lists.near_boundary, i, 1) == 0:
        lists.near_boundary_rows[wp.atomic_add(lists.near_boundary_count, 0, 1)] = i


@wp.kernel(enable_backward=False)
def note_near_boundary(lanes: int, lists: Lists):
    """List guests and the grains in their lists, which have them in theirs, after `beside` was cleared."""
    guest = wp.tid() // lanes
    lane = wp.tid() % lanes
    i = lists.guest_rows[guest]
    if lane == 0:
        note_row(i, lists)
    for k in range(lane, lists.counts[i][0], lanes):
        j = lists.neighbours[neighbour_place(i, k, lists)]
        if j < lists.near_boundary.shape[0]:  # what lists are filled up with is no grain
            note_row(j, lists)

"""Which rows guests are near, as CUDA takes them apart from the others."""

import numpy as np
import warp as wp

from annelid.grains.kernels.layout import Lists
from annelid.grains.kernels.near_boundary import note_near_boundary


def test_guests_and_the_grains_in_their_lists_are_noted_once(device: wp.Device) -> None:
    rows, places, ghost = 9, 8, 9
    listed = {1: [4, 5], 3: [5, 4, 8, 0, 2], 6: []}  # by the rows of guests
    counts, neighbours = np.zeros((rows, 2), np.int32), np.full((rows, places), ghost, np.int32)
    for row, grains in listed.items():
        counts[row, 0] = -(-len(grains) // 4) * 4  # lists are filled up with ghosts
        neighbours[row, : len(grains)] = grains
    lists = Lists()
    lists.places = places
    lists.counts = wp.array(counts, dtype=wp.vec2i, device=device)
    unfolded = neighbours if wp.get_device(device).is_cpu else neighbours.reshape(rows, -1, 4).transpose(1, 0, 2)
    lists.neighbours = wp.array(unfolded.ravel(), dtype=wp.int32, device=device)
    lists.guest_rows = wp.array(list(listed), dtype=wp.int32, device=device)
    lists.near_boundary, lists.near_boundary_rows = (wp.zeros(rows, dtype=wp.int32, device=device) for _ in range(2))
    lists.near_boundary_count = wp.zeros(1, dtype=wp.int32, device=device)
    lanes = 2
    wp.launch(note_near_boundary, len(listed) * lanes, [lanes, lists], device=device)
    noted = [0, 1, 2, 3, 4, 5, 6, 8]
    assert np.flatnonzero(lists.near_boundary.numpy()).tolist() == noted
    assert sorted(lists.near_boundary_rows.numpy()[: lists.near_boundary_count.numpy()[0]].tolist()) == noted

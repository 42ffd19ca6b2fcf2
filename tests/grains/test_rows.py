"""Lists of a state, and the same as CUDA works on them."""

import numpy as np
import warp as wp

from annelid.grains.kernels.layout import Lists
from annelid.grains.kernels.rows import FoldedRows


def test_lists_come_back_from_where_they_are_worked_on(device: wp.Device) -> None:
    rows, places, rng = 37, 12, np.random.default_rng(1)
    counts = 4 * rng.integers(0, places // 4 + 1, rows)
    numbers = rng.integers(0, rows, rows * places).astype(np.int32)
    forces = rng.normal(size=(2, 3 * rows * places)).astype(np.float32)
    lists = Lists()
    lists.places = places
    lists.counts = wp.array(np.column_stack([counts, 0 * counts]), dtype=wp.vec2i, device=device)
    lists.neighbours = wp.array(numbers, dtype=wp.int32, device=device)
    lists.impulses, lists.rollings = (wp.array(one, dtype=wp.float32, device=device) for one in forces)
    state = lists.neighbours, lists.impulses, lists.rollings
    folded = FoldedRows(lists, rolling=True, device=device)
    folded.unfold()
    for array in state:
        array.fill_(7)  # what is beyond the end of a list must not depend on what was there
    folded.fold()
    listed = np.arange(places) < counts[:, None]
    assert (state[0].numpy().reshape(rows, places) == np.where(listed, numbers.reshape(rows, places), 0)).all()
    wide = listed.reshape(rows, -1, 1, 4)
    for array, given in zip(state[1:], forces, strict=True):
        shape = rows, places // 4, 3, 4
        assert (array.numpy().reshape(shape) == np.where(wide, given.reshape(shape), 0.0)).all()

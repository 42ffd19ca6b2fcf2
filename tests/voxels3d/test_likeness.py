"""Bodies that are the same but for turns, mirrors and places, and how many cells apart others are."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.voxels3d import body_distance, body_key

BODY = np.array([[[0, 1], [0, -1], [2, -1]], [[0, -1], [-1, -1], [-1, -1]]])


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("mirrored", [False, True])
def test_turns_mirrors_and_places_do_not_count(turns: int, mirrored: bool) -> None:
    other = np.rot90(BODY[::-1] if mirrored else BODY, turns)
    other = np.pad(other, ((1, 0), (2, 1), (0, 3)), constant_values=-1)
    assert body_distance(BODY, other) == 0
    assert body_key(BODY) == body_key(other)


def test_cells_that_differ_are_counted_both_ways() -> None:
    other = BODY.copy()
    other[0, 2, 0] = 1  # another material
    other[1, 1, 0] = 0  # a voxel more
    assert body_distance(BODY, other) == body_distance(other, BODY) == 2
    assert body_key(BODY) != body_key(other)
    assert body_distance(BODY, np.flip(BODY, axis=2)) > 0  # upside down is another body
    bar = np.zeros((3, 1, 1), int)
    assert body_distance(bar, np.zeros((4, 1, 1), int)) == 1
    with pytest.raises(InvalidValue, match="voxels"):
        body_key(np.full((2, 2, 2), -1))

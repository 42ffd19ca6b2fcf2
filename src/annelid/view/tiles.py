"""Many images in one: a grid with captions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.view.annotate import Sheet

GAP = 2
"""Pixels between the images of a grid."""

PAPER = 255
"""Grey value between images."""


def tile(
    frames: Sequence[np.ndarray] | np.ndarray, columns: int, *, captions: Sequence[str] | None = None
) -> np.ndarray:
    """Images of one size side by side, row by row.

    Args:
        frames: Images, each of shape [height, width, 3], uint8.
        columns: Images in a row.
        captions: A line for each image, or none.

    Returns:
        The grid, shape [rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3], uint8; empty places are white.
    """
    if len(frames) == 0 or columns < 1:
        raise InvalidValue(f"a grid needs at least one image and one column, not {len(frames)} and {columns}.")
    shapes = {frame.shape for frame in frames}
    if len(shapes) != 1:
        raise InvalidValue(f"the images of a grid must have one size, not {sorted(shapes)}.")
    if captions is not None and len(captions) != len(frames):
        raise InvalidValue(f"a grid of {len(frames)} images needs as many captions, not {len(captions)}.")
    named = list(frames) if captions is None else [_named(f, text) for f, text in zip(frames, captions, strict=True)]
    height, width = named[0].shape[:2]
    rows = -(-len(named) // columns)
    grid = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), PAPER, dtype=np.uint8)
    for i, frame in enumerate(named):
        top, left = (i // columns) * (height + GAP), (i % columns) * (width + GAP)
        grid[top : top + height, left : left + width] = frame
    return grid


def fitted(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The image filled up with white, or cut, to a width and height [pixels]."""
    width, height = size
    if image.shape[:2] == (height, width):
        return image
    page = np.full((height, width, 3), PAPER, dtype=np.uint8)
    part = image[:height, :width]
    page[: part.shape[0], : part.shape[1]] = part
    return page


def best_columns(count: int, aspect: float) -> int:
    """Columns of a grid of `count` images that makes each near square on a page of this width over height."""
    return min(count, max(1, math.ceil(math.sqrt(count * aspect) - 1e-9)))


def _named(frame: np.ndarray, text: str) -> np.ndarray:
    sheet = Sheet(frame)
    sheet.caption(text)
    return sheet.finish()

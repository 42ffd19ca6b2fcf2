"""Bodies of files in several parts that share no face."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy import ndimage

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.options import is_among
from annelid.voxels3d.robot import largest_connected

Parts = Literal["refuse", "largest", "all"]
"""What becomes of a body in several parts: it is refused, its largest is taken, or all of them are."""


def of_parts(grid: np.ndarray, parts: Parts, name: str) -> np.ndarray:
    """The grid with the parts that are wanted; empty cells are -1.

    Args:
        grid: Materials of cells.
        parts: What becomes of several parts.
        name: Name of the robot, for the sentence that refuses it.
    """
    if not is_among(parts, get_args(Parts)):
        raise InvalidValue(f"parts {parts!r} must be 'refuse', 'largest' or 'all'.")
    labels, count = ndimage.label(grid >= 0)
    if count < 2 or parts == "all":
        return grid
    if parts == "largest":
        return largest_connected(grid)
    sizes = np.bincount(labels.ravel())[1:]
    x, y, z = np.argwhere(labels == 1 + int(np.argmin(sizes)))[0].tolist()
    raise FileFormatError(
        f"the robot {name} has {count} parts that share no face, of up to {sizes.max()} voxels, the smallest of "
        f"{sizes.min()} at cell ({x}, {y}, {z}): take the largest (parts='largest', --parts largest), or all of them "
        "(parts='all', --parts all)."
    )

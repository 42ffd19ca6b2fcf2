"""What ground that resists adds to the state of a solid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import rows


@dataclass(kw_only=True)
class Sunk:
    """How a solid lies in ground that resists: there is none."""


@dataclass(kw_only=True)
class SunkIn(Sunk):
    """How the outer nodes of a solid lie in it.

    Attributes:
        stretches: How far the ground gives under each of them, what it takes to hold it [m], vec3d of shape
            [worlds · k].
        forces: Force of the ground on each of them at the end of the last step [N], vec3d of shape [worlds · k].
    """

    stretches: wp.array[Any] = rows("sand-node", wp.vec3d)
    forces: wp.array[Any] = rows("sand-node", wp.vec3d)

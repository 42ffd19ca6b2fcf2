"""A surface given by a function of time and position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.options import require_kind


@dataclass(frozen=True)
class ImplicitSurface:
    """A surface written by the user; it may move with time.

    Attributes:
        function: Warp function `(time, position) -> 4-vector`: unit normal towards the free side, and the gap [m],
            negative inside.
    """

    function: Any

    def __post_init__(self) -> None:
        require_kind("an implicit surface", self.function, wp.Function, "a Warp function, decorated with @wp.func")

"""A surface given by a function of time and position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ImplicitSurface:
    """A surface written by the user; it may move with time.

    Attributes:
        function: Warp function `(time, position) -> 4-vector`: unit normal towards the free side, and the gap [m],
            negative inside.
    """

    function: Any

"""What a controller sees of a reading: its present value, the mean of the last ones, or a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from annelid.core.errors import InvalidValue

MODES = ("current", "mean", "difference")


@dataclass(frozen=True)
class Window:
    """A view on the last readings.

    Attributes:
        mode: "current", "mean" of the last `length` readings, or "difference" between the present reading and the one
            `length` - 1 readings before it. While there are fewer, those that there are.
        length: Number of readings.
    """

    mode: Literal["current", "mean", "difference"] = "current"
    length: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.mode, str) or self.mode not in MODES:
            raise InvalidValue(f"mode {self.mode!r} of a window must be one of {', '.join(MODES)}.")
        if isinstance(self.length, bool) or not isinstance(self.length, int | np.integer):
            raise InvalidValue(f"the length of a window must be a whole number of readings, not {self.length!r:.60}.")
        if self.length < 1 or (self.mode == "difference" and self.length < 2):
            raise InvalidValue(
                f"a {self.mode} needs at least {1 + (self.mode == 'difference')} readings, not {self.length}."
            )

    def view(self, readings: np.ndarray) -> float:
        """The value for readings from the first to the present one, as the kernels compute it."""
        last = np.asarray(readings, float)[-self.length :]
        return {"current": last[-1], "mean": last.mean(), "difference": last[-1] - last[0]}[self.mode]

"""What a controller sees of a reading: its present value, the mean of the last ones, or a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter

MODES = ("current", "mean", "difference")


@documented
@dataclass(frozen=True)
class Window(Checked):
    """A view on the last readings."""

    of_what: ClassVar[str] = "a window"

    mode: Literal["current", "mean", "difference"] = parameter(
        "current",
        '"current", "mean" of the last `length` readings, or "difference" between the present reading and the one '
        "`length` - 1 readings before it. While there are fewer, those that there are.",
    )
    length: int = parameter(1, "Number of readings.", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "difference" and self.length < 2:
            raise InvalidValue(f"a difference needs at least 2 readings, not {self.length}.")

    def view(self, readings: np.ndarray) -> float:
        """The value for readings from the first to the present one, as the kernels compute it."""
        last = np.asarray(readings, float)[-self.length :]
        return {"current": last[-1], "mean": last.mean(), "difference": last[-1] - last[0]}[self.mode]

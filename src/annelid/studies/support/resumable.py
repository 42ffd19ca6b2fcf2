"""Studies that stop after some minutes and go on later."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

import tyro

from annelid.core.parameters import Checked, parameter


@dataclass(frozen=True)
class Resumable(Checked):
    """A study that keeps what it has done in its folder, can stop after some minutes, and can go on from there."""

    minutes: float | None = parameter(None, "Stop after so many minutes; --resume goes on from there.", above=0.0)
    resume: bool = parameter(False, "Go on from what is in the folder of results.")
    folder: Annotated[Path | None, tyro.conf.Suppress] = parameter(
        None, "Where it is kept what was done; None keeps nothing."
    )

    def inside(self, folder: Path) -> Self:
        """The study with what it keeps in a folder."""
        return replace(self, folder=folder)

    def deadline(self) -> float:
        """When it stops, if it begins now, as `time.perf_counter` counts [s]."""
        return math.inf if self.minutes is None else time.perf_counter() + 60.0 * self.minutes

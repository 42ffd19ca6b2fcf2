"""A simulation that a program has built, as a scene without parameters for the live page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import warp as wp

from annelid.core.simulation import Simulation


@dataclass(eq=False)
class Given:
    """The simulation of the program that shows it."""

    simulation: Simulation[Any]
    shown: bool = field(default=False, init=False)

    def build(self, *, device: str | wp.Device = "auto", threads: int | None = None) -> Simulation[Any]:
        """The simulation itself: as it stands when the page opens, and at its beginning after that."""
        if self.shown:
            self.simulation.reset()
        self.shown = True
        return self.simulation

"""Known constants of a lattice back from noisy tracks: stiffness and damping of a beam that is let go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.recovery import OFFS, Recovered, drawn, measurements, recovered

TRUTH = {"stiffness_factor": 1.0, "damping_factor": 1.0}
_PITCH = 0.05


@dataclass(frozen=True)
class IdentifySprings(Checked):
    """Stiffness and damping of a lattice beam from tracks with 1 mm of noise, from starts 5 and 50 times off."""

    name: ClassVar[str] = "identify-springs"

    quick: bool = parameter(False, "One seed instead of five, and half a second instead of one.")
    offs: tuple[float, ...] = parameter(OFFS, "How many times too large constants are at the start.", above=0.0)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Recovered:
        """Let the beam go, add noise, and identify its constants."""
        body = springs.block((7, 2, 2), _PITCH, mass=0.02, stiffness=60.0, damping=0.5)
        body.fix(body.positions[:, 0] < 1e-6)
        markers = {f"at-{100 * x:.0f}-cm": (x, 0.0, _PITCH) for x in (0.1, 0.2, 0.3)}
        world: dict[str, Any] = {"dt": 5e-4, "device": device, "threads": threads}
        return recovered(
            body, markers, TRUTH, 0.01 * np.arange(51 if self.quick else 101),
            seeds=range(1 if self.quick else 5), offs=self.offs, world=world, progress=progress,
        )  # fmt: skip

    def measure(self, found: Recovered) -> list[Measurement]:
        """Errors beside what is allowed."""
        return measurements(found)

    def plot(self, found: Recovered, folder: Path) -> list[Path]:
        """One motion, and the errors of all."""
        return [drawn(found, folder / "identify-springs.png")]

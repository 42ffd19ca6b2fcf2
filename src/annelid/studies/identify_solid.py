"""Known constants of a solid back from noisy tracks, and the measured beam with each load held out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.materials import Material
from annelid.shapes import tet_beam
from annelid.studies.support import beam_held_out, recovery
from annelid.studies.support.beam_held_out import HeldOut
from annelid.studies.support.measured_beam import Beam
from annelid.studies.support.recovery import Recovered

TRUTH = {"youngs_modulus": 1e5, "velocity_damping": 3.0}
_BESIDE = Path("..") / "shared" / "data" / "beam"


@dataclass(frozen=True)
class IdentifySolid(Checked):
    """Modulus and damping of a solid beam from tracks with 1 mm of noise, from starts 5 and 50 times off."""

    name: ClassVar[str] = "identify-solid"

    quick: bool = parameter(
        False, "One seed and two starts, a coarser beam, and three quarters of a second instead of one."
    )
    data: Path | None = parameter(
        None,
        "Folder with the tracks of the measured beam; found where it lies beside the checkout, and left out elsewhere.",
    )

    def compute(
        self, device: wp.Device, threads: int | None, progress: Progress
    ) -> tuple[Recovered, list[HeldOut]]:  # fmt: skip
        """Identify the synthetic beam, then the measured one where its tracks are."""
        world: dict[str, Any] = {"device": device, "threads": threads}
        known = recovery.recovered(
            self._solid(), {f"at-{1e3 * x:.0f}-mm": (x, 0.0, 0.01) for x in (0.06, 0.09, 0.12)}, TRUTH,
            0.01 * np.arange(76 if self.quick else 101), seeds=range(1 if self.quick else 2),
            offs=recovery.OFFS[1::2] if self.quick else recovery.OFFS[::2], world=world, progress=progress,
        )  # fmt: skip
        folder = self.data or (_BESIDE if _BESIDE.is_dir() else None)
        if folder is None:
            progress.say("the measured beam is left out: name the folder of its tracks with --data")
            return known, []
        beam = Beam((4, 1, 1) if self.quick else (8, 2, 2), 3e-3)
        return known, beam_held_out.held_out(folder, beam, device, threads, progress)

    def _solid(self) -> fem.Solid:
        rubber = Material("rubber", 1070.0, TRUTH["youngs_modulus"], 0.45, 1.0, 0.05, "Given.")
        made = fem.Solid(tet_beam(0.12, 0.02, 0.02, cells=(4 if self.quick else 6, 1, 1)), rubber)
        return made.fix(made.nodes[:, 0] < 1e-9)

    def measure(self, found: tuple[Recovered, list[HeldOut]]) -> list[Measurement]:
        """Errors beside what is allowed."""
        return [*recovery.measurements(found[0]), *beam_held_out.measurements(found[1])]

    def plot(self, found: tuple[Recovered, list[HeldOut]], folder: Path) -> list[Path]:
        """One motion, and the errors of all."""
        return [recovery.drawn(found[0], folder / "identify-solid.png")]

"""Body and brain evolved together, against each alone: a question that the paper asks (Medvet et al., sec. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from annelid.core.measurement import Measurement
from annelid.evolve.experiment import Experiment
from annelid.evolve.problems import catalogue
from annelid.studies.support.contests import Arm, PlaneContest, comparison, draw_curves, medians
from annelid.studies.support.plots import COLORS, figure

_QUESTION = "2D-VSR-Sim, sec. 4: an open question"


@dataclass(frozen=True)
class EvolveBodyAndBrain(PlaneContest):
    """Bodies and the phases of their voxels, evolved together, walk faster than those of which one is given."""

    name: ClassVar[str] = "evolve-body-and-brain"

    def arms(self) -> list[Experiment]:
        """Body with two given phases, phases of a given body, and both, all within 5x5 cells."""
        return [catalogue.body_5x5(), catalogue.brain_5x5(), catalogue.body_and_brain()]

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of the quick form."""
        return 24, 24, 10.0

    def measure(self, found: dict[str, Arm]) -> list[Measurement]:
        """Both together against each alone."""
        rows, both = medians(found), found["body-and-brain"]
        for name in ("body-5x5", "brain-5x5"):
            judged = both.finished and found[name].finished and not self.quick
            ahead = f"together-over-{name.removesuffix('-5x5')}"
            rows += comparison(ahead, both.final, found[name].final, judged=judged, source=_QUESTION)
        return rows

    def plot(self, found: dict[str, Arm], folder: Path) -> list[Path]:
        """Curves of the three."""

        def draw(axes: Any) -> None:
            labels = [f"{_LABELS[name]} ({arm.size} genes)" for name, arm in found.items()]
            draw_curves(axes[0, 0], list(found.values()), COLORS, labels, "within 5x5 cells")

        return [figure(folder / "evolve-body-and-brain.png", draw, size=(6.0, 4.0), grid=(1, 1))]


_LABELS = {"body-5x5": "body", "brain-5x5": "brain", "body-and-brain": "body and brain"}

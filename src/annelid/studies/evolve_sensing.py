"""Controllers that sense against phases, on three shapes (Medvet et al., sec. 3.3, Fig. 11, after Talamini et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from annelid.core.measurement import Measurement
from annelid.evolve.experiment import Experiment
from annelid.evolve.problems.catalogue import CONTROLLERS, SHAPES, shape_experiment
from annelid.studies.support.contests import Arm, PlaneContest, comparison, draw_curves, finished, medians
from annelid.studies.support.plots import COLORS, figure


@dataclass(frozen=True)
class EvolveSensing(PlaneContest):
    """Networks that sense walk faster than phases, for a worm, a biped and a tripod."""

    name: ClassVar[str] = "evolve-sensing"

    def arms(self) -> list[Experiment]:
        """Phases and networks for each shape."""
        return [shape_experiment(shape, kind) for shape in SHAPES for kind in CONTROLLERS]

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of the quick form."""
        return 30, 80, 10.0

    def measure(self, found: dict[str, Arm]) -> list[Measurement]:
        """Sensing against phases on each shape, and on how many of them it is ahead."""
        rows, ahead = medians(found), 0
        for shape in SHAPES:
            sensing, phases = found[f"sensing-{shape}"].final, found[f"phases-{shape}"].final
            own = comparison(f"sensing-over-phases-{shape}", sensing, phases, judged=finished(found) and not self.quick)
            rows += own
            ahead += own[0].value > 1.0
        judged: dict[str, Any] = {"reference": 2 if self.quick else 3, "bound": "at-least"} if finished(found) else {}
        return [*rows, Measurement("shapes-where-sensing-is-ahead", ahead, "", **judged)]

    def plot(self, found: dict[str, Arm], folder: Path) -> list[Path]:
        """Fig. 11."""

        def draw(axes: Any) -> None:
            for axis, shape in zip(axes[0], SHAPES, strict=True):
                arms = [found[f"phases-{shape}"], found[f"sensing-{shape}"]]
                labels = [f"{kind} ({arm.size} genes)" for kind, arm in zip(("phases", "sensing"), arms, strict=True)]
                draw_curves(axis, arms, COLORS, labels, shape)

        return [figure(folder / "evolve-sensing.png", draw, size=(12.0, 3.8), grid=(1, 3))]

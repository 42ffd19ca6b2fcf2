"""Evolution against evolution and development (Medvet et al., sec. 3.2, Fig. 10, after Kriegman et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid.core.measurement import Measurement
from annelid.evolve.experiment import Experiment
from annelid.evolve.problems import catalogue
from annelid.studies.support.contests import PAPER, Arm, PlaneContest, comparison, draw_curves, finished, medians
from annelid.studies.support.plots import COLORS, figure


@dataclass(frozen=True)
class EvolveDevelopment(PlaneContest):
    """Phases that drift over a lifetime end ahead of fixed phases, and begin behind them."""

    name: ClassVar[str] = "evolve-development"

    def arms(self) -> list[Experiment]:
        """Evolution alone, and with development."""
        return [catalogue.evolution(), catalogue.development()]

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of the quick form."""
        return 24, 40, 10.0

    def measure(self, found: dict[str, Arm]) -> list[Measurement]:
        """With development: ahead at the end, behind at the start, and where it overtakes."""
        plain, developing = found["evolution"], found["development"]
        judged = finished(found) and not self.quick
        start = early(plain.generations)
        rows = comparison("development-over-evolution-at-the-end", developing.final, plain.final, judged=judged)
        begin = [arm.best[min(start, len(arm.best) - 1)] for arm in (plain, developing)]
        rows += comparison("evolution-over-development-at-the-start", *begin, judged=judged)
        over = overtaken(plain.best, developing.best)
        return [*medians(found), *rows, Measurement("overtaken-at-generation", over, source=PAPER)]

    def plot(self, found: dict[str, Arm], folder: Path) -> list[Path]:
        """Fig. 10."""

        def draw(axes: Any) -> None:
            names = ("evolution", "development")
            arms = [found[name] for name in names]
            labels = [f"{label} ({arm.size} genes)" for label, arm in zip(_LABELS, arms, strict=True)]
            draw_curves(axes[0, 0], arms, COLORS, labels, "11x4 voxels")

        return [figure(folder / "evolve-development.png", draw, size=(6.0, 4.0), grid=(1, 1))]


_LABELS = ("evolution", "evolution and development")


def early(generations: int) -> int:
    """The generation that stands for the start of a search: a twentieth of all."""
    return max(1, generations // 20)


def overtaken(first: np.ndarray, second: np.ndarray) -> float:
    """The generation from which on the median of the second stays ahead; NaN if it is not ahead at the end."""
    count = min(len(first), len(second))
    behind = np.flatnonzero(np.median(second[:count], axis=1) <= np.median(first[:count], axis=1))
    last = int(behind[-1]) if len(behind) else -1
    return float("nan") if last == count - 1 else float(last + 1)

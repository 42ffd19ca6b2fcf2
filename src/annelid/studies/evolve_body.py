"""Evolved bodies against random ones (Medvet et al., sec. 3.1, Fig. 8, after Hiller and Lipson)."""

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

_PAPER_RATIOS = {"body-5x5": 2.5, "body-10x10": 2.0}


@dataclass(frozen=True)
class EvolveBody(PlaneContest):
    """Evolved bodies walk at least twice as fast as the best of as many random ones as a generation has."""

    name: ClassVar[str] = "evolve-body"

    def arms(self) -> list[Experiment]:
        """Both grids."""
        return [catalogue.body_5x5(), catalogue.body_10x10()]

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds of the quick form."""
        return (24, 30, 10.0) if arm.name == "body-5x5" else (16, 16, 10.0)

    @property
    def _as_many_random_ones(self) -> bool:
        """Whether there are as many as in the paper: the best of fewer random robots is surpassed more easily."""
        return self.population is None or self.population >= 250

    def measure(self, found: dict[str, Arm]) -> list[Measurement]:
        """The end against the random generation."""
        rows = medians(found)
        for name, arm in found.items():
            judged = arm.finished and not self.quick and self._as_many_random_ones
            source = f"{PAPER}: about {_PAPER_RATIOS[name]:g}"
            rows.append(Measurement(f"{name}-random", float(np.median(arm.best[0])), "1/s"))
            rows += comparison(f"{name}-over-random", arm.final, arm.best[0], judged=judged, least=2.0, source=source)
        if finished(found):
            wide, narrow = (found[name].final.std() for name in ("body-10x10", "body-5x5"))
            rows.append(Measurement("spread-10x10-over-5x5", float(wide / narrow) if narrow > 0.0 else float("nan")))
        return rows

    def plot(self, found: dict[str, Arm], folder: Path) -> list[Path]:
        """Fig. 8."""

        def draw(axes: Any) -> None:
            labels = [name.removeprefix("body-") for name in found]
            draw_curves(axes[0, 0], list(found.values()), COLORS, labels, "bodies of four materials")

        return [figure(folder / "evolve-body.png", draw, size=(6.0, 4.0), grid=(1, 1))]

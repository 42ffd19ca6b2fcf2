"""Evolved bodies of 3-D voxels against random ones, in the manner of evosoro (Cheney et al. 2013; Kriegman et al.)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.evolve.age_fitness import AgeFitness
from annelid.evolve.contract import SearcherOptions
from annelid.evolve.ea import EA
from annelid.evolve.experiment import Experiment
from annelid.evolve.informed import Informed
from annelid.evolve.problems import catalogue
from annelid.evolve.problems.voxel_body_3d import VoxelBody3d
from annelid.evolve.random_search import RandomSearch
from annelid.studies.support.contests import Arm, Contest, comparison, draw_curves, medians
from annelid.studies.support.plots import COLORS, figure

_EXPECTED = "own expectation: twice the best of as many random robots"
_SETTLING = 0.2  # part of a walk that does not count
_QUICK_CELLS = 4
_SEARCHES = ("age-fitness", "ea", "informed")
_JUDGED = "informed"  # the others are told beside it


@dataclass(frozen=True)
class EvolveBodies3d(Contest):
    """Evolved bodies of 6x6x6 cells, of soft and stiff voxels and two muscles, beside as many random ones.

    Networks of patterns (CPPN) and genes of cells, each with an age-fitness Pareto search, (mu + lambda), a search that
    chooses among children by what trials so far let it expect (which may make exceptions of single cells where networks
    are searched), and draws.
    """

    name: ClassVar[str] = "evolve-3d"

    cells: int | None = parameter(
        None, "Cells of the box along each side; 6, and 4 in the quick form.", limits=(1, 100)
    )

    def arms(self) -> list[Experiment]:
        """Two encodings, each with four searchers."""
        made = (catalogue.body_3d(), catalogue.body_3d_direct())
        names = {"cppn": made[0], "direct": made[1]}
        return [
            replace(arm, name=f"{encoding}-{kind}")
            for encoding, arm in names.items()
            for kind in (*_SEARCHES, "random")
        ]

    def full(self, arm: Experiment) -> tuple[int, int, float]:
        """Population, generations and seconds."""
        return 40, 150, 5.0

    def short(self, arm: Experiment) -> tuple[int, int, float]:
        """Those of the quick form, which takes seconds."""
        return 4, 3, 0.5

    def problem(self, arm: Experiment, seconds: float) -> Any:
        """Walks in a box of cells."""
        side, walk = self.cells or (_QUICK_CELLS if self.quick else 6), arm.problem
        assert isinstance(walk, VoxelBody3d)
        if arm.name == "cppn-informed":
            walk = replace(walk, encoding="patched")  # which begins with the same random robots
        return replace(walk, seconds=seconds, settling=_SETTLING * seconds, cells=(side, side, side))

    def searcher(self, arm: Experiment, population: int) -> SearcherOptions:
        """What the name of the arm says."""
        encoding, kind = arm.name.split("-", 1)
        if kind == "informed":
            # Of the five numbers of a cell it takes several to change it: with fewer, searches stop early.
            return Informed(population=population, mutations=(10.0, 100.0) if encoding == "direct" else (1.0, 20.0))
        kinds: dict[str, Any] = {"age-fitness": AgeFitness, "ea": EA, "random": RandomSearch}
        searcher: SearcherOptions = kinds[kind](population=population)
        return searcher

    def measure(self, found: dict[str, Arm]) -> list[Measurement]:
        """Evolved bodies against the best of as many random ones, and how fast they walked by."""
        rows = medians(found)
        for encoding in ("cppn", "direct"):
            drawn = found[f"{encoding}-random"]
            for kind in _SEARCHES:
                arm = found[f"{encoding}-{kind}"]
                judged = arm.finished and drawn.finished and not self.quick and kind == _JUDGED
                rows += comparison(
                    f"{encoding}-{kind}-over-random", arm.final, drawn.final, judged=judged, least=2.0, source=_EXPECTED
                )
        walks = sum(arm.evaluations for arm in found.values()) / max(sum(arm.seconds for arm in found.values()), 1e-9)
        return [*rows, Measurement("walks-per-second", walks, "1/s")]

    def plot(self, found: dict[str, Arm], folder: Path) -> list[Path]:
        """Best and spread over the generations, an encoding each."""

        def draw(axes: Any) -> None:
            for column, encoding in enumerate(("cppn", "direct")):
                arms = [arm for name, arm in found.items() if name.startswith(encoding)]
                labels = [arm.name.removeprefix(f"{encoding}-") for arm in arms]
                title = {"cppn": "networks of patterns", "direct": "cell by cell"}[encoding]
                draw_curves(axes[0, column], arms, COLORS, labels, title)
            top = max(float(np.nanmax(arm.best)) for arm in found.values())
            for axis in axes[0]:
                axis.set_ylim(top=1.1 * max(top, 1e-6))

        return [figure(folder / "evolve-3d.png", draw, size=(10.0, 4.0), grid=(1, 2))]

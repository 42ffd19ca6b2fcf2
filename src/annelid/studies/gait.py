"""A lattice walker learns a gait from random commands: by gradients, and by searches that do without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.packages import installation, installed
from annelid.core.parameters import parameter
from annelid.core.progress import Progress
from annelid.studies.support.films import commanded_film
from annelid.studies.support.gait_searches import Course, by_cma_es, by_gradient, by_samples
from annelid.studies.support.lattice_walker import Walk
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.resumable import Resumable

BUDGET = 20
"""Times as many steps as the gradient's that searches without it may simulate."""

_SAMPLED = 5  # the same of sampled gradients

_LABELS = {"gradient": "gradient", "sampled": "sampled gradient", "cma-es": "CMA-ES", "ppo": "PPO"}
Found = dict[tuple[str, int], Course]


@dataclass(frozen=True)
class Gait(Resumable):
    """A lattice walker learns a gait: gradients against sampled ones, CMA-ES and PPO, by steps and by time."""

    name: ClassVar[str] = "gait"
    film: ClassVar[str] = "gait.mp4"

    quick: bool = parameter(False, "A walk of half a second, few steps of each search, one seed.")
    seeds: int = parameter(5, "Independent searches of each method.", least=1)
    iterations: int = parameter(20, "Steps of Adam over half the walk, and again over the whole.", least=1)
    starts: int = parameter(
        1, "Random gaits from which gradients descend side by side; all their steps count.", least=1
    )

    def walk(self, device: Any = "cpu", threads: int | None = None) -> Walk:
        """The walk that is learnt."""
        cycles, intervals = (1, 4) if self.quick else (4, 20)
        return Walk(cycles, intervals, device, threads)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Search with each method and seed, one after the other, until all is done or time is up."""
        walk, found = self.walk(device, threads), Found()
        if not installed("stable_baselines3"):
            progress.say(f"PPO is left out: it needs stable-baselines3, {installation('rl')}")
        end = self.deadline()
        for seed in range(1 if self.quick else self.seeds):
            for method, search in self._searches(walk).items():
                course = self._kept(method, seed)
                if course is None:
                    if time.perf_counter() > end:
                        progress.say("time is up, --resume goes on from here")
                        return found
                    course = search(seed, found)
                    self._keep(method, seed, course)
                found[method, seed] = course
                progress.say(
                    f"{_LABELS[method]}, seed {seed}: {course.distances[-1]:.3f} m after {course.steps[-1]:.3g} steps "
                    f"and {course.seconds[-1]:.1f} s"
                )
        return found

    def _searches(self, walk: Walk) -> dict[str, Callable[[int, Found], Course]]:
        """From a seed, and what was found before it, to a course; the gradient comes first and sets the budget."""
        iterations = 2 if self.quick else self.iterations

        def budget(seed: int, found: Found, times: int = BUDGET) -> int:
            return (2 if self.quick else times) * int(found["gradient", seed].steps[-1])

        searches: dict[str, Callable[[int, Found], Course]] = {
            "gradient": lambda seed, found: by_gradient(walk, seed, iterations=iterations, starts=self.starts),
            "sampled": lambda seed, found: by_samples(walk, seed, steps=budget(seed, found, _SAMPLED)),
            "cma-es": lambda seed, found: by_cma_es(walk, seed, steps=budget(seed, found)),
        }
        if installed("stable_baselines3"):
            from annelid.studies.support.gait_learning import by_ppo

            searches["ppo"] = lambda seed, found: by_ppo(walk, seed, steps=budget(seed, found))
        return searches

    def _identity(self, method: str, seed: int) -> dict[str, Any]:
        return {"method": method, "seed": seed, "iterations": self.iterations, "starts": self.starts}

    def _path(self, method: str, seed: int) -> Path | None:
        return None if self.folder is None or self.quick else self.folder / f"{method}-{seed}.npz"

    def _kept(self, method: str, seed: int) -> Course | None:
        path = self._path(method, seed)
        if path is None or not self.resume or not path.exists():
            return None
        return Course.load(path, self._identity(method, seed))

    def _keep(self, method: str, seed: int, course: Course) -> None:
        path = self._path(method, seed)
        if path is not None:
            course.save(path, self._identity(method, seed))

    def measure(self, found: Found) -> list[Measurement]:
        """Distances of all searches, and CMA-ES with 20 times the steps against the gradient."""
        rows = []
        for (method, seed), course in found.items():
            rows.append(Measurement(f"{method}-{seed}-distance", float(course.distances[-1]), "m"))
            rows.append(Measurement(f"{method}-{seed}-steps", float(course.steps[-1]), "steps"))
            rows.append(Measurement(f"{method}-{seed}-time", float(course.seconds[-1]), "s"))
        seeds = [seed for method, seed in found if method == "cma-es"]
        for seed in seeds:
            rows.append(self._lead("cma-es", seed, found))
        rows += [self._lead("ppo", seed, found) for method, seed in found if method == "ppo"]
        if seeds:
            rows.append(Measurement("fewer-steps-than-cma-es", float(np.median(ratios(found))), "times"))
        return rows

    def _lead(self, method: str, seed: int, found: Found) -> Measurement:
        """How much farther the gradient's gait goes than that of another search with 20 times the steps."""
        lead = found["gradient", seed].distances[-1] - found[method, seed].distances[-1]
        name = f"gradient-{seed}-farther-than-{method}"
        if self.quick or method == "ppo":  # a policy may do more than a table that is repeated
            return Measurement(name, float(lead), "m")
        return Measurement(name, float(lead), "m", 0.0, bound="at-least", source="20 times fewer steps")

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Distance against steps and against time, and a film of the best gait of the gradient."""
        drawn = [figure(folder / "gait.png", lambda axes: _draw(axes, found), size=(9.0, 3.8), grid=(1, 2))]
        walks = [course for (method, _), course in found.items() if method == "gradient"]
        if walks:
            best = max(walks, key=lambda course: course.distances[-1])
            walk = self.walk()
            table = np.tile(best.gait, (walk.cycles, 1))
            drawn.append(commanded_film(walk.simulation(), table, walk.steps_of_interval, folder / self.film))
        return drawn


def ratios(found: Found) -> np.ndarray:
    """Steps of CMA-ES over those after which the gradient was as far as CMA-ES at its end, by seed."""
    pairs = [(found["gradient", seed], course) for (method, seed), course in found.items() if method == "cma-es"]
    return np.array([far.steps[-1] / near.reached(float(far.distances[-1])) for near, far in pairs])


def _draw(axes: Any, found: Found) -> None:
    for axis, what, label in zip(axes[0], ("steps", "seconds"), ("simulated steps", "wall time [s]"), strict=True):
        for color, method in zip(COLORS, _LABELS, strict=False):
            courses = [course for (name, _), course in found.items() if name == method]
            if courses:
                _band(axis, [(getattr(course, what), course.distances) for course in courses], color, _LABELS[method])
        axis.set(xscale="log", xlabel=label, ylabel="distance of the best gait [m]")
        axis.legend(loc="lower right")


def _band(axis: Any, curves: list[tuple[np.ndarray, np.ndarray]], color: str, label: str) -> None:
    """Median of curves that rise in stairs, and the range of all."""
    first, last = max(along[0] for along, _ in curves), min(along[-1] for along, _ in curves)
    if not 0.0 < first < last:
        first, last = min(along[0] for along, _ in curves), max(along[-1] for along, _ in curves)
    grid = np.geomspace(max(first, 1e-3), max(last, 1.001 * first), 200)
    rows = np.array([far[np.maximum(np.searchsorted(along, grid, side="right") - 1, 0)] for along, far in curves])
    axis.fill_between(grid, rows.min(axis=0), rows.max(axis=0), color=color, alpha=0.18, linewidth=0)
    axis.plot(grid, np.median(rows, axis=0), color=color, label=label)

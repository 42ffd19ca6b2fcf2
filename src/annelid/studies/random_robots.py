"""Inverse control of robots of chance: how far their tips stay from where forward solves have been."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.progress import Progress
from annelid.shapes.values import require_count, require_positive
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.random_robots import Draft, reachable

_MOST = 0.05  # distance from a target that can be reached [mm]


@dataclass(frozen=True, eq=False)
class Led:
    """How a robot was led: its draft, its nodes, and distance [m] and CPU time [s] of each step, shape [s]."""

    draft: Draft
    nodes: int
    distances: np.ndarray
    seconds: np.ndarray


@dataclass(frozen=True)
class RandomRobots:
    """Fingers, trunks and bellows of chance are led along paths that they can follow."""

    name: ClassVar[str] = "random-robots"

    quick: bool = False
    """Four robots of large elements, and short paths."""
    robots: int = 20
    """How many robots."""
    seed: int = 0
    """Seed of their forms and paths."""
    steps: int = 25
    """Targets of each robot."""
    stride: float = 2e-4
    """Most that a target moves in a step [m]."""

    def __post_init__(self) -> None:
        require_count("robots", self.robots, least=1, most=100_000)
        require_count("steps", self.steps, least=1, most=100_000)
        require_positive("stride", self.stride)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Led]:
        """Build the robots one after the other and lead them."""
        found = []
        for number in range(min(self.robots, 4) if self.quick else self.robots):
            rng = np.random.default_rng([self.seed, number])
            coarse = self.quick or number % 2 == 0
            draft = Draft.drawn(rng, (4.5e-3, 5.5e-3) if coarse else (3.2e-3, 4.2e-3))
            led = self._lead(draft, rng)
            found.append(led)
            progress.say(
                f"{number}: {draft.kind} of {led.nodes} nodes, {1e-3 * draft.modulus:.0f} kPa: at most "
                f"{1e3 * led.distances.max():.3f} mm from its targets"
            )
        return found

    def measure(self, found: list[Led]) -> list[Measurement]:
        """The largest distances, and what steps cost."""
        source = "targets that forward solves have reached"
        worst = [1e3 * float(led.distances.max()) for led in found]
        seconds = np.concatenate([led.seconds for led in found])
        usual = float(np.median(np.concatenate([led.distances for led in found])))
        return [
            Measurement("largest-distance", max(worst), "mm", _MOST, source=source, bound="at-most"),
            Measurement("median-distance", 1e3 * usual, "mm"),
            Measurement("largest-robot", max(led.nodes for led in found), "nodes"),
            Measurement("median-step", float(np.median(seconds)), "CPU-s"),
            Measurement("longest-step", float(seconds.max()), "CPU-s"),
        ]

    def plot(self, found: list[Led], folder: Path) -> list[Path]:
        """Distances of all robots over their steps."""
        return [figure(folder / "random-robots.png", lambda axes: _draw(axes, found), size=(6.4, 4.2), grid=(1, 1))]

    def _lead(self, draft: Draft, rng: np.random.Generator) -> Led:
        robot = draft.robot()
        path = reachable(robot, rng, 8 if self.quick else self.steps, self.stride)
        inverse, distances, seconds = fem.Inverse(robot), [], []
        for target in path[1:]:
            began = time.process_time()
            distances.append(inverse.step(target).distance)
            seconds.append(time.process_time() - began)
        return Led(draft, robot.model.node_count, np.array(distances), np.array(seconds))


def _draw(grid: Any, found: list[Led]) -> None:
    axes = np.ravel(grid)[0]
    kinds = sorted({led.draft.kind for led in found})
    for color, kind in zip(COLORS, kinds, strict=False):
        for number, led in enumerate([led for led in found if led.draft.kind == kind]):
            steps = np.arange(1, len(led.distances) + 1)
            axes.plot(steps, 1e3 * led.distances, color=color, lw=0.9, label=None if number else kind)
    axes.axhline(_MOST, color="black", ls=":", lw=1.0)
    axes.set(xlabel="step", ylabel="distance from the target [mm]", yscale="log")
    axes.legend()

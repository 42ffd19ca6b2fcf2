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
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.studies.support.plots import COLORS, figure
from annelid.studies.support.random_paths import Stretched, reachable, stretched
from annelid.studies.support.random_robots import Draft

_MOST = 0.05  # distance from a target that can be reached [mm]
_WANDER = 0.01  # most that efforts change where a target cannot be reached, as a part of their limits
_LEAST_STRIDE = 1e-6  # [m]
_FEW, _USUAL, _MANY = (1000, 2500), (1000, 8000), (6000, 8000)  # fewest and most nodes; those of few are led beyond
_SIZES = (0, 3000), (3000, 6000), (6000, 20000)  # nodes of the robots whose steps are measured together


@dataclass(frozen=True, eq=False)
class Led:
    """How a robot was led.

    Attributes:
        draft: Its draft.
        nodes: Its nodes.
        unit: Of the time of its steps: CPU time, or wall time on a GPU.
        distances: Distance from the target of each step [m], shape [s].
        seconds: Time of each step [s], shape [s].
        limited: Steps in which a limit stood in the way.
        stretched: How it was led to a place out of reach, if it was.
    """

    draft: Draft
    nodes: int
    unit: str
    distances: np.ndarray
    seconds: np.ndarray
    limited: int
    stretched: Stretched | None

    def in_words(self) -> str:
        """In one line."""
        draft = self.draft
        words = (
            f"{draft.kind} of {self.nodes} nodes, {draft.chambers} chambers, {draft.law or 'no law'}, "
            f"{1e-3 * draft.modulus:.0f} kPa: at most {1e3 * self.distances.max():.3f} mm from its targets, "
            f"{np.median(self.seconds):.2f} and at most {self.seconds.max():.2f} {self.unit} a step, "
            f"{self.limited} of {len(self.distances)} steps at limits"
        )
        far = self.stretched
        if far is None:
            return words
        return (
            f"{words}; out of reach {1e3 * far.distance:.3f} mm, optimum {1e3 * far.optimum:.3f} mm, "
            f"efforts wander by {100 * far.wander:.2g} %"
        )


@dataclass(frozen=True)
class RandomRobots(Checked):
    """Fingers, trunks, bellows and grippers of chance are led along paths that they can follow, and beyond."""

    name: ClassVar[str] = "random-robots"

    quick: bool = parameter(
        False, "Four robots of few nodes and short paths, of which the first is led out of reach as well."
    )
    robots: int = parameter(20, "How many robots.", limits=(1, 100_000))
    seed: int = parameter(0, "Seed of their forms and paths.", least=0)
    steps: int = parameter(25, "Targets of each robot.", limits=(1, 100_000))
    stride: float = parameter(2e-4, "Most that a target moves in a step [m].", unit="m", least=_LEAST_STRIDE)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> list[Led]:
        """Build the robots one after the other and lead them."""
        found = []
        for number in range(min(self.robots, 4) if self.quick else self.robots):
            rng = np.random.default_rng([self.seed, number])
            few = self.quick or number % 4 == number // 4 % 4
            nodes = _FEW if few else _MANY if number % 5 == 3 else _USUAL
            draft = Draft.drawn(rng, number, nodes)
            led = self._lead(
                draft, rng, draft.robot(device=device, threads=threads), stretch=few and not (self.quick and number)
            )
            found.append(led)
            progress.say(f"{number}: {led.in_words()}")
        return found

    def measure(self, found: list[Led]) -> list[Measurement]:
        """The largest distances, and what steps cost."""
        source = "targets that forward solves have reached"
        worst = [1e3 * float(led.distances.max()) for led in found]
        usual = float(np.median(np.concatenate([led.distances for led in found])))
        rows = [
            Measurement("largest-distance", max(worst), "mm", _MOST, source=source, bound="at-most"),
            Measurement("median-distance", 1e3 * usual, "mm"),
            Measurement("steps-at-limits", sum(led.limited for led in found), "steps"),
            Measurement("largest-robot", max(led.nodes for led in found), "nodes"),
        ]
        unit = found[0].unit
        for low, high in _SIZES:
            seconds = [led.seconds for led in found if low <= led.nodes < high]
            if seconds:
                every, name = np.concatenate(seconds), f"{low}-nodes-or-more"
                rows.append(Measurement(f"median-step-{name}", float(np.median(every)), unit))
                rows.append(Measurement(f"longest-step-{name}", float(every.max()), unit))
        return rows + _measured_stretches([led.stretched for led in found if led.stretched is not None])

    def plot(self, found: list[Led], folder: Path) -> list[Path]:
        """Distances of all robots over their steps."""
        return [figure(folder / "random-robots.png", lambda axes: _draw(axes, found), size=(6.4, 4.2), grid=(1, 1))]

    def _lead(self, draft: Draft, rng: np.random.Generator, robot: fem.Robot, *, stretch: bool = False) -> Led:
        clock = time.perf_counter if robot.device.is_cuda else time.process_time
        path = reachable(robot, rng, 8 if self.quick else self.steps, self.stride, bounded=draft.bounded)
        control, steps, seconds = fem.Inverse(robot), [], []
        for goals in path[1:]:
            began = clock()
            steps.append(control.step_to(goals))
            seconds.append(clock() - began)
        return Led(
            draft,
            robot.model.node_count,
            "s" if robot.device.is_cuda else "CPU-s",
            np.array([step.distance for step in steps]),
            np.array(seconds),
            sum(bool(step.active) for step in steps),
            stretched(robot, control) if stretch else None,
        )


def _measured_stretches(found: list[Stretched]) -> list[Measurement]:
    """What came of targets that cannot be reached."""
    if not found:
        return []
    behind = max(1e3 * (each.distance - each.optimum) for each in found)
    wander = max(each.wander for each in found)
    source = "best efforts within limits, by forward solves"
    return [
        Measurement("largest-distance-beyond-optimum", behind, "mm", _MOST, source=source, bound="at-most"),
        Measurement("largest-wander-out-of-reach", wander, "-", _WANDER, bound="at-most"),
    ]


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

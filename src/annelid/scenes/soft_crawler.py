"""A soft crawler on ground with friction: three cavities filled in turn (Shepherd et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from annelid import control, fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.crawler import Crawler, crawler
from annelid.shapes import ground

_DT = 0.01


@dataclass(frozen=True)
class SoftCrawler(Checked):
    """A strip of silicone with three cavities, filled from the rear to the front, crawls on the ground."""

    name: ClassVar[str] = "soft-crawler"
    duration: ClassVar[float] = 1.6

    friction: float = parameter(0.6, "Coulomb friction of crawler and ground", range=(0.0, 1.5), limits=(0.0, 10.0))
    pressure: float = parameter(14e3, "Highest pressure", unit="Pa", range=(2e3, 16e3), limits=(100.0, 40e3))
    period: float = parameter(0.8, "Duration of a cycle", unit="s", range=(0.4, 2.0), limits=(0.1, 100.0))
    chambers: int = parameter(3, "Chambers of a cavity", range=(2, 5), limits=(1, 20))
    material: str = parameter("dragon-skin-10/yeoh", "Material of the crawler")
    by_hand: bool = parameter(False, "Whether sliders command its pressures, not its gait", live=True)

    def robot(self) -> Crawler:
        """The crawler on the ground."""
        return crawler(
            chambers=self.chambers, length=0.05 * self.chambers, silicone=self.material, friction=self.friction,
            pressure=self.pressure, period=self.period,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.Solver]:
        """The crawler at rest, about to begin its gait."""
        robot = self.robot()
        simulation = robot.simulation([ground(self.friction)], dt=_DT, device=device, threads=threads)
        attached = simulation.attachments
        attached["by-hand"] = self.by_hand
        control.connect(simulation, robot.gait, every=_DT, sensors=[], unless=lambda: bool(attached["by-hand"]))
        return simulation

    def adjust(self, simulation: Simulation[fem.Solver], name: str, value: Any) -> None:
        """Take the pressures from its gait, or give them back."""
        simulation.attachments["by-hand"] = value

    def measure(self, simulation: Simulation[fem.Solver]) -> list[Measurement]:
        """How far it has crawled, in all and in a cycle, and whether it crawls straight on."""
        state, nodes = simulation.state, simulation.solver.model.solid.nodes
        moved = simulation.summary().center_of_mass - self._middle(simulation)
        steps = max(int(state.clock.numpy()[0]), 1)
        cycles = simulation.time / self.period
        return [
            Measurement("crawled", float(moved[0]), "m"),
            Measurement("crawled-in-a-cycle", float(moved[0]) / max(cycles, 1e-9), "m"),
            Measurement("aside", float(moved[1]), "m"),
            Measurement("length", float(np.ptp(nodes[:, 0])), "m"),
            Measurement("nodes", float(len(nodes))),
            Measurement("steps-cut", float(state.touch.cut.numpy()[0]) / steps),
            Measurement("unsettled", float(state.unsettled.numpy()[0]) / steps),
        ]

    @staticmethod
    def _middle(simulation: Simulation[fem.Solver]) -> np.ndarray:
        """Centre of mass at rest [m]."""
        weights = simulation.solver.model.solid.weights()
        return np.asarray(weights @ simulation.solver.model.solid.nodes / weights.sum())

"""Crawling of a worm of springs: an action is the swelling of its segments; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from annelid import control, springs
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.grounds import LevelGround, level_ground, require_ground
from annelid.envs.task import Task
from annelid.shapes import ground

_SPACING = 0.1  # of the masses [m]
_STEP = 2e-4  # [s]


@documented
class WormCrawl(Task):
    """Crawl along x on level ground that rubs alike in all directions, by a wave of one's own."""

    seconds = 4.0
    every = 0.1
    stir = 0.2
    segments: int = parameter(6, "Parts of the worm that swell on their own, each two masses long.", limits=(1, 64))
    swelling: float = parameter(0.25, "Largest change of the length of a spring, a fraction of it.", limits=(0.01, 0.4))
    friction: float = parameter(0.8, "Coulomb friction of the ground.", limits=(0.0, 10.0))
    ground: LevelGround = parameter("rigid", '"rigid", or "resistive": sand without grains, into which it sinks.')
    medium: str = parameter(
        "sand-loose", "What resists then: a name, or a file that annelid study sand-rft --fit wrote."
    )

    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "size asked of each segment along x, from −1 to 1",
        "place": "place of the middle of the worm, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "turn": "how it is turned, a quaternion x, y, z, w",
        "strain": "mean strain of the springs of each segment",
        "touch": "share of the masses of each segment that touch the ground",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ground(self)

    @property
    def length(self) -> float:
        """Length of the worm [m]."""
        return 2.0 * self.segments * _SPACING

    def build(self, **machine: Any) -> Simulation[springs.Solver]:
        """The worm on the ground, segment by segment from tail to head."""
        body = springs.block((2 * self.segments + 1, 3, 3), _SPACING, damping=20.0)
        low, high = 1.0 - self.swelling, 1.0 + self.swelling
        part = self._segment(body.positions[body.springs].mean(axis=1)[:, 0])
        for k in range(self.segments):
            body.control(f"segment {k + 1}", part == k, low=low, high=high)
        below = level_ground(self.ground, ground(self.friction, stiffness=1e4), self.medium, self.friction)
        simulation = springs.simulation(body, dt=_STEP, obstacles=[below], **machine)
        sensors, owner = simulation.sensors, self._segment(body.positions[:, 0])
        sensors.add("commanded", control.commanded())
        sensors.add("place", springs.position_of())
        sensors.add("velocity", springs.velocity_of())
        sensors.add("turn", springs.orientation_of())
        sensors.add("strain", [springs.strain_of(owner == k) for k in range(self.segments)])
        sensors.add("touch", [springs.touch_of(owner == k) for k in range(self.segments)])
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Way of the middle along x [lengths of the worm]."""
        return (now["place"][:, 0] - before["place"][:, 0]) / self.length

    def _segment(self, along: np.ndarray) -> np.ndarray:
        """Segment of each place along x [m]."""
        return np.clip((along / self.length * self.segments).astype(int), 0, self.segments - 1)

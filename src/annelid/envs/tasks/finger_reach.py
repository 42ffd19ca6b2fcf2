"""Reaching of a soft finger: an action is the pressure in its bellows; reward: minus the distance to the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from annelid import control, fem
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Lines, Part
from annelid.envs.goals import Limits
from annelid.envs.task import Task
from annelid.robots.finger import finger

_CHAMBER = 0.02  # its length [m]
_STRAIGHT, _BEND = -0.01, 5.0  # height of the tip of a straight finger [m], and its rise at 40 kPa over length² [1/m]


@documented
class FingerReach(Task):
    """Bring the tip of a pneumatic finger, which sags under its weight, to a height, and hold it there."""

    seconds = 1.0
    every = 0.1
    stir = 0.5
    chambers: int = parameter(
        3, "Chambers of the bellows, each 2 cm long; an action costs the more of them there are.", limits=(1, 5)
    )
    pressure: float = parameter(40e3, "Highest pressure [Pa].", unit="Pa", limits=(1e3, 60e3))
    modulus: float = parameter(400e3, "Young's modulus of the silicone [Pa].", unit="Pa", limits=(200e3, 1e7))

    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "pressure asked for, from −1 to 1",
        "tip": "place of the tip, x, y, z [m]",
        "target": "height to reach [m]",
    }

    @property
    def length(self) -> float:
        """Length of the finger [m]."""
        return _CHAMBER * self.chambers

    def goals(self) -> Limits:
        """A height that the tip has at some pressure."""
        return {"target": (_STRAIGHT, _STRAIGHT + _BEND * self.length**2)}

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[fem.ForwardSolver]:
        """The finger in the equilibrium of its pressure; an action is one step."""
        robot = finger(
            filling="pneumatic", pressure=self.pressure, modulus=self.modulus, length=self.length,
            chambers=self.chambers, device=device, threads=threads,
        )  # fmt: skip
        simulation = fem.forward_simulation(robot, dt=self.every, worlds=worlds)
        simulation.sensors.add("commanded", control.commanded())
        simulation.sensors.add("tip", fem.position_of("tip"))
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Minus how far the tip is above or below the target [cm]."""
        return -100.0 * abs(now["tip"][:, 2] - now["target"][:, 0])

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        """The height to reach."""
        ends = np.array([(share * self.length, 0.0, goals["target"][0]) for share in (0.7, 1.2)])
        return [Lines("goal", ends, np.array([(0, 1)], np.int32), color=(0.8, 0.1, 0.1))]

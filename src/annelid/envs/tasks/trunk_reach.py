"""Reaching of a soft trunk: an action is the pull of its cables; reward: minus the distance to the target."""

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
from annelid.robots.trunk import trunk

_REACH = 0.04  # of the targets to either side [m]
_DEPTH = (-0.21, -0.16)  # of the mark of a target [m]


@documented
class TrunkReach(Task):
    """Bring the tip of a hanging trunk above or below a point of the plane, by the pull of eight cables."""

    seconds = 1.0
    every = 0.1
    stir = 0.2
    tension: float = parameter(
        2.0,
        "Highest tension of a cable [N]; where all cables pull together beyond 2.5 N, the trunk buckles.",
        unit="N",
        limits=(0.1, 2.5),
    )
    modulus: float = parameter(300e3, "Young's modulus of the silicone [Pa].", unit="Pa", limits=(200e3, 1e7))

    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "tension asked of each cable, four to the tip and four to the middle, from −1 to 1",
        "tip": "place of the tip, x, y, z [m]",
        "target": "place to reach, x, y [m]",
    }

    def goals(self) -> Limits:
        """A place in a square about the trunk."""
        return {"target": ((-_REACH, -_REACH), (_REACH, _REACH))}

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[fem.ForwardSolver]:
        """The trunk in the equilibrium of its cables; an action is one step."""
        robot = trunk(tension=self.tension, modulus=self.modulus, device=device, threads=threads)
        simulation = fem.forward_simulation(robot, dt=self.every, worlds=worlds)
        simulation.sensors.add("commanded", control.commanded())
        simulation.sensors.add("tip", fem.position_of("tip"))
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Minus the distance of the tip from the target, seen from above [cm]."""
        away = now["tip"][:, :2] - now["target"]
        return -100.0 * (away**2).sum(axis=1) ** 0.5

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        """A rod at the place to reach."""
        ends = np.array([(*goals["target"], height) for height in _DEPTH])
        return [Lines("goal", ends, np.array([(0, 1)], np.int32), color=(0.8, 0.1, 0.1))]

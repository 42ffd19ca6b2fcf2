"""A trunk pushes a block along a table: inverse control with friction, of a body that nobody drives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.simulation import Simulation
from annelid.robots.pusher import pusher
from annelid.robots.things import mug
from annelid.scenes.support.reaching import Reaching, largest_miss, recorded, write_actuation
from annelid.shapes import Box, Cylinder

_RATE = 30.0  # steps in a second
_GAP, _APPROACH = 1.5e-3, 2.5e-3  # between trunk and block at first, and how far the tip goes until it pushes [m]
_LIFT, _LIFTED = 0.012, 0.7  # how far the tip is lifted first [m], and when it is [s]


@dataclass(frozen=True)
class PushBlock(Reaching):
    """A hanging trunk, whose cables inverse control pulls, pushes a block 3 cm along a table."""

    name: ClassVar[str] = "push-block"
    duration: ClassVar[float] = 6.0

    distance: float = parameter(0.03, "How far the tip pushes", unit="m", range=(0.01, 0.04), limits=(0.0, 0.1))
    pace: float = parameter(6e-3, "How fast it does", unit="m/s", range=(2e-3, 1e-2), limits=(1e-4, 0.03))
    heading: float = parameter(0.0, "Direction of the path", unit="°", range=(0.0, 360.0), limits=(-360.0, 360.0))
    friction: float = parameter(0.5, "Coulomb friction of all surfaces", range=(0.1, 0.8), limits=(0.0, 2.0))
    mass: float = parameter(0.05, "Mass of the block", unit="kg", range=(0.01, 0.1), limits=(1e-3, 1.0))
    thing: str = parameter("box", "What is pushed: box, cylinder, mug, or the path of a closed mesh in metres")
    layers: int = parameter(16, "Cells along the trunk, an even number", range=(12, 32), limits=(8, 64))

    @property
    def ahead(self) -> np.ndarray:
        """Direction of the path."""
        angle = math.radians(self.heading)
        return np.array([math.cos(angle), math.sin(angle), 0.0])

    def robot(self, *, device: Any = "auto", threads: int | None = None) -> fem.Robot:
        """The trunk beside what it pushes."""
        shapes = {"box": Box((0.03, 0.03, 0.03)), "cylinder": Cylinder(0.016, 0.03), "mug": mug(0.036, 0.036)}
        return pusher(
            shapes.get(self.thing, self.thing), heading=math.radians(self.heading), gap=_GAP, lift=_LIFT,
            friction=self.friction, mass=self.mass, layers=self.layers, device=device, threads=threads,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.InverseSolver]:
        """Trunk and block at rest; the target goes up a little, then straight ahead."""
        robot = self.robot(device=device, threads=threads)
        simulation = recorded(fem.inverse_simulation(robot, dt=1.0 / _RATE))
        begin = simulation.solver.targets(simulation.state)["tip"]

        def script(time: float) -> dict[str, Any]:
            up = np.array([0.0, 0.0, _LIFT * min(time / _LIFTED, 1.0)])
            way = min(self.pace * max(time - _LIFTED, 0.0), _APPROACH + self.distance)
            return {"tip": begin + up + way * self.ahead}

        simulation.solver.script = script
        touching: list[bool] = []
        simulation.attachments["touching"] = touching
        simulation.attachments["begin"] = self._place(simulation)
        simulation.solver.inverse.sinks.append(lambda step: touching.append(_touches(robot)))
        return simulation

    def measure(self, simulation: Simulation[fem.InverseSolver]) -> list[Measurement]:
        """How near the tip was to its target, whether it stayed at the block, and how far that has come."""
        touching: list[bool] = simulation.attachments["touching"]
        since = touching[touching.index(True) :] if True in touching else []
        steps: list[fem.Step] = simulation.attachments["steps"]
        moved = (self._place(simulation) - simulation.attachments["begin"]) @ self.ahead
        tension = max((max(step.efforts.values()) for step in steps), default=0.0)
        return [
            Measurement("largest-miss", 1e3 * largest_miss(simulation), "mm", 0.2, bound="at-most"),
            Measurement("contact-kept", float(np.mean(since)) if since else 0.0, "", 1.0, bound="at-least"),
            Measurement("pushed", float(moved), "m"),
            Measurement("largest-tension", tension, "N"),
            Measurement("nodes", float(simulation.solver.model.node_count)),
        ]

    def outputs(self, simulation: Simulation[fem.InverseSolver], folder: Path) -> list[Path]:
        """The actuation of every step."""
        return [write_actuation(simulation, folder)]

    def _place(self, simulation: Simulation[fem.InverseSolver]) -> np.ndarray:
        return np.array(simulation.state.touch.places.numpy()[1])


def _touches(robot: fem.Robot) -> bool:
    """Whether the trunk presses against what it pushes."""
    return bool(robot.contact_forces()[:, 1].any())

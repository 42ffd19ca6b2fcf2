"""The body that a soak treats badly: a tower of springs that can break, with sliders that pull at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import warp as wp

from annelid import springs
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation

Tower = Simulation[springs.Solver]

STIFFNESS = 5000.0
"""Of the springs of the tower [N/m]."""

PITCH = 0.1
"""Distance of two masses [m]."""

_STRONG = 2.0  # yield strain: only springs that are added to break do


@dataclass(frozen=True)
class TowerScene(Checked):
    """A tower of springs that stands on fixed masses."""

    name: ClassVar[str] = "soak"

    gravity: float = parameter(9.81, "Gravity", unit="m/s²", range=(0.0, 15.0), limits=(0.0, 100.0), live=True)
    wind: float = parameter(0.0, "Pull to the side", unit="m/s²", range=(-3.0, 3.0), limits=(-100.0, 100.0), live=True)

    def body(self) -> springs.Body:
        """The tower."""
        body = springs.block((5, 5, 10), PITCH, stiffness=STIFFNESS, damping=5.0)
        body.yield_strains[:] = _STRONG
        return body.fix(lambda x: x[:, 2] < 0.5 * PITCH)

    def build(self, *, device: str | wp.Device = "auto", threads: int | None = None) -> Tower:
        """The tower at rest."""
        simulation = springs.simulation(self.body(), gravity=self._pull(), device=device, threads=threads)
        simulation.attachments["tower"] = self
        return simulation

    def adjust(self, simulation: Tower, name: str, value: Any) -> None:
        """Change what pulls at it, between two steps."""
        set_scene(simulation, replace(scene_of(simulation), **{name: value}))

    def _pull(self) -> tuple[float, float, float]:
        return self.wind, 0.0, -self.gravity


def scene_of(simulation: Tower) -> TowerScene:
    """The parameters that act on a tower now."""
    scene: TowerScene = simulation.attachments["tower"]
    return scene


def set_scene(simulation: Tower, scene: TowerScene) -> None:
    """Let other parameters act on a tower, which may run; a checkpoint is of a tower with the same ones."""
    with simulation.gate:
        model = simulation.solver.model
        model.set_world(replace(model.world, gravity=scene._pull()))
        simulation.attachments["tower"] = scene

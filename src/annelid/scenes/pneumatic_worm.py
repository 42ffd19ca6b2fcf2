"""A pneumatic worm that crawls on sand: finite elements and grains in one world."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from annelid import coupling, grains, robots
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.start import on_purpose
from annelid.robots.pneumatic_worm import PneumaticWorm
from annelid.shapes import Surface

_EVERY = 0.02  # from command to command [s]
_MARGIN = 2.0  # room beside the worm, in its radii
_STRETCH = 1.3  # of its surface


@dataclass(frozen=True)
class PneumaticWormOnSand(Checked):
    """A worm of silicone with a row of air chambers lies on sand; a wave of pressures runs along it, and it crawls."""

    name: ClassVar[str] = "pneumatic-worm"
    duration: ClassVar[float] = 2.0

    pressure: float = parameter(
        1.05e4, "Largest pressure in a chamber", unit="Pa", range=(0.0, 1.2e4), limits=(0.0, 1e5), live=True
    )
    frequency: float = parameter(5.0, "Waves a second", unit="Hz", range=(0.5, 8.0), limits=(1e-3, 50.0), live=True)
    waves: float = parameter(1.5, "Waves along the worm", range=(0.5, 3.0), limits=(-10.0, 10.0), live=True)
    chambers: int = parameter(6, "Number of chambers", range=(2, 10), limits=(1, 50))
    length: float = parameter(0.36, "Length of the worm", unit="m", range=(0.2, 0.8), limits=(0.05, 5.0))
    radius: float = parameter(0.03, "Radius of the worm", unit="m", range=(0.02, 0.06), limits=(5e-3, 1.0))
    wall: float = parameter(6e-3, "Thickness of its walls", unit="m", range=(3e-3, 0.01), limits=(1e-3, 0.5))
    depth: float = parameter(0.05, "Depth of the bed", unit="m", range=(0.04, 0.2), limits=(0.01, 5.0))
    buried: float = parameter(
        0.3, "Part of the worm below the surface at the start", range=(0.0, 1.0), limits=(0.0, 1.0)
    )
    friction: float = parameter(0.5, "Coulomb friction of grains and worm", range=(0.0, 1.0), limits=(0.0, 100.0))
    grain_radius: float = parameter(0.01, "Radius of the grains", unit="m", range=(7e-3, 0.02), limits=(1e-3, 0.2))
    run_up: float = parameter(
        0.15, "Room before the worm and behind it", unit="m", range=(0.1, 2.0), limits=(0.0, 50.0)
    )
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def worm(self) -> PneumaticWorm:
        """The worm."""
        names = ("chambers", "length", "radius", "wall")
        return PneumaticWorm(pressure=1e5, **{name: getattr(self, name) for name in names})

    @property
    def height(self) -> float:
        """Height of the axis of the worm at the start [m]."""
        return self.depth + self.radius * (1.0 - 2.0 * self.buried)

    def sandbox(self) -> robots.Sandbox:
        """The box of grains."""
        return robots.Sandbox(
            length=self.length + 2.0 * self.run_up,
            width=2.0 * (1.0 + _MARGIN) * self.radius,
            depth=self.depth,
            radius=self.grain_radius,
            grain=replace(grains.SAND, friction=self.friction),
            seed=self.seed,
        )

    def pressures(self, time: float) -> dict[str, float]:
        """Pressure of each chamber at a time [Pa]: the wave runs from the tail to the head, and grows in its first."""
        phases = self.frequency * time - self.waves * np.arange(self.chambers) / self.chambers
        grown = self.pressure * min(1.0, self.frequency * time)
        wanted = 0.5 * grown * (1.0 - np.cos(2.0 * math.pi * phases))
        return {f"air-{number}": float(pressure) for number, pressure in enumerate(wanted)}

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[coupling.SolidSolver]:
        """The worm at rest on the sand."""
        box, worm = self.sandbox(), self.worm
        with on_purpose():
            simulation = coupling.simulation(
                worm.solid(height=self.height),
                box.bed(),
                actuators=worm.actuators(),
                obstacles=box.walls(),
                skin=Surface(friction=self.friction),
                stretch=_STRETCH,
                inside="remove",
                device=device,
                threads=threads,
            )
        simulation.attachments["pneumatic-worm"] = self
        _command(simulation)
        simulation.observe(_command, every=_EVERY)
        return simulation

    def adjust(self, simulation: Simulation[coupling.SolidSolver], name: str, value: Any) -> None:
        """Change the wave while it crawls."""
        simulation.attachments["pneumatic-worm"] = replace(simulation.attachments["pneumatic-worm"], **{name: value})

    def measure(self, simulation: Simulation[coupling.SolidSolver]) -> list[Measurement]:
        """How far it came, and whether grains stayed out of it."""
        solver, state = simulation.solver, simulation.state
        moved = simulation.summary().parts["solid"].center_of_mass - np.array([0.0, 0.0, self.height])
        return [
            Measurement("grains", len(solver.model.bed)),
            Measurement("nodes", solver.model.solid.node_count),
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / self.length),
            Measurement("sideways", float(moved[1]), "m"),
            Measurement("sinking", -float(moved[2]), "m"),
            Measurement("speed", float(moved[0]) / max(simulation.time, simulation.dt), "m/s"),
            Measurement("fastest-grain", float(np.abs(solver.readout.grain_velocities(state)).max()), "m/s"),
            Measurement("grains-inside", len(solver.readout.grains_inside(state)), reference=0.0, tolerance=0.0),
        ]


def _command(simulation: Simulation[coupling.SolidSolver]) -> None:
    """Let the chambers reach, at the next command, the pressures that the wave has there."""
    scene = simulation.attachments["pneumatic-worm"]
    until = max(round(_EVERY / simulation.dt), 1) * simulation.dt  # commands come after whole steps
    simulation.controls.command(scene.pressures(simulation.time + until), ramp=until)

"""A soft worm that crawls through the surface of sand, half buried: in grains, or in ground that resists like them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import coupling, springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots.sand_worm import BuriedWorm
from annelid.robots.sandbox import require_medium

AnySimulation = Simulation[coupling.Solver] | Simulation[springs.Solver]


@dataclass(frozen=True)
class Sandworm(Checked):
    """A worm of soft flesh lies half buried in sand and crawls by a travelling wave of swelling."""

    name: ClassVar[str] = "sandworm"
    duration: ClassVar[float] = 5.0

    amplitude: float = parameter(
        0.2, "Swelling of a segment as a fraction of its size", range=(0.0, 0.3), limits=(0.0, 0.9), live=True
    )
    frequency: float = parameter(2.0, "Waves a second", unit="Hz", range=(0.5, 5.0), limits=(1e-3, 1e3), live=True)
    wavelength: float = parameter(
        0.5, "Length of a wave in body lengths", range=(0.25, 2.0), limits=(0.01, 100.0), live=True
    )
    length: float = parameter(0.6, "Length of the worm", unit="m", range=(0.3, 1.2), limits=(0.05, 20.0))
    depth: float = parameter(0.10, "Depth of the bed", unit="m", range=(0.05, 0.3), limits=(0.01, 10.0))
    buried: float = parameter(
        0.5, "Part of the worm below the surface at the start", range=(0.0, 1.0), limits=(0.0, 1.0)
    )
    friction: float = parameter(0.5, "Coulomb friction of the grains", range=(0.0, 1.0), limits=(0.0, 100.0))
    grain_radius: float = parameter(0.012, "Radius of the grains", unit="m", range=(0.009, 0.03), limits=(1e-3, 0.2))
    spacing: float = parameter(0.4, "Distance of the worm's masses, in its radii", range=(0.2, 0.6), limits=(0.05, 1.0))
    run_up: float = parameter(0.5, "Room before the worm", unit="m", range=(0.1, 3.0), limits=(0.0, 100.0))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)
    ground: Literal["grains", "resistive"] = parameter("grains", "A bed of grains, or ground that resists like one")
    medium: str = parameter("grains-loose", "What resists: a name, or a file that annelid study sand-rft --fit wrote")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_medium(self.ground, self.medium, type(self).medium)

    @property
    def worm(self) -> BuriedWorm:
        """The worm without its wave, and its box."""
        names = ("length", "spacing", "depth", "buried", "friction", "grain_radius", "run_up", "seed")
        return BuriedWorm(swelling=self.amplitude, **{name: getattr(self, name) for name in names})

    def body(self) -> springs.Body:
        """The worm as it crawls along x, its middle at the origin."""
        body = self.worm.body()
        speed = self.wavelength * self.length * self.frequency
        return body.actuate(springs.wave(self.amplitude, self.frequency, body.distance_along((1.0, 0.0, 0.0)) / speed))

    def build(self, *, device: str = "auto", threads: int | None = None) -> AnySimulation:
        """The worm at rest in the sand."""
        simulation: AnySimulation
        if self.ground == "grains":
            simulation = self.worm.simulation(self.body(), device=device, threads=threads)
        else:
            simulation = self.worm.on_resistive_ground(self.body(), self.medium, device=device, threads=threads)
        simulation.attachments["sandworm"] = self
        return simulation

    def adjust(self, simulation: AnySimulation, name: str, value: Any) -> None:
        """Change the wave while it crawls."""
        changed = replace(simulation.attachments["sandworm"], **{name: value})
        _springs_of(simulation).set_actuation(changed.body())
        simulation.attachments["sandworm"] = changed

    def measure(self, simulation: AnySimulation) -> list[Measurement]:
        """How far it came, and whether grains stayed out of it."""
        worm, summary = _springs_of(simulation), simulation.summary()
        moved = summary.parts.get("springs", summary).center_of_mass - worm.body.center_of_mass
        return [
            Measurement("springs", worm.spring_count),
            Measurement("distance", float(moved[0]), "m"),
            Measurement("distance-in-body-lengths", float(moved[0]) / self.length),
            Measurement("sideways", float(moved[1]), "m"),
            Measurement("sinking", -float(moved[2]), "m"),
            Measurement("speed", float(moved[0]) / max(simulation.time, simulation.dt), "m/s"),
            *_of_grains(simulation),
        ]


def _springs_of(simulation: AnySimulation) -> springs.Model:
    """The worm, among grains or without."""
    solver = simulation.solver
    return solver.model if isinstance(solver, springs.Solver) else solver.model.springs


def _of_grains(simulation: AnySimulation) -> list[Measurement]:
    """What became of the grains, where there are any."""
    solver, state = simulation.solver, simulation.state
    if isinstance(solver, springs.Solver):
        return []
    fastest = float(np.abs(solver.readout.grain_velocities(state)).max())
    return [
        Measurement("grains", len(solver.model.bed)),
        Measurement("fastest-grain", fastest, "m/s"),
        Measurement("grains-inside", len(solver.readout.grains_inside(state)), reference=0.0, tolerance=0.0),
    ]

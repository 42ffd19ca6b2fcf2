"""The pneumatic quadruped on a bed of grains, beside the same on hard ground."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import coupling, grains, robots, springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.start import on_purpose
from annelid.scenes.walker import Walker
from annelid.shapes import Surface, ground

_DT = 6.0e-5


@wp.func
def inflate_gently(time: Any, parameters: Any) -> Any:
    """As `walker.inflate`, but from rest: a body that swells at once would throw the grains about."""
    wave = wp.sin(type(time)(3.141592653589793) * (parameters[1] * time - parameters[2]))
    share = wp.min(time / parameters[3], type(time)(1.0))
    return type(time)(1.0) + parameters[0] * wave * wave * share * share * (type(time)(3.0) - type(time)(2.0) * share)


@dataclass(frozen=True)
class SandWalker(Checked):
    """A quadruped of silicone walks on loose grains; its distance on hard ground is reported for comparison."""

    name: ClassVar[str] = "sand-walker"
    duration: ClassVar[float] = 2.0

    inflation: float = parameter(0.7, "Expansion of the inflated stripes", range=(0.0, 0.9), limits=(0.0, 0.95))
    frequency: float = parameter(2.5, "Steps a second", unit="Hz", range=(0.5, 4.0), limits=(0.0, 100.0))
    friction: float = parameter(0.5, "Coulomb friction of the grains", range=(0.0, 1.0), limits=(0.0, 100.0))
    depth: float = parameter(0.015, "Depth of the bed", unit="m", range=(0.008, 0.05), limits=(1e-3, 1.0))
    grain_radius: float = parameter(0.003, "Radius of the grains", unit="m", range=(0.0017, 0.006), limits=(5e-4, 0.05))
    start: float = parameter(
        0.4, "Time within which it comes to full swing", unit="s", range=(0.05, 1.0), limits=(1e-3, 100.0)
    )
    run_up: float = parameter(0.05, "Room before and behind", unit="m", range=(0.02, 0.5), limits=(0.0, 10.0))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def walker(self) -> Walker:
        """The robot."""
        return Walker(inflation=self.inflation, frequency=self.frequency)

    def body(self) -> springs.Body:
        """Its body, which begins to move gently."""
        body = self.walker.body()
        active = np.flatnonzero(body.signal_kinds)
        inflation, frequency, phase, _ = body.signal_parameters[active].T
        body.signal_functions = ()
        return body.actuate(springs.Signal(inflate_gently, (inflation, frequency, phase, self.start)), active)

    def sandbox(self) -> robots.Sandbox:
        """The box that it walks in."""
        size = np.ptp(self.body().positions, axis=0)
        return robots.Sandbox(
            length=float(size[0]) + 2.0 * self.run_up,
            width=float(size[1]) + 0.04,
            depth=self.depth,
            radius=self.grain_radius,
            grain=replace(grains.SAND, friction=self.friction),
            seed=self.seed,
        )

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[coupling.Solver]:
        """The quadruped at rest on the bed."""
        box, body = self.sandbox(), self.body()
        skin = Surface(friction=self.walker.friction)
        radius = float(coupling.closing_radii(body, self.grain_radius, stretch=1.2 + self.inflation).max())
        lift = self.depth + radius - float(body.bounds()[0][2])
        with on_purpose():
            return coupling.simulation(
                body.moved((0.0, 0.0, lift)),
                box.bed(),
                obstacles=box.walls(),
                skin=skin,
                stretch=1.2 + self.inflation,
                inside="remove",
                spring_dt=_DT,
                springs={"velocity_damping": 2.0},
                grains={"converge": False},  # springs without damping keep steps so short that a plain sweep does
                device=device,
                threads=threads,
            )

    def _on_hard_ground(self, simulation: Simulation[coupling.Solver]) -> np.ndarray:
        """How far it walks on hard ground in the same time [m], shape [3]."""
        solver, plane = simulation.solver, ground(0.8, stiffness=100.0, restitution=0.2)
        walking = springs.simulation(
            self.body(),
            dt=_DT,
            obstacles=[plane],
            velocity_damping=2.0,
            device=solver.device,
            threads=solver.springs.threads,
        )
        walking.run(simulation.time)
        return np.asarray(walking.summary().center_of_mass - walking.solver.model.body.center_of_mass)

    def measure(self, simulation: Simulation[coupling.Solver]) -> list[Measurement]:
        """How far it walked, on sand and on hard ground."""
        solver, state, body = simulation.solver, simulation.state, simulation.solver.model.springs.body
        moved = simulation.summary().parts["springs"].center_of_mass - body.center_of_mass
        hard = self._on_hard_ground(simulation)
        return [
            Measurement("grains", len(solver.model.bed)),
            Measurement("distance-on-sand", float(moved[0]), "m"),
            Measurement("distance-on-hard-ground", float(hard[0]), "m"),
            Measurement("sand-over-hard-ground", float(moved[0] / hard[0]) if hard[0] else 0.0),
            Measurement("sinking", -float(moved[2]), "m"),
            Measurement("grains-inside", len(solver.readout.grains_inside(state)), reference=0.0, tolerance=0.0),
        ]

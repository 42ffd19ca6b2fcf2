"""Three soft fingers that close in a bed of grains and lift some of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import coupling, grains, robots, springs
from annelid.core.errors import InvalidValue
from annelid.core.kernels.loading import once
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.grains.start import on_purpose
from annelid.shapes import Box, Surface

_PITCH = 0.02
_FINGER = (0.04, 0.10, 0.20)  # thickness, width and length [m]
_CLOSED, _LIFT = 0.8, 1.0  # when the fingers are closed, and when the hand begins to rise [s]


@wp.func
def swell(time: Any, parameters: Any) -> Any:
    """Grow smoothly within a time and stay: 1 + c s(t/T). Parameters: c, T [s], two unused."""
    share = wp.clamp(time / parameters[1], type(time)(0.0), type(time)(1.0))
    return type(time)(1.0) + parameters[0] * share * share * (type(time)(3.0) - type(time)(2.0) * share)


@once
def hoist(top: float, begin: float, speed: float) -> Any:
    """A constraint: what is above a height [m] is held by the hand, which rises at a speed [m/s] from a time on [s]."""

    @wp.func
    def held(time: Any, index: int, position: Any, velocity: Any) -> Any:
        rise = type(time)(wp.static(speed)) * wp.max(time - type(time)(wp.static(begin)), type(time)(0.0))
        allowed = velocity
        if position[2] > type(time)(wp.static(top)) + rise:
            climb = wp.where(time > type(time)(wp.static(begin)), type(time)(wp.static(speed)), type(time)(0.0))
            allowed = type(velocity)(type(time)(0.0), type(time)(0.0), climb)
        return allowed

    return held


@dataclass(frozen=True)
class Gripper(Checked):
    """Three fingers stand in a bed, curl as their outer halves swell, and are lifted with what they hold."""

    name: ClassVar[str] = "gripper"
    duration: ClassVar[float] = 2.0

    closing: float = parameter(0.3, "Swelling of the outer halves of the fingers", range=(0.0, 0.8), limits=(0.0, 0.9))
    lift_speed: float = parameter(
        0.2, "Speed of the hand as it rises", unit="m/s", range=(0.05, 0.5), limits=(0.0, 10.0)
    )
    opening: float = parameter(
        0.07, "Distance of the fingers from the axis at the start", unit="m", range=(0.05, 0.12), limits=(0.01, 1.0)
    )
    depth: float = parameter(0.16, "Depth of the bed", unit="m", range=(0.1, 0.3), limits=(0.02, 2.0))
    dip: float = parameter(0.12, "How deep the fingers reach", unit="m", range=(0.0, 0.2), limits=(0.0, 2.0))
    friction: float = parameter(0.5, "Coulomb friction of the grains", range=(0.0, 1.0), limits=(0.0, 100.0))
    grain_radius: float = parameter(0.018, "Radius of the grains", unit="m", range=(0.009, 0.03), limits=(1e-3, 0.1))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def tips(self) -> float:
        """Height of the finger tips at the start [m]."""
        return self.depth - self.dip

    def body(self) -> springs.Body:
        """The three fingers, hanging."""
        thickness, _, length = _FINGER
        center = (self.opening + 0.5 * thickness, 0.0, self.tips + 0.5 * length)
        finger = springs.lattice(Box(_FINGER, center=center), _PITCH, "dragon-skin-30", damping_frequency=20.0)
        outer = finger.positions[:, 0] > center[0] - 0.25 * _PITCH
        below = finger.positions[:, 2] < self.tips + length - 1.5 * _PITCH
        finger.actuate(springs.Signal(swell, (self.closing, _CLOSED, 0.0, 0.0)), finger.springs_of(outer & below))
        turns = [2.0 * math.pi * k / 3.0 for k in range(3)]
        return springs.join([finger.rotated((0.0, 0.0, 1.0), turn, about=(0.0, 0.0, 0.0)) for turn in turns])

    def sandbox(self) -> robots.Sandbox:
        """The box of grains."""
        side = 2.0 * (self.opening + _FINGER[0]) + 0.24
        return robots.Sandbox(
            length=side,
            width=side,
            depth=self.depth,
            radius=self.grain_radius,
            grain=grains.Grain(density=2650.0, friction=self.friction, rolling=0.1),
            seed=self.seed,
        )

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[coupling.Solver]:
        """The open hand in the bed."""
        if self.dip > self.depth:
            raise InvalidValue(
                f"dip of gripper, {self.dip:g} m, reaches below its bed: make it {self.depth:g} m or less, or depth "
                f"{self.dip:g} m or more."
            )
        box, top = self.sandbox(), self.tips + _FINGER[2] - 0.5 * _PITCH
        with on_purpose():
            return coupling.simulation(
                self.body(),
                box.bed(),
                obstacles=box.walls(),
                skin=Surface(friction=0.8),
                stretch=1.2 + 1.5 * self.closing,
                inside="remove",
                springs={"constraints": [hoist(top, _LIFT, self.lift_speed)], "velocity_damping": 1.0},
                device=device,
                threads=threads,
            )

    def lifted(self, simulation: Simulation[coupling.Solver]) -> np.ndarray:
        """Whether each grain is held above the bed, shape [n]."""
        height = simulation.solver.readout.grain_positions(simulation.state)[:, 2]
        rise = self.lift_speed * max(simulation.time - _LIFT, 0.0)
        return np.asarray(height > max(self.depth, self.tips + 0.5 * rise) + 2.0 * self.grain_radius)

    def measure(self, simulation: Simulation[coupling.Solver]) -> list[Measurement]:
        """What it holds."""
        solver, held = simulation.solver, self.lifted(simulation)
        return [
            Measurement("grains", len(solver.model.bed)),
            Measurement("closing", self.closing),
            Measurement("grains-lifted", int(held.sum())),
            Measurement("mass-lifted", float(solver.model.bed.masses[held].sum()), "kg"),
            Measurement(
                "grains-inside", len(solver.readout.grains_inside(simulation.state)), reference=0.0, tolerance=0.0
            ),
        ]

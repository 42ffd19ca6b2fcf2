"""A wheel with grousers that is driven over sand at a given slip, in a rig that presses it down with a load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from annelid import control, grains
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots import Sandbox
from annelid.shapes import ResistiveGround, Rigid, Surface, TriangleMesh, turned_about
from annelid.shapes.extrusion import ring
from annelid.shapes.resistive.rigid import Resisted, resisted

_SETTLING = 0.35  # time in which the bed comes to rest and the wheel down to it, before it is driven [s]
_FALL = 0.3  # fastest that the rig lets it down [m/s]
_LOOKS = 0.005  # time between two looks at forces [s]
_TRACK = 3.2  # shortest track, in reaches of the wheel: sand is left beside it wherever it is
_PHASES = 6  # positions of the grousers over which the ground without grains is averaged
_ARC = 0.004  # longest piece of the outline [m]
_GRAVITY = 9.81  # [m/s²]


@dataclass(frozen=True)
class Wheel(Checked):
    """A rigid wheel with grousers rolls through grains at a given speed and slip, pressed down by a load."""

    name: ClassVar[str] = "wheel"
    duration: ClassVar[float] = 1.6

    slip: float = parameter(0.3, "Part of the turning that is lost", range=(-0.3, 0.8), limits=(-2.0, 0.95))
    velocity: float = parameter(0.15, "Speed of the axle", unit="m/s", range=(0.05, 0.5), limits=(1e-3, 10.0))
    load: float = parameter(20.0, "Weight on the wheel", unit="N", range=(5.0, 100.0), limits=(0.1, 1e5))
    radius: float = parameter(0.07, "Radius without grousers", unit="m", range=(0.05, 0.2), limits=(0.01, 10.0))
    width: float = parameter(0.06, "Width", unit="m", range=(0.03, 0.2), limits=(0.01, 10.0))
    grousers: int = parameter(12, "Number of grousers", range=(0, 24), limits=(0, 100))
    grouser: float = parameter(0.012, "Height of a grouser", unit="m", range=(0.005, 0.03), limits=(1e-3, 1.0))
    depth: float = parameter(0.08, "Depth of the bed", unit="m", range=(0.04, 0.2), limits=(0.02, 10.0))
    grain_radius: float = parameter(0.007, "Radius of the grains", unit="m", range=(0.005, 0.02), limits=(1e-3, 0.5))
    friction: float = parameter(0.5, "Coulomb friction of grains and wheel", range=(0.0, 1.0), limits=(0.0, 100.0))
    track: float = parameter(0.5, "Length of the bed", unit="m", range=(0.4, 2.0), limits=(0.1, 1e3))
    medium: str = parameter("sand-loose", "What the wheel is compared in: a medium, or a file of sand-rft --fit")
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grousers and self.grouser > self.radius:
            raise InvalidValue(
                f"grousers of {self.grouser:g} m are higher than the radius of the wheel, {self.radius:g} m: make "
                "--grouser smaller."
            )
        needed = _TRACK * self.reach + 4.0 * self.grain_radius
        if self.track < needed:
            raise InvalidValue(
                f"a wheel that reaches {self.reach:g} m from its axle does not fit a track of {self.track:g} m: make "
                f"--track {math.ceil(100.0 * needed) / 100.0:g} m or more, or the wheel smaller."
            )

    @property
    def reach(self) -> float:
        """Radius to the tips of the grousers [m]."""
        return self.radius + (self.grouser if self.grousers else 0.0)

    @property
    def spin(self) -> float:
        """How fast it turns [rad/s]."""
        return self.velocity / (self.reach * (1.0 - self.slip))

    def mesh(self) -> TriangleMesh:
        """The wheel about the axis y: teeth as wide as they are high on a round rim."""
        each = max(1, self.grousers)  # as many points from one grouser to the next
        count = each * math.ceil(max(24.0, 2.0 * math.pi * self.reach / _ARC) / each)
        angles = np.arange(count) * (2.0 * math.pi / count)
        radii = np.full(count, self.radius)
        if self.grousers:
            apart = 2.0 * math.pi / self.grousers
            beside = np.abs((angles + 0.5 * apart) % apart - 0.5 * apart)
            radii[beside * self.radius < 0.5 * self.grouser] = self.reach
        outline = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return ring(radii[:, None] * outline, 0.5 * self.radius * outline, self.width)

    def body(self) -> Rigid:
        """The wheel above the beginning of the bed."""
        place = (-0.5 * self.track + self.reach + 3.0 * self.grain_radius, 0.0, self.depth + self.reach)
        return Rigid(self.mesh(), Surface(friction=self.friction), position=place, motion="driven", name="wheel")

    def sandbox(self) -> Sandbox:
        """The box that it rolls in."""
        return Sandbox(
            length=self.track, width=self.width + 0.1, depth=self.depth, radius=self.grain_radius, seed=self.seed,
            grain=replace(grains.SAND, friction=self.friction),
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """The wheel in its rig, which moves it ahead, turns it, and lets it go up and down under its load."""
        box, wheel = self.sandbox(), self.body()
        controls = [
            grains.velocity_control("ahead", wheel, "x", low=-10.0, high=10.0),
            grains.velocity_control("lift", wheel, "z", low=-10.0, high=10.0),
            grains.spin_control("turn", wheel, "y", low=-1e4, high=1e4),
        ]
        simulation = grains.simulation(
            box.bed(), obstacles=[*box.walls(), wheel], controls=controls, device=device, threads=threads
        )
        simulation.sensors.add("velocity", grains.velocity_of(wheel))
        simulation.sensors.add("force", grains.contact_force_of(wheel))
        control.connect(simulation, self._rig(simulation.dt), every=simulation.dt)
        simulation.attachments["looks"] = looks = []

        def look(sim: Any) -> None:
            state, readout = sim.state, sim.solver.readout
            place, force = readout.body_position(state, wheel), readout.force(state, wheel)
            looks.append((sim.time, place[0], place[2], force[0], force[2], readout.torque(state, wheel)[1]))

        simulation.observe(look, every=_LOOKS)
        return simulation

    def _rig(self, dt: float) -> Any:
        """Weight and push of the ground move the axle up and down, as its mass does; the rest is given."""
        mass = self.load / _GRAVITY

        def drive(time: float, readings: np.ndarray) -> np.ndarray:
            lift = readings[:, 2] + (readings[:, 5] / mass - _GRAVITY) * dt
            on = 1.0 if time > _SETTLING else 0.0
            lift = np.clip(lift, -_FALL, _FALL)
            return np.stack([0.0 * lift + on * self.velocity, lift, 0.0 * lift + on * self.spin], axis=1)

        return drive

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """Sinkage, pull and torque in the second half of the way, beside those of ground without grains."""
        looks = np.array(simulation.attachments["looks"])
        rows = [Measurement("grains", len(simulation.solver.model.bed)), Measurement("slip", self.slip)]
        way = looks[looks[:, 0] > 0.5 * (_SETTLING + looks[-1, 0])] if len(looks) else looks
        if len(way) and way[0, 0] > _SETTLING:
            bed, far = simulation.positions(), 1.5 * self.reach
            beside = np.abs(bed[:, 0] - way[-1, 1]) > far
            surface = float(np.quantile(bed[beside, 2], 0.97)) + self.grain_radius
            _, _, height, pull, carried, torque = way.mean(axis=0).tolist()
            rows += [
                Measurement("distance", float(looks[-1, 1] - looks[0, 1]), "m"),
                Measurement("carried-over-load", carried / self.load, "", 1.0, source="weight in the rig"),
                Measurement("sinkage", surface + self.reach - height, "m"),
                Measurement("drawbar-pull", pull, "N"),
                Measurement("torque", -torque, "N m"),
            ]
        sunk, felt = self.without_grains()
        return [
            *rows,
            Measurement("resistive-sinkage", sunk, "m"),
            Measurement("resistive-drawbar-pull", float(felt.force[0]), "N"),
            Measurement("resistive-torque", -float(felt.torque[1]), "N m"),
        ]

    def without_grains(self) -> tuple[float, Resisted]:
        """Sinkage [m] at which ground that resists carries the load, and what it does to the wheel there."""
        ground, mesh = ResistiveGround(self.medium, friction=self.friction), self.mesh()
        apart = 2.0 * math.pi / max(self.grousers, 1)

        def at(sunk: float) -> Resisted:
            found = [
                resisted(
                    ground, mesh, position=(0.0, 0.0, self.reach - sunk), rotation=turned_about("y", phase),
                    velocity=(self.velocity, 0.0, 0.0), spin=(0.0, self.spin, 0.0),
                )
                for phase in np.arange(_PHASES) * (apart / _PHASES)
            ]  # fmt: skip
            return Resisted(
                np.mean([one.force for one in found], axis=0), np.mean([one.torque for one in found], axis=0)
            )

        deepest = self.reach
        if at(deepest).force[2] < self.load:
            return math.nan, at(deepest)
        sunk = float(brentq(lambda z: at(z).force[2] - self.load, 1e-6, deepest, xtol=1e-5))
        return sunk, at(sunk)

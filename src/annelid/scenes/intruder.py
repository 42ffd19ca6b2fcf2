"""A body that falls into sand: how deep it comes in grains, and in ground that resists instead of them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import grains
from annelid.core.errors import BedTooSmall, InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots import Sandbox
from annelid.shapes import Box, Cylinder, ResistiveGround, Rigid, Shape, Sphere, Surface, TriangleMesh
from annelid.shapes.resistive.falling import Fall, fall

_GRAVITY = 9.81  # [m/s²]
_SETTLING = 0.3  # time in which the bed comes to rest [s]
_LOOKS = 0.002  # time between two looks at the body [s]
_ABOVE = 1e-4  # where the fall ends, over the first grain [m]
_SIDES = 48  # of a cone
_NARROWEST = 8.0  # side of a bed that can be filled, in radii of a grain
_CLOSEST = 1.0  # that walls may be without a word, in widths of the body


@dataclass(frozen=True)
class Intruder(Checked):
    """A ball, cone, cube or cylinder falls into a bed of grains, beside the same by resistive force theory."""

    name: ClassVar[str] = "intruder"
    duration: ClassVar[float] = 0.3

    shape: Literal["ball", "cone", "cube", "cylinder"] = parameter("cone", "What falls; a cone with its tip ahead")
    size: float = parameter(0.06, "Its width, and its height", unit="m", range=(0.03, 0.12), limits=(1e-3, 10.0))
    density: float = parameter(2000.0, "Its density", unit="kg/m³", range=(500.0, 8000.0), limits=(1.0, 1e5))
    height: float = parameter(0.1, "How far it has fallen", unit="m", range=(0.0, 0.5), limits=(0.0, 100.0))
    room: float = parameter(1.0, "Widths of it to each wall and below it", range=(0.5, 3.0), limits=(0.1, 20.0))
    grain_radius: float = parameter(0.006, "Radius of the grains", unit="m", range=(0.004, 0.02), limits=(1e-3, 0.5))
    friction: float = parameter(0.5, "Coulomb friction of grains and body", range=(0.0, 1.0), limits=(0.0, 100.0))
    medium: str = parameter("sand-loose", "What it is compared in: a medium, or a file of sand-rft --fit")
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    def __post_init__(self) -> None:
        super().__post_init__()
        side = self.size * (1.0 + 2.0 * self.room)
        if side < _NARROWEST * self.grain_radius:
            raise InvalidValue(
                f"a bed {side:.3g} m wide is too narrow for grains with a radius of {self.grain_radius:g} m: make "
                "--size or --room larger, or --grain-radius smaller."
            )

    @property
    def speed(self) -> float:
        """How fast it meets the ground [m/s]."""
        return math.sqrt(2.0 * _GRAVITY * self.height)

    def geometry(self) -> Shape:
        """What falls, about its lowest point."""
        half = 0.5 * self.size
        if self.shape == "cone":
            return _cone(half, self.size)
        if self.shape == "ball":
            return Sphere(half, center=(0.0, 0.0, half))
        if self.shape == "cube":
            return Box((self.size,) * 3, center=(0.0, 0.0, half))
        return Cylinder(half, self.size, center=(0.0, 0.0, half))

    def body(self, lowest: float) -> Rigid:
        """The body with its lowest point at a height [m], as it arrives there."""
        return Rigid(
            self.geometry(), Surface(friction=self.friction), position=(0.0, 0.0, lowest), motion="free",
            density=self.density, velocity=(0.0, 0.0, -self.speed), name="intruder",
        )  # fmt: skip

    def sandbox(self) -> Sandbox:
        """The box that it falls into."""
        side = self.size * (1.0 + 2.0 * self.room)
        return Sandbox(
            length=side, width=side, depth=self.size * (1.0 + self.room), radius=self.grain_radius, seed=self.seed,
            grain=replace(grains.SAND, friction=self.friction),
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[grains.Solver]:
        """A bed that has come to rest, and the body about to touch it."""
        if self.room < _CLOSEST:
            warnings.warn(
                f"walls and floor are {self.room:g} widths of the body away: closer than {_CLOSEST:g} they bear a part "
                "of it, and it comes less deep; make --room larger.",
                BedTooSmall,
                stacklevel=2,
            )
        box = self.sandbox()
        poured = box.bed()
        resting = grains.simulation(poured, obstacles=box.walls(), device=device, threads=threads)
        resting.run(_SETTLING)
        bed = poured.copy(positions=resting.positions())
        body = self.body(self._first_touch(bed) + _ABOVE)
        simulation = grains.simulation(bed, obstacles=[*box.walls(), body], device=device, threads=threads)
        simulation.attachments["depths"] = depths = []
        begun = body.place[2]

        def look(sim: Any) -> None:
            depths.append((sim.time, begun - sim.solver.readout.body_position(sim.state, body)[2]))

        simulation.observe(look, every=_LOOKS)
        return simulation

    def _first_touch(self, bed: grains.Bed) -> float:
        """Height of the lowest point of the body where it meets its first grain on the way down [m]."""
        near = bed.positions[np.linalg.norm(bed.positions[:, :2], axis=1) < 0.5 * self.size * math.sqrt(2.0)]
        lifted = near + np.array([0.0, 0.0, -float(near[:, 2].max())])  # grains below the body, by how much they touch
        geometry, low, high = self.geometry(), -self.grain_radius - self.size, self.grain_radius + self.size
        for _ in range(40):
            middle = 0.5 * (low + high)
            clear = geometry.signed_distance(lifted - np.array([0.0, 0.0, middle])).min() > self.grain_radius
            low, high = (low, middle) if clear else (middle, high)
        return float(near[:, 2].max() + high)

    def measure(self, simulation: Simulation[grains.Solver]) -> list[Measurement]:
        """How deep it came, beside what ground that resists says at the same time."""
        looks = np.array(simulation.attachments["depths"]).reshape(-1, 2)
        rows = [Measurement("grains", len(simulation.solver.model.bed)), Measurement("speed", self.speed, "m/s")]
        if len(looks) == 0:
            return rows
        time, depth = looks[-1]
        stand_in = self.without_grains(float(time))
        sunk = float(stand_in.positions[0, 2] - stand_in.positions[-1, 2])
        return [
            *rows,
            Measurement("depth", float(depth), "m"),
            Measurement("resistive-depth", sunk, "m"),
            Measurement("resistive-over-grains", sunk / float(depth)),
        ]

    def without_grains(self, seconds: float) -> Fall:
        """How it falls into ground that resists, from its first touch on."""
        return fall(ResistiveGround(self.medium, friction=self.friction), self.body(_ABOVE), seconds=seconds)


def _cone(radius: float, height: float) -> TriangleMesh:
    """A cone that stands on its tip."""
    angles = np.arange(_SIDES) * (2.0 * math.pi / _SIDES)
    rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(_SIDES, height)], axis=1)
    here = np.arange(_SIDES)
    there, tip, top = (here + 1) % _SIDES, np.full(_SIDES, _SIDES), np.full(_SIDES, _SIDES + 1)
    triangles = np.concatenate([np.stack([tip, there, here], axis=1), np.stack([top, here, there], axis=1)])
    return TriangleMesh(np.concatenate([rim, [(0.0, 0.0, 0.0), (0.0, 0.0, height)]]), triangles)

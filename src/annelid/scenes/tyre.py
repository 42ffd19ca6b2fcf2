"""A rigid wheel with a soft tyre that rolls on sand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from annelid import coupling, grains, robots, springs
from annelid.core.measurement import Measurement
from annelid.core.memory import require_memory
from annelid.core.parameters import SEEDS, Checked, parameter
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import Cylinder, Rigid, Surface
from annelid.springs.body import memory_of

_PITCH = 0.02
_FREQUENCY = 60.0  # at which the tyre has the damping of its material [Hz]
_GRIP = 0.25  # by how much of a pitch the hub is larger than the hole in the tyre


@dataclass(frozen=True)
class Tyre(Checked):
    """A steel hub in a tyre of rubber, turned by a torque, rolls over a bed of grains."""

    name: ClassVar[str] = "tyre"
    duration: ClassVar[float] = 0.8

    torque: float = parameter(6.0, "Torque on the hub", unit="N m", range=(0.0, 20.0), limits=(-1e3, 1e3))
    load: float = parameter(6.0, "Mass of the hub", unit="kg", range=(1.0, 30.0), limits=(0.01, 1e4))
    inner: float = parameter(0.10, "Inner radius of the tyre", unit="m", range=(0.06, 0.12), limits=(0.03, 10.0))
    outer: float = parameter(0.14, "Outer radius of the tyre", unit="m", range=(0.1, 0.2), limits=(0.04, 20.0))
    width: float = parameter(0.16, "Width of the tyre", unit="m", range=(0.08, 0.24), limits=(0.02, 20.0))
    material: str = parameter("dragon-skin-30", "Material of the tyre")
    depth: float = parameter(0.08, "Depth of the bed", unit="m", range=(0.04, 0.2), limits=(0.02, 10.0))
    friction: float = parameter(0.5, "Coulomb friction of the grains", range=(0.0, 1.0), limits=(0.0, 100.0))
    grain_radius: float = parameter(0.012, "Radius of the grains", unit="m", range=(0.009, 0.02), limits=(2e-3, 0.5))
    track: float = parameter(1.0, "Length of the bed", unit="m", range=(0.6, 3.0), limits=(0.1, 1e3))
    seed: int = parameter(1, "Seed of the places of the grains", limits=SEEDS)

    @property
    def start(self) -> tuple[float, float, float]:
        """Where the middle of the wheel begins [m]."""
        return (
            -0.5 * self.track + self.outer + 3.0 * self.grain_radius,
            0.0,
            self.depth + self.outer + self.grain_radius,
        )

    def body(self) -> springs.Body:
        """The tyre, its axle along y."""
        return ring(self.inner, self.outer, self.width, self.material).moved(self.start)

    def hub(self, body: springs.Body) -> Rigid:
        """The hub, which fits the hole of the tyre tightly."""
        away = np.hypot(*(body.positions - self.start)[:, [0, 2]].T).min()
        thickness = float(coupling.closing_radii(body, self.grain_radius).max())
        radius = float(away) - thickness + _GRIP * _PITCH
        shape = Cylinder(radius, self.width, axis="y")
        return Rigid(shape, Surface(friction=2.0), position=self.start, motion="free", mass=self.load, name="hub")

    def sandbox(self) -> robots.Sandbox:
        """The box that it rolls in."""
        return robots.Sandbox(
            length=self.track,
            width=self.width + 0.14,
            depth=self.depth,
            radius=self.grain_radius,
            grain=replace(grains.SAND, friction=self.friction),
            seed=self.seed,
        )

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[coupling.Solver]:
        """The wheel at rest above the bed, its motor on."""
        box, body = self.sandbox(), self.body()
        hub = self.hub(body)
        simulation = coupling.simulation(
            body, box.bed(), obstacles=[*box.walls(), hub], skin=Surface(friction=0.8), device=device, threads=threads
        )
        solver = simulation.solver
        solver.grains.load(simulation.state.grains, hub, torque=(0.0, self.torque, 0.0))
        simulation.attachments["hub"] = hub
        return simulation

    def measure(self, simulation: Simulation[coupling.Solver]) -> list[Measurement]:
        """How far it rolled, how deep it sank, and how much of its turning was lost to slip."""
        solver, hub = simulation.solver, simulation.attachments["hub"]
        bed, readout = simulation.state.grains, solver.grains.readout
        place, spin = readout.body_position(bed, hub), readout.body_spin(bed, hub)
        speed, rolling = float(readout.body_velocity(bed, hub)[0]), float(spin[1]) * self.outer
        return [
            Measurement("grains", len(solver.model.bed)),
            Measurement("distance", float(place[0] - self.start[0]), "m"),
            Measurement("sinkage", float(self.start[2] - place[2]), "m"),
            Measurement("speed", speed, "m/s"),
            Measurement("slip", 1.0 - speed / rolling if rolling else 0.0),
            Measurement(
                "grains-inside", len(solver.readout.grains_inside(simulation.state)), reference=0.0, tolerance=0.0
            ),
        ]


def ring(inner: float, outer: float, width: float, matter: str) -> springs.Body:
    """A ring about the axis y of masses on circles, joined like those of a cubic lattice.

    Args:
        inner: Radius of its hole [m].
        outer: Outer radius [m].
        width: Width along y [m].
        matter: Name of the material.
    """
    layers, across = max(2, round((outer - inner) / _PITCH) + 1), max(2, round(width / _PITCH) + 1)
    around = max(8, round(math.pi * (inner + outer) / _PITCH))
    count = layers * across * around
    require_memory(f"a tyre of {count:.3g} masses", memory_of(count, 13 * count), "make it smaller")
    made = material(matter)
    radius, angle, along = np.meshgrid(
        np.linspace(inner, outer, layers),
        np.arange(around) * (2.0 * math.pi / around),
        np.linspace(-0.5 * width, 0.5 * width, across),
        indexing="ij",
    )
    number = np.arange(radius.size).reshape(radius.shape)
    positions = np.stack([radius * np.cos(angle), along, radius * np.sin(angle)], axis=-1).reshape(-1, 3)
    links, kinds = _links(number)
    lengths = np.linalg.norm(positions[links[:, 1]] - positions[links[:, 0]], axis=1)
    stiffness = np.choose(kinds - 1, springs.lattice_stiffness(made.youngs_modulus, _PITCH))
    ends = (
        (np.arange(layers) % (layers - 1) == 0)[:, None, None],
        (np.arange(across) % (across - 1) == 0)[None, None, :],
    )
    shares = radius * np.where(ends[0], 0.5, 1.0) * np.where(ends[1], 0.5, 1.0)
    weight = made.density * math.pi * (outer**2 - inner**2) * width
    return springs.Body(
        positions=positions,
        masses=(weight * shares / shares.sum()).ravel(),
        springs=links,
        rest_lengths=lengths,
        stiffness=stiffness,
        damping=2.0 * made.damping * stiffness / (2.0 * math.pi * _FREQUENCY),
        materials=(matter,),
        triangles=_faces(number),
    )


def _links(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of masses of neighbouring places, which close around, and along how many axes they differ."""
    layers, _, across = number.shape
    steps = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) > (0, 0, 0)]
    links, kinds = [], []
    for i, j, k in steps:
        there = np.roll(number, -j, axis=1)
        low, high = number[max(-i, 0) : layers - max(i, 0)], there[max(i, 0) : layers - max(-i, 0)]
        low, high = low[..., max(-k, 0) : across - max(k, 0)], high[..., max(k, 0) : across - max(-k, 0)]
        links.append(np.stack([low.ravel(), high.ravel()], axis=1))
        kinds.append(np.full(low.size, abs(i) + abs(j) + abs(k)))
    return np.concatenate(links), np.concatenate(kinds)


def _faces(number: np.ndarray) -> np.ndarray:
    """Triangles of the surface, outward."""
    tread, hole, left, right = number[-1], number[0], number[:, :, 0], number[:, :, -1]

    def quads(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        corners = [side.ravel() for side in (a, b, c, d)]
        return np.stack([corners[n] for n in (0, 1, 2, 0, 2, 3)], axis=1).reshape(-1, 3)

    def sheet(plane: np.ndarray) -> np.ndarray:
        """A plane whose first axis closes around."""
        after = np.roll(plane, -1, axis=0)
        return quads(plane[:, :-1], plane[:, 1:], after[:, 1:], after[:, :-1])

    return np.concatenate([sheet(tread), sheet(hole)[:, ::-1], sheet(left.T), sheet(right.T)[:, ::-1]])

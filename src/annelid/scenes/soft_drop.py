"""Soft blocks and rigid things on a slope: contact of finite elements with friction, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.materials import material
from annelid.shapes import Box, Plane, Rigid, Sphere, Surface, tet_beam, turned_about

_SIZE = 0.06  # of the block [m]


@dataclass(frozen=True)
class SoftDrop(Checked):
    """A soft block falls on a slope, slides or sticks there, and meets a free box and a fixed ball."""

    name: ClassVar[str] = "soft-drop"
    duration: ClassVar[float] = 0.6

    slope: float = parameter(20.0, "Slope of the ground", unit="°", range=(0.0, 40.0), limits=(0.0, 60.0))
    friction: float = parameter(0.3, "Coulomb friction of block and ground", range=(0.0, 1.0), limits=(0.0, 10.0))
    height: float = parameter(0.05, "Height of the fall", unit="m", range=(0.02, 0.3), limits=(0.01, 10.0))
    cells: int = parameter(3, "Cells along an edge of the block", range=(2, 8), limits=(1, 40))
    material: str = parameter("ecoflex-00-30", "Material of the block")
    box_mass: float = parameter(0.05, "Mass of the box", unit="kg", range=(0.01, 1.0), limits=(1e-3, 100.0))

    @property
    def downhill(self) -> np.ndarray:
        """Direction in which things slide."""
        angle = np.radians(self.slope)
        return np.array([np.cos(angle), 0.0, -np.sin(angle)])

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.Solver]:
        """The block above the slope; box and ball further down."""
        angle = np.radians(self.slope)
        up, turn = np.array([np.sin(angle), 0.0, np.cos(angle)]), turned_about("y", float(angle))
        surface = Surface(friction=self.friction)
        mesh = tet_beam(_SIZE, _SIZE, _SIZE, cells=(self.cells,) * 3)
        mesh = mesh.moved((0.5 * _SIZE + self.height) * up - mesh.nodes.mean(axis=0) + np.array([0.0, 0.0, 0.01]))
        block = fem.Solid(mesh, material(self.material), surface=surface)
        box = Rigid(
            Box((0.04, 0.06, 0.04)), surface, motion="free", mass=self.box_mass, name="box", rotation=turn,
            position=tuple((0.14 * self.downhill + 0.021 * up).tolist()), color=(0.35, 0.5, 0.75),
        )  # fmt: skip
        ball = Rigid(Sphere(0.05), surface, name="ball", position=tuple((0.30 * self.downhill + 0.02 * up).tolist()))
        ground = Rigid(Plane(normal=tuple(up.tolist())), surface, name="slope")
        return fem.simulation(block, obstacles=[ground, box, ball], dt=0.01, device=device, threads=threads)

    def measure(self, simulation: Simulation[fem.Solver]) -> list[Measurement]:
        """How far the block has slid, and how many moves were cut so that nothing went through anything."""
        summary, touch = simulation.summary(), simulation.state.touch
        steps = max(int(simulation.state.clock.numpy()[0]), 1)
        return [
            Measurement("slid", float(summary.center_of_mass @ self.downhill), "m"),
            Measurement("speed", float(np.linalg.norm(summary.momentum)) / summary.mass, "m/s"),
            Measurement("steps-cut", float(touch.cut.numpy()[0]) / steps),
            Measurement("unsettled", float(simulation.state.unsettled.numpy()[0]) / steps),
        ]

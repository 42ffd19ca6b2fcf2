"""A structure under load that loses two fifths of its bars and little of its stiffness (Austin et al., sec. IV-D)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from annelid import springs
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look
from annelid.springs.topology import Optimiser


@dataclass(frozen=True)
class CantileverTopology(Checked):
    """A lattice of bars under load loses the bars that carry least, and regrows others, while it is simulated."""

    name: ClassVar[str] = "cantilever-topology"
    duration: ClassVar[float] = 4.0

    load: Literal["cantilever", "bridge"] = parameter("cantilever", "A load at the free end, or on all of the deck")
    mass: float = parameter(0.6, "Mass to reach, as a share of the first", range=(0.3, 0.9), limits=(0.05, 0.99))
    growth: float = parameter(0.25, "Share of what is removed that may come back", range=(0.0, 0.8), limits=(0.0, 0.95))

    def body(self) -> springs.Body:
        """A lattice of 25 x 3 x 9 masses, held and loaded."""
        body = springs.block((25, 3, 9), 0.1)
        far, top = body.bounds()[1][0], body.bounds()[1][2]
        if self.load == "cantilever":
            body.fix(lambda x: x[:, 0] < 0.05)
            return body.push(lambda x: (x[:, 0] > far - 0.05) & (abs(x[:, 2] - top / 2) < 0.15), (0.0, 0.0, -300.0))
        body.fix(lambda x: ((x[:, 0] < 0.05) | (x[:, 0] > far - 0.05)) & (x[:, 2] < 0.05))
        return body.push(lambda x: x[:, 2] > top - 0.05, (0.0, 0.0, -2000.0))

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[springs.Solver]:
        """The full lattice before it is loaded, with an optimiser that watches it."""
        simulation = springs.simulation(
            self.body(), dt=1e-4, gravity=(0.0, 0.0, 0.0), velocity_damping=40.0, device=device, threads=threads
        )
        simulation.attachments["optimiser"] = Optimiser(simulation, target=self.mass, growth=self.growth)
        return simulation

    def measure(self, simulation: Simulation[springs.Solver]) -> list[Measurement]:
        """What is left of mass and stiffness."""
        optimiser: Optimiser = simulation.attachments["optimiser"]
        return [
            Measurement("mass-share", optimiser.mass, "", self.mass, 0.01, "the target"),
            Measurement("stiffness-share", optimiser.stiffness, "", 0.85, bound="at-least"),
            Measurement("bars-removed", float((~optimiser.bars).sum())),
            Measurement("rounds", float(len(optimiser.rounds))),
        ]

    def outputs(self, simulation: Simulation[springs.Solver], folder: Path) -> list[Path]:
        """The shape, and the curve of stiffness against mass."""
        from annelid.view.figures import line_plot
        from annelid.view.picture import picture

        optimiser: Optimiser = simulation.attachments["optimiser"]
        shape, curve = folder / "shape.png", folder / "curve.png"
        look = Look(surface=False, lines=True, fields=("strain",))
        picture(simulation.snapshot(look), shape, field="strain", name=self.name, device=simulation.solver.device)
        rounds = [(1.0, 1.0), *((r.mass, r.stiffness) for r in optimiser.rounds)]
        mass, stiffness = np.array(rounds).T
        line_plot(
            curve, mass, {"stiffness": stiffness}, x_label="mass / first mass", y_label="stiffness / first stiffness"
        )
        return [shape, curve]

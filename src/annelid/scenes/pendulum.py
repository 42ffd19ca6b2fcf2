"""A hanging soft pendulum with four hydraulic cavities that extends, contracts and bends (Rodríguez et al., Fig. 6)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.robots.pendulum import SIDES, pendulum
from annelid.scenes.support.reaching import Reaching, around, recorded, write_actuation

_MOVES = {  # offset of the target from rest [m]
    "extend": (0.0, 0.0, -0.004),
    "contract": (0.0, 0.0, 0.0005),
    "right": (0.005, 0.0, -0.0025),
    "left": (-0.005, 0.0, -0.0025),
    "back": (0.0, 0.005, -0.0025),
    "front": (0.0, -0.005, -0.0025),
}


@dataclass(frozen=True)
class Pendulum(Reaching):
    """A hanging pendulum that four pumps fill with water; its lower end follows a target."""

    name: ClassVar[str] = "pendulum"
    duration: ClassVar[float] = 12.0

    weight: Literal["hydrostatic", "columns"] = parameter("hydrostatic", "How the weight of the water is found")
    highest: float = parameter(20e3, "Highest pressure", unit="Pa", range=(1e3, 30e3), limits=(0.0, 1e6), live=True)
    lowest: float = parameter(
        -2e3, "Lowest pressure: suction", unit="Pa", range=(-3e3, 0.0), limits=(-1e5, 0.0), live=True
    )
    growth: float = parameter(
        18e-6, "Most that a cavity may grow", unit="m³", range=(1e-6, 25e-6), limits=(1e-9, 1e-3), live=True
    )
    resolution: int = parameter(1, "Cells through a wall", range=(1, 2), limits=(1, 4))

    def robot(self, *, cells: int = 100, layers: int | None = None, **machine: Any) -> fem.Robot:
        """The pendulum with its four cavities.

        Args:
            cells: Columns along each side of the grid, where weights are found by columns.
            layers: Cells along the axis.
            machine: `device`, `threads`.
        """
        return pendulum(
            weight=self.weight, pressure=(self.lowest, self.highest), growth=self.growth,
            resolution=self.resolution, layers=layers, cells=cells, **machine,
        )  # fmt: skip

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.InverseSolver]:
        """The pendulum at rest, full of water; its target moves to six places and back in turn."""
        robot = self.robot(device=device, threads=threads)
        simulation = recorded(fem.inverse_simulation(robot, dt=1.0 / 30.0))
        begin = simulation.solver.targets(simulation.state)["tip"]
        stops = [offset for move in _MOVES.values() for offset in (move, move, (0.0, 0.0, 0.0))]
        leg = self.duration / len(stops)
        path = around(begin, stops, [leg * (i + 1) for i in range(len(stops))])
        simulation.solver.script = lambda time: {"tip": path.at(time)}
        return simulation

    def adjust(self, simulation: Simulation[fem.InverseSolver], name: str, value: Any) -> None:
        """Change a limit while it runs."""
        limits = simulation.solver.limits(simulation.state)
        for side in SIDES:
            effort, stroke = limits[side]
            if name == "growth":
                stroke = fem.Limits.of(f"growth of {side}", (-value, value))
            else:
                ends = (value, effort.high) if name == "lowest" else (effort.low, value)
                effort = fem.Limits.of(f"pressure of {side}", ends)
            simulation.solver.limit(simulation.state, side, effort=effort, stroke=stroke)

    def measure(self, simulation: Simulation[fem.InverseSolver]) -> list[Measurement]:
        """How far the tip went each way, and how near to its target it was while it waited there."""
        steps: list[fem.Step] = simulation.attachments["steps"]
        if not steps:
            return [Measurement("steps", 0.0)]
        tips = np.array([step.places["tip"][0] for step in steps])
        rest = simulation.solver.robot.effectors.places(simulation.solver.initial_positions)[0]
        moved = tips - rest
        results = [
            Measurement("extension", -float(moved[:, 2].min()), "m"),
            Measurement("contraction", float(moved[:, 2].max()), "m"),
        ]
        for name, axis, sign in (("right", 0, 1.0), ("left", 0, -1.0), ("back", 1, 1.0), ("front", 1, -1.0)):
            results.append(Measurement(f"bend-{name}", float((sign * moved[:, axis]).max()), "m"))
        results.append(Measurement("largest-miss", max(step.distance for step in steps), "m"))
        results.append(Measurement("optimality", max(step.optimality for step in steps)))
        return results

    def outputs(self, simulation: Simulation[fem.InverseSolver], folder: Path) -> list[Path]:
        """The actuation, pressures and volumes over time, and a picture of the six places."""
        from annelid.view.figures import line_plot
        from annelid.view.picture import Painter, save_picture

        actuation = write_actuation(simulation, folder)  # first: it needs no package that draws
        steps: list[fem.Step] = simulation.attachments["steps"]
        times = np.array([step.time for step in steps])
        pressures = {side: np.array([1e-3 * step.efforts[side] for step in steps]) for side in SIDES}
        growths = {side: np.array([1e6 * step.strokes[side] for step in steps]) for side in SIDES}
        line_plot(folder / "pressures.png", times, pressures, x_label="time [s]", y_label="pressure [kPa]")
        line_plot(folder / "volumes.png", times, growths, x_label="time [s]", y_label="growth [ml]")
        painter = Painter(size=(1320, 720), names=list(_MOVES), columns=3, name=None, field="displacement")
        save_picture(painter.paint(self._poses(simulation.solver.device)), folder / "moves.png")
        names = ("pressures.png", "volumes.png", "moves.png")
        return [actuation, *(folder / name for name in names)]

    def _poses(self, device: Any) -> list[Snapshot]:
        """The pendulum at the six places, one after the other."""
        simulation = fem.inverse_simulation(self.robot(device=device))
        begin, shots = simulation.solver.targets(simulation.state)["tip"], []
        for offset in _MOVES.values():
            simulation.solver.aim(simulation.state, {"tip": begin + np.array(offset)})
            simulation.step(6)
            shots.append(simulation.snapshot(Look(fields=("displacement",))))
        return shots

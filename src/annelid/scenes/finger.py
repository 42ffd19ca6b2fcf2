"""A soft finger with a bellows that air or water fills: what either can reach (Rodríguez et al., Fig. 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import parameter
from annelid.core.simulation import Simulation
from annelid.robots.finger import finger
from annelid.scenes.support.reaching import Reaching, recorded, write_actuation

# Of these the water-filled finger reaches the first two, the air-filled one the last.
_TARGETS = {"low": (0.0886, 0.0, -0.0485), "far": (0.1106, 0.0, -0.0026), "high": (0.1019, 0.0, 0.0319)}


@dataclass(frozen=True)
class Finger(Reaching):
    """A finger that bends upwards when its bellows is filled, with air or with water, towards a target."""

    name: ClassVar[str] = "finger"
    duration: ClassVar[float] = 3.0

    filling: Literal["pneumatic", "hydraulic"] = parameter("hydraulic", "What fills the bellows")
    pressure: float = parameter(40e3, "Highest pressure", unit="Pa", range=(5e3, 60e3), limits=(1.0, 1e6), live=True)
    modulus: float = parameter(400e3, "Young's modulus", unit="Pa", range=(200e3, 600e3), limits=(1e3, 1e9))

    def robot(self, *, device: Any = "auto", threads: int | None = None) -> fem.Robot:
        """The finger along x with its stiff floor on top, so that pressure lifts the tip."""
        return finger(
            filling=self.filling, pressure=self.pressure, modulus=self.modulus, device=device, threads=threads
        )

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.InverseSolver]:
        """The finger at rest; its target goes to a low, a far and a high place in turn."""
        places = list(_TARGETS.values())
        script = lambda time: {"tip": places[min(int(3.0 * time / self.duration), 2)]}  # noqa: E731
        robot = self.robot(device=device, threads=threads)
        return recorded(fem.inverse_simulation(robot, script=script, dt=0.05))

    def adjust(self, simulation: Simulation[fem.InverseSolver], name: str, value: Any) -> None:
        """Change the highest pressure while it runs."""
        limits = fem.Limits.of("pressure of bellows", (0.0, value))
        simulation.solver.limit(simulation.state, "bellows", effort=limits)

    def measure(self, simulation: Simulation[fem.InverseSolver]) -> list[Measurement]:
        """Lowest and highest place of either finger's tip, and how near it comes to the same three targets."""
        device, threads = simulation.solver.device, simulation.solver.robot.model.crew.threads
        results = []
        for filling in ("pneumatic", "hydraulic"):
            scene = replace(self, filling=filling)
            heights = scene.reachable(2, device=device, threads=threads)[:, 2]
            results.append(Measurement(f"lowest-{filling}", float(heights.min()), "m"))
            results.append(Measurement(f"highest-{filling}", float(heights.max()), "m"))
            control = fem.Inverse(scene.robot(device=device, threads=threads))
            for name, place in _TARGETS.items():
                results.append(Measurement(f"miss-{name}-{filling}", control.reach(place).distance, "m"))
        return results

    def reachable(self, count: int, **machine: Any) -> np.ndarray:
        """Where the tip is under some pressures from none to the highest [m], shape [count, 3]."""
        robot = self.robot(**machine)
        forward, places = fem.Forward(robot), []
        for pressure in np.linspace(0.0, self.pressure, count):
            forward.settle({"bellows": float(pressure)})
            places.append(robot.places()[0])
        return np.array(places)

    def outputs(self, simulation: Simulation[fem.InverseSolver], folder: Path) -> list[Path]:
        """The actuation, the reachable sets as curves, and pictures of both fingers at the three targets."""
        from annelid.view.picture import Painter, save_picture

        actuation = write_actuation(simulation, folder)  # first: it needs no package that draws
        device, shots, names = simulation.solver.device, [], []
        for filling in ("hydraulic", "pneumatic"):
            scene = replace(self, filling=filling)
            for name, place in _TARGETS.items():
                each = fem.inverse_simulation(scene.robot(device=device), dt=0.05)
                each.solver.aim(each.state, {"tip": place})
                each.step(12)
                shots.append(each.snapshot())
                names.append(f"{filling}, {name} target")
        painter = Painter(size=(1320, 720), names=names, columns=3, name=None, device=device)
        save_picture(painter.paint(shots), folder / "targets.png")
        return [actuation, folder / "targets.png", self._curves(folder, device=device)]

    def _curves(self, folder: Path, **machine: Any) -> Path:
        from annelid.view.figures import curve_plot

        curves = {
            filling: 1e3 * replace(self, filling=filling).reachable(12, **machine)[:, [0, 2]]
            for filling in ("pneumatic", "hydraulic")
        }
        points = {name: 1e3 * np.array(place)[[0, 2]] for name, place in _TARGETS.items()}
        return curve_plot(folder / "reachable.png", curves, points, x_label="x of the tip [mm]", y_label="z [mm]")

"""Scenes from files of voxel robots: `annelid run robot.vxa` and the other commands that take a scene."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from annelid import voxels3d
from annelid.core.errors import PartlyUsed
from annelid.core.files import replaced
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.scene import Scene
from annelid.core.simulation import Simulation
from annelid.voxels3d.files.folders import history_of
from annelid.voxels3d.files.report import write_report
from annelid.voxels3d.files.trials import Trial, stop_step


def robot_scene(given: str) -> type[Scene]:
    """The scene of a file; what the file says is read once, now."""
    path = Path(given)
    vxa = voxels3d.Vxa.read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartlyUsed)  # whoever builds the scene is warned
        known = voxels3d.setup_of(vxa, parts="all")
    name = re.sub(r"[^\w.+-]", "-", path.stem).lstrip(".-+") or "robot"
    seconds = stop_step(known) * known.dt
    about = _about(known, path.name)
    members = {"name": name, "duration": seconds, "own_file": path.name, "vxa": vxa, "__doc__": about}
    return type("RobotFromFile", (RobotFile,), members)


@dataclass(frozen=True)
class RobotFile(Checked):
    """A robot from a file, as the file says."""

    name: ClassVar[str]
    duration: ClassVar[float]
    own_file: ClassVar[str]
    vxa: ClassVar[voxels3d.Vxa]

    links: Literal["balanced", "compatible"] = parameter(
        "compatible", "Links as in the original, or links that conserve angular momentum"
    )
    precision: Literal["float32", "float64"] = parameter("float32", "Numbers to compute with")
    parts: Literal["refuse", "largest", "all"] = parameter(
        "refuse", "What becomes of a body in several parts that share no face"
    )
    skin: Literal["blocky", "smooth"] = parameter("blocky", "Whether pictures show cubes or round them off")

    def build(self, *, device: Any = "auto", threads: int | None = None) -> Simulation[voxels3d.Solver]:
        """The robot where the file puts it; the run ends when the file says."""
        setup = voxels3d.setup_of(self.vxa, parts=self.parts)
        simulation = voxels3d.simulation(
            setup.robot, **setup.options(), links=self.links, precision=self.precision, skin=self.skin, device=device,
            threads=threads,
        )  # fmt: skip
        readout = simulation.solver.readout
        history = None
        if self.vxa.simulator.record_step > 0:  # where it goes is known at the end
            kept = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (closed with the simulation)
            simulation.attachments["history"] = kept
            history = history_of(setup, readout, 0, kept)
        trial = Trial(setup, readout, 0, history=history)
        simulation.attachments["trial"] = trial
        trial.look(simulation.state, 0)

        def look(now: Simulation[voxels3d.Solver]) -> None:
            if not trial.ended and trial.look(now.state, now.step_count):
                now.pause()

        for steps in trial.rhythms:
            simulation.observe(look, every=steps * simulation.dt)
        return simulation

    def measure(self, simulation: Simulation[voxels3d.Solver]) -> list[Measurement]:
        """What the file measures, when it ends or now."""
        trial = self._finished(simulation)
        result = trial.result()
        x, y, z = (result.end - result.begin).tolist()
        return [
            Measurement("fitness", result.fitness),
            Measurement("x", x, "m"),
            Measurement("y", y, "m"),
            Measurement("z", z, "m"),
            Measurement("time", result.time, "s"),
        ]

    def outputs(self, simulation: Simulation[voxels3d.Solver], folder: Path) -> list[Path]:
        """The report of voxcraft-sim, and the history if the file asks for it."""
        written = [folder / "report.xml"]
        write_report([self._finished(simulation).result()], written[0])
        if self.vxa.simulator.record_step > 0:
            written.append(folder / f"{self.name}.history")
            source = simulation.attachments["history"]
            source.seek(0)
            with replaced(written[-1]) as temporary, temporary.open("w", encoding="utf-8") as file:
                shutil.copyfileobj(source, file)
            source.seek(0, 2)
        return written

    @staticmethod
    def _finished(simulation: Simulation[voxels3d.Solver]) -> Trial:
        trial: Trial = simulation.attachments["trial"]
        trial.look(simulation.state, simulation.step_count)
        return trial


def _about(setup: voxels3d.Setup, file: str) -> str:
    x, y, z = setup.robot.grid.shape
    return f"{file}: {setup.robot.voxel_count} voxels of {1e3 * setup.robot.side_length:g} mm in {x} x {y} x {z} cells."

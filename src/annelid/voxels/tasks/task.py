"""What tasks have in common: a world, a duration, and a batch of robots to run in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, spelled_out
from annelid.core.simulation import Simulation
from annelid.voxels.model import Model
from annelid.voxels.objects import Box
from annelid.voxels.robot import Robot
from annelid.voxels.solver import Solver
from annelid.voxels.tasks.trial import Trial
from annelid.voxels.terrain import Terrain, terrain
from annelid.voxels.world import World

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, kw_only=True)
class Task(Named, Generic[Outcome]):
    """A task.

    Attributes:
        seconds: Simulated time [s].
        dt: Time step [s].
        control_interval: Steps between two calls of the controllers: with c they are called every c + 1 steps.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²].
    """

    seconds: float = 60.0
    dt: float = 1.0 / 60.0
    control_interval: int = 1
    precision: str = "float32"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.8)

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or self.seconds <= 0.0:
            raise InvalidValue(f"the duration of a task must be a positive time, not {self.seconds!r}.")

    def __call__(
        self, robots: Robot | Sequence[Robot], *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> Outcome:
        """Run robots, each in a world of its own; robots that diverge get NaN.

        Args:
            robots: One robot or many; the arrays of the outcome have one entry each.
            device: "auto", "cpu", "cuda" or "cuda:N".
            threads: CPU threads; None takes all cores.
        """
        return self.run(self.simulation(robots, device=device, threads=threads))

    def run(self, simulation: Simulation[Solver]) -> Outcome:
        """Run a simulation of the task from its beginning to its end."""
        solver, state = simulation.solver, simulation.state
        start = solver.readout.centers(state)
        solver.advance(state, self.steps)
        solver.diverged_at()  # waits, and refuses control values that are not numbers
        return self.judge(solver, state, start)

    def evaluate(self, robot: Robot, parameters: np.ndarray, **options: Any) -> Outcome:
        """Run copies of a robot whose controllers have the parameters of the rows of a matrix [n, p]."""
        return self.trial(robot, len(np.atleast_2d(parameters)), **options)(parameters)

    def trial(self, robot: Robot, count: int, **options: Any) -> Trial[Outcome]:
        """Copies of a robot, built once, of which all or some can be run again and again with other parameters."""
        return Trial(self, robot, self.simulation([robot] * count, **options))

    @property
    def steps(self) -> int:
        """Number of time steps."""
        return max(1, round(self.seconds / self.dt))

    @spelled_out("a simulation of a task")
    def simulation(
        self, robots: Robot | Sequence[Robot], *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> Simulation[Solver]:
        """The simulation of the task at its beginning, to look at."""
        group = [robots] if isinstance(robots, Robot) else list(robots)
        if not group:
            raise InvalidValue("a task needs at least one robot.")
        model = self.model(group, choose_device(device))
        return Simulation(Solver(model, threads=threads))

    def model(self, robots: list[Robot], device: wp.Device) -> Model:
        """The worlds of the task."""
        raise NotImplementedError

    def judge(self, solver: Solver, state: Any, start: np.ndarray) -> Outcome:
        """The outcome of a run that began with centres at `start` [m], shape [robots, 2]."""
        raise NotImplementedError

    def world(self, ground: Terrain | str | None, *, boxes: Sequence[Box] = (), **changes: Any) -> World:
        """The surroundings."""
        settings = {
            "dt": self.dt,
            "control_interval": self.control_interval,
            "precision": self.precision,
            "gravity": self.gravity,
        }
        found = terrain(ground) if isinstance(ground, str) else ground
        obstacles: list[Terrain | Box] = [*([] if found is None else [found]), *boxes]
        return World(obstacles=obstacles, **{**settings, **changes})


def without_lost(values: np.ndarray, solver: Solver) -> np.ndarray:
    """The values, NaN where a robot diverged; one world a robot."""
    return np.where(solver.lost(), np.nan, values)

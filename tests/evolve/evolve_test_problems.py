"""Problems for the tests, in a module that worker processes can import by its name."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from annelid import control, voxels
from annelid.core.errors import InvalidValue
from annelid.evolve.contract import Evaluation, Problem
from annelid.voxels import tasks


class Bowl(Problem):
    """A bowl with its bottom at 0.3, whose first two parameters are the measures."""

    name = "bowl"
    measure_names = ("first", "second")
    measure_bounds = ((-1.0, 1.0), (-1.0, 1.0))

    def __init__(self, options):
        self.options, self.parameters = options, options.parameters
        self.evaluated = 0

    def sample(self, rng, count):
        return rng.uniform(-1.0, 1.0, (count, self.parameters))

    def evaluate(self, batch):
        time.sleep(self.options.seconds * len(batch))
        self.evaluated += len(batch)
        if self.options.suicidal and not os.path.exists(self.options.suicidal):
            open(self.options.suicidal, "w").close()
            os.kill(os.getpid(), 9)
        fitness = -((batch - 0.3) ** 2).sum(axis=1)
        fitness[batch[:, 0] < self.options.fails_below] = np.nan
        return Evaluation(fitness, batch[:, :2].copy())

    def describe(self, parameters):
        return {"bowl": parameters.tolist()}


class Rounded(Bowl):
    """A bowl that only sees rounded parameters, so that many rows are the same robot."""

    name = "rounded"

    def evaluate(self, batch):
        return super().evaluate(np.round(batch, 1) + 0.0)

    def keys(self, batch):
        return [row.tobytes() for row in np.round(batch, 1) + 0.0]


@dataclass(frozen=True)
class BowlOptions:
    name: ClassVar[str] = "bowl"

    parameters: int = 4
    fails_below: float = -np.inf
    seconds: float = 0.0
    suicidal: str = ""
    rounded: bool = False

    def build(self, *, device="auto", threads=None):
        if self.parameters < 1:
            raise InvalidValue(f"a bowl needs a parameter, not {self.parameters}.")
        return (Rounded if self.rounded else Bowl)(self)


class Crawl(Problem):
    """Phases of a small voxel worm, for speed; in a folder it leaves the marks of processes that work on it."""

    name = "crawl"

    def __init__(self, options, device, threads):
        self._device, self._threads = device, threads
        self._folder = Path(options.folder) if options.folder else None
        self._task = tasks.Locomotion(seconds=options.seconds, dt=1.0 / 30.0)
        self._robot = voxels.worm(3).with_controller(control.PhasedSines(np.zeros(3)))
        self.parameters = 3

    def sample(self, rng, count):
        return rng.uniform(-np.pi, np.pi, (count, self.parameters))

    def evaluate(self, batch):
        if self._folder is not None and (self._folder / "slow").exists():
            mark = self._folder / f"busy-{os.getpid()}"
            mark.touch()
            time.sleep(0.3)
            mark.unlink()
        found = self._task.evaluate(self._robot, batch, device=self._device, threads=self._threads)
        return Evaluation(found.relative_velocity)

    def describe(self, parameters):
        return {"phases": parameters.tolist()}

    def film(self, parameters):
        return self._task.simulation(self._robot.with_parameters(parameters), device=self._device), 0.2


@dataclass(frozen=True)
class CrawlOptions:
    name: ClassVar[str] = "crawl"

    seconds: float = 2.0
    folder: str = ""

    def build(self, *, device="auto", threads=None):
        return Crawl(self, device, threads)

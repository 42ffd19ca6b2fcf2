"""Controllers for a task of one's own: sines with phases, sines that develop, or a network that senses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.control import MLP, Controller, Development, PhasedSines, Sine
from annelid.control.side_by_side import inputs_of_channels
from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.envs.registration import make_worlds, short
from annelid.envs.worlds import MOST_WORLDS, Worlds
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.film import Film
from annelid.evolve.problems.episodes import Episodes
from annelid.evolve.problems.task_files import source_hash, task_of


@documented
@dataclass(frozen=True, kw_only=True)
class TaskController(Checked):
    """Controllers that act in a task; the fitness is the return of an episode.

    In an experiment `name = "FILE.py:NAME"` is short for this problem with that `task`.
    """

    name: ClassVar[str] = "task-controller"

    task: str = parameter("", 'The task: FILE.py:NAME, or an environment such as "annelid/SpringWalker-v0".')
    options: dict[str, Any] = field(default_factory=dict, metadata={"help": "Options of the task by name."})
    controller: Literal["phases", "development", "sensing"] = parameter(
        "phases",
        '"phases" sin(2πft + φ), one number a channel; "development" sin(2πft + φ) + a + (b - a) t/T, three a '
        'channel; "sensing" a network that reads all observations and sin(2πft).',
    )
    frequency: float = parameter(1.0, "f [Hz].", unit="Hz", above=0.0)
    hidden: tuple[int, ...] = parameter((), "Sizes of hidden layers of the network.", least=1)
    episodes: int = parameter(1, "Episodes of each controller, whose returns are averaged.", least=1)
    seed: int = parameter(0, "Seed of the first episode; each further one has the next.", least=0)
    worlds: int = parameter(
        1024, "Worlds in one simulation at most; larger batches are simulated in pieces.", limits=(1, MOST_WORLDS)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.options, Mapping):
            raise InvalidValue(f"options of a task must be a table of values by name, not {self.options!r}.")
        if self.hidden and self.controller != "sensing":
            raise InvalidValue(f"hidden layers go with the controller 'sensing', not with {self.controller!r}.")

    @property
    def title(self) -> str:
        """The task and the controller."""
        return f"{short(self.task).lower()}-{self.controller}"

    def build(self, *, device: str = "auto", threads: int | None = None) -> TaskEpisodes:
        """The problem."""
        return TaskEpisodes(self, device, threads)


class TaskEpisodes(Problem):
    """Rows are parameters of the controller; all controllers of a batch act in worlds of one simulation.

    Measured are the effort, the mean square of the actions, and how much of the time of an episode it lasted.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "task-controller"
    measure_names = ("effort", "lasted")
    measure_bounds = ((0.0, 1.0), (0.0, 1.0))

    def __init__(self, options: TaskController, device: str, threads: int | None) -> None:
        self.options, self._machine = options, {"device": device, "threads": threads}
        self._task, self._task_options = task_of(options.task, options.options)
        # How many channels and sensors there are is known once there is a world; those that act are made later.
        sample = self._worlds(1, device="cpu", threads=1)
        self._channels = sample.action_size
        self._inputs = sum(math.prod(channel.shape) for channel in sample.channels)
        self._controller = self._brain(sample)
        self.parameters = len(self._controller.parameters)
        self._episodes: Episodes | None = None

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Uniform from -π to π, weights from -1 to 1."""
        reach = 1.0 if self.options.controller == "sensing" else math.pi
        return rng.uniform(-reach, reach, (count, self.parameters))

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Let all controllers act at once; a world that diverges has failed."""
        episodes, most = self.options.episodes, self.options.worlds
        rows = np.repeat(np.asarray(batch, float), episodes, axis=0)
        seeds = self.options.seed + np.tile(np.arange(episodes), len(batch))
        if self._episodes is None or self._episodes.worlds.count < min(len(rows), most):
            worlds = self._worlds(min(len(rows), most), **self._machine)
            self._episodes = Episodes(worlds, self._controller, self._program())
        found = np.concatenate(
            [self._episodes(rows[i : i + most], seeds[i : i + most]) for i in range(0, len(rows), most)]
        )
        means = found.reshape(len(batch), episodes, -1).mean(axis=1)
        return Evaluation(means[:, 0], means[:, 1:])

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """The task and the controller, as `control.read_controller` reads it."""
        controller = self._controller.with_parameters(parameters).to_dict()
        return {"task": self.options.task, "options": dict(self.options.options), "controller": controller}

    def shown(self, parameters: np.ndarray) -> Film:
        """The first episode, a picture after each action."""
        worlds = self._worlds(1, **self._machine)
        episodes = Episodes(worlds, self._controller, self._program())
        fps = float(np.clip(1.0 / worlds.action_seconds, 5.0, 30.0))
        look = {"camera": worlds.camera, "follow": worlds.followed}
        return Film(episodes.moments(parameters, self.options.seed), fps, look)

    def require_film(self) -> None:
        """Take the first picture of a random robot."""
        next(iter(self.shown(self.sample(np.random.default_rng(0), 1)[0]).moments))

    def fingerprint(self) -> str:
        """It also changes with what the file of the task says, but for its layout and comments."""
        return f"{super().fingerprint()}-{source_hash(self.options.task)}"

    def _worlds(self, count: int, **machine: Any) -> Worlds:
        return make_worlds(self._task, count, **machine, **self._task_options)

    def _program(self) -> Any:
        return self._controller.bind(self._channels, inputs_of_channels(self._inputs, self._channels))

    def _brain(self, worlds: Worlds) -> Controller:
        """The controller, all of whose parameters are 0."""
        count, frequency = self._channels, self.options.frequency
        if self.options.controller == "phases":
            return PhasedSines(np.zeros(count), frequency=frequency)
        if self.options.controller == "development":
            duration = worlds.most_steps * worlds.action_seconds
            return Development(np.zeros(3 * count), duration=duration, frequency=frequency)
        network = MLP((), hidden=self.options.hidden, driving=Sine(frequency))
        return network.with_parameters(np.zeros(network.weights_needed(count, [self._inputs])))

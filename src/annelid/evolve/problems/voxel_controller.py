"""Controllers for a body that is given: phases, phases that develop over a lifetime, or a network that senses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import voxels
from annelid.control import MLP, Controller, Development, PhasedSines
from annelid.core.parameters import documented, parameter
from annelid.evolve.contract import Evaluation
from annelid.evolve.problems.walks import Walk, WalkOptions
from annelid.voxels.tasks import LocomotionOutcome
from annelid.voxels.tasks.trial import Trial


@documented
@dataclass(frozen=True, kw_only=True)
class VoxelController(WalkOptions):
    """Controllers of one body (Medvet et al., sec. 3.2 and 3.3)."""

    name: ClassVar[str] = "voxel-controller"

    body: Literal["box", "worm", "biped", "tripod"] = parameter(
        "box", "A rectangle, or one of the three shapes of sec. 3.3."
    )
    width: int = parameter(11, "Voxels along the body.", least=1)
    height: int = parameter(4, "Voxels across a rectangle.", least=1)
    controller: Literal["phases", "development", "sensing"] = parameter(
        "phases",
        '"phases" sin(2πt + φ), one number a voxel; "development" sin(2πt + φ) + a + (b - a) t/T, three a voxel; '
        '"sensing" a network without hidden layer that reads six values of each voxel and sin(2πt).',
    )

    def build(self, *, device: str = "auto", threads: int | None = None) -> ControllerWalk:
        """The problem."""
        return ControllerWalk(self, device, threads)

    def robot(self) -> voxels.Robot:
        """The body with its controller, all of whose parameters are 0."""
        sensors = voxels.talamini_sensors() if self.controller == "sensing" else ()
        material = self.voxel()
        if self.body in ("box", "worm"):
            high = self.height if self.body == "box" else 1
            robot = voxels.box(self.width, high, material, sensors=sensors)
        else:
            robot = getattr(voxels, self.body)(self.width, material, sensors=sensors)
        return robot.with_controller(self._brain(robot))

    def _brain(self, robot: voxels.Robot) -> Controller:
        count = robot.voxel_count
        if self.controller == "phases":
            return PhasedSines(np.zeros(count))
        if self.controller == "development":
            return Development(np.zeros(3 * count), duration=self.seconds)
        return MLP(np.zeros(MLP(()).weights_needed(count, robot.input_counts.tolist())))


class ControllerWalk(Walk):
    """Rows are parameters of the controller.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "voxel-controller"
    measure_names = ("mean-height", "control")
    measure_bounds = ((0.0, 15.0), (0.0, 1.0))

    def __init__(self, options: VoxelController, device: str, threads: int | None) -> None:
        super().__init__(options, device, threads)
        self._body = options.robot()
        assert self._body.controller is not None
        self.parameters = len(self._body.controller.parameters)
        self._range = 1.0 if options.controller == "sensing" else math.pi
        self._trial: Trial[LocomotionOutcome] | None = None

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Uniform from -π to π, weights from -1 to 1."""
        return rng.uniform(-self._range, self._range, (count, self.parameters))

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Let all robots walk at once; measured are the mean height [m] and the mean squared control value."""
        if self._trial is None or self._trial.count < len(batch):
            self._trial = self.task.trial(self._body, len(batch), device=self.device, threads=self.threads)
        outcome = self._trial(batch)
        measures = [outcome.mean_height, outcome.control / self._body.voxel_count]
        return Evaluation(outcome.relative_velocity, np.stack(measures, axis=1))

    def robot(self, parameters: np.ndarray) -> voxels.Robot:
        """The robot of a row."""
        return self._body.with_parameters(parameters)

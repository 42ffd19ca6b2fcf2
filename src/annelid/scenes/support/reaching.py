"""What the scenes with controlled robots share: targets that can be dragged, limits in words, streams of actuation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid import fem
from annelid.core.files import replaced
from annelid.core.parameters import Checked
from annelid.core.simulation import Simulation


class Reaching(Checked):
    """A robot that follows a target, which a script moves until someone drags it."""

    def targets(self, simulation: Simulation[fem.InverseSolver]) -> dict[str, Any]:
        """Targets that can be dragged, by name [m]."""
        return dict(simulation.solver.targets(simulation.state))

    def move_target(self, simulation: Simulation[fem.InverseSolver], name: str, place: Sequence[float]) -> None:
        """Put a target somewhere [m]."""
        with simulation.gate:
            simulation.solver.aim(simulation.state, {name: place})

    def status(self, simulation: Simulation[fem.InverseSolver]) -> str:
        """What was reached, and which limits stand in the way."""
        readout, state = simulation.solver.readout, simulation.state
        if simulation.step_count == 0:
            return "drag the target"
        return fem.outcome_in_words(readout.distances(state), readout.active_limits(state))


def recorded(simulation: Simulation[fem.InverseSolver]) -> Simulation[fem.InverseSolver]:
    """The simulation, which keeps all its steps from now on."""
    steps: list[fem.Step] = []
    simulation.attachments["steps"] = steps
    simulation.solver.inverse.sinks.append(steps.append)
    return simulation


def write_actuation(simulation: Simulation[fem.InverseSolver], folder: Path) -> Path:
    """The actuation of every step as CSV."""
    path = folder / "actuation.csv"
    with replaced(path) as temporary, fem.CsvStream(temporary) as stream:
        for step in simulation.attachments["steps"]:
            stream(step)
    return path


def largest_miss(simulation: Simulation[fem.InverseSolver]) -> float:
    """Largest distance of an effector from its target in all steps [m]."""
    return max((step.distance for step in simulation.attachments["steps"]), default=0.0)


def around(begin: ArrayLike, offsets: Sequence[Sequence[float]], times: Sequence[float]) -> fem.Path:
    """A path from a point to points at some offsets from it [m], reached at these times [s]."""
    points = np.asarray(begin, float) + np.concatenate([np.zeros((1, 3)), np.asarray(offsets, float)])
    return fem.Path(points, np.concatenate([[0.0], np.asarray(times, float)]))

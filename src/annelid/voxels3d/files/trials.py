"""Runs of robots from files: when they stop, what is measured on the way, and what they are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.files.history import HistoryWriter
from annelid.voxels3d.files.robots import Setup
from annelid.voxels3d.readout import Readout

MOST_STEPS = 1_000_000
"""Steps of a run that nothing else ends, as in voxcraft-sim."""

CHECK = 1.0e-3
"""Simulated time between two looks at a stop that depends on where a robot is [s]."""

_STEPS, _SECONDS, _CYCLES = 1, 2, 3
_ENDLESS = 1e9  # steps that nobody waits for
_CHUNK = 4096  # steps between two looks at what goes wrong, and at the keyboard


@dataclass(frozen=True, eq=False)
class Result:
    """What became of a robot.

    Attributes:
        name: Its name.
        fitness: What its run is worth; NaN where its motion stopped being finite.
        time: Simulated time [s].
        side_length: Side of its voxels [m].
        begin: Centre of mass of what is measured when measuring began [m].
        end: The same at the end [m].
        first_positions: Centres of all voxels when measuring began [m], shape [voxels, 3].
        positions: The same at the end [m].
        materials: Number in the palette, from 1, of each voxel.
        with_positions: Whether the file asks for all places.
    """

    name: str
    fitness: float
    time: float
    side_length: float
    begin: np.ndarray
    end: np.ndarray
    first_positions: np.ndarray
    positions: np.ndarray
    materials: np.ndarray
    with_positions: bool = False

    @property
    def total_distance(self) -> float:
        """How far all voxels have come, summed up [m]."""
        return float(np.linalg.norm(self.positions - self.first_positions, axis=1).sum())


def steps_within(seconds: float, dt: float) -> int:
    """Steps of a time, at least one; more than anybody can wait for are refused."""
    steps = seconds / dt
    if not steps <= _ENDLESS:
        raise InvalidValue(
            f"{seconds:g} s are {steps:.3g} time steps of {dt:.3g} s, more than {_ENDLESS:g}: take less time, "
            "or softer or heavier materials or a larger DtFrac."
        )
    return max(1, round(steps))


def stop_step(setup: Setup, most: int = MOST_STEPS) -> int:
    """Step at which a run ends whatever the robot does: by its formula, where that is of time alone, or by its type."""
    simulator, dt = setup.vxa.simulator, setup.dt
    if simulator.stop is not None:
        return most if _moves(simulator.stop) else min(most, _first_above(simulator.stop, setup, most))
    ends = {_STEPS: 1.0, _SECONDS: 1.0 / dt, _CYCLES: setup.vxa.environment.period / dt}
    end = simulator.stop_value * ends.get(simulator.stop_type, math.inf)
    return most if not 0.0 < end < most else math.ceil(end - 1e-9)


class Trial:
    """The run of one robot; whoever steps it calls `look` at the steps that `due` names.

    Args:
        setup: The robot and its file.
        readout: Reads the states.
        world: World of the robot.
        most: Steps at which it ends at the latest.
        history: Writes frames as the file asks for, if it does.
    """

    def __init__(
        self, setup: Setup, readout: Readout, world: int, most: int = MOST_STEPS, history: HistoryWriter | None = None
    ) -> None:
        self.setup, self._readout, self._world, self._history = setup, readout, world, history
        simulator, dt = setup.vxa.simulator, setup.dt
        self.last = stop_step(setup, most)
        self._stop = simulator.stop if simulator.stop is not None and _moves(simulator.stop) else None
        self._settled = round(min(simulator.settling / dt, self.last))
        period = int(np.clip(setup.vxa.environment.period / dt, 1, self.last + 1))
        used = [formula.variables for formula in (simulator.stop, simulator.fitness) if formula is not None]
        self._cycle = period if any("angle" in names for names in used) else 0
        self._check = max(1, round(CHECK / dt)) if self._stop is not None else 0
        # As in voxcraft-sim, where a frame comes every so many tenths of a millisecond.
        self._frame = int(simulator.record_step / (1.0e4 * dt)) + 1 if history is not None else 0
        self._path: list[np.ndarray] = []
        self._angle = 0.0
        self._first, self._last_seen = np.zeros((0, 3)), np.zeros((0, 3))
        self._measured = setup.marked("measured")
        self._mass = np.array([m.density for m in setup.robot.materials])[setup.robot.material_of] * self._measured
        self._time = 0.0
        self.ended = False

    def due(self, now: int) -> int:
        """The next step after `now` at which to look."""
        rhythms = [now + every - now % every for every in (self._cycle, self._check, self._frame) if every]
        return min([self.last, *rhythms, *([self._settled] if self._settled > now else [])])

    @property
    def rhythms(self) -> tuple[int, ...]:
        """Steps between the looks of someone who looks regularly; there may be none before the end."""
        return tuple(every for every in (self._cycle, self._check, self._frame, self._settled) if every)

    def look(self, state: Any, now: int) -> bool:
        """Measure what is due at a step; whether the run has ended."""
        if self.ended:
            return True
        places = self._places(state)
        if len(self._first) == 0 or now <= self._settled:
            self._first = places
        self._last_seen, self._time = places, now * self.setup.dt
        if self._cycle and now % self._cycle == 0:
            self._turn(self._center(places))
        if self._frame and self._history is not None and now % self._frame == 0:
            self._history.write(state, now, self._time)
        stops = self._stop is not None and self._value(self._stop, self._center(places)) > 0.0
        self.ended = stops or now >= self.last
        return self.ended

    def result(self, *, failed: bool = False) -> Result:
        """What became of the robot when it was last looked at."""
        begin, end = self._center(self._first), self._center(self._last_seen)
        moved = end - begin
        fitness = self.setup.vxa.simulator.fitness
        worth = math.hypot(*moved[:2]) if fitness is None else self._value(fitness, moved)
        setup = self.setup
        return Result(
            setup.vxa.name, math.nan if failed else worth, self._time, setup.robot.side_length, begin, end, self._first,
            self._last_seen, np.array(setup.paints)[setup.robot.material_of] + 1, setup.vxa.simulator.save_positions,
        )  # fmt: skip

    def _places(self, state: Any) -> np.ndarray:
        first, last = self._readout.model.first_voxel[self._world : self._world + 2]
        return self._readout.positions(state)[first:last]

    def _center(self, places: np.ndarray) -> np.ndarray:
        total = float(self._mass.sum())
        return np.asarray(self._mass @ places / total) if total > 0.0 else np.zeros(3)

    def _turn(self, center: np.ndarray) -> None:
        """The angle between the last two legs of the path, a period each."""
        self._path = [*self._path[-2:], center]
        if len(self._path) < 3:
            return
        before, after = np.diff(self._path, axis=0)
        lengths = float(np.linalg.norm(before) * np.linalg.norm(after))
        self._angle = math.acos(np.clip(before @ after / lengths, -1.0, 1.0)) if lengths > 0.0 else 0.0

    def _value(self, formula: Formula, center: np.ndarray) -> float:
        x, y, z = center.tolist()
        closeness, pairs = self._targets() if formula.variables & {"targetCloseness", "numClosePairs"} else (0.0, 0)
        return float(
            formula(
                x=x, y=y, z=z, t=self._time, angle=self._angle, num_voxel=self.setup.robot.voxel_count,
                targetCloseness=closeness, numClosePairs=pairs,
            )
        )  # fmt: skip

    def _targets(self) -> tuple[float, int]:
        """Sum of 1/distance of all pairs of targets, and how many are close."""
        radius = self.setup.vxa.simulator.pair_distance * self.setup.robot.side_length
        targets = self._last_seen[self.setup.marked("target")]
        if radius <= 0.0 or len(targets) < 2:
            return 0.0, 0
        one, other = np.triu_indices(len(targets), 1)
        distances = np.linalg.norm(targets[one] - targets[other], axis=1)
        return float((1.0 / distances).sum()), int((distances < radius).sum())


def run_trials(
    solver: Any, trials: Sequence[Trial], *, progress: Callable[[float], None] | None = None
) -> list[Result]:
    """Step all worlds until each has ended; one that stops being finite does not disturb the others.

    Args:
        solver: A solver with a world for each trial.
        trials: The trials.
        progress: Called with the share of all steps that is done.
    """
    state, now = solver.initial_state(), 0
    for trial in trials:
        trial.look(state, 0)
    last = max(trial.last for trial in trials)
    failed = np.zeros(len(trials), bool)
    while not all(trial.ended for trial in trials):
        goal = min(now + _CHUNK, *(trial.due(now) for trial in trials if not trial.ended))
        solver.advance(state, goal - now)
        now = goal
        failed |= solver.troubles.numpy() >= 0
        for trial, bad in zip(trials, failed, strict=True):
            if bad:
                trial.ended = True
            elif not trial.ended and trial.due(now - 1) == now:
                trial.look(state, now)
        if progress is not None:
            progress(now / max(last, 1))
    return [trial.result(failed=bool(bad)) for trial, bad in zip(trials, failed, strict=True)]


def _moves(formula: Formula) -> bool:
    """Whether a formula depends on what the robot does."""
    return bool(formula.variables - {"t", "num_voxel", "hit"})


def _first_above(formula: Formula, setup: Setup, most: int) -> int:
    """First step at which a formula of time is above 0."""
    for begin in range(0, most + 1, MOST_STEPS):  # all steps at once may be more than there is memory for
        steps = np.arange(begin, min(begin + MOST_STEPS, most + 1))
        above = np.broadcast_to(formula(t=steps * setup.dt, num_voxel=setup.robot.voxel_count), steps.shape) > 0.0
        if above.any():
            return begin + int(np.argmax(above))
    return most

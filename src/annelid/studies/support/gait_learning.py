"""PPO on the lattice walker: a policy that sees it, and commands it anew each interval, instead of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.sensors import Reading, Sensor
from annelid.core.simulation import Simulation
from annelid.core.solver import Solver
from annelid.envs.task import Task
from annelid.envs.task_worlds import TaskWorlds
from annelid.envs.worlds import read_options
from annelid.studies.support.gait_searches import Course, Diary
from annelid.studies.support.lattice_walker import PITCH, Walk

_WORLDS = 32  # walkers that learn side by side
_SPREAD = -1.0  # logarithm of the spread of first actions: 0.11 of a rest length, as random gaits have
_DISCOUNT = 0.97  # of what comes an interval later


@dataclass(frozen=True)
class Clock(Sensor):
    """Sine and cosine of the time since a world began, of a period in steps: a table knows the time, too."""

    period: int

    def attach(self, solver: Solver) -> Reading:
        """The clock of worlds of springs."""

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            since = state.clock.numpy() - state.begun.numpy()
            turns = 2.0 * np.pi * since / self.period
            values = np.stack([np.sin(turns), np.cos(turns)], axis=1).astype(np.float32)
            wp.copy(out[:, first : first + 2], wp.array(values, dtype=wp.float32, device=out.device))

        return Reading(read, (2,), "", ("sine", "cosine"))


class LatticeWalk(Task):
    """The walk of the study as a task: how far it comes along x in each interval.

    Attributes:
        cycles: Cycles of the walk.
        intervals: Intervals of a cycle.
    """

    smooth = False
    cycles: int = 4
    intervals: int = 20

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[Any]:
        """The walker with a clock, velocities of its whole and of its feet, and strains of its legs."""
        walk = Walk(self.cycles, self.intervals, device, threads)
        simulation = walk.simulation(worlds)
        places = walk.body.positions
        low, middle = places[:, 2] < 0.5 * PITCH, places.mean(axis=0)
        front, left = places[:, 0] > middle[0], places[:, 1] > middle[1]
        parts = [(front == ahead) & (left == aside) for ahead in (False, True) for aside in (False, True)]
        leg, sensors = places[:, 2] < 2.5 * PITCH, simulation.sensors
        sensors.add("clock", Clock(walk.intervals * walk.steps_of_interval))
        sensors.add("velocity", springs.velocity_of())
        sensors.add("feet", [springs.velocity_of(np.flatnonzero(low & part)) for part in parts])
        sensors.add("touch", [springs.touch_of(np.flatnonzero(low & part)) for part in parts])
        sensors.add("legs", [springs.strain_of(np.flatnonzero(leg & part)) for part in parts])
        sensors.add("place", springs.position_of())
        return simulation

    def steps_of_action(self, dt: float) -> int:
        """Steps for which a command is held."""
        return Walk(self.cycles, self.intervals).steps_of_interval

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        """How far the walker came."""
        return now["place"][:, 0] - before["place"][:, 0]


def by_ppo(walk: Walk, seed: int, *, steps: int) -> Course:
    """A policy of two layers by PPO of Stable-Baselines3, until about so many steps are simulated.

    As with CMA-ES the best walk counts, whichever chance made of it.
    """
    from annelid.envs.stable import StableVecEnv
    from annelid.envs.training.agents import make_agent
    from annelid.envs.training.recipes import Recipe
    from annelid.envs.training.scaling import FromIdleness, scaled

    actions, dt = walk.cycles * walk.intervals, walk.simulation().dt
    every = walk.steps_of_interval * dt
    options = {"cycles": walk.cycles, "intervals": walk.intervals, "every": every, "seconds": actions * every}
    task = read_options(LatticeWalk, options)
    source = FromIdleness(StableVecEnv(TaskWorlds(_WORLDS, task, device=walk.device, threads=walk.threads)))
    recipe = Recipe(scaled=True, discount=_DISCOUNT, choices=_WORLDS * actions, log_spread=_SPREAD)
    env = scaled(source, _DISCOUNT, observations=True)
    agent = make_agent("ppo", env, recipe, seed=seed, log=None, device="cpu")
    diary, far = Diary(), np.zeros(_WORLDS)

    def note(here: dict[str, Any], names: dict[str, Any]) -> bool:
        nonlocal far
        far = far + source.paid
        done = np.asarray(here["dones"], bool)
        if done.any():
            diary.note(agent.num_timesteps * walk.steps_of_interval, float(far[done].max()), np.zeros((0, 0)))
            far = np.where(done, 0.0, far)
        return True

    agent.learn(max(_WORLDS * actions, steps // walk.steps_of_interval), callback=note)
    return diary.course()

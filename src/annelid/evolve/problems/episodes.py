"""Episodes of a batch of worlds in which a controller acts, each world with parameters and a seed of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import warp as wp

from annelid.control import Controller, Program
from annelid.control.side_by_side import SideBySide
from annelid.core.snapshot import Snapshot
from annelid.envs.spaces import host_observations
from annelid.envs.worlds import Worlds


class Episodes:
    """Lets controllers act.

    Args:
        worlds: The worlds, one for each controller at least.
        controller: What acts.
        program: The same, bound to the actions and observations of a world.
    """

    def __init__(self, worlds: Worlds, controller: Controller, program: Program) -> None:
        self.worlds, self._controller = worlds, controller
        ends = np.ones(worlds.action_size)
        every = np.ones((worlds.count, worlds.action_size), bool)
        self._brains = SideBySide([program] * worlds.count, -ends, ends, worlds.device, channels=every)

    def __call__(self, rows: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Return, mean square of the actions and share of the time that each episode lasted, shape [n, 3].

        Args:
            rows: Parameters of each controller, shape [n, p]; the worlds that are left do nothing.
            seeds: Seed of each episode, shape [n].
        """
        worlds, count = self.worlds, len(rows)
        worlds.restart(seeds=np.concatenate([seeds, np.zeros(worlds.count - count, int)]))
        self._brains.set_parameters(self._controller.packed(rows, worlds.action_size))
        totals = np.zeros((worlds.count, 3))
        going = np.arange(worlds.count) < count
        seen = self._observations()
        for call in range(worlds.most_steps):
            actions = self._actions(call, seen, going)
            worlds.step(actions)
            seen = self._observations()
            # A world that has diverged is paid nothing, and must not profit from it.
            paid = np.where(np.isfinite(seen).all(axis=1), worlds.rewards.numpy(), np.nan)
            told = np.column_stack([paid, np.mean(actions**2, axis=1), np.ones(worlds.count)])
            totals += np.where(going[:, None], told, 0.0)
            going &= ~worlds.done.numpy()
            if not going.any():
                break
        totals[:, 1] /= np.maximum(totals[:, 2], 1.0)
        totals[:, 2] /= worlds.most_steps
        return totals[:count]

    def moments(self, row: np.ndarray, seed: int) -> Iterator[Snapshot]:
        """Pictures of an episode of the first world: one before it, and one after each action.

        Args:
            row: Parameters of the controller, shape [p].
            seed: Seed of the episode.
        """
        worlds, going = self.worlds, np.arange(self.worlds.count) < 1
        worlds.restart(seeds=np.full(worlds.count, seed))
        self._brains.set_parameters(self._controller.packed(row[None], worlds.action_size))
        yield worlds.snapshot()
        for call in range(worlds.most_steps):
            worlds.step(self._actions(call, self._observations(), going))
            yield worlds.snapshot()
            if worlds.done.numpy()[0]:
                return

    def _actions(self, call: int, seen: np.ndarray, going: np.ndarray) -> np.ndarray:
        """What controllers do now, where episodes go on; shape [worlds, actions]."""
        period = self.worlds.action_seconds
        inputs = wp.array(seen, dtype=wp.float32, device=self.worlds.device)
        said = self._brains.act(call * period, call, period, inputs).numpy()
        return np.where(going[:, None], said, 0.0)

    def _observations(self) -> np.ndarray:
        """All that each world observes, in the order of its channels, shape [worlds, n]."""
        parts = [rows.reshape(self.worlds.count, -1) for rows in host_observations(self.worlds).values()]
        return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float32)
